"""Conformance of every contender that has the workload `fib` (docs/PROTOCOL.md), over real sockets.

Nothing here measures: the bounds are wide, since a machine may stall for seconds.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

import pytest

from ringside.conformance.subject import alive_in_session
from ringside.measure.plain_server import free_port
from tests.contenders.test_ring import CATALOGUE
from tests.support import servers

CONTENDERS = servers.having("fib")
ONE_AT_A_TIME = [
    name for name in CONTENDERS if CATALOGUE.contender(name).workloads["fib"].most.get("clients") == 1
]
POOLS = [
    name
    for name in CONTENDERS
    if name.partition("@")[0] in ("python-pool", "python-coroutines", "python-asyncio-pool")
]
# PyPy looks for signals, and lets another thread run, where a loop goes round; compiled recursion has no
# loop (its issue 1841). Where the program that serves computes by itself, its end may have to wait.
HARD_TO_INTERRUPT = [
    name
    for name in CONTENDERS
    if name.endswith("@pypy") and name not in POOLS and name != "python-processes@pypy"
]
PATIENCE_S = 30.0
END_S = 30.0
ENOUGH_BYTES = 8 << 20
# Computing it takes hours: whoever was asked for it is at work.
LONG = b"90\n"
NO_REQUESTS = [
    *(b"0", b"91", b"100", b"", b"+5", b"-1", b" 5", b"5 ", b"5\r", b"5\0", b"abc", b"5x", b"1.5", b"1e1"),
    *(b"0x10", b"1_0", b"\xff\xfe", b"%d" % (2**32 + 5), b"%d" % (2**64 + 5), b"9" * 99, b"x" * 99),
    *("\u0663".encode(), "\uff15".encode()),  # digits, but not ASCII's
]

every_contender = pytest.mark.parametrize("name", CONTENDERS)


class Client:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = self.socket.makefile("rb")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.lines.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def line(self) -> bytes:
        return self.lines.readline()

    def ask(self, data: bytes) -> bytes:
        self.send(data)
        return self.line()

    def is_silent(self, for_s: float = 0.2) -> bool:
        return not select.select([self.socket], [], [], for_s)[0]

    def at_end(self) -> bool:
        """Whether the server closes the connection and sends nothing more."""
        try:
            return self.lines.read() == b""
        except ConnectionResetError:  # It had not read all that we sent.
            return True

    def reset(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.__exit__()


@dataclass
class Server:
    name: str
    process: subprocess.Popen[bytes]
    port: int = 0

    @property
    def serves_many(self) -> bool:
        return self.name not in ONE_AT_A_TIME

    def client(self) -> Client:
        return Client(self.port)

    def answers(self) -> bool:
        with self.client() as client:
            return client.ask(b"10\n") == b"55\n"

    def others(self) -> list[int]:
        """The processes besides the first one, whatever started them."""
        return [pid for pid in alive_in_session(self.process.pid) if pid != self.process.pid]

    def end(self, how: str = "SIGTERM") -> None:
        """The server ends as it should, leaves nothing behind and has printed nothing."""
        assert self.process.poll() is None, self.process.communicate()
        if how == "SIGTERM":
            self.process.send_signal(signal.SIGTERM)
        else:
            assert self.process.stdin is not None
            self.process.stdin.close()
        assert self.process.wait(END_S) == 0
        deadline = time.monotonic() + 1
        while (left := alive_in_session(self.process.pid)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not left
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        assert self.process.stdout.read() == b""
        assert self.process.stderr.read() == b""


@contextmanager
def running(name: str, port: int = 0, cores: int = 1) -> Iterator[Server]:
    arguments = (f"port={port}", f"cores={cores}", "seed=7", "colour=red")
    process = servers.start("fib", name, *arguments, cores=cores)
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], PATIENCE_S)[0], "no `::ready`"
        line = process.stdout.readline()
        assert line.startswith(b"::ready port="), (line, process.stderr and process.stderr.read())
        yield Server(name, process, int(line.strip().partition(b"=")[2]))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


@pytest.fixture(scope="module", params=CONTENDERS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server for all tests that it has to survive."""
    with running(request.param) as one:
        yield one
        one.end()


def fib(n: int) -> bytes:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return b"%d\n" % a


def test_answers_are_right(server: Server) -> None:
    with server.client() as client:
        for n in [*range(1, 19), 22]:
            assert client.ask(b"%d\n" % n) == fib(n)


def test_anything_else_gets_an_error_and_the_connection_stays(server: Server) -> None:
    with server.client() as client:
        for request in NO_REQUESTS:
            assert client.ask(request + b"\n").startswith(b"error: "), request
        assert client.ask(b"10\n") == b"55\n"


def test_a_request_in_pieces_is_answered_when_its_newline_is_there(server: Server) -> None:
    with server.client() as client:
        for piece in (b"1", b"0"):
            client.send(piece)
            assert client.is_silent()
        assert client.ask(b"\n2") == b"55\n"
        assert client.is_silent()
        assert client.ask(b"0\n") == b"6765\n"


def test_requests_that_arrive_together_are_answered_in_order(server: Server) -> None:
    with server.client() as client:
        asked = [n % 15 for n in range(600)]
        client.send(b"".join(b"%d\n" % n for n in asked))
        for n in asked:
            line = client.line()
            assert line == fib(n) if n else line.startswith(b"error: ")


@pytest.mark.parametrize("rest", [b"", b"\n", b"x" * 50, b"x" * 50 + b"\n10\n"])
@pytest.mark.soak
def test_a_hundred_bytes_without_a_newline_get_an_error_and_the_end(server: Server, rest: bytes) -> None:
    with server.client() as client:
        assert client.ask(b"10\n" + b"1" * 100 + rest) == b"55\n"
        assert client.line().startswith(b"error: ")
        assert client.at_end()


@pytest.mark.soak
def test_the_hundredth_byte_may_come_later(server: Server) -> None:
    with server.client() as client:
        client.send(b"1" * 60)
        assert client.is_silent()
        client.send(b"1" * 39)
        assert client.is_silent()
        assert client.ask(b"1").startswith(b"error: ")
        assert client.at_end()


@pytest.mark.soak
def test_a_client_that_has_sent_everything_gets_its_answers(server: Server) -> None:
    with server.client() as client:
        client.send(b"10\n0\n20\n1")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.line() == b"55\n"
        assert client.line().startswith(b"error: ")
        assert client.line() == b"6765\n"
        assert client.at_end()


@pytest.mark.parametrize("sent", [b"", b"1", b"20\n", b"20\n" * 300, b"1" * 100])
@pytest.mark.soak
def test_a_client_that_resets_takes_nothing_with_it(server: Server, sent: bytes) -> None:
    for pause_s in (0.0, 0.02):
        client = server.client()
        client.send(sent)
        time.sleep(pause_s)
        client.reset()
    assert server.answers()


@pytest.mark.soak
def test_a_client_that_never_reads_takes_nothing_with_it(server: Server) -> None:
    with server.client() as client:
        client.socket.setblocking(False)
        sent, give_up = 0, time.monotonic() + 5
        while sent < ENOUGH_BYTES and time.monotonic() < give_up:
            if not select.select([], [client.socket], [], 0.5)[1]:
                break  # The server does not read on, as it should.
            with suppress(BlockingIOError):
                sent += client.socket.send(b"1\n" * 5000)
        if server.serves_many:
            assert server.answers()
    assert server.answers()


@pytest.mark.soak
def test_many_connections_at_one_time(server: Server) -> None:
    if not server.serves_many:
        pytest.skip("serves one at a time")
    with ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for _ in range(200)]
        for _ in range(2):
            for n, client in enumerate(reversed(clients)):
                client.send(b"%d\n" % (1 + n % 16))
            for n, client in enumerate(reversed(clients)):
                assert client.line() == fib(1 + n % 16)


@pytest.mark.soak
def test_who_serves_one_at_a_time_lets_the_others_wait(server: Server) -> None:
    if server.serves_many:
        pytest.skip("serves many at a time")
    with ExitStack() as stack:
        with server.client() as first:
            assert first.ask(b"10\n") == b"55\n"
            waiting = [stack.enter_context(server.client()) for _ in range(127)]
            for client in waiting:
                client.send(b"20\n")
            assert waiting[0].is_silent()
            assert first.ask(b"11\n") == b"89\n"
        for client in waiting:
            assert client.line() == b"6765\n"
            client.__exit__()


@every_contender
@pytest.mark.parametrize("how", ["SIGTERM", "stdin"])
@pytest.mark.soak
def test_it_ends_with_connections_open_and_in_the_middle_of_a_computation(name: str, how: str) -> None:
    port = free_port()
    with running(name, port) as server, ExitStack() as stack:
        assert server.port == port
        clients = [stack.enter_context(server.client()) for _ in range(20 if server.serves_many else 1)]
        assert clients[0].ask(b"10\n") == b"55\n"
        if name not in HARD_TO_INTERRUPT:
            for client, request in zip(reversed(clients), [LONG, LONG * 3, b"5"], strict=False):
                client.send(request)
        time.sleep(0.1)
        server.end(how)
        for client in clients:
            assert client.at_end()


@every_contender
@pytest.mark.parametrize("bad", ["port=abc", "port=65536", "port=", "cores=0"])
@pytest.mark.soak
def test_a_bad_value_gets_status_2_and_one_line(name: str, bad: str) -> None:
    process = servers.start("fib", name, "port=0", "cores=1", bad)
    output, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, (output, errors)
    assert len(errors.decode().strip().splitlines()) == 1, errors
    assert b"::ready" not in output


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.soak
def test_a_pool_is_there_from_the_beginning_and_survives_the_death_of_a_worker(name: str) -> None:
    with running(name, cores=2) as server, ExitStack() as stack:
        assert len(server.others()) == 2
        victim, witness = (stack.enter_context(server.client()) for _ in range(2))
        assert witness.ask(b"10\n") == b"55\n"
        for _ in range(2):
            victim.send(LONG)
            time.sleep(0.2)
            for pid in server.others():
                os.kill(pid, signal.SIGKILL)
            assert victim.line().startswith(b"error: ")
            assert witness.ask(b"10\n") == b"55\n"
            assert victim.ask(b"11\n") == b"89\n"
        # The new workers, too, are no reason for a connection to stay open.
        assert witness.ask(b"1" * 100).startswith(b"error: ")
        assert witness.at_end()
        assert len(server.others()) == 2
        server.end()
