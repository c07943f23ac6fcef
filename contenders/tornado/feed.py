"""The feed on Tornado's web server."""

import asyncio
import errno
import functools
import itertools
import logging
from contextlib import suppress

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

import arguments
from arguments import refuse, report, whole_number
from service import end_when_told, raise_file_limit

ACCEPT_AGAIN_S = 0.1


class Feed(RequestHandler):
    def initialize(self, interval_s):
        self.interval_s = interval_s
        self.feeding = None

    def prepare(self):
        self.set_header("Content-Type", "text/plain")
        # Else a message would wait for the client to acknowledge the one before.
        self.request.connection.stream.set_nodelay(True)

    async def get(self, feed_id):
        self.feeding = asyncio.current_task()
        with suppress(StreamClosedError, asyncio.CancelledError):  # The client went away.
            await self.feed(feed_id)

    def on_connection_close(self):
        if self.feeding is not None:
            self.feeding.cancel()

    async def feed(self, feed_id):
        loop = asyncio.get_running_loop()
        self.write(f"Welcome: {feed_id}\n")
        await self.flush()
        begin_s = loop.time()
        for k in itertools.count(1):
            # The loop may wake a sleeper a little too early.
            while (wait_s := begin_s + k * self.interval_s - loop.time()) > 0:
                await asyncio.sleep(wait_s)
            self.write(f"Chunk {k} for {feed_id}\n")
            await self.flush()


async def listen(host, port, interval_s):
    handler = (r"/test/([0-9]{1,20})", Feed, {"interval_s": interval_s})
    try:
        sockets = bind_sockets(port, host, backlog=4096)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    server = HTTPServer(Application([handler], log_function=lambda _: None))
    server.add_sockets(sockets)
    on_error = functools.partial(handle_error, server=server, listener=sockets[0])
    asyncio.get_running_loop().set_exception_handler(on_error)
    report(f"::ready port={sockets[0].getsockname()[1]}")
    await asyncio.Event().wait()


def handle_error(loop, context, server, listener):
    error = context.get("exception")
    if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
        loop.default_exception_handler(context)
        return
    # No descriptor is free, which Tornado leaves to us; it would call accept() again and again.
    IOLoop.current().remove_handler(listener)
    loop.call_later(ACCEPT_AGAIN_S, server.add_socket, listener)


def settings():
    given = arguments.read()
    return {
        "host": given.get("host", "127.0.0.1"),
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
        "interval_ms": whole_number(given, "interval_ms", "1000", 1, 3_600_000),
    }


def main():
    given = settings()
    raise_file_limit()
    # A warning for each client that is gone, or speaks no HTTP, is one too many.
    logging.getLogger("tornado.general").setLevel(logging.ERROR)
    # Not the loop's handler: that one would wait for its turn among ten thousand feeds.
    end_when_told()
    asyncio.run(listen(given["host"], given["port"], given["interval_ms"] / 1000))


if __name__ == "__main__":
    main()
