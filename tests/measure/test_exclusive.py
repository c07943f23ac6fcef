"""The lock that keeps two measurements apart."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.measure.exclusive import VARIABLE, MachineLock, alone
from ringside.store import Store
from tests.support.command_line import RINGSIDE

HOLDS = """
import sys, time
from ringside.measure.exclusive import alone
with alone(lambda: None):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "lock"))
    return tmp_path / "lock"


def test_nobody_waits_for_a_free_lock(lock: Path) -> None:
    waits: list[float] = []
    for _ in range(2):
        with alone(lambda: waits.append(time.monotonic())):
            assert lock.exists()
    assert not waits


def test_a_second_measurement_waits_for_the_first(lock: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdin
        assert other.stdout.readline() == b"held\n"
        waits: list[int] = []

        def end_other() -> None:
            waits.append(1)
            assert other.stdin
            other.stdin.close()

        with alone(end_other):
            assert waits == [1]
            assert other.wait(timeout=30) == 0


@pytest.mark.usefixtures("lock")
def test_the_second_of_two_runs_says_so_and_waits(
    workplace: Path, add_fake: Callable[..., None], add_experiment: Callable[..., None]
) -> None:
    add_fake("good")
    add_experiment("first", "good", blocks=30)
    add_experiment("second", "good")

    def words(name: str) -> list[str]:
        return [*RINGSIDE, "run", name, "--until", "end", "--store", f"{name}.sqlite"]

    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(words("first"), stdout=null, stderr=pipe, text=True) as first:
        assert first.stderr
        while "block 1 " not in (line := first.stderr.readline()):
            assert line, "the first run has ended"
        second = subprocess.run(words("second"), capture_output=True, text=True, timeout=120, check=False)
        first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 0), second.stderr
    assert "another ringside is measuring on this machine: waiting for its end" in second.stderr
    (before,) = Store(workplace / "first.sqlite").runs()
    after = Store(workplace / "second.sqlite")
    (run,) = after.runs()
    assert before.ended_at is not None
    assert min(trial.started_at for trial in after.trials(run)) >= before.ended_at


def test_a_lock_of_a_process_that_was_killed_is_free(lock: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        other.stdout.readline()
        other.kill()
        other.wait()
    waits: list[int] = []
    with alone(lambda: waits.append(1)):
        assert not waits


def test_without_a_place_for_the_lock_it_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/proc/no/such/folder/lock")
    with alone(lambda: None):
        pass


def test_who_cannot_wait_inside_takes_the_lock_or_not(lock: Path) -> None:
    with alone(lambda: None):
        assert not MachineLock().take()
    ours = MachineLock()
    assert ours.take()
    # It is held until it is gone.
    assert not MachineLock().take()
    waits: list[int] = []

    def give_back() -> None:
        nonlocal ours
        waits.append(1)
        del ours

    with alone(give_back):
        assert waits == [1]


def test_a_lock_that_cannot_be_made_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/proc/no/such/folder/lock")
    assert MachineLock().take()


def test_a_failure_inside_gives_the_lock_back(lock: Path) -> None:
    with pytest.raises(KeyboardInterrupt), alone(lambda: None):
        raise KeyboardInterrupt
    assert MachineLock().take()


@pytest.mark.parametrize("is_taken_first", [False, True])
def test_the_lock_is_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_taken_first: bool
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = tmp_path / f"ringside-{os.getuid()}.lock"
    if is_taken_first:
        assert MachineLock().take()
    else:
        with alone(lambda: None):
            pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(elsewhere))
    with alone(lambda: None):
        assert [file.name for file in elsewhere.iterdir()] == [path.name]
