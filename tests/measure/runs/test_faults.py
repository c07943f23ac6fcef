"""Faults of the environment, had for real: each is one clear line, loses no finished trial, and the run can
be resumed (docs/RELIABILITY.md)."""

import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from ringside.errors import ProbeError
from ringside.measure.host import Executor
from ringside.probe.process import find_probe
from ringside.probe.protocol import Started, TrialRequest
from ringside.store import Store, database
from tests.support.attacks import request
from tests.support.command_line import RINGSIDE, in_process, ringside
from tests.support.fake_contenders import Add
from tests.support.processes import is_over, own_probes, processes_of
from tests.support.shells import can_mount, outcomes, shell
from tests.support.stored_trials import kept_runs
from tests.support.stores import sql
from tests.support.toolchains import script


@pytest.fixture
def place(workplace: Path, add_experiment: Add) -> Path:
    """A workplace with an experiment of two contenders, `mine`."""
    add_experiment("mine", "one", "two", blocks=8)
    return workplace


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.strip().splitlines()[-1]


# --- the store -------------------------------------------------------------------------------------


@pytest.mark.integration
@can_mount
def test_a_store_on_a_disk_that_is_only_read(place: Path) -> None:
    ringside("run", "mine", "--blocks", "1")
    done = shell(
        """
        mount --bind .ringside .ringside; mount -o remount,ro,bind .ringside
        ringside show --json; ringside list runs >/dev/null || exit 9
        ringside run mine; exit $?
        """,
        mounts=True,
    )
    assert done.returncode == 2, done
    assert outcomes(done.stdout) == {"one": {"ok": 1}, "two": {"ok": 1}}
    assert "name another one with --store" in last_line(done)


@pytest.mark.integration
def test_a_store_that_another_program_has_locked(place: Path) -> None:
    ringside("run", "mine", "--blocks", "1")
    with closing(sqlite3.connect(".ringside/ringside.sqlite", isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        done = ringside("run", "mine", "--blocks", "1", status=2)
        connection.execute("ROLLBACK")
    assert "database is locked; another program has it open" in last_line(done)
    ringside("run", "mine", "--blocks", "1")


@pytest.mark.integration
def test_a_limit_on_the_size_of_files(place: Path) -> None:
    done = shell("ulimit -f 200; ringside run mine --until end")
    assert done.returncode == 2, done
    assert "a limit on the size of files (ulimit -f) is reached" in last_line(done)
    ((run, state),) = kept_runs()
    assert state == "cut off"
    resumed = ringside("run", "--resume", run, "--json")
    assert outcomes(resumed.stdout) == {"one": {"ok": 8}, "two": {"ok": 8}}


def test_a_clock_that_is_stepped_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of a host cannot be stepped for a test: what reads it is replaced."""
    first = store.begin_run("e", 1, {}, {}, {})
    monkeypatch.setattr(database, "now", lambda: "2001-01-01T00:00:00.000+00:00")
    second = store.begin_run("e", 1, {}, {}, {})
    third = store.begin_run("e", 1, {}, {}, {})
    store.end_run(third)
    assert len({first.id, second.id, third.id}) == 3
    assert {run.id for run in store.runs()} == {first.id, second.id, third.id}
    assert store.run(third.id).ended_at


# --- descriptors, memory, streams ------------------------------------------------------------------


def test_too_few_descriptors(place: Path) -> None:
    done = shell("ulimit -n 6; ringside run mine --blocks 2")
    assert done.returncode == 2, done
    assert done.stderr == "ringside: only 6 files may be open at a time, and 64 are needed: ulimit -n 64\n"


def test_too_little_memory(place: Path) -> None:
    """Between this and enough, OpenBLAS ends the process with a line of its own."""
    done = shell("ulimit -v 60000; ringside run mine --blocks 1")
    assert done.returncode == 2, done
    assert last_line(done).startswith("ringside: ")


@pytest.mark.integration
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full", "<&- 2>/dev/full"])
def test_streams_that_are_closed_or_full(place: Path, closed: str) -> None:
    assert shell(f"ringside run mine --blocks 1 --until end {closed}").returncode == 0
    ((_, state),) = kept_runs()
    assert state == "done"
    store = ".ringside/ringside.sqlite"
    assert sql(store, "PRAGMA integrity_check") == [("ok",)]
    assert sql(store, "SELECT count(*) FROM trial") == [(2,)]


@pytest.mark.integration
def test_a_terminal_that_goes_away(place: Path, add_experiment: Add) -> None:
    add_experiment("long", "one", "two", blocks=200)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*RINGSIDE, "run", "long", "--until", "end"])
    try:
        assert is_over(lambda: bool(processes_of(place)), 60)
    finally:
        os.close(terminal)  # SIGHUP, and errors for whatever is written from here on.
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert not processes_of(place)
    ((run, state),) = kept_runs()
    assert state == "cut off"
    assert ringside("show", run, "--json", status=None).stdout


@pytest.mark.integration
def test_nohup_keeps_a_run_going(place: Path) -> None:
    process = subprocess.Popen(
        [*RINGSIDE, "run", "mine", "--blocks", "2", "--until", "end"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    assert is_over(lambda: bool(processes_of(place)), 60)
    process.send_signal(signal.SIGHUP)
    assert process.wait(120) == 0


# --- the kernel ------------------------------------------------------------------------------------


@can_mount
@pytest.mark.skipif(not Path("/sys/fs/cgroup").is_dir(), reason="no cgroups")
def test_cgroups_that_cannot_be_written(place: Path) -> None:
    script = """
        for each in $(awk '/ - cgroup/ { print $5 }' /proc/self/mountinfo); do
            mount -o remount,bind,ro "$each" || exit 9
        done
        ringside run mine --blocks 1 --json
    """
    done = shell(script, mounts=True)
    if done.returncode == 9:
        pytest.skip("cgroups cannot be mounted again")
    assert done.returncode == 0, done
    assert outcomes(done.stdout) == {"one": {"ok": 1}, "two": {"ok": 1}}
    (warning,) = [each for each in json.loads(done.stdout)["warnings"] if "cgroup" in each["text"]]
    assert "Read-only file system" in warning["text"]


@can_mount
def test_without_proc(place: Path) -> None:
    done = shell("mount -t tmpfs none /proc; ringside run mine --blocks 1 --until end --json", mounts=True)
    assert done.returncode == 0, done
    assert outcomes(done.stdout) == {"one": {"ok": 1}, "two": {"ok": 1}}


def test_a_cpu_that_is_not_there() -> None:
    with pytest.raises(ProbeError, match=r"cpus: \[1000\] cannot be used: Invalid argument"):
        Executor().trial(request("good", cpus=(1000,), cgroup="off"))


@pytest.fixture
def cpuset() -> Iterator[Path]:
    """A cpuset with all CPUs, from which one can be taken away. Left out where none can be had."""
    root = Path("/sys/fs/cgroup/cpuset")
    usable = sorted(os.sched_getaffinity(0))
    if not os.access(root / "cpuset.cpus", os.W_OK) or len(usable) < 2:
        pytest.skip("no cpuset can be had")
    folder = root / f"ringside-test-{os.getpid()}"
    folder.mkdir()
    (folder / "cpuset.mems").write_text((root / "cpuset.mems").read_text())
    (folder / "cpuset.cpus").write_text(",".join(map(str, usable)))
    yield folder
    assert is_over(lambda: not (folder / "cgroup.procs").read_text())
    folder.rmdir()


@pytest.mark.integration
@pytest.mark.parametrize("taken", [0, -1], ids=["the probe's", "the program's"])
def test_a_cpu_that_is_taken_away_during_a_run(cpuset: Path, place: Path, taken: int) -> None:
    """The system moves the threads, and not the program, which must not be blamed."""

    def enter() -> None:
        (cpuset / "cgroup.procs").write_text(str(os.getpid()))

    run = [*RINGSIDE, "run", "mine", "--until", "end"]
    with subprocess.Popen(
        run, preexec_fn=enter, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert is_over(lambda: bool(processes_of(place)), 60)
        usable = sorted(os.sched_getaffinity(0))
        lost = usable.pop(taken)
        (cpuset / "cpuset.cpus").write_text(",".join(map(str, usable)))
        _, complaint = process.communicate(timeout=120)
    last = complaint.decode().strip().splitlines()[-1]
    assert process.returncode == 2
    assert re.search(
        rf"cpus: \[{lost}\] cannot be used: .*; `ringside run --resume \S+` continues it", last
    ), last
    resume = ["run", "--resume", "latest"]
    done = subprocess.run([*RINGSIDE, *resume], preexec_fn=enter, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    everything = ",".join(map(str, sorted([*usable, lost])))
    assert f"began on another machine (cpus usable {everything}, here" in done.stderr
    # With the CPU again, all that is left is done.
    ringside(*resume)
    found = outcomes(ringside("show", "--json").stdout)
    assert {name for cell in found.values() for name in cell} <= {"ok", "probe-failed"}
    assert all(sum(cell.values()) == 8 for cell in found.values())


def test_the_cgroup_of_a_killed_probe_is_removed_by_the_next() -> None:
    """The cgroup of commands; each trial of a contender has its own."""
    executor = Executor()
    command = TrialRequest(("sleep", "0.1"), "/", {}, request("good").limits, plain=True)

    def cgroup() -> Path | None:
        messages = executor.trial(command)
        (path,) = [each.cgroup for each in messages if isinstance(each, Started)]
        return Path(path) if path else None

    before = own_probes()
    left = cgroup()
    if left is None:
        pytest.skip("no cgroup can be made here")
    (probe,) = own_probes() - before
    os.kill(probe, signal.SIGKILL)
    assert left.is_dir()
    assert cgroup() != left
    assert is_over(lambda: not left.is_dir())
    with suppress(OSError):
        executor.probe.close()


def test_a_probe_that_keeps_failing_ends_the_run_which_can_be_resumed(place: Path, tmp_path: Path) -> None:
    """It dies in the third to the fifth trial; each trial gets a process of its own."""
    failing = f"""case "$1" in --*) exec {find_probe()} "$@";; esac
echo >> {tmp_path}/trials
case $(wc -l < {tmp_path}/trials) in [345]) echo 'out of paint' >&2; exit 3;; esac
head -n 1 | {find_probe()}"""
    probe = script(tmp_path / "probe", failing)
    words = ("run", "mine", "--only", "one", "--blocks", "4", "--until", "end")
    done = in_process(*words, status=2, RINGSIDE_PROBE=str(probe))
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert "the probe failed 2 times in a row, last: the probe ended without an outcome: out of paint" in last
    (resume,) = re.findall(r"`ringside run --resume (\S+)` continues it", last)
    assert kept_runs() == [(resume, "cut off")]
    assert outcomes(in_process("show", resume, "--json").stdout) == {"one": {"ok": 1, "probe-failed": 2}}
    assert outcomes(in_process("run", "--resume", resume, "--json").stdout)["one"]["ok"] == 4
    assert kept_runs() == [(resume, "done")]
