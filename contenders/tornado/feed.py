"""The feed on Tornado's web server."""

import asyncio
import errno
import functools
import itertools
import logging
import os
import resource
import select
import signal
import sys
import threading
from contextlib import suppress

from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

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


async def listen(port, interval_s):
    handler = (r"/test/([0-9]{1,20})", Feed, {"interval_s": interval_s})
    try:
        sockets = bind_sockets(port, "127.0.0.1", backlog=4096)
    except OSError:
        refuse("port", "one that is free", str(port))
    server = HTTPServer(Application([handler], log_function=lambda _: None))
    server.add_sockets(sockets)
    on_error = functools.partial(handle_error, server=server, listener=sockets[0])
    asyncio.get_running_loop().set_exception_handler(on_error)
    print(f"::ready port={sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


def handle_error(loop, context, server, listener):
    error = context.get("exception")
    if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
        loop.default_exception_handler(context)
        return
    # No descriptor is free, which Tornado leaves to us; it would call accept() again and again.
    IOLoop.current().remove_handler(listener)
    loop.call_later(ACCEPT_AGAIN_S, server.add_socket, listener)


def settings(arguments):
    given = dict(argument.partition("=")[::2] for argument in arguments)
    return {
        "port": whole_number(given, "port", "0", 0, 65535),
        "cores": whole_number(given, "cores", "1", 1),
        "interval_ms": whole_number(given, "interval_ms", "1000", 1, 3_600_000),
    }


def whole_number(given, key, default, least, most=1_000_000_000):
    text = given.get(key, default)
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
    if not digits or not least <= int(text) <= most:
        refuse(key, f"a whole number from {least} to {most}", text)
    return int(text)


def refuse(key, wanted, text):
    print(f"feed: {key} must be {wanted}, not {text!a}", file=sys.stderr)
    sys.exit(2)


def end_when_told():
    """Ends the program on SIGTERM and at the end of stdin."""
    told, telling = os.pipe()
    os.set_blocking(telling, False)
    # The handler runs between two steps of Python, in the main thread. A signal that comes just before
    # a system call that waits would be missed: so it puts a byte into a pipe too.
    signal.set_wakeup_fd(telling)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=watch, args=(told,), daemon=True).start()


def watch(told):
    while True:
        ready, _, _ = select.select([told, 0], [], [])
        if told in ready or not os.read(0, 4096):
            end()


def end(*_):
    os._exit(0)  # At once, whatever is under way: there is nothing to save.


def main():
    given = settings(sys.argv[1:])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # A warning for each client that is gone, or speaks no HTTP, is one too many.
    logging.getLogger("tornado.general").setLevel(logging.ERROR)
    # Not the loop's handler: that one would wait for its turn among ten thousand feeds.
    end_when_told()
    asyncio.run(listen(given["port"], given["interval_ms"] / 1000))


if __name__ == "__main__":
    main()
