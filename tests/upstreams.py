"""Upstreams of gateways under test: threads of the test, each with the answer that the test wants."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from ringside.measure.plain_server import free_port

# Writes an answer; says whether the connection goes on.
Answer = Callable[[socket.socket], bool]


@dataclass
class Upstream:
    """A server that notes the head of each request and lets `answer` do the rest."""

    answer: Answer
    at_accept: bool = False
    heads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as requests:
            if self.at_accept:
                self.answer(connection)
                return
            while head := read_head(requests.readline):
                self.heads.append(head)
                if not self.answer(connection):
                    return

    def close(self) -> None:
        self.listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def read_head(readline: Callable[[], bytes]) -> str:
    lines: list[str] = []
    while (line := readline()) not in (b"", b"\r\n"):
        lines.append(line.decode("latin-1"))
    return "".join(lines)


def says(text: str, after_s: float = 0.0, *, goes_on: bool = True) -> Answer:
    def answer(connection: socket.socket) -> bool:
        time.sleep(after_s)
        connection.sendall(text.encode("latin-1"))
        return goes_on

    return answer


def whole(status: int = 200, after_s: float = 0.0, body: str = "fine") -> Answer:
    return says(f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\n\r\n{body}", after_s)


def chunked(connection: socket.socket) -> bool:
    connection.sendall(b"HTTP/1.1 203 Said\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
    time.sleep(0.05)
    connection.sendall(b"lo\r\n1;why=not\r\n!\r\n0\r\nTrailer: yes\r\n\r\n")
    return True


def nothing(connection: socket.socket) -> bool:
    """Reads until the client gives up."""
    while connection.recv(4096):
        pass
    return False


def garbage(connection: socket.socket) -> bool:
    connection.sendall(b"SSH-2.0-something_else\r\n\r\n")
    return nothing(connection)


def closed_port() -> str:
    return f"http://127.0.0.1:{free_port()}/"


Make = Callable[..., Upstream]
