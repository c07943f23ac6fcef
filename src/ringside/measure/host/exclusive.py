"""One measurement at a time: two on one machine would disturb each other's figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

# Another place for the lock: whoever gives each run its own CPUs may let several go on at once.
VARIABLE = "RINGSIDE_LOCK"
# The same for all processes of a user, whatever their environment: a desktop and cron have different folders
# for temporary files, and one lock.
_FOLDER = Path("/tmp")
_POLL_S = 0.5


class MachineLock:
    """This user's lock of the machine."""

    def __init__(self) -> None:
        named = os.environ.get(VARIABLE)
        path = Path(named) if named else _FOLDER / f"ringside-{os.getuid()}.lock"
        self._lock = filelock.FileLock(path, mode=0o600)

    def take(self) -> bool:
        """Whether the lock is ours now; True, too, where it cannot be made: that is no reason not to
        measure."""
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        except OSError:
            return True
        return True

    def wait(self) -> None:
        """Take the lock when it is free."""
        self._lock.acquire(poll_interval=_POLL_S)

    def is_of_ancestor(self) -> bool:
        """Whether a process that waits for this one's end has it: to wait for it would be for ever."""
        try:
            inode = os.stat(self._lock.lock_file).st_ino
            rows = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
        except (OSError, ValueError):
            return False
        # `1: FLOCK ADVISORY WRITE pid device:inode 0 EOF`; who waits has an arrow behind the number.
        holders = {row[4] for row in rows if row[1] == "FLOCK" and row[5].endswith(f":{inode}")}
        return not holders.isdisjoint(_ancestors())

    def release(self) -> None:
        self._lock.release()


def _ancestors() -> Iterator[str]:
    pid = str(os.getppid())
    while pid.strip("0"):
        yield pid
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return
        pid = status.partition("\nPPid:")[2].split("\n")[0].strip()


@contextmanager
def alone(on_busy: Callable[[], None], *, waits: bool = True) -> Iterator[None]:
    """Hold this user's lock of the machine. Where another process has it, call `on_busy` and wait for it, or
    go on without it; also where an ancestor has it, as in `ringside vs "ringside vs …"`."""
    lock = MachineLock()
    if not lock.take() and not lock.is_of_ancestor():
        on_busy()
        if waits:
            lock.wait()
    try:
        yield
    finally:
        lock.release()
