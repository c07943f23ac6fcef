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

    def release(self) -> None:
        self._lock.release()


@contextmanager
def alone(on_busy: Callable[[], None], *, waits: bool = True) -> Iterator[None]:
    """Hold this user's lock of the machine. Where another process has it, call `on_busy` and wait for it, or
    go on without it."""
    lock = MachineLock()
    if not lock.take():
        on_busy()
        if waits:
            lock.wait()
    try:
        yield
    finally:
        lock.release()
