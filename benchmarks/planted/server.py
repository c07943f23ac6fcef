"""Servers with one mistake each, for `traps.py`: `server.py HOW` prints its port and serves."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable

OK, BUSY = "200 OK", "503 Service Unavailable"


def reply(status: str = OK, body: str = "hello") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()


def stalls(number: int) -> bytes:
    if number % 3000 == 2999:
        # The whole server stops for a moment.
        time.sleep(0.5)
    return reply()


def slow(number: int) -> bytes:
    time.sleep(0.001)
    return reply()


# The answer by the request's number, from 0; nothing for a request that gets no answer.
ANSWERS: dict[str, Callable[[int], bytes]] = {
    "good": lambda number: reply(),
    "slow": slow,
    "other": lambda number: reply(body="an error page, 200 all the same"),
    "failing": lambda number: reply() if number % 20 == 0 else reply(BUSY, "busy"),
    "losing": lambda number: reply() if number % 2 else b"",
    "stalls": stalls,
}


class Server(asyncio.Protocol):
    count = 0

    def __init__(self, how: str) -> None:
        self.how = how
        self.data = b""
        self.body = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.data += data
        if self.how == "early" and not self.body:
            # The server discards the rest of the body as it arrives.
            head, found, rest = self.data.partition(b"\r\n\r\n")
            if found:
                length = re.search(rb"content-length: *(\d+)", head.lower())
                self.body = int(length[1]) - len(rest) if length else 0
                self.data = b""
                self.transport.write(reply())
            return
        if self.body:
            self.body = max(0, self.body - len(data))
            self.data = b""
            return
        while b"\r\n\r\n" in self.data:
            _, _, self.data = self.data.partition(b"\r\n\r\n")
            number = Server.count
            Server.count += 1
            if self.how == "waits":
                asyncio.get_running_loop().call_later(0.05, self.transport.write, reply())
            else:
                self.transport.write(ANSWERS[self.how](number))


async def serve(how: str) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Server(how), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(serve(sys.argv[1]))
