"""The feed on asyncio's streams."""

import asyncio
import functools
import itertools
import socket
from contextlib import suppress

import arguments
import loop
from arguments import refuse, report, whole_number
from http1 import MOST_HEAD_BYTES, chunk, parse_request_line
from service import end_when_told, raise_file_limit

PIECE_BYTES = 4096


async def listen(host, port, interval_s):
    asyncio.get_running_loop().set_exception_handler(handle_error)
    serve = functools.partial(converse, interval_s=interval_s)
    try:
        listener = socket.create_server((host, port))
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    server = await asyncio.start_server(serve, sock=listener, limit=MOST_HEAD_BYTES)
    # Only now: start_server's backlog is also how often it tries to accept in one turn, even when no
    # descriptor is free.
    listener.listen(4096)
    report(f"::ready port={listener.getsockname()[1]}")
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
    line, _, _ = head.partition(b"\r\n")
    try:
        method, target, version = parse_request_line(line)
    except ValueError:
        return None, refusal(b"400 Bad Request")
    if version != b"HTTP/1.1":
        return None, refusal(b"400 Bad Request")
    path, _, _ = target.partition(b"?")
    folder, _, feed_id = path.rpartition(b"/")
    if folder != b"/test" or not feed_id.isdigit() or len(feed_id) > 20:
        return None, refusal(b"404 Not Found")
    if method != b"GET":
        return None, refusal(b"405 Method Not Allowed\r\nAllow: GET")
    return feed_id, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


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
    # Not the loop's handler: that one would wait for its turn among ten thousand feeds.
    end_when_told()
    loop.run(listen(given["host"], given["port"], given["interval_ms"] / 1000))


if __name__ == "__main__":
    main()
