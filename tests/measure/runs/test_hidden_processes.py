"""/proc mounted with hidepid=2, where an ordinary user sees only processes that it may trace: figures are
right, or the trial says what is missing, and nothing is left running (docs/RELIABILITY.md)."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringside.errors import ProbeError
from ringside.probe.process import Probe
from ringside.probe.protocol import Sample, Started, TrialMessage
from tests.support.attacks import both_ways, has_own_namespaces, last, request
from tests.support.ordinary_user import readable_probe as readable_probe  # a fixture
from tests.support.ordinary_user import with_hidden_processes
from tests.support.processes import is_over

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount and become another user")

HIDDEN = "processes in /proc: hidepid hides those that may not be traced"
# Two processes that compute, some hundred milliseconds each.
WORKS = "work() { i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; }; work & work; wait"
WORKS_ON = "trap '' TERM; (while :; do :; done) & while :; do :; done"


@pytest.fixture
def unreadable_shell(readable_probe: str) -> Iterator[str]:
    """A shell that only root may read: the kernel lets nobody else trace it."""
    path = str(Path(readable_probe).with_name("unreadable-sh"))
    shutil.copy(shutil.which("sh") or "/bin/sh", path)
    os.chmod(path, 0o711)
    yield path
    for process in processes_of(path):
        os.kill(process, 9)


def processes_of(program: str) -> list[int]:
    pids = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}") and executable(pid) == program]


def executable(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def trial(probe: str, namespaces: str, shell: str, script: str, **limits: Any) -> list[TrialMessage]:
    program = (shell, "-c", script)
    made = request("good", argv=program, expect=None, awaits=(), namespaces=namespaces, **limits)
    return Probe(probe).trial(made)


def missing(messages: list[TrialMessage]) -> tuple[str, ...]:
    (started,) = (each for each in messages if isinstance(each, Started))
    return started.missing


def traced(probe: str, namespaces: str) -> list[Any]:
    messages = trial(probe, namespaces, "sh", WORKS)
    final = last(messages)
    cpu_ns = (final.cpu_user_ns or 0) + (final.cpu_system_ns or 0)
    sampled_ns = max(each.cpu_ns for each in messages if isinstance(each, Sample))
    shares = [sampled_ns / cpu_ns, final.peak_pss_bytes, final.peak_processes, final.left_behind]
    outcome = f"{final.outcome} {final.detail}".strip()
    return [outcome, has_own_namespaces(messages), HIDDEN in missing(messages), *shares]


@both_ways
def test_figures_of_a_program_that_can_be_traced(readable_probe: str, namespaces: str) -> None:
    seen = with_hidden_processes(traced, readable_probe, namespaces)
    outcome, is_own, is_missing, sampled, pss_bytes, processes, left = seen
    assert (outcome, processes, left) == ("ok", 2, 0)
    assert is_missing is not is_own
    assert 0.3 < sampled <= 1.01
    assert pss_bytes > 100_000


def untraced(probe: str, namespaces: str, shell: str) -> list[Any]:
    messages = trial(probe, namespaces, shell, WORKS)
    final = last(messages)
    cpu_s = ((final.cpu_user_ns or 0) + (final.cpu_system_ns or 0)) / 1e9
    is_said = HIDDEN in missing(messages)
    own = has_own_namespaces(messages)
    return [final.outcome, own, is_said, cpu_s, final.peak_pss_bytes, final.peak_processes]


@both_ways
def test_figures_of_an_untraced_program(readable_probe: str, unreadable_shell: str, namespaces: str) -> None:
    """CPU time is the kernel's account in any case; what samples have is missing where they see nothing."""
    seen = with_hidden_processes(untraced, readable_probe, namespaces, unreadable_shell)
    outcome, is_own, is_said, cpu_s, pss_bytes, processes = seen
    assert outcome == "ok"
    assert is_said is not is_own
    assert cpu_s > 0.1
    assert not pss_bytes
    assert processes == (2 if is_own else None)


def ended(probe: str, namespaces: str, shell: str) -> list[Any]:
    begun = time.monotonic()
    final = last(trial(probe, namespaces, shell, WORKS_ON, wall_s=1))
    return [final.outcome, final.detail, time.monotonic() - begun]


@both_ways
def test_an_unseen_program_is_ended(readable_probe: str, unreadable_shell: str, namespaces: str) -> None:
    outcome, detail, took_s = with_hidden_processes(ended, readable_probe, namespaces, unreadable_shell)
    assert outcome == "timed-out"
    assert "could not be ended" not in detail
    assert took_s < 9
    assert is_over(lambda: not processes_of(unreadable_shell), 5)


def stopped(probe: str, namespaces: str) -> list[Any]:
    begun = time.monotonic()
    try:
        final = last(trial(probe, namespaces, "sh", "kill -STOP $PPID; exit 0"))
    except ProbeError as error:
        return [str(error), time.monotonic() - begun]
    return [final.outcome, time.monotonic() - begun]


@both_ways
def test_a_probe_that_is_stopped_is_seen(readable_probe: str, namespaces: str) -> None:
    ending, took_s = with_hidden_processes(stopped, readable_probe, namespaces)
    assert ending == "ok" or "was stopped by a signal" in ending
    assert took_s < 20
