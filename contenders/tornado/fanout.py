"""The gateway on Tornado's web server and its HTTP client, which makes ten calls at a time by default."""

import asyncio
import functools
import logging
import re
from contextlib import suppress

from tornado import gen
from tornado.httpclient import AsyncHTTPClient, HTTPClientError
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPInputError
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

import arguments
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit

BAD_UPSTREAM = 400

UPSTREAM = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})(/[!-~]*)?")


class Gateway(RequestHandler):
    def prepare(self):
        self.set_header("Content-Type", "text/plain")
        # Else a piece would wait for the client to acknowledge the one before.
        self.request.connection.stream.set_nodelay(True)


class FanOut(Gateway):
    def initialize(self, upstreams, piece, tick_s, timeout_s):
        self.upstreams = upstreams
        self.piece = piece
        self.tick_s = tick_s
        self.timeout_s = timeout_s

    async def get(self):
        calls = {asyncio.create_task(self.piece_of(upstream)) for upstream in self.upstreams}
        with suppress(StreamClosedError):  # The client went away; the calls go on.
            while calls:
                done, calls = await asyncio.wait(
                    calls, timeout=self.tick_s, return_when=asyncio.FIRST_COMPLETED
                )
                self.write("".join(call.result() for call in done) or ".")
                # The last piece goes out with the end of the body, unless it is the first too: without a
                # flush the body would have a length and no chunks.
                if calls or not self._headers_written:
                    await self.flush()

    async def piece_of(self, upstream):
        return self.piece(await self.status_of(upstream))

    async def status_of(self, upstream):
        """The status of an upstream's answer, when all of it has come."""
        request_id = self.request.headers.get("X-Request-Id")
        try:
            response = await AsyncHTTPClient().fetch(
                upstream,
                headers=None if request_id is None else {"X-Request-Id": request_id},
                connect_timeout=self.timeout_s,
                request_timeout=self.timeout_s,
                follow_redirects=False,
                decompress_response=False,
                raise_error=False,
            )
        except (HTTPClientError, HTTPInputError, OSError, ValueError):
            return BAD_UPSTREAM
        return response.code


class Compute(Gateway):
    def initialize(self, work):
        self.work = work

    async def get(self):
        await gen.multi([self.unit(last=number == 2) for number in range(3)])

    async def unit(self, last):
        # Each writes its own sum: who waits for all three hears of the first only when the loop
        # has run the last. The loop runs them in this order.
        self.write(f"{total(self.work)}\n")
        if not last:
            self.flush()


def status_and_sum(status, work):
    return f"{status}:{total(work)}\n"


def total(work):
    result = 0
    for i in range(1, work):
        result += i
    return result


async def listen(host, port, handler, options):
    application = Application([("/", handler, options)], log_function=lambda _: None)
    try:
        sockets = bind_sockets(port, host, backlog=4096)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    HTTPServer(application).add_sockets(sockets)
    report(f"::ready port={sockets[0].getsockname()[1]}")
    await asyncio.Event().wait()


def settings():
    """The address, the port, and the handler with its options."""
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: the loop has one thread.
    tick_s = whole_number(given, "tick_ms", "50", 1) / 1000
    timeout_s = whole_number(given, "timeout_ms", "5000", 1) / 1000
    work = whole_number(given, "work", "100000", 1)
    if "max_clients" in given:
        AsyncHTTPClient.configure(None, max_clients=whole_number(given, "max_clients", "10", 1))
    kind = given.get("kind", "")
    if kind in ("io", "mixed"):
        upstreams = upstreams_of(given.get("upstreams", ""))
        piece = str if kind == "io" else functools.partial(status_and_sum, work=work)
        options = {"upstreams": upstreams, "piece": piece, "tick_s": tick_s, "timeout_s": timeout_s}
        return host, port, FanOut, options
    if kind == "cpu":
        return host, port, Compute, {"work": work}
    refuse("kind", "io, cpu or mixed", kind)


def upstreams_of(text):
    urls = text.split(",")
    ports = [int(match[1]) for match in map(UPSTREAM.fullmatch, urls) if match]
    if len(urls) != 3 or len(ports) != 3 or not all(0 < port < 65536 for port in ports):
        refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", text)
    return urls


def main():
    host, port, handler, options = settings()
    raise_file_limit()  # A client is four connections.
    # A warning for each upstream that refuses, or client that is gone, is one too many.
    logging.getLogger("tornado.general").setLevel(logging.ERROR)
    # Not the loop's handler: that one would wait for a sum to be done.
    end_when_told()
    asyncio.run(listen(host, port, handler, options))


if __name__ == "__main__":
    main()
