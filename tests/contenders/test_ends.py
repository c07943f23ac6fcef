"""Ways to end a program, or a part of it: SIGTERM and the end of stdin in the middle of a computation, and
the death of a worker."""

import os
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ringside.conformance.servers import Server, running
from ringside.conformance.subject import alive_in_session
from ringside.workloads.batch.workload import BATCH
from ringside.workloads.fanout.check import Upstream, reads
from tests.support.processes import is_over
from tests.support.programs import descendants, having, kill_a_worker, point, subject

END_S = 30.0
POOLS = ("python-pool", "python-coroutines", "python-asyncio-pool")
# PyPy looks for signals, and lets another thread run, where a loop goes round; compiled recursion has no
# loop (its issue 1841). Where the program that serves computes by itself, its end may have to wait.
HARD_TO_INTERRUPT = [
    name
    for name in having("fib")
    if name.endswith("@pypy") and name.partition("@")[0] not in (*POOLS, "python-processes")
]
GET = b"GET / HTTP/1.1\r\nHost: gateway\r\n\r\n"
# Computing it takes hours.
LONG = b"90\n"
# The workload, its arguments, and what clients send that is not answered soon.
BUSY = {
    "recursion": ("fib", (), (LONG, LONG * 3, b"5")),
    "sums": ("fanout", ("kind=cpu", "work=1000000000"), (GET,)),
    "calls": ("fanout", ("kind=io", "timeout_ms=60000"), (GET, GET, GET)),
}


def assert_ended(server: Server) -> None:
    """With status 0, without output, and with nothing left behind."""
    output, errors = server.process.communicate(timeout=END_S)
    assert (server.process.returncode, output, errors) == (0, b"", b"")
    assert is_over(lambda: not alive_in_session(server.process.pid), 1)


@pytest.mark.soak
@pytest.mark.parametrize("how", ["SIGTERM", "the end of stdin"])
@pytest.mark.parametrize(
    ("busy", "name"),
    [
        (busy, name)
        for busy, (workload, *_) in BUSY.items()
        for name in having(workload)
        if busy != "recursion" or name not in HARD_TO_INTERRUPT
    ],
)
def test_a_server_ends_in_the_middle_of_its_work(busy: str, name: str, how: str, tmp_path: Path) -> None:
    workload, arguments, requests = BUSY[busy]
    with ExitStack() as stack:
        never = stack.enter_context(Upstream(reads))
        words = [*arguments, f"upstreams={','.join([never.url] * 3)}"]
        server = stack.enter_context(running(subject(name, workload, tmp_path), "port=0", "cores=1", *words))
        for request in requests:
            stack.enter_context(server.connect()).sendall(request)
        time.sleep(0.2)
        if how == "SIGTERM":
            server.process.send_signal(signal.SIGTERM)
        else:
            server.process.stdin.close()
            server.process.stdin = None
        assert_ended(server)


WORKERS = ("python-processes", "parallel-python", "python-asyncio", "python-trio", "gevent")
# Some seconds of work.
MUCH: dict[str, Sequence[str]] = {
    "batch": ("cores=2",),
    "jobs": ("jobs=200", "kind=cpu", "rounds=3000000", "workers=2", "cores=2"),
}


@pytest.mark.parametrize(
    ("workload", "name"),
    [(each, name) for each in MUCH for name in having(each) if name.partition("@")[0] in WORKERS],
)
def test_the_death_of_a_worker_ends_a_program_with_one_line(workload: str, name: str, tmp_path: Path) -> None:
    program = subject(name, workload, tmp_path)
    words = list(MUCH[workload])
    if workload == "batch":
        words.append(f"input={program.inputs.get(BATCH.input(point(workload, cases=30_000))).path}")
    with program.started(*words) as process:
        kill_a_worker(process)
        _, errors = process.communicate(timeout=END_S)
        assert process.returncode == 1, errors
        assert len(errors.decode().strip().splitlines()) == 1, errors
        assert not alive_in_session(process.pid)


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in having("fib") if name.partition("@")[0] in POOLS])
def test_a_pool_is_there_from_the_start_and_survives_the_death_of_a_worker(name: str, tmp_path: Path) -> None:
    with running(subject(name, "fib", tmp_path), "port=0", "cores=2") as server, ExitStack() as stack:
        assert len(descendants(server.process.pid)) == 2
        victim, witness = (stack.enter_context(server.connect()) for _ in range(2))
        assert ask(witness, b"10\n") == b"55\n"
        for _ in range(2):
            victim.sendall(LONG)
            time.sleep(0.2)
            for pid in descendants(server.process.pid):
                os.kill(pid, signal.SIGKILL)
            assert ask(victim, b"").startswith(b"error: ")
            assert ask(witness, b"10\n") == b"55\n"
            assert ask(victim, b"11\n") == b"89\n"
        # The new workers, too, are no reason for a connection to stay open.
        assert ask(witness, b"1" * 100).startswith(b"error: ")
        assert witness.recv(100) == b""
        assert len(descendants(server.process.pid)) == 2
        server.process.send_signal(signal.SIGTERM)
        assert_ended(server)


def ask(connection: socket.socket, request: bytes) -> bytes:
    connection.sendall(request)
    with closing(connection.makefile("rb", buffering=0)) as lines:
        return lines.readline()
