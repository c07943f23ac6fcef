"""The lock that keeps two measurements apart."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringside.measure.exclusive import VARIABLE, alone

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
