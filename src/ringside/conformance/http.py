"""The rules of servers of HTTP: `fanout` and `feed`."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from ringside.conformance.common import in_time, reason
from ringside.conformance.servers import Kind, Server, running
from ringside.conformance.shown import PORT, play, slow_client, upstream_url
from ringside.conformance.subject import Subject
from ringside.conformance.upstreams import Meeting, Upstream, nothing, says, whole
from ringside.measure.plain_server import free_port

_MAX_HEAD_BYTES = 1 << 16
_GRAIN_S = 0.002
_SUM = 45  # of the integers below 10
_ID = "one: 1/2"
_ID_HEADER = f"X-Request-Id: {_ID}"
_NONSENSE = (
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

    def send(self, target: str, method: str = "GET", **headers: str) -> None:
        """A request without a body."""
        named = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        self.sent_s = time.monotonic()
        self._socket.sendall(f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{named}\r\n".encode())

    def get(self, target: str = "/", method: str = "GET", **headers: str) -> Reply:
        """A request and its whole response."""
        self.send(target, method, **headers)
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


def _curl(target: str, method: str = "GET", *options: str) -> str:
    words = " ".join(("-i", f"-X {method}", *options))
    return f"curl -sN -m5 {words} http://127.0.0.1:{PORT}{target}"


def _paths(
    subject: Subject, server: Server, arguments: Sequence[str], uses: Sequence[tuple[str, str, int]]
) -> None:
    for method, target, status in uses[: 4 if subject.quick else None]:
        came: object
        try:
            with server.connect() as connection:
                came = Client(connection).get(target, method).status
        except (OSError, ValueError) as error:
            came = error
        if came != status:
            line = subject.served_by_hand(arguments, _curl(target, method))
            subject.report("http-paths", f"{status} for {method} {target}", came, line)
            return


# --- fanout ----------------------------------------------------------------------------------------

_SUMMING = ("port=0", "cores=1", "kind=cpu", "work=10")


def _sums(connection: socket.socket) -> None:
    reply = Client(connection).get()
    if reply.body != f"{_SUM}\n" * 3:
        raise ValueError(str(reply))


def _summing(subject: Subject, server: Server) -> None:
    line = subject.served_by_hand(_SUMMING, _curl("/"))
    expected = f"200, text/plain, chunked, three lines {_SUM}"
    try:
        with server.connect() as connection:
            client = Client(connection)
            reply = client.get("/?why=not")
            chunked = "chunked" in reply.headers.get("transfer-encoding", "")
            plain = reply.headers.get("content-type", "").startswith("text/plain")
            if reply.status != 200 or not (chunked and plain) or reply.body != f"{_SUM}\n" * 3:
                subject.report("fanout-body", expected, reply, line)
                return
            again = _second(client)
    except (OSError, ValueError) as error:
        subject.report("fanout-body", expected, error, line)
        return
    if again:
        line = subject.served_by_hand(_SUMMING, f"{_curl('/')} http://127.0.0.1:{PORT}/")
        subject.report("fanout-keep-alive", "an answer to a second request on a connection", again, line)


def _second(client: Client) -> str:
    """What is wrong with a second request on a connection."""
    try:
        reply = client.get()
    except (OSError, ValueError) as error:
        return reason(error)
    return "" if reply.body == f"{_SUM}\n" * 3 else str(reply)


def _other_paths(subject: Subject, server: Server) -> None:
    uses = [("GET", "/other", 404), ("DELETE", "/", 405), ("GET", "/other?q", 404), ("POST", "/", 405)]
    _paths(subject, server, _SUMMING, [*uses, ("PUT", "/other", 404)])


def _gateway(subject: Subject) -> None:
    """What a gateway does with its upstreams."""
    with ExitStack() as stack:
        meeting = Meeting(3, whole())
        three = [stack.enter_context(Upstream(meeting)) for _ in range(3)]
        arguments = _calling(three)
        reply, problem = _ask(subject, arguments, X_Request_Id=_ID)
        line = _called_by_hand(subject, ["meeting"] * 3, "io", client=_curl("/", "GET", f"-H '{_ID_HEADER}'"))
        if meeting.was_alone:
            expected = "three calls under way at one time"
            subject.report("fanout-overlap", expected, "one was answered before another began", line)
            return
        if problem or reply.status != 200 or not re.fullmatch(r"\.*200\.*200\.*200", reply.body):
            subject.report("fanout-body", "200 three times, and dots", reply, line)
            return
        ids = [re.findall(r"(?im)^X-Request-Id: *(.*?)\r?$", head) for up in three for head in up.heads]
        if ids != [[_ID]] * 3:
            subject.report("fanout-id", f"{_ID_HEADER} at each upstream", ids, line)
    if subject.quick:
        return
    _failures(subject)
    _ticks(subject)
    _mixed(subject)


def _closed_url() -> str:
    """The URL of a port on which nothing listens."""
    return f"http://127.0.0.1:{free_port()}/"


def _called_by_hand(
    subject: Subject, upstreams: Sequence[str], kind: str, *more: str, client: str = ""
) -> str:
    """A line for a shell: the upstreams, the gateway that calls them, and a client of it. `upstreams`: how
    each answers, see `shown.play`."""
    arguments = _calling([upstream_url(place) for place in range(len(upstreams))], kind, *more)
    return f"{play(upstreams)} & sleep 1; {subject.served_by_hand(arguments, client or _curl('/'))}"


def _calling(upstreams: Sequence[Upstream | str], kind: str = "io", *more: str) -> list[str]:
    urls = (each if isinstance(each, str) else each.url for each in upstreams)
    return ["port=0", "cores=1", f"kind={kind}", "upstreams=" + ",".join(urls), *more]


def _ask(subject: Subject, arguments: Sequence[str], **headers: str) -> tuple[Reply, str]:
    """The answer of a gateway, and what is wrong with it as HTTP."""
    try:
        with running(subject, *arguments) as server, server.connect() as connection:
            return Client(connection).get(**headers), ""
    except (OSError, ValueError) as error:
        problem = reason(error)
        return Reply(0, {}, [(0.0, problem.encode())]), problem


def _failures(subject: Subject) -> None:
    """One that refuses, one that breaks off, one that never answers."""
    begun = says("HTTP/1.1 200 Said\r\nContent-Length: 100\r\n\r\nnot all", goes_on=False)
    with Upstream(begun) as broken, Upstream(nothing) as silent:
        arguments = _calling([_closed_url(), broken, silent], "io", "timeout_ms=500")
        reply, problem = _ask(subject, arguments)
    if problem or reply.body.replace(".", "") != "400400400":
        line = _called_by_hand(subject, ["refuses", "breaks", "silent"], "io", "timeout_ms=500")
        subject.report("fanout-400", "400 three times", reply, line)


def _ticks(subject: Subject) -> None:
    with Upstream(whole(after_s=0.5)) as slow:
        arguments = _calling([slow] * 3, "io", "tick_ms=100")

        def attempt() -> str:
            reply, problem = _ask(subject, arguments)
            dots = [at_s for at_s, chunk in reply.chunks for byte in chunk if byte == ord(".")]
            early = any(at_s < (index + 1) * 0.1 - _GRAIN_S for index, at_s in enumerate(dots))
            return problem or ("" if 2 <= len(dots) <= 6 and not early else f"{reply}")

        if problem := in_time(attempt):
            line = _called_by_hand(subject, ["slow"] * 3, "io", "tick_ms=100")
            subject.report("fanout-ticks", "a dot each 100 ms, four of them in half a second", problem, line)


def _mixed(subject: Subject) -> None:
    with Upstream(whole()) as fine:
        arguments = _calling([fine] * 3, "mixed", "work=10")
        reply, problem = _ask(subject, arguments)
    if problem or reply.body.replace(".", "") != f"200:{_SUM}\n" * 3:
        line = _called_by_hand(subject, ["whole"] * 3, "mixed", "work=10")
        subject.report("fanout-body", f"three lines 200:{_SUM}", reply, line)


FANOUT = Kind(
    arguments=_SUMMING,
    bad=[
        ("port=0",),
        ("port=0", "kind=fast"),
        ("port=0", "kind=io"),
        ("port=0", "kind=cpu", "work=0"),
        ("port=abc", "kind=cpu"),
        ("port=0", "kind=io", "upstreams=http://127.0.0.1:1/"),
        ("port=0", "kind=cpu", "cores=0"),
        ("port=0", "kind=cpu", "tick_ms=0"),
    ],
    points=(
        ({"kind": "io", "requests": 6, "concurrency": 3}, 1),
        ({"kind": "cpu", "requests": 20, "concurrency": 4, "work": 5000}, 2),
        ({"kind": "mixed", "requests": 6, "concurrency": 3, "work": 5000}, 3),
    ),
    answers=_sums,
    ask=_curl("/"),
    nonsense=_NONSENSE,
    request=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    factor="concurrency",
    checks=(_summing, _other_paths),
    further=(_gateway,),
)

# --- feed ------------------------------------------------------------------------------------------

_INTERVAL_S = 0.1
_FEEDING = ("port=0", "cores=1", "interval_ms=100")
_FAST = ("port=0", "cores=1", "interval_ms=1")
# More than the kernel keeps for a connection whose client has small buffers: some 600 chunks, 3,000 with BBR.
_CHUNKS = 5000


def _welcome(connection: socket.socket) -> None:
    client = Client(connection)
    client.send("/test/5")
    reply = client.head()
    chunk = client.chunk()
    if reply.status != 200 or chunk != b"Welcome: 5\n":
        raise ValueError(f"{reply.status}, {chunk[:100]!r}")


def _messages(subject: Subject, server: Server) -> None:
    """The first messages of feeds with ids of all lengths."""
    for number in ("7", "00", "12345678901234567890"):
        line = subject.served_by_hand(_FEEDING, _curl(f"/test/{number}"))
        expected = [f"Welcome: {number}\n".encode()]
        expected += [f"Chunk {k} for {number}\n".encode() for k in range(1, 5)]
        try:
            with server.connect() as connection:
                client = Client(connection)
                client.send(f"/test/{number}")
                reply = client.head()
                chunks, early = [client.chunk()], ""
                for k in range(1, 5):
                    chunks.append(client.chunk())
                    after_s = time.monotonic() - client.sent_s
                    if after_s < k * _INTERVAL_S - _GRAIN_S:
                        early = early or f"chunk {k} after {after_s * 1000:.0f} ms"
        except (OSError, ValueError) as error:
            subject.report("feed-messages", "messages, each as one chunk", error, line)
            return
        plain = reply.headers.get("content-type", "").startswith("text/plain")
        if reply.status != 200 or not plain or chunks != expected:
            came = f"{reply.status}, {reply.headers.get('content-type')}, {chunks}"
            subject.report("feed-messages", f"200, text/plain, {expected}", came, line)
            return
        if early:
            subject.report("feed-due", "no chunk k before k intervals of 100 ms", early, line)
            return


def _feed_paths(subject: Subject, server: Server) -> None:
    uses = [("GET", "/", 404), ("POST", "/test/1", 405), ("GET", "/test/x1", 404), ("DELETE", "/test/1", 405)]
    longer = [("GET", "/test/", 404), ("GET", "/test/1/2", 404), ("GET", "/test/123456789012345678901", 404)]
    _paths(subject, server, _FEEDING, uses + longer)


def _slow_reader(subject: Subject) -> None:
    """A client that reads nothing, and another that goes on beside it; then the first gets all of its own."""
    line = subject.served_by_hand(_FAST, slow_client())
    problem = ""
    try:
        with running(subject, *_FAST) as server:
            read_slowly(server.port)
    except (OSError, ValueError) as error:
        problem = reason(error)
    if problem:
        expected = f"{_CHUNKS} chunks for another client meanwhile, and then for the one that did not read"
        subject.report("feed-slow", expected, problem, line)


def read_slowly(port: int) -> None:
    """Asks for two feeds, reads one to its end and then the other. Raises OSError or ValueError where either
    lacks a message."""
    name = "1" * 20
    with socket.socket() as slow, socket.create_connection(("127.0.0.1", port), timeout=10) as other:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        with suppress(OSError):
            slow.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 88)
        slow.settimeout(10)
        slow.connect(("127.0.0.1", port))
        first, second = Client(slow), Client(other)
        first.send(f"/test/{name}")
        second.send("/test/2")
        for client, number in ((second, "2"), (first, name)):
            client.head()
            for text in [f"Welcome: {number}\n"] + [
                f"Chunk {k} for {number}\n" for k in range(1, _CHUNKS + 1)
            ]:
                chunk = client.chunk()
                if chunk != text.encode():
                    raise ValueError(f"{chunk[:60]!r} in place of {text!r}")


FEED = Kind(
    arguments=_FEEDING,
    bad=[
        ("port=0", "interval_ms=0"),
        ("port=0", "interval_ms=x"),
        ("port=abc",),
        ("port=65536",),
        ("port=0", "cores=0"),
    ],
    points=(
        ({"connections": 20, "ramp": 200, "interval_ms": 200, "seconds": 1}, 1),
        ({"connections": 3, "ramp": 100, "interval_ms": 50, "seconds": 1}, 2),
    ),
    answers=_welcome,
    ask=_curl("/test/5"),
    nonsense=_NONSENSE,
    request=b"GET /test/5 HTTP/1.1\r\nHost: x\r\n\r\n",
    factor="connections",
    checks=(_messages, _feed_paths),
    further=(_slow_reader,),
)
