"""Upstreams of a gateway, played by threads of this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

# Writes an answer; says whether the connection goes on.
Answer = Callable[[socket.socket], bool]

# How long the first of several calls waits for the others.
_MEETING_S = 3.0


class Upstream:
    """A server that notes the head of each request and lets `answer` do the rest; with `at_accept` it does so
    before it has read anything. Serves inside `with`. `port` 0: any."""

    def __init__(self, answer: Answer, *, at_accept: bool = False, port: int = 0) -> None:
        self.heads: list[str] = []
        self._answer = answer
        self._at_accept = at_accept
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.connections: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def __enter__(self) -> Upstream:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as requests:
            if self._at_accept:
                self._answer(connection)
                return
            while head := read_head(requests.readline):
                self.heads.append(head)
                if not self._answer(connection):
                    return


class Meeting:
    """An answer that comes only when so many parties have a call; `was_alone` where one waited in vain."""

    def __init__(self, parties: int, answer: Answer) -> None:
        self.was_alone = False
        self._barrier = threading.Barrier(parties)
        self._answer = answer

    def __call__(self, connection: socket.socket) -> bool:
        try:
            self._barrier.wait(_MEETING_S)
        except threading.BrokenBarrierError:
            self.was_alone = True
        return self._answer(connection)


def says(text: str, after_s: float = 0.0, *, goes_on: bool = True) -> Answer:
    """These characters of Latin-1, after a while."""

    def answer(connection: socket.socket) -> bool:
        time.sleep(after_s)
        connection.sendall(text.encode("latin-1"))
        return goes_on

    return answer


def whole(status: int = 200, after_s: float = 0.0, body: str = "fine") -> Answer:
    """An answer of HTTP, of a stated length."""
    return says(f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\n\r\n{body}", after_s)


def nothing(connection: socket.socket) -> bool:
    """Reads until the client gives up."""
    while connection.recv(4096):
        pass
    return False


def read_head(readline: Callable[[], bytes]) -> str:
    """The lines of a head, without the empty one that ends it."""
    lines: list[str] = []
    while (line := readline()) not in (b"", b"\r\n"):
        lines.append(line.decode("latin-1"))
    return "".join(lines)
