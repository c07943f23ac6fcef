"""Conformance of every contender that has the workload `fanout` (docs/PROTOCOL.md), over real sockets.

The upstreams are threads of the test. Nothing here measures: where time is the subject, a machine that
stalled gets another try, and the bounds are wide.
"""

from __future__ import annotations

import http.client
import itertools
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from ringside.measure.plain_server import free_port
from tests import servers
from tests.test_contenders import CATALOGUE

CONTENDERS = servers.having("fanout")
PATIENCE_S = servers.PATIENCE_S

# Their libraries send the head by itself, as their READMEs say.
HEAD_ALONE = ("c-microhttpd", "ruby-async")
# Their clients take a 103 for the answer, as their READMEs say.
NO_EARLY_HINTS = ("haskell",)

every_contender = pytest.mark.parametrize("name", CONTENDERS)


# --- the upstreams ------------------------------------------------------------------------------------------

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


# --- the gateway --------------------------------------------------------------------------------------------


@dataclass
class Gateway:
    process: subprocess.Popen[bytes]
    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def client(self) -> http.client.HTTPConnection:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        client.connect()
        return client

    def get(self, target: str = "/", **headers: str) -> Reply:
        client = self.client()
        try:
            return get(client, target, **headers)
        finally:
            client.close()


@dataclass
class Reply:
    status: int
    headers: http.client.HTTPMessage
    # When a piece came, in seconds since the request was sent, and the piece.
    pieces: list[tuple[float, str]]

    @property
    def body(self) -> str:
        return "".join(piece for _, piece in self.pieces)

    @property
    def statuses(self) -> str:
        return self.body.replace(".", "")

    def when(self, text: str) -> float:
        """When the body first held this text."""
        seen = ""
        for instant, piece in self.pieces:
            seen += piece
            if text in seen:
                return instant
        raise AssertionError(f"{text} is not in {self.body}")


def get(client: http.client.HTTPConnection, target: str = "/", method: str = "GET", **headers: str) -> Reply:
    start = time.monotonic()
    client.request(method, target, headers={key.replace("_", "-"): value for key, value in headers.items()})
    response = client.getresponse()
    pieces: list[tuple[float, str]] = []
    while piece := response.read1():
        pieces.append((time.monotonic() - start, piece.decode("latin-1")))
    response.close()
    return Reply(response.status, response.headers, pieces)


@contextmanager
def serving(name: str, *arguments: str) -> Iterator[Gateway]:
    """A gateway that must end well: in time, with status 0, and without having printed anything."""
    with servers.serving("fanout", name, *arguments) as (process, port):
        yield Gateway(process, port)


@pytest.fixture
def upstream() -> Iterator[Callable[..., Upstream]]:
    """Makes upstreams, and closes them."""
    with ExitStack() as stack:

        def make(answer: Answer, *, at_accept: bool = False) -> Upstream:
            made = Upstream(answer, at_accept=at_accept)
            stack.callback(made.close)
            return made

        yield make


Make = Callable[..., Upstream]


def io_of(*upstreams: Upstream | str) -> tuple[str, str]:
    urls = (one if isinstance(one, str) else one.url for one in upstreams)
    return "kind=io", "upstreams=" + ",".join(urls)


def on_a_good_day(attempt: Callable[[], None], tries: int = 20) -> None:
    """Time is the subject: the machine may have stalled."""
    for left in reversed(range(tries)):
        try:
            return attempt()
        except AssertionError:
            if not left:
                raise


# --- kind=io ------------------------------------------------------------------------------------------------


@every_contender
def test_the_statuses_of_three_upstreams(name: str, upstream: Make) -> None:
    fine = upstream(whole())
    with serving(name, *io_of(fine, fine, fine), "colour=red") as gateway:
        for target in ("/", "/?why=not"):
            reply = gateway.get(target)
            assert reply.status == 200
            assert reply.headers["Content-Type"].startswith("text/plain")
            assert reply.headers["Transfer-Encoding"] == "chunked"
            assert re.fullmatch(r"\.*200\.*200\.*200", reply.body), reply


@every_contender
@pytest.mark.soak
def test_the_three_calls_are_under_way_at_the_same_time(name: str, upstream: Make) -> None:
    meeting = threading.Barrier(3)

    def answer(connection: socket.socket) -> bool:
        meeting.wait(PATIENCE_S)
        return whole()(connection)

    three = [upstream(answer) for _ in range(3)]
    with serving(name, *io_of(*three), "timeout_ms=25000") as gateway:
        for _ in range(3):
            assert gateway.get().statuses == "200200200"
    # And when all three are one server.
    one = upstream(answer)
    with serving(name, *io_of(one, one, one), "timeout_ms=25000") as gateway:
        assert gateway.get().statuses == "200200200"


@every_contender
def test_the_request_and_its_id_reach_all_three(name: str, upstream: Make) -> None:
    three = [upstream(whole()) for _ in range(3)]
    urls = [one.url + path for one, path in zip(three, ("", "deep/path", "a?b=c"), strict=True)]
    with serving(name, *io_of(*urls)) as gateway:
        assert gateway.get(X_Request_Id="one: 1/2").statuses == "200200200"
        assert gateway.get().statuses == "200200200"
        assert gateway.get(x_REQUEST_id="three").statuses == "200200200"
    for one, path in zip(three, ("/", "/deep/path", "/a?b=c"), strict=True):
        assert [head.split("\r\n")[0] for head in one.heads] == [f"GET {path} HTTP/1.1"] * 3
        for head in one.heads:
            assert f"\r\nhost: 127.0.0.1:{one.port}\r\n" in head.lower()
        ids = [re.findall(r"(?im)^X-Request-Id: *(.*)\r$", head) for head in one.heads]
        assert ids == [["one: 1/2"], [], ["three"]]


@every_contender
@pytest.mark.soak
def test_statuses_are_sent_as_they_arrive(name: str, upstream: Make) -> None:
    three = [upstream(whole(201, 0.6)), upstream(whole(202)), upstream(whole(203, 0.3))]
    with serving(name, *io_of(*three)) as gateway:

        def attempt() -> None:
            reply = gateway.get()
            assert reply.statuses == "202203201", reply
            assert reply.when("202") < reply.when("203") - 0.15, reply
            assert reply.when("203") < reply.when("201") - 0.15, reply

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_a_dot_for_every_tick_in_which_nothing_was_written(name: str, upstream: Make) -> None:
    slow = upstream(whole(200, 1.0))
    with serving(name, *io_of(slow, slow, slow)) as gateway:

        def attempt() -> None:
            reply = gateway.get()
            assert re.fullmatch(r"\.+200\.*200\.*200", reply.body), reply
            instants = [instant for instant, piece in reply.pieces for dot in piece if dot == "."]
            # Never early, however slow the machine; in time, where the machine lets it.
            for index, instant in enumerate(instants, start=1):
                assert instant >= index * 0.05 - 0.002, reply
            gaps = [later - earlier for earlier, later in itertools.pairwise([0.0, *instants])]
            assert len(instants) >= 3, reply
            assert any(0.045 <= gap <= 0.08 for gap in gaps), reply

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_a_status_begins_a_new_tick(name: str, upstream: Make) -> None:
    three = [upstream(whole(201, 0.2)), upstream(whole(202, 0.4)), upstream(whole(203, 0.6))]
    with serving(name, *io_of(*three), "tick_ms=550") as gateway:

        def attempt() -> None:
            assert gateway.get().body == "201202203"

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_an_answer_counts_when_it_is_whole(name: str, upstream: Make) -> None:
    def late_body(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 201 Said\r\nContent-")
        time.sleep(0.2)
        connection.sendall(b"Length: 4\r\n\r\nfi")
        time.sleep(0.2)
        connection.sendall(b"ne")
        return True

    three = [upstream(late_body), upstream(whole(202)), upstream(whole(203, 0.1))]
    with serving(name, *io_of(*three)) as gateway:

        def attempt() -> None:
            reply = gateway.get()
            assert reply.statuses == "202203201", reply
            assert reply.when("203") < reply.when("201") - 0.1, reply

        on_a_good_day(attempt)


@every_contender
@pytest.mark.soak
def test_bodies_of_all_kinds(name: str, upstream: Make) -> None:
    large = upstream(whole(200, 0.0, "x" * 300_000))
    to_the_end = upstream(says("HTTP/1.0 200 Said\r\n\r\nuntil the end", goes_on=False))
    empty = upstream(says("HTTP/1.1 204 Said\r\n\r\n"))
    announced = upstream(
        says("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 Said\r\ncontent-length:0\r\n\r\n")
    )
    if name in NO_EARLY_HINTS:
        announced = upstream(whole(404))
    for three, expected in (
        ((large, to_the_end, upstream(chunked)), ["200", "200", "203"]),
        ((empty, announced, upstream(whole(503))), ["204", "404", "503"]),
    ):
        with serving(name, *io_of(*three)) as gateway:
            client = gateway.client()
            for _ in range(4):
                statuses = get(client).statuses
                assert sorted(re.findall("...", statuses)) == expected, statuses
            client.close()


@every_contender
@pytest.mark.soak
def test_a_redirect_is_a_status_like_any_other(name: str, upstream: Make) -> None:
    elsewhere = upstream(whole())
    redirect = upstream(
        says(f"HTTP/1.1 302 Said\r\nLocation: {elsewhere.url}\r\nContent-Length: 0\r\n\r\n", 0.0)
    )
    with serving(name, *io_of(redirect, redirect, redirect)) as gateway:
        assert gateway.get().statuses == "302302302"
    assert not elsewhere.heads


@every_contender
def test_an_upstream_that_fails_counts_as_400_and_the_gateway_goes_on(name: str, upstream: Make) -> None:
    fine = upstream(whole())
    begun = "HTTP/1.1 200 Said\r\n"
    # Refuses; hangs up; breaks off before the answer, in the head, in the body, in a chunk; speaks no HTTP.
    refuses = closed_port()
    hangs_up = upstream(lambda _: False, at_accept=True)
    silent = upstream(lambda _: False)
    in_the_head = upstream(says(f"{begun}Content-", goes_on=False))
    in_the_body = upstream(says(f"{begun}Content-Length: 100\r\n\r\nnot all", goes_on=False))
    in_a_chunk = upstream(says(f"{begun}Transfer-Encoding: chunked\r\n\r\n5\r\nhel", goes_on=False))
    foreign = upstream(garbage)
    for three, expected in (
        ((fine, refuses, fine), ["200", "200", "400"]),
        ((hangs_up, silent, in_the_head), ["400"] * 3),
        ((in_the_body, in_a_chunk, foreign), ["400"] * 3),
    ):
        with serving(name, *io_of(*three), "timeout_ms=3000") as gateway:
            for _ in range(2):
                statuses = gateway.get().statuses
                assert sorted(re.findall("...", statuses)) == expected, statuses


@every_contender
@pytest.mark.soak
def test_an_upstream_that_takes_too_long_counts_as_400(name: str, upstream: Make) -> None:
    def stops_in_the_body(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 Said\r\nContent-Length: 9\r\n\r\nfine")
        return nothing(connection)

    def dribbles(connection: socket.socket) -> bool:
        """Never silent for long, and never done: the time is that of the whole call."""
        connection.sendall(b"HTTP/1.1 200 Said\r\nContent-Length: 9000\r\n\r\n")
        while True:
            connection.sendall(b"x")
            time.sleep(0.05)

    three = [upstream(nothing), upstream(stops_in_the_body), upstream(dribbles)]
    with serving(name, *io_of(*three), "timeout_ms=400") as gateway:
        for _ in range(2):
            reply = gateway.get()
            assert reply.statuses == "400400400", reply
            assert reply.when("400") >= 0.39, reply
            assert "." in reply.body, reply


@every_contender
@pytest.mark.soak
def test_an_upstream_may_close_between_requests(name: str, upstream: Make) -> None:
    """A kept connection that turns out to be closed is no failure of the upstream."""
    fine = upstream(whole())
    with serving(name, *io_of(fine, fine, fine)) as gateway:
        client = gateway.client()
        for _ in range(3):
            assert get(client).statuses == "200200200"
            for connection in fine.connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            time.sleep(0.2)
        client.close()


# --- kind=cpu -----------------------------------------------------------------------------------------------


@every_contender
@pytest.mark.soak
def test_three_sums(name: str) -> None:
    for arguments, total in ((("work=10",), 45), ((), 4999950000), (("work=1",), 0)):
        with serving(name, "kind=cpu", *arguments) as gateway:
            client = gateway.client()
            for _ in range(2):
                reply = get(client)
                assert reply.status == 200
                assert reply.headers["Content-Type"].startswith("text/plain")
                assert reply.headers["Transfer-Encoding"] == "chunked"
                assert reply.body == f"{total}\n" * 3
            client.close()


@every_contender
@pytest.mark.soak
def test_many_sums_at_one_time(name: str) -> None:
    with serving(name, "kind=cpu", "work=20000", "cores=2") as gateway:
        clients = [gateway.client() for _ in range(30)]
        for client in clients:
            client.request("GET", "/")
        for client in clients:
            assert client.getresponse().read() == b"199990000\n" * 3
            client.close()


# --- kind=mixed ---------------------------------------------------------------------------------------------


@every_contender
def test_a_status_and_a_sum_of_each(name: str, upstream: Make) -> None:
    fine, refusing = upstream(whole()), closed_port()
    _, upstreams = io_of(fine, refusing, fine)
    with serving(name, "kind=mixed", upstreams, "work=10") as gateway:
        client = gateway.client()
        for _ in range(2):
            body = get(client).body
            assert sorted(body.replace(".", "").splitlines()) == ["200:45", "200:45", "400:45"], body
        client.close()


@every_contender
@pytest.mark.soak
def test_many_statuses_and_sums_at_one_time(name: str, upstream: Make) -> None:
    fine = upstream(whole(200, 0.05))
    _, upstreams = io_of(fine, fine, fine)
    with serving(name, "kind=mixed", upstreams, "work=2000", "cores=2") as gateway:
        clients = [gateway.client() for _ in range(30)]
        for client in clients:
            client.request("GET", "/")
        for client in clients:
            body = client.getresponse().read().decode()
            assert body.replace(".", "") == "200:1999000\n" * 3, body
            client.close()


@pytest.mark.parametrize("name", [name for name in CONTENDERS if name not in HEAD_ALONE])
def test_head_and_end_travel_with_the_body(name: str, upstream: Make) -> None:
    """The head comes with the first piece, the end with the last."""
    quick, slow = upstream(whole()), upstream(whole(200, 0.3))
    with serving(name, *io_of(quick, quick, slow), "tick_ms=60000") as gateway:

        def attempt() -> None:
            with gateway.connect() as connection:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                received = [connection.recv(65536)]
                while not received[-1].endswith(b"0\r\n\r\n"):
                    received.append(connection.recv(65536))
            # A size may have zeros in front.
            assert re.search(rb"\r\n\r\n0*(3\r\n200|6\r\n200200)\r\n", received[0])
            assert re.fullmatch(rb"0*3\r\n200\r\n0\r\n\r\n", received[-1])

        on_a_good_day(attempt)


# --- any server ---------------------------------------------------------------------------------------------


@every_contender
@pytest.mark.soak
def test_other_paths_and_methods(name: str) -> None:
    with serving(name, "kind=cpu", "work=3") as gateway:
        client = gateway.client()
        for method, target, status in (
            ("GET", "/other", 404),
            ("GET", "/other?q", 404),
            # No URL to Java's parser.
            ("GET", "//", 400 if name == "java-virtual-threads" else 404),
            ("DELETE", "/", 405),
            ("HEAD", "/", 405),
            ("GET", "/?q=/other", 200),
        ):
            assert get(client, target, method).status == status, (method, target)
        client.close()
        client = gateway.client()
        client.request("POST", "/", body=b"something")
        assert client.getresponse().status == 405
        client.close()
        assert gateway.get().status == 200


@every_contender
@pytest.mark.soak
def test_connections_are_kept(name: str, upstream: Make) -> None:
    fine = upstream(whole())
    with serving(name, *io_of(fine, fine, fine)) as gateway:
        client = gateway.client()
        kept = client.sock
        for _ in range(5):
            assert get(client).statuses == "200200200"
            assert client.sock is kept
        client.close()


@every_contender
@pytest.mark.soak
def test_requests_in_pieces_and_requests_together(name: str) -> None:
    with serving(name, "kind=cpu", "work=5") as gateway, gateway.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n"
        for piece in (request[:3], request[3:20], request[20:-1], request[-1:]):
            connection.sendall(piece)
            time.sleep(0.05)
        assert read_bodies(connection, 1) == ["10\n10\n10\n"]
        connection.sendall(request * 3)
        assert read_bodies(connection, 3) == ["10\n10\n10\n"] * 3


def read_bodies(connection: socket.socket, count: int) -> list[str]:
    """So many chunked answers, byte by byte: nothing of the next one is taken."""

    def line() -> bytes:
        found = b""
        while not found.endswith(b"\n"):
            byte = connection.recv(1)
            assert byte, found
            found += byte
        return found

    bodies = []
    for _ in range(count):
        assert read_head(line).startswith("HTTP/1.1 200 ")
        body = b""
        while size := int(line(), 16):
            body += b"".join(connection.recv(1) for _ in range(size))
            assert line() == b"\r\n"
        assert line() == b"\r\n"
        bodies.append(body.decode())
    return bodies


@every_contender
@pytest.mark.soak
def test_a_client_that_asks_for_the_end_gets_it(name: str) -> None:
    with serving(name, "kind=cpu", "work=5") as gateway, gateway.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
        assert read_bodies(connection, 1) == ["10\n10\n10\n"]
        assert connection.recv(1) == b""


@every_contender
@pytest.mark.soak
def test_what_is_no_request_harms_nobody(name: str) -> None:
    with serving(name, "kind=cpu", "work=5") as gateway:
        for text in (
            b"nonsense\r\n\r\n",
            b"\x00\x01\x02\xff\r\n\r\n",
            b"\r\n\r\n\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"GET / HTTP/1.1\r\nLong: " + b"x" * 200_000 + b"\r\n\r\n",
        ):
            with gateway.connect() as connection, suppress(OSError):
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
        assert gateway.get().body == "10\n10\n10\n"


@every_contender
@pytest.mark.soak
def test_clients_that_go_away(name: str, upstream: Make) -> None:
    slow = upstream(whole(200, 0.3))
    request = b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n"
    with serving(name, *io_of(slow, slow, slow)) as gateway, ExitStack() as stack:
        for index in range(24):
            connection = stack.enter_context(gateway.connect())
            kind = index % 4
            connection.sendall(request[:20] if kind == 3 else request * (40 if kind == 2 else 1))
            if kind == 0:
                time.sleep(0.07)
                connection.close()
            elif kind == 1:
                # Reset, in the middle of the answer.
                time.sleep(0.07)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
            # The others stay: one never reads its answers, one never ends its request.
        assert gateway.get().statuses == "200200200"
        time.sleep(0.5)
        assert gateway.get().statuses == "200200200"


@every_contender
@pytest.mark.soak
def test_a_thousand_connections(name: str, upstream: Make) -> None:
    most = CATALOGUE.contender(name).workloads["fanout"].most
    count = min(1000, *most.values()) if most else 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 5000:
        pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5000), hard))
    fine = upstream(whole())
    try:
        with serving(name, *io_of(fine, fine, fine), "timeout_ms=30000") as gateway, ExitStack() as stack:
            connections = [stack.enter_context(gateway.connect()) for _ in range(count)]
            for connection in connections:
                connection.sendall(b"GET /nowhere HTTP/1.1\r\nHost: gateway\r\n\r\n")
            for connection in connections:
                assert connection.recv(4096).startswith(b"HTTP/1.1 404 ")
            for connection in connections[::50]:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
            for connection in connections[::50]:
                assert connection.recv(4096).startswith(b"HTTP/1.1 ")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@every_contender
@pytest.mark.parametrize("how", ["SIGTERM", "the end of stdin"])
@pytest.mark.soak
def test_the_end_with_requests_under_way(name: str, how: str, upstream: Make) -> None:
    never = upstream(nothing)
    with serving(name, *io_of(never, never, never), "timeout_ms=60000") as gateway, ExitStack() as stack:
        for _ in range(3):
            connection = stack.enter_context(gateway.connect())
            connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
            # A dot, at least.
            assert connection.recv(1)
        if how == "SIGTERM":
            gateway.process.send_signal(signal.SIGTERM)
        else:
            assert gateway.process.stdin is not None
            gateway.process.stdin.close()
        servers.assert_ended_well(gateway.process)


@every_contender
@pytest.mark.soak
def test_the_end_with_sums_under_way(name: str) -> None:
    with serving(name, "kind=cpu", "work=1000000000") as gateway, gateway.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n")
        time.sleep(0.1)
        gateway.process.send_signal(signal.SIGTERM)
        servers.assert_ended_well(gateway.process)


@every_contender
@pytest.mark.soak
def test_it_listens_where_it_is_told(name: str) -> None:
    port = free_port()
    with serving(name, "kind=cpu", "work=2", f"port={port}") as gateway:
        assert gateway.port == port
        assert gateway.get().body == "1\n1\n1\n"


THREE = "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,http://127.0.0.1:9/"


@every_contender
@pytest.mark.parametrize(
    "bad",
    [
        [],
        ["kind=disk"],
        ["kind="],
        ["kind=io"],
        ["kind=io", "upstreams="],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/"],
        ["kind=io", THREE + ",http://127.0.0.1:9/"],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,https://127.0.0.1:9/"],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,nonsense"],
        ["kind=io", "upstreams=http://127.0.0.1:9/,http://127.0.0.1:9/,http://127.0.0.1:nine/"],
        ["kind=io", THREE, "tick_ms=0"],
        ["kind=io", THREE, "timeout_ms=soon"],
        ["kind=io", THREE, "tick_ms=-5"],
        ["kind=mixed"],
        ["kind=mixed", THREE, "work=0"],
        ["kind=cpu", "work=0"],
        ["kind=cpu", "work=1000000001"],
        ["kind=cpu", "work=ten"],
        ["kind=cpu", "port=65536"],
        ["kind=cpu", "port=http"],
        ["kind=cpu", "cores=0"],
    ],
    ids=" ".join,
)
@pytest.mark.soak
def test_a_bad_value_gets_status_2_and_one_line(name: str, bad: list[str]) -> None:
    process = servers.start("fanout", name, *bad)
    with servers.killed_at_last(process):
        stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 2, (stdout, stderr)
    assert stdout == b""
    assert len(stderr.decode().strip().splitlines()) == 1, stderr
