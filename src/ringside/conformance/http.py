"""Shared by the rules of HTTP servers: a client, and examples of invalid requests."""

import re
import socket
import time
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException, parse_headers

from ringside.conformance.servers import Server
from ringside.conformance.subject import PORT, Subject

# A message that is early by less does not count as early.
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
    headers: Message
    chunks: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def body(self) -> str:
        return b"".join(chunk for _, chunk in self.chunks).decode(errors="replace")

    def __str__(self) -> str:
        return f"{self.status}, {self.headers.get('content-type', 'no type')}, {self.body[:200]!r}"


class Client:
    """Sends requests and reads responses. Raises ValueError for a response that is not HTTP/1.1."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._file = connection, connection.makefile("rb")
        self.sent_s = time.monotonic()

    def send(self, target: str = "/", method: str = "GET", body: str = "", **headers: str) -> None:
        if body:
            headers["Content_Length"] = str(len(body))
        named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.sent_s = time.monotonic()
        self._socket.sendall(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{named}\r\n{body}".encode())

    def send_in_pieces(self, target: str) -> None:
        for piece in ("GE", f"T {target} HTTP/1.1\r\nHos", "t: 127.0.0.1\r\nX-More: 1\r\n\r"):
            self._socket.sendall(piece.encode())
            time.sleep(0.05)
        # Due times count from the end of the request: no server can have read it earlier.
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
        elif length := reply.headers.get("content-length"):
            reply.chunks.append((0.0, self._exactly(int(length))))
        return reply

    def head(self) -> Reply:
        """The status and the headers."""
        line = self._file.readline(200)
        match = re.fullmatch(rb"HTTP/1\.1 ([1-5][0-9]{2})(?: .*)?\r\n", line)
        if not match:
            raise ValueError(f"no HTTP/1.1 response: {line[:80]!r}")
        try:
            return Reply(int(match[1]), parse_headers(self._file))
        except HTTPException as error:
            raise ValueError(str(error)) from error

    def chunk(self) -> bytes:
        """The next chunk, empty at the end of the body."""
        line = self._file.readline(200)
        match = re.fullmatch(rb"([0-9A-Fa-f]{1,8})(?:;.*)?\r\n", line)
        if not match:
            raise ValueError(f"no size of a chunk: {line[:40]!r}")
        data = self._exactly(int(match[1], 16))
        if self._exactly(2) != b"\r\n":
            raise ValueError("a chunk does not end where its size says")
        return data

    def end(self) -> None:
        """Raises ValueError if the server has not closed the connection."""
        if rest := self._file.read1(100):
            raise ValueError(f"{rest!r} in place of the end")

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise ConnectionError("the connection ended within a response")
        return data


def curl(target: str, method: str = "GET", *options: str) -> str:
    words = " ".join(("-i", f"-X {method}", *options))
    return f"curl -sN -m5 {words} http://127.0.0.1:{PORT}{target}"


def check_paths(subject: Subject, server: Server) -> None:
    """Each of the workload's methods and targets gets its status."""
    checks = subject.workload.checks
    for method, target, status, body in checks.paths[: 4 if subject.quick else None]:
        line = subject.served_by_hand(curl(target, method))
        with subject.expects("http-paths", f"{status} for {method} {target}", line):
            with server.connect() as connection:
                came = Client(connection).get(target, method, body).status
            # `//` is no URL to the parsers of some libraries.
            if came != status and not (target == "//" and came == 400):
                raise ValueError(came)
        if "http-paths" in subject.broken:
            return
