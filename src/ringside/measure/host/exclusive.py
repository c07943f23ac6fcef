"""One measurement at a time: two on one machine would disturb each other's figures."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ringside.errors import UsageError
from ringside.files import FileLock

# Another place for the lock: whoever gives each run its own CPUs may let several go on at once.
VARIABLE = "RINGSIDE_LOCK"
# The same for all processes of a user, whatever their environment: a desktop and cron have different folders
# for temporary files, and one lock.
_FOLDER = Path("/tmp")


class MachineLock:
    """This user's lock of the machine."""

    def __init__(self) -> None:
        named = os.environ.get(VARIABLE)
        self._lock = FileLock(Path(named) if named else _FOLDER / f"ringside-{os.getuid()}.lock")

    def take(self, patience_s: float = 0.0) -> bool:
        """Take the lock; whether it became free in time. Raises UsageError where it cannot be opened: without
        it, two runs would disturb each other."""
        try:
            return self._lock.acquire(patience_s)
        except OSError as error:
            raise UsageError(
                f"the lock {self._lock.path} that keeps two measurements apart cannot be opened: "
                f"{error.strerror}: name another file with {VARIABLE}"
            ) from error

    def is_of_ancestor(self) -> bool:
        """Whether a process that waits for this one's end has the lock: waiting would deadlock."""
        return any(map(self._is_of, _ancestors()))

    def _is_of(self, pid: str) -> bool:
        try:
            path = os.stat(self._lock.path)
            # Those of another user's process cannot be read: nor is its lock ours.
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(FileNotFoundError):
                    is_lock = os.path.samestat(file.stat(), path)
                    if is_lock and "FLOCK" in Path(f"/proc/{pid}/fdinfo/{file.name}").read_text("ascii"):
                        return True
        except OSError:
            pass
        return False

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
            lock.take(math.inf)
    try:
        yield
    finally:
        lock.release()
