"""Locks by a file."""

import fcntl
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringside.files import FileLock, is_locked, whole_file


def test_one_has_it_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = FileLock(path), FileLock(path)
    assert not is_locked(path)
    assert not path.exists()
    assert first.acquire()
    assert first.acquire()
    assert is_locked(path)
    assert not second.acquire(0.1)
    first.release()
    assert second.acquire()
    second.release(removes=True)
    assert not path.exists()


def test_a_file_removed_as_it_was_opened_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder removes its file and gives it back, between the two calls of the next one: a third one makes
    the file anew, and only one of the two may have the lock."""
    path = tmp_path / "lock"
    holder, late, third = FileLock(path), FileLock(path), FileLock(path)
    assert holder.acquire()
    flock, made = fcntl.flock, []

    def flock_late(file: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        holder.release(removes=True)
        made.append(third.acquire())
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock_late)
    assert not late.acquire()
    assert made == [True]
    assert not third.is_lost()


def test_a_lock_is_lost_where_its_file_is_removed_or_replaced(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock, other = FileLock(path), FileLock(path)
    assert lock.is_lost()
    assert lock.acquire()
    assert not lock.is_lost()
    path.unlink()
    assert lock.is_lost()
    assert other.acquire()
    assert lock.is_lost()
    # A file that another process made anew stays.
    lock.release(removes=True)
    assert is_locked(path)


def test_a_lock_that_cannot_be_opened_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="."):
        FileLock(tmp_path / "none" / "lock").acquire()
    assert not is_locked(tmp_path / "none" / "lock")
    assert not is_locked(Path(os.devnull) / "lock")


def test_threads_that_write_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path, meet = tmp_path / "x", threading.Barrier(2, timeout=10)

    def write(text: str) -> None:
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
            meet.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["one", "two"]))
    assert path.read_text(encoding="utf-8") in ("one", "two")
    assert list(tmp_path.iterdir()) == [path]
