"""The gateway on http.server's threads, with a pool of threads for the upstream calls."""

import functools
import re
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed, wait
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer

import arguments
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit

MOST_CALLS = 4096
PIECE_BYTES = 64 * 1024
BAD_UPSTREAM = 400

UPSTREAM = re.compile(r"http://127\.0\.0\.1:([0-9]{1,5})(/[!-~]*)?")


class Server(ThreadingHTTPServer):
    request_queue_size = 4096

    def server_bind(self):
        # Not HTTPServer's own, which asks the resolver for the address's name and may wait for it.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], OSError):  # These errors mean that a client went away.
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Written bytes go out with a flush: the head with the first piece of the body, its end with the last.
    wbufsize = -1

    def __init__(self, *args, answer):
        self.answer = answer
        super().__init__(*args)

    def do_GET(self):
        self.skip_body()
        if not self.is_root():
            self.refuse(404)
            return
        # An HTTP/1.0 client knows no chunks: the end of its connection ends the body.
        self.chunked = self.request_version >= "HTTP/1.1"
        self.close_connection |= not self.chunked
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        if self.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.answer(self.write, self.headers.get("X-Request-Id"))

    def write(self, text, last):
        data = text.encode()
        end = b"0\r\n\r\n" if last else b""
        self.wfile.write(b"%x\r\n%b\r\n%b" % (len(data), data, end) if self.chunked else data)
        self.wfile.flush()

    def __getattr__(self, name):
        # http.server looks for a do_METHOD, and knows no 405.
        if name.startswith("do_"):
            return self.do_other
        raise AttributeError(name)

    def do_other(self):
        self.skip_body()
        self.refuse(405 if self.is_root() else 404)

    def is_root(self):
        # As it was asked for: to http.server `//` is `/` too.
        return self.requestline.split()[1].partition("?")[0] == "/"

    def refuse(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if status == 405:
            self.send_header("Allow", "GET")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()

    def skip_body(self):
        """Nobody wants it, but the next request comes behind it."""
        length = self.headers.get("Content-Length", "0")
        if length.isdigit() and int(length) <= PIECE_BYTES and "Transfer-Encoding" not in self.headers:
            self.rfile.read(int(length))
        else:
            self.close_connection = True

    def log_message(self, *_):
        pass


def fan_out(write, request_id, upstreams, piece, pool, tick_s, timeout_s):
    deadline = time.monotonic() + timeout_s

    def call(upstream):
        return piece(status_of(upstream, request_id, timeout_s))

    calls = {pool.submit(call, upstream) for upstream in upstreams}
    while calls:
        left_s = deadline - time.monotonic()
        done, calls = wait(calls, min(tick_s, max(left_s, 0)), FIRST_COMPLETED)
        if done:
            write("".join(call.result() for call in done), last=not calls)
        elif left_s > tick_s:
            write(".", last=False)
        else:
            # Their threads go on: http.client's timeout is one for each step of a call.
            write(piece(BAD_UPSTREAM) * len(calls), last=True)
            return


def status_and_sum(status, work):
    return f"{status}:{total(work)}\n"


def status_of(upstream, request_id, timeout_s):
    """The status of an upstream's answer, when all of it has come."""
    port, path = upstream
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    connection.response_class = Response
    headers = {"Connection": "close"}
    if request_id is not None:
        headers["X-Request-Id"] = request_id
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        response.read()
        return response.status
    except (OSError, HTTPException, ValueError):
        return BAD_UPSTREAM
    finally:
        connection.close()


class Response(HTTPResponse):
    """http.client's own takes a 103 for the answer, and half a head for a whole one."""

    def begin(self):
        file, self.fp = self.fp, WholeLines(self.fp)
        super().begin()
        while self.status < 200:
            self.headers = None
            super().begin()
        self.fp = file


class WholeLines:
    """A file in which the line that is asked for must be there."""

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def readline(self, limit):
        line = self.file.readline(limit)
        if not line.endswith(b"\n"):
            raise IncompleteRead(line)
        return line


def compute(write, _request_id, pool, work):
    units = [pool.submit(total, work) for _ in range(3)]
    for done, unit in enumerate(as_completed(units), start=1):
        write(f"{unit.result()}\n", last=done == len(units))


def total(work):
    result = 0
    for i in range(1, work):
        result += i
    return result


def settings():
    """The address, the port, and what answers a request."""
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: a request has its threads, wherever they run.
    tick_s = whole_number(given, "tick_ms", "50", 1) / 1000
    timeout_s = whole_number(given, "timeout_ms", "5000", 1) / 1000
    work = whole_number(given, "work", "100000", 1)
    kind = given.get("kind", "")
    if kind in ("io", "mixed"):
        upstreams = upstreams_of(given.get("upstreams", ""))
        answer = functools.partial(
            fan_out,
            upstreams=upstreams,
            piece=str if kind == "io" else functools.partial(status_and_sum, work=work),
            pool=ThreadPoolExecutor(MOST_CALLS),
            tick_s=tick_s,
            timeout_s=timeout_s,
        )
    elif kind == "cpu":
        # The executor's own size, some more than there are cores: with thousands of threads that
        # compute, nobody else, and no signal, would get the interpreter's lock for seconds.
        answer = functools.partial(compute, pool=ThreadPoolExecutor(), work=work)
    else:
        refuse("kind", "io, cpu or mixed", kind)
    return host, port, answer


def upstreams_of(text):
    """Pairs of a port and a path."""
    urls = [UPSTREAM.fullmatch(url) for url in text.split(",")]
    if len(urls) != 3 or not all(url and 0 < int(url[1]) < 65536 for url in urls):
        refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", text)
    return [(int(url[1]), url[2] or "/") for url in urls]


def main():
    host, port, answer = settings()
    # A client is four connections.
    raise_file_limit()
    try:
        server = Server((host, port), functools.partial(Handler, answer=answer))
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    end_when_told()
    report(f"::ready port={server.server_port}")
    server.serve_forever()


if __name__ == "__main__":
    main()
