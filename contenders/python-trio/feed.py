"""The feed on Trio's streams and h11."""

import functools
import itertools
import re

import h11
import trio

import arguments
from arguments import whole_number
from http1 import Connection, ok, path_of
from listening import serve
from service import raise_file_limit

PATH = re.compile(rb"/test/([0-9]{1,20})")


async def converse(stream, interval_s):
    connection = Connection(stream)
    try:
        while request := await connection.next_request():
            match = PATH.fullmatch(path_of(request))
            if not match:
                await connection.refuse(404)
            elif request.method != b"GET":
                await connection.refuse(405, ("Allow", "GET"))
            else:
                await feed(connection, match[1], interval_s)
                return
            if not await connection.finish():
                return
    except h11.RemoteProtocolError as error:
        if connection.protocol.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            await connection.refuse(error.error_status_hint, ("Connection", "close"))


async def feed(connection, feed_id, interval_s):
    """Sends until the client closes, for which another task listens."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(send_messages, connection, feed_id, interval_s)
        while await connection.stream.receive_some():
            pass  # Nothing more is asked for while an answer has no end.
        nursery.cancel_scope.cancel()


async def send_messages(connection, feed_id, interval_s):
    try:
        await connection.send(ok(), h11.Data(data=b"Welcome: %b\n" % feed_id))
        begin_s = trio.current_time()
        for k in itertools.count(1):
            await trio.sleep_until(begin_s + k * interval_s)
            await connection.send(h11.Data(data=b"Chunk %d for %b\n" % (k, feed_id)))
    except trio.BrokenResourceError:
        pass  # The client went away; the other task hears of it too.


def main():
    given = arguments.read()
    host = given.get("host", "127.0.0.1")
    port = whole_number(given, "port", "0", 0, 65535)
    whole_number(given, "cores", "1", 1)  # Unused: there is one loop.
    interval_ms = whole_number(given, "interval_ms", "1000", 1, 3_600_000)
    raise_file_limit()
    trio.run(serve, functools.partial(converse, interval_s=interval_ms / 1000), port, host)


if __name__ == "__main__":
    main()
