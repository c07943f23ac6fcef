"""Programs that attack the probe, the run or each other: each is a mode of tests/fakes, and none may hang a
trial, forge a figure, or outlive its end (docs/RELIABILITY.md)."""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Any

import msgspec
import pytest

from ringside.errors import ProbeError
from ringside.measure.executor import LocalExecutor
from ringside.probe import orphans
from ringside.probe.protocol import (
    HttpRequest,
    LoadPlan,
    NamedLoad,
    Phase,
    Sample,
    Service,
    Started,
    Step,
    TrialMessage,
    TrialOutcome,
)
from tests.test_executor import outcome, request


def attack(how: str, **more: Any) -> list[TrialMessage]:
    changes = {key: more.pop(key) for key in ("cpus", "cgroup") if key in more}
    return LocalExecutor().trial(msgspec.structs.replace(request(how, **more), **changes))


def last(messages: list[TrialMessage]) -> TrialOutcome:
    (*_, final) = messages
    assert isinstance(final, TrialOutcome)
    return final


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("terminates-the-probe", "SIGTERM to the probe from process"),
        ("interrupts-the-probe", "SIGINT to the probe from process"),
        ("terminates-the-probe-and-ends", "SIGTERM to the probe from "),
        ("limits-the-probe", "the probe's limits were changed: file size"),
    ],
)
def test_interference_is_recorded_and_changes_nothing(how: str, text: str) -> None:
    final = last(attack(how))
    assert (final.outcome, final.detail) == ("ok", "")
    assert len(final.interference) == 1
    assert text in final.interference[0]


def test_an_honest_program_interferes_with_nothing() -> None:
    assert last(attack("good")).interference == ()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_a_probe_that_was_moved() -> None:
    assert last(attack("moves-the-probe")).interference == ("the probe was moved to other CPUs",)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize("how", ["takes-all-cpus", "takes-all-cpus-in-a-thread"])
def test_cpus_that_were_not_given(how: str) -> None:
    final = last(attack(how, cpus=(min(os.sched_getaffinity(0)),)))
    assert final.outcome == "wrong-evidence"
    assert "took other CPUs than the" in final.detail


def test_figures_cannot_be_forged() -> None:
    messages = attack("writes-to-the-probe")
    assert last(messages).outcome == "ok"
    assert [each.name for each in messages if isinstance(each, Phase)] == ["spawn", "relay"]
    messages = attack("reads-the-probes-memory")
    assert [each.name for each in messages if isinstance(each, Phase)] == ["spawn", "relay"]


def test_cpu_time_of_a_process_that_left_the_cgroup() -> None:
    messages = attack("leaves-its-cgroup")
    if not any(isinstance(each, Started) and each.cgroup for each in messages):
        pytest.skip("no cgroup can be made here")
    final = last(messages)
    assert final.outcome == "ok"
    assert final.cpu_source == "rusage"
    # It computes for 300 ms, of which a busy host may give it a part.
    assert (final.cpu_user_ns or 0) + (final.cpu_system_ns or 0) > 100_000_000
    assert "left the trial's cgroup" in final.interference[0]
    # The samples have it too.
    assert max(each.cpu_ns for each in messages if isinstance(each, Sample)) > 50_000_000


@pytest.mark.parametrize("how", ["stops-the-probe", "kills-the-probe"])
@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_a_probe_that_its_program_ends(how: str, cgroup: str) -> None:
    before = orphans.children()
    begun = time.monotonic()
    with pytest.raises(ProbeError, match="stopped by a signal" if "stops" in how else "without an outcome"):
        attack(how, cgroup=cgroup)
    # Not the wall limit, which is a minute.
    assert time.monotonic() - begun < 20
    assert orphans.children() <= before


@pytest.mark.parametrize(
    ("how", "detail"),
    [
        ("waits-unasked", "::await name='coffee' unasked"),
        ("waits-again", "::await name='spawned' once more"),
        ("prints-half-a-line", ""),
        ("prints-a-phase-without-time", ""),
        ("prints-no-number", ""),
        ("prints-a-huge-number", ""),
        ("prints-a-negative-time", ""),
        ("prints-an-unknown-word", ""),
        ("prints-a-million-characters", ""),
        ("prints-no-utf-8", ""),
        ("prints-escapes", ""),
        ("prints-a-result-before", ""),
        ("prints-another-result", ""),
        ("prints-other-lines", ""),
    ],
)
def test_lines_that_break_the_contract(how: str, detail: str) -> None:
    final = last(attack(how))
    assert final.outcome == "wrong-evidence", final
    assert detail in final.detail
    assert final.detail.isprintable()
    assert len(final.detail) < 500


@pytest.mark.parametrize(
    "how", ["hangs-at-once", "hangs-while-working", "hangs-after-its-result", "stops-itself"]
)
def test_a_program_that_hangs_at_any_place(how: str) -> None:
    assert last(attack(how, wall_s=1)).outcome == "timed-out"


@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_floods(cgroup: str) -> None:
    assert last(attack("forks-without-end", cgroup=cgroup)).outcome == "flooded"
    assert last(attack("floods-stderr", cgroup=cgroup)).outcome == "flooded"
    flooded = last(attack("starts-threads-without-end", cgroup=cgroup, threads=500))
    assert flooded.outcome == "flooded"
    assert "threads, the limit is 500" in flooded.detail


def served(script: str, requests: int = 1) -> TrialOutcome:
    """A server from a script, under a load of so many requests."""
    load = LoadPlan("http", requests=requests, timeout_s=2, request=HttpRequest(headers=(("Host", "here"),)))
    server = msgspec.structs.replace(
        request("good"),
        argv=(sys.executable, "-S", "-E", "-c", script),
        expect=None,
        service=Service(ready_s=10, idle_s=0.05, steps=(Step("only", (NamedLoad("all", load),)),)),
    )
    return last(LocalExecutor().trial(server))


def test_the_port_of_somebody_else() -> None:
    waits = "print('::ready port={}', flush=True)\nimport time; time.sleep(60)"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        foreign = served(waits.format(port))
        assert foreign.outcome == "wrong-evidence"
        assert foreign.detail == f"::ready names port {port}, which is another program's"
    nobody = served(waits.format(port))
    assert nobody.detail == f"::ready names port {port}, which has no listener on 127.0.0.1"


RESETS = """
import socket, struct
listener = socket.create_server(('127.0.0.1', 0))
print('::ready port=%d' % listener.getsockname()[1], flush=True)
count = 0
while True:
    client, _ = listener.accept()
    while client.recv(4096):
        count += 1
        if count % {every} == 0:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            break
        client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
    client.close()
"""


def test_requests_that_lose_their_connection() -> None:
    dropped = served(RESETS.format(every=50), 500)
    assert dropped.outcome == "load-failed"
    assert "lost their connection before the answer" in dropped.detail
    assert served(RESETS.format(every=10_000_000), 500).outcome == "ok"


def test_no_privileges_can_be_gained() -> None:
    script = "print([line for line in open('/proc/self/status') if line.startswith('NoNewPrivs')])"
    plain = msgspec.structs.replace(request("good"), argv=(sys.executable, "-c", script), expect=None)
    assert "NoNewPrivs:\\t1" in last(LocalExecutor().trial(plain)).stdout_tail
    # A command of the user's own may be anything.
    command = msgspec.structs.replace(plain, plain=True, awaits=())
    assert "NoNewPrivs:\\t0" in last(LocalExecutor().trial(command)).stdout_tail


def test_a_status_after_the_result() -> None:
    final = last(attack("ends-with-another-status"))
    assert (final.outcome, final.exit_status) == ("crashed", 7)


def test_a_program_may_leave_its_stdin_unread() -> None:
    assert outcome(request("never-reads-stdin")).outcome == "ok"
