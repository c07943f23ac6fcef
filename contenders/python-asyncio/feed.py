"""The feed on asyncio's streams. The standard library has no HTTP for asyncio: the little of HTTP/1.1
that is needed stands here."""

import asyncio
import functools
import itertools
import os
import re
import resource
import select
import signal
import socket
import sys
import threading
from contextlib import suppress

MOST_HEAD_BYTES = 16 * 1024
PIECE_BYTES = 4096

REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.1\r\n")
FEED = re.compile(rb"/test/([0-9]{1,20})")


async def listen(port, interval_s):
    asyncio.get_running_loop().set_exception_handler(handle_error)
    serve = functools.partial(converse, interval_s=interval_s)
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except OSError:
        refuse("port", "one that is free", str(port))
    server = await asyncio.start_server(serve, sock=listener, limit=MOST_HEAD_BYTES)
    # Only now: start_server's backlog is also how often it tries to accept in one turn, even when no
    # descriptor is free.
    listener.listen(4096)
    print(f"::ready port={listener.getsockname()[1]}", flush=True)
    await server.serve_forever()


def handle_error(loop, context):
    # An OSError here is: no descriptor is free. asyncio tries again in a second.
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


async def converse(reader, writer, interval_s):
    """A client's request and its answer, until the client closes."""
    feeding = None
    try:
        feed_id, head = route(await read_head(reader))
        if feed_id is not None:
            feeding = asyncio.create_task(feed(writer, head, feed_id, interval_s))
        else:
            writer.write(head)
            writer.write_eof()
        while await reader.read(PIECE_BYTES):
            pass  # Nothing more is asked for while an answer has no end.
    except OSError:
        pass  # The client went away.
    finally:
        if feeding is not None:
            feeding.cancel()
        writer.transport.abort()


async def read_head(reader):
    """The request line and the headers; nothing where they have no end."""
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (EOFError, asyncio.LimitOverrunError):
        return b""


def route(head):
    """The id of the feed that a request asks for, None where it asks for something else, and the head of
    the answer."""
    request = REQUEST_LINE.match(head)
    if not request:
        return None, refusal(b"400 Bad Request")
    method, target = request.groups()
    asked = FEED.fullmatch(target.partition(b"?")[0])
    if not asked:
        return None, refusal(b"404 Not Found")
    if method != b"GET":
        return None, refusal(b"405 Method Not Allowed\r\nAllow: GET")
    return asked[1], b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


def refusal(status):
    return b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status


async def feed(writer, head, feed_id, interval_s):
    loop = asyncio.get_running_loop()
    # drain() is to wait until the kernel has taken all of a message.
    writer.transport.set_write_buffer_limits(0)
    with suppress(OSError):  # The client went away, which converse() finds too.
        writer.write(head + chunk(b"Welcome: %b\n" % feed_id))
        await writer.drain()
        begin_s = loop.time()
        for k in itertools.count(1):
            # The loop may wake a sleeper a little too early.
            while (wait_s := begin_s + k * interval_s - loop.time()) > 0:
                await asyncio.sleep(wait_s)
            writer.write(chunk(b"Chunk %d for %b\n" % (k, feed_id)))
            await writer.drain()


def chunk(message):
    return b"%x\r\n%b\r\n" % (len(message), message)


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
    # Not the loop's handler: that one would wait for its turn among ten thousand feeds.
    end_when_told()
    asyncio.run(listen(given["port"], given["interval_ms"] / 1000))


if __name__ == "__main__":
    main()
