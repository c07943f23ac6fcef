"""Conformance of every contender that has the workload `feed` (docs/PROTOCOL.md), over real sockets.

Nothing here measures: a machine may stall for seconds, so only what comes too early or out of order fails.
"""

from __future__ import annotations

import http.client
import itertools
import resource
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contenders.test_ring import CATALOGUE
from tests.support import servers
from tests.support.servers import PATIENCE_S

CONTENDERS = servers.having("feed")
INTERVAL_S = 0.1
# A message may be seen by so much before it was due: the clock's grain, and the kernel's.
GRAIN_S = 0.002

every_contender = pytest.mark.parametrize("name", CONTENDERS)


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    port: int

    def connect(self, *, hold_little: bool = False) -> socket.socket:
        made = socket.socket()
        if hold_little:
            # The kernel takes some 600 messages of 40 bytes then, where it would be 50,000.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 88)
        made.settimeout(PATIENCE_S)
        made.connect(("127.0.0.1", self.port))
        return made

    def feed(self, number: int | str, *, hold_little: bool = False) -> Feed:
        found = Feed(self.connect(hold_little=hold_little))
        found.socket.sendall(b"GET /test/%s HTTP/1.1\r\nHost: here\r\n\r\n" % str(number).encode())
        return found

    def status(self, request: bytes) -> tuple[int, dict[str, str]]:
        with self.connect() as connection:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, {key.lower(): value for key, value in answer.getheaders()}

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


class Feed:
    """One answer that is held open."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.bytes = connection.makefile("rb")
        self.sent_s = time.monotonic()
        self.headers: dict[str, str] = {}

    def begin(self) -> str:
        """Reads the head; gives the first message."""
        status = self.bytes.readline()
        assert status.startswith(b"HTTP/1.1 200 "), status
        while (line := self.bytes.readline()) not in (b"\r\n", b""):
            key, _, value = line.decode().partition(":")
            self.headers[key.lower()] = value.strip().lower()
        return self.message()

    def message(self) -> str:
        """The next chunk, which is a whole message."""
        size = self.bytes.readline()
        assert size.endswith(b"\r\n"), size
        data = self.bytes.read(int(size, 16) + 2)
        assert data.endswith(b"\n\r\n"), data
        return data[:-3].decode()

    def close(self, *, reset: bool = False) -> None:
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.bytes.close()
        self.socket.close()


@contextmanager
def serving(name: str, interval_s: float = INTERVAL_S) -> Iterator[Server]:
    with servers.serving("feed", name, f"interval_ms={round(interval_s * 1000)}") as (process, port):
        yield Server(process, port)


@pytest.fixture(scope="module", params=CONTENDERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server for all tests that it has to survive."""
    with serving(request.param) as one:
        yield one


def goes_on(server: Server) -> bool:
    feed = server.feed(5)
    try:
        return [feed.begin(), feed.message()] == ["Welcome: 5", "Chunk 1 for 5"]
    finally:
        feed.close()


def test_messages_in_order_and_none_before_its_time(server: Server) -> None:
    feeds = [server.feed(number) for number in (7, 0, "00", "12345678901234567890")]
    names = ("7", "0", "00", "12345678901234567890")
    for feed, name in zip(feeds, names, strict=True):
        assert feed.begin() == f"Welcome: {name}"
        assert feed.headers["content-type"].startswith("text/plain")
        assert feed.headers["transfer-encoding"] == "chunked"
    for k in range(1, 8):
        for feed, name in zip(feeds, names, strict=True):
            assert feed.message() == f"Chunk {k} for {name}"
            assert time.monotonic() - feed.sent_s >= k * INTERVAL_S - GRAIN_S
    for feed in feeds:
        feed.close()


def test_a_request_in_pieces(server: Server) -> None:
    feed = Feed(server.connect())
    for piece in (b"GET /te", b"st/42 HTTP/1.1\r\nHost:", b" here\r\nX-More: 1\r\n\r", b"\n"):
        feed.socket.sendall(piece)
        time.sleep(0.05)
    assert feed.begin() == "Welcome: 42"
    feed.close()


@pytest.mark.parametrize(
    ("request_line", "statuses"),
    [
        ("GET / HTTP/1.1", {404}),
        ("GET /test/ HTTP/1.1", {404}),
        ("GET /test/x1 HTTP/1.1", {404}),
        ("GET /test/1/2 HTTP/1.1", {404}),
        ("GET /test/123456789012345678901 HTTP/1.1", {404}),
        ("GET /test/%D9%A3 HTTP/1.1", {404}),
        ("POST /test/1 HTTP/1.1", {405}),
        ("DELETE /test/1 HTTP/1.1", {405}),
    ],
)
def test_other_paths_and_methods(server: Server, request_line: str, statuses: set[int]) -> None:
    status, _ = server.status(f"{request_line}\r\nHost: here\r\nContent-Length: 0\r\n\r\n".encode())
    assert status in statuses
    assert goes_on(server)


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n", b"\0\xff" * 400, b"GET /test/1", b"x" * 70_000])
def test_what_is_no_request_harms_nobody(server: Server, sent: bytes) -> None:
    with server.connect() as connection, suppress(OSError):
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(1)
        connection.recv(1000)
    assert goes_on(server)


def test_what_goes_away_is_given_back(server: Server) -> None:
    assert goes_on(server)
    before = server.descriptors()
    feeds = [server.feed(number) for number in range(60)]
    for feed in feeds:
        feed.begin()
    # Some that went before may have been open still.
    assert server.descriptors() >= before + 50
    for number, feed in enumerate(feeds):
        feed.close(reset=number % 2 == 0)
    deadline = time.monotonic() + PATIENCE_S
    while server.descriptors() > before + 5 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert server.descriptors() <= before + 5


@every_contender
def test_who_does_not_read_holds_up_nobody_else_and_misses_nothing(name: str) -> None:
    with serving(name, 0.001) as server:
        name = "1" * 20
        slow, other = server.feed(name, hold_little=True), server.feed(2)
        assert slow.begin() == f"Welcome: {name}"
        assert other.begin() == "Welcome: 2"
        # More than what the kernel keeps.
        for k in range(1, 901):
            assert other.message() == f"Chunk {k} for 2"
        for k in range(1, 1001):
            assert slow.message() == f"Chunk {k} for {name}"
        slow.close()
        other.close()


@every_contender
def test_it_ends_with_feeds_open(name: str) -> None:
    with serving(name) as server, ExitStack() as stack:
        for number in range(100):
            feed = server.feed(number)
            stack.callback(feed.close)
            if number % 10 == 0:
                feed.begin()


@every_contender
def test_when_descriptors_run_out_the_feeds_that_are_open_go_on(name: str) -> None:
    with serving(name) as server, ExitStack() as stack:
        most = server.descriptors() + 40
        # Erlang knows its limit from the start: it is told by its own.
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (most, most))
        feeds = [server.feed(number) for number in range(20)]
        for feed in feeds:
            stack.callback(feed.close)
            feed.begin()
        crowd = [server.connect() for _ in range(80)]
        for connection in crowd:
            stack.callback(connection.close)
            connection.sendall(b"GET /test/9 HTTP/1.1\r\nHost: here\r\n\r\n")
        for k in range(1, 6):
            assert {feed.message() for feed in feeds} == {f"Chunk {k} for {n}" for n in range(20)}
        for connection in crowd:
            connection.close()
        # Now there is room again.
        deadline = time.monotonic() + PATIENCE_S
        for _ in itertools.count():
            with suppress(OSError, AssertionError):
                if goes_on(server):
                    break
            assert time.monotonic() < deadline


@every_contender
@pytest.mark.parametrize("bad", ["port=abc", "port=65536", "interval_ms=0", "interval_ms=x", "cores=0"])
@pytest.mark.soak
def test_a_bad_value_gets_status_2_and_one_line(name: str, bad: str) -> None:
    process = servers.start("feed", name, "port=0", "cores=1", bad)
    with servers.killed_at_last(process):
        output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, (output, errors)
    assert len(errors.decode().strip().splitlines()) == 1, errors
    assert b"::ready" not in output


@every_contender
@pytest.mark.soak
def test_thousands_of_feeds(name: str) -> None:
    """Ten thousand, where the host allows it: all are fed, and the server ends in time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    most = CATALOGUE.contender(name).workloads["feed"].most.get("connections", 10_000)
    count = min(most, 10_000, hard - 200)
    try:
        with serving(name, 5.0) as server, ExitStack() as stack:
            feeds = []
            for number in range(count):
                feed = server.feed(number)
                stack.callback(feed.close)
                feeds.append(feed)
            for number, feed in enumerate(feeds):
                assert feed.begin() == f"Welcome: {number}"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
