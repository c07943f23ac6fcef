"""Files that are written as a whole or not at all, locks, and this user's folders (XDG Base Directory
Specification)."""

import errno
import fcntl
import os
import select
import stat
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ringside.errors import UsageError

_PIECE_BYTES = 1 << 16
_POLL_S = 0.05
# How long to wait for a pipe, since nobody may ever write into it.
_SILENCE_S = 10
# The suffix of unfinished files.
PARTIAL = ".ringside-partial"


def tables_beside(module: str, name: str) -> dict[str, Any]:
    """A TOML file of ours, by its path from the folder of a module, given as `__file__`."""
    return tomllib.loads((Path(module).parent / name).read_text(encoding="utf-8"))


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside the given one, to write to. At the end of the block it replaces the given path; after an
    error, that stays as it was. Raises OSError."""
    partial = path.with_name(f"{path.name}.{threading.get_native_id()}{PARTIAL}")
    try:
        yield partial
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


class FileLock:
    """A lock that one process holds at a time, by `flock` of a file. It ends with the process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None

    def acquire(self, patience_s: float = 0.0) -> bool:
        """Take the lock; whether it became free in time. Raises OSError if the file cannot be opened."""
        deadline = time.monotonic() + patience_s
        while not self._try():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def _try(self) -> bool:
        if not self.is_lost():
            return True
        self.release()
        # The mode counts where the file is made: others have locks of their own.
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException as error:
            self.release()
            if not isinstance(error, BlockingIOError):
                raise
        if self.is_lost():
            # Whoever had the lock removed the file between the two calls.
            self.release()
        return self._file is not None

    def is_lost(self) -> bool:
        """Whether nothing is locked, or another file has taken the place of the locked one."""
        try:
            return self._file is None or not os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except OSError:
            return True

    def release(self, *, removes: bool = False) -> None:
        """Release the lock, if held. `removes`: and remove its file, unless another process made it anew."""
        if self._file is None:
            return
        if removes and not self.is_lost():
            self.path.unlink(missing_ok=True)
        # Another process may open the removed file until here: it sees that its lock is lost.
        os.close(self._file)
        self._file = None

    def __del__(self) -> None:
        self.release()


def is_locked(path: Path) -> bool:
    """Whether a process holds the `FileLock` of this path. Makes no file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def pieces(path: Path) -> Iterator[bytes]:
    """The content of a file, or of a pipe, piece by piece. Raises OSError, also where nobody writes into the
    pipe for ten seconds."""
    is_pipe = path.is_fifo()
    # Whoever opens a pipe would wait for a writer.
    at_once = os.O_NONBLOCK if is_pipe else 0
    with open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | at_once)) as file:
        poll = select.poll()
        poll.register(file, select.POLLIN)
        while True:
            if is_pipe and not poll.poll(1000 * _SILENCE_S):
                raise OSError(errno.ETIMEDOUT, f"nobody wrote into this pipe for {_SILENCE_S} seconds")
            if not (piece := file.read(_PIECE_BYTES)):
                return
            yield piece


def read_at_most(path: Path, most_bytes: int) -> bytes:
    """The content of a file, or of a pipe; one byte more than this where it has more. Raises OSError."""
    content = bytearray()
    for piece in pieces(path):
        content += piece
        if len(content) > most_bytes:
            break
    return bytes(content[: most_bytes + 1])


def cache_folder() -> Path:
    return _folder("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path:
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, default: str) -> Path:
    home = os.path.expanduser("~")
    if home == "~":
        # Neither HOME nor an entry for this user, as in containers: not a folder of that name.
        home = private_folder(f"/tmp/ringside-{os.getuid()}")
    return Path(os.environ.get(variable) or f"{home}/{default}") / "ringside"


def private_folder(folder: str) -> str:
    """The folder, made where it is missing. Raises UsageError if it is another user's."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}: set HOME to a folder of your own") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise UsageError(f"{folder} is not this user's alone: set HOME to a folder of your own")
    return folder
