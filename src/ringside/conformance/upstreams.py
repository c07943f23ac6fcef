"""Upstreams of a gateway, played by threads of this process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

_FINE = b"HTTP/1.1 200 Said\r\nContent-Length: 4\r\n\r\nfine"
# How long the first of several calls waits for the others.
_MEETING_S = 3.0


class Upstream:
    """A server that notes the head of each request. `answer`: what it writes, after `after_s`; empty: it
    never answers; something else than the default is followed by the end of the connection. `meeting`: it
    answers only when all parties of the barrier have a call; `was_alone` where it waited in vain."""

    def __init__(
        self, answer: bytes = _FINE, *, after_s: float = 0.0, meeting: threading.Barrier | None = None
    ) -> None:
        self._answer = answer
        self._after_s = after_s
        self._meeting = meeting
        self.heads: list[str] = []
        self.was_alone = False
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._connections: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/"

    def __enter__(self) -> Upstream:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as requests:
            while head := _head(requests.readline):
                self.heads.append(head)
                self._wait()
                if not self._answer:
                    while connection.recv(4096):
                        pass
                    return
                connection.sendall(self._answer)
                if self._answer is not _FINE:
                    return

    def _wait(self) -> None:
        time.sleep(self._after_s)
        if self._meeting is not None:
            try:
                self._meeting.wait(_MEETING_S)
            except threading.BrokenBarrierError:
                self.was_alone = True


def _head(readline: Callable[[], bytes]) -> str:
    lines: list[str] = []
    while (line := readline()) not in (b"", b"\r\n"):
        lines.append(line.decode("latin-1"))
    return "".join(lines)
