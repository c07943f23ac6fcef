"""Trials by the real probe, of real programs that misbehave."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ringside.errors import ProbeError
from ringside.measure.host import Executor, off_contender_cpus
from ringside.probe import kernel
from ringside.probe.process import find_probe
from ringside.probe.protocol import Limits, Phase, Sample, Started, TrialOutcome, TrialRequest
from tests.support import probes
from tests.support.attacks import both_ways, last, request
from tests.support.errors import error_of
from tests.support.processes import is_over


def outcome(of: TrialRequest) -> TrialOutcome:
    return last(Executor().trial(of))


def processes_in(folder: Path) -> list[int]:
    """Processes that work in a folder. Their own numbers may be those of another namespace."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(entry / "cwd") == str(folder):
                pids.append(int(entry.name))
    return pids


def test_no_program_takes_less_time_than_its_only_thread_computes() -> None:
    """Its end and its start are each stamped when they are, however short it is."""
    executor = Executor()
    limits = Limits(wall_s=60, memory_bytes=2 << 30, output_bytes=1 << 20, processes=50)
    true = TrialRequest(argv=("/bin/true",), cwd="/", env={}, limits=limits)
    for _ in range(100):
        ended = last(executor.trial(true))
        cpu_ns = (ended.cpu_user_ns or 0) + (ended.cpu_system_ns or 0)
        # The two are from different clocks of the kernel.
        assert ended.wall_ns is not None
        assert ended.wall_ns + 20_000 >= cpu_ns > 0, ended


def test_a_good_program_is_ok_with_figures() -> None:
    messages = Executor().trial(request("good"))
    ended = last(messages)
    assert isinstance(messages[0], Started)
    assert (ended.outcome, ended.detail) == ("ok", "")
    assert (ended.cpu_user_ns or 0) + (ended.cpu_system_ns or 0) > 0
    assert None not in (ended.cpu_user_ns, ended.cpu_system_ns)
    assert ended.wall_ns
    marks = {message.mark: message for message in messages if isinstance(message, Sample) and message.mark}
    assert (marks["spawned"].pss_bytes or 0) > 1 << 20
    phases = {message.name: message.ns for message in messages if isinstance(message, Phase)}
    # On a busy host the relay takes longer than its round time.
    assert phases.keys() == {"spawn", "relay"}
    assert phases["spawn"] == 1000
    assert phases["relay"] >= 2000


@pytest.mark.parametrize("how", ["skips-a-unit", "reorders", "loses-a-message", "wrong-sum", "says-nothing"])
def test_wrong_evidence_has_no_place_among_the_figures(how: str) -> None:
    wrong = outcome(request(how))
    assert wrong.outcome == "wrong-evidence"
    assert wrong.detail


@pytest.mark.parametrize("cgroup", ["auto", "off"])
def test_what_outlives_a_program_does_not_touch_the_next_trial(tmp_path: Path, cgroup: str) -> None:
    """Linux 6.18 kills a process that is started in a cgroup in which others were killed before."""
    executor = Executor()
    daemon = request("daemonises", f"marker={tmp_path / 'pid'}", cgroup=cgroup)
    next_one = request("good", cgroup=cgroup)
    for trial in (daemon, next_one, daemon, next_one):
        assert last(executor.trial(trial)).outcome == "ok"


def test_ticks_come_while_a_trial_runs() -> None:
    ticks: list[float] = []
    Executor(on_tick=lambda: ticks.append(time.monotonic())).trial(request("hangs", wall_s=2))
    assert ticks


def stubborn(folder: Path, namespaces: str) -> TrialRequest:
    """A program that ignores all signals, and works in a folder."""
    text = "trap '' TERM INT; : > ready; while :; do sleep 1; done"
    return request("good", argv=("sh", "-c", text), cwd=str(folder), namespaces=namespaces)


@both_ways
def test_ctrl_c_ends_the_trial_and_the_probe_still_reports(tmp_path: Path, namespaces: str) -> None:
    executor = Executor()
    sender = probes.when((tmp_path / "ready").exists, signal.SIGINT)
    messages = executor.trial(stubborn(tmp_path, namespaces))
    sender.join()
    assert isinstance(messages[0], Started)
    assert last(messages).outcome == "interrupted"
    assert executor.probe.interrupted
    assert is_over(lambda: not processes_in(tmp_path))


@both_ways
@pytest.mark.parametrize("which", ["started", "parent of the program"])
def test_a_killed_probe_leaves_nothing_and_is_an_error(tmp_path: Path, namespaces: str, which: str) -> None:
    before = kernel.children()

    def kill() -> bool:
        if not (tmp_path / "ready").exists():
            return False
        parents = {int(kernel.fields_of(pid)[1]) for pid in processes_in(tmp_path)}
        (started,) = kernel.children() - before
        # In its own namespaces, the probe is another process than the one that was started.
        (inside,) = parents - set(processes_in(tmp_path))
        os.kill(started if which == "started" else inside, signal.SIGKILL)
        return True

    sender = probes.when(kill)
    assert "was killed (SIGKILL)" in error_of(ProbeError, Executor().trial, stubborn(tmp_path, namespaces))
    sender.join()
    assert is_over(lambda: not processes_in(tmp_path))
    assert kernel.children() <= before


def test_programs_begin_with_no_signal_ignored() -> None:
    """Whatever the probe ignores, or was started with; a shell would keep that."""
    ignored = signal.SIGUSR2
    before = signal.signal(ignored, signal.SIG_IGN)
    try:
        looking = TrialRequest(
            argv=("grep", "SigIgn", "/proc/self/status"),
            cwd="/",
            env={"PATH": os.environ["PATH"]},
            limits=Limits(wall_s=10, memory_bytes=1 << 30, output_bytes=1000, processes=10),
            plain=True,
        )
        assert outcome(looking).stdout_tail.split() == ["SigIgn:", "0" * 16]
    finally:
        signal.signal(ignored, before)


def test_an_unusable_request_is_refused_by_the_probe() -> None:
    done = subprocess.run([find_probe()], input=b"{}\n", capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stdout == b""
    assert len(done.stderr.decode().strip().splitlines()) == 1
    assert "without an outcome" in error_of(ProbeError, Executor().trial, request("good", version=99))


def test_cpus_for_the_contender_come_from_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 2, 3, 5})
    executor = Executor()
    assert executor.capacity().cpus == 4
    assert executor.cpus(1) == ((5,), (0, 2, 3))
    assert executor.cpus(4) == ((0, 2, 3, 5), ())


@pytest.mark.parametrize(("hard", "most"), [(4096, 4096), (resource.RLIM_INFINITY, sys.maxsize)])
def test_descriptors_are_of_the_hard_limit(monkeypatch: pytest.MonkeyPatch, hard: int, most: int) -> None:
    limits = {resource.RLIMIT_NOFILE: (1024, hard)}
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    assert Executor().capacity().descriptors == most


@pytest.mark.parametrize(("usable", "own"), [({0, 2, 3}, (0, 2)), ({3}, {3})])
def test_ringside_keeps_off_the_cpu_of_contenders_while_it_measures(
    monkeypatch: pytest.MonkeyPatch, usable: set[int], own: tuple[int, ...] | set[int]
) -> None:
    kept: list[tuple[int, object]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: usable)
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: kept.append((pid, cpus)))
    with off_contender_cpus(Executor()):
        assert kept == [(0, own)]
    # An executor that is built afterwards has all of them.
    assert kept[1:] == [(0, usable)]
