"""One measurement at a time: two runs on one machine would disturb each other's figures."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock

# Another place for the lock: whoever gives each run its own CPUs may let several go on at once.
VARIABLE = "RINGSIDE_LOCK"
_POLL_S = 0.5


class MachineLock:
    """This user's lock of the machine, for who cannot wait inside."""

    def __init__(self) -> None:
        self._lock = filelock.FileLock(_path(), mode=0o600)

    def take(self) -> bool:
        """Whether the lock is ours now; True, too, where it cannot be made."""
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        except OSError:
            return True
        return True


@contextmanager
def alone(on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold this user's lock of the machine; where another process has it, call `on_wait` and wait for it. A
    lock that cannot be made is no reason not to measure."""
    lock = filelock.FileLock(_path(), mode=0o600)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        on_wait()
        lock.acquire(poll_interval=_POLL_S)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        lock.release()


def _path() -> Path:
    if named := os.environ.get(VARIABLE):
        return Path(named)
    folder = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(folder) / f"ringside-{os.getuid()}.lock"
