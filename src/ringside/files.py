"""Files that are written as a whole or not at all, and this user's folders (XDG Base Directory
Specification)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ringside.errors import UsageError

# The end of the names of files that are not whole yet.
PARTIAL = ".ringside-partial"


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path beside that one to write to. What is there at the end takes its place; where something fails,
    what was there stays. Raises OSError."""
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    try:
        yield partial
        partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def cache_folder() -> Path:
    """For what can be made again."""
    return _folder("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path:
    """For what is to last."""
    return _folder("XDG_STATE_HOME", ".local/state")


def _folder(variable: str, default: str) -> Path:
    home = os.path.expanduser("~")
    if home == "~":
        # Neither HOME nor an entry for this user, as in containers: not a folder of that name.
        home = _private(f"/tmp/ringside-{os.getuid()}")
    return Path(os.environ.get(variable) or f"{home}/{default}") / "ringside"


def _private(folder: str) -> str:
    """The folder, made where it is missing. Raises UsageError where it is another user's."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}: set HOME to a folder of your own") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise UsageError(f"{folder} is not this user's alone: set HOME to a folder of your own")
    return folder
