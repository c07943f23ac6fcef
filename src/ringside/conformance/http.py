"""What the rules of servers of HTTP share: a client, and what a client may send that is no request."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ringside.conformance.servers import Server
from ringside.conformance.subject import PORT, Subject

_MAX_HEAD_BYTES = 1 << 16
# What comes earlier by less is not early.
GRAIN_S = 0.002
NONSENSE = (
    b"nonsense\r\n\r\n",
    b"GET / HT",
    b"\x00\x01\x02\xff\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /test/5 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"\r\n\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n",
    b"POST /test/1 HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"GET / HTTP/1.1\r\nLong: " + b"x" * 200_000 + b"\r\n\r\n",
)


@dataclass
class Reply:
    """A response. `chunks`: those of its body, each with when it arrived, in seconds since the request."""

    status: int
    headers: dict[str, str]
    chunks: list[tuple[float, bytes]]

    @property
    def body(self) -> str:
        return b"".join(chunk for _, chunk in self.chunks).decode(errors="replace")

    def __str__(self) -> str:
        return f"{self.status}, {self.headers.get('content-type', 'no type')}, {self.body[:200]!r}"


class Client:
    """Reads responses from a connection. Raises ValueError for what is no HTTP/1.1."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._rest = b""
        self.sent_s = time.monotonic()

    def send(self, target: str, method: str = "GET", body: str = "", **headers: str) -> None:
        named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        if body:
            named += f"Content-Length: {len(body)}\r\n"
        self.sent_s = time.monotonic()
        text = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{named}\r\n{body}"
        self._socket.sendall(text.encode())

    def send_in_pieces(self, target: str) -> None:
        for piece in ("GE", f"T {target} HTTP/1.1\r\nHos", "t: 127.0.0.1\r\nX-More: 1\r\n\r"):
            self._socket.sendall(piece.encode())
            time.sleep(0.05)
        # What is due counts from the end of the request: no server can have read it earlier.
        self.sent_s = time.monotonic()
        self._socket.sendall(b"\n")

    def get(self, target: str = "/", method: str = "GET", body: str = "", **headers: str) -> Reply:
        """A request and its whole response."""
        self.send(target, method, body, **headers)
        return self.reply(method)

    def reply(self, method: str = "GET") -> Reply:
        """The whole response to a request of that method."""
        reply = self.head()
        if method == "HEAD" or reply.status in (204, 304):
            return reply
        if "chunked" in reply.headers.get("transfer-encoding", ""):
            while chunk := self.chunk():
                reply.chunks.append((time.monotonic() - self.sent_s, chunk))
        elif "content-length" in reply.headers:
            reply.chunks.append((0.0, self._exactly(int(reply.headers["content-length"]))))
        return reply

    def head(self) -> Reply:
        """The status and the headers, their names in lower case."""
        lines = []
        while line := self._line():
            lines.append(line)
        match = re.fullmatch(r"HTTP/1\.1 ([1-5][0-9]{2})(?: .*)?", lines[0] if lines else "")
        if not match:
            raise ValueError(f"no HTTP/1.1 response: {lines[0][:80] if lines else 'nothing'}")
        pairs = (line.partition(":") for line in lines[1:])
        return Reply(int(match[1]), {name.lower(): value.strip() for name, _, value in pairs}, [])

    def chunk(self) -> bytes:
        """The next chunk, empty at the end of the body."""
        text = self._line().partition(";")[0]
        if not re.fullmatch(r"[0-9A-Fa-f]{1,8}", text):
            raise ValueError(f"no size of a chunk: {text[:40]!r}")
        data = self._exactly(int(text, 16))
        if self._line():
            raise ValueError("a chunk does not end where its size says")
        return data

    def end(self) -> None:
        """Raises ValueError where the server has not closed the connection."""
        if rest := self._rest or self._socket.recv(100):
            raise ValueError(f"{rest[:100]!r} in place of the end")

    def _line(self) -> str:
        while b"\r\n" not in self._rest:
            if len(self._rest) > _MAX_HEAD_BYTES:
                raise ValueError("a line without an end")
            self._more()
        line, _, self._rest = self._rest.partition(b"\r\n")
        return line.decode("latin-1")

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._more()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data

    def _more(self) -> None:
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise ConnectionError("the connection ended within a response")
        self._rest += piece


def curl(target: str, method: str = "GET", *options: str) -> str:
    words = " ".join(("-i", f"-X {method}", *options))
    return f"curl -sN -m5 {words} http://127.0.0.1:{PORT}{target}"


def check_paths(
    subject: Subject,
    server: Server,
    arguments: Sequence[str],
    uses: Sequence[tuple[str, str, int]],
    body: str = "",
) -> None:
    """Each of these methods and targets gets its status. `body`: what is sent with POST."""
    for method, target, status in uses[: 4 if subject.quick else None]:
        line = subject.served_by_hand(arguments, curl(target, method))
        with subject.expects("http-paths", f"{status} for {method} {target}", line):
            with server.connect() as connection:
                came = Client(connection).get(target, method, body if method == "POST" else "").status
            # `//` is no URL to the parsers of some libraries.
            if came != status and not (target == "//" and came == 400):
                raise ValueError(came)
        if "http-paths" in subject.broken:
            return
