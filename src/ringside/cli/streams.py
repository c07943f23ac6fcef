"""Handles standard streams that are closed or full, or whose reader has ended, as `head` does (no error), and
files that replace stdout."""

import codecs
import errno
import io
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ringside.errors import UsageError
from ringside.files import whole_file
from ringside.text import one_line

_MESSAGE_LENGTH = 4000


class _Stderr(io.FileIO):
    """Discards bytes that cannot be written."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return memoryview(data).nbytes  # type: ignore[arg-type]


def make_safe() -> None:
    """Open closed standard streams, so that no other file gets their numbers, and let nothing fail because
    stderr cannot be written. Streams that were replaced before stay as they are."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number: this one.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, closefd=False, encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False, encoding="utf-8")
    elif sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        # Characters that the encoding lacks are replaced: box lines, or in UTF-8 the bytes of a file's name.
        is_unicode = codecs.lookup(sys.stdout.encoding).name.startswith("utf")
        sys.stdout.reconfigure(errors="backslashreplace" if is_unicode else "replace")
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        raw = io.BufferedWriter(_Stderr(2, "w", closefd=False))
        encoding = getattr(sys.stderr, "encoding", "utf-8")
        sys.stderr = io.TextIOWrapper(raw, encoding, errors="backslashreplace", line_buffering=True)


@contextmanager
def output() -> Iterator[None]:
    """If the reader of stdout ends, discard the rest of the block's output; the command continues."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop(sys.stdout)


def say(text: str, name: str = "ringside") -> None:
    """Print a line on stderr, after the name of who says it. The text may quote a file or a program."""
    print(f"{name}: {one_line(text, _MESSAGE_LENGTH)}", file=sys.stderr, flush=True)


def drop(stream: TextIO) -> None:
    """Discard all further output of the stream, so that Python does not complain when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def check_outputs(files: Mapping[str, Path], printed: Sequence[str] = ()) -> None:
    """Check early that these files, by option, can be written. `-` is stdout; only one file, or the `printed`
    output, may use it. Raises UsageError."""
    to_stdout = [*printed, *(option for option, path in files.items() if str(path) == "-")]
    if len(to_stdout) > 1:
        raise UsageError(f"{to_stdout[0]} and {to_stdout[1]} would mix on stdout: write to files")
    owners: dict[Path, str] = {}
    for option, path in files.items():
        if (owner := owners.setdefault(path.resolve(), option)) != option and not path.is_char_device():
            raise UsageError(f"{owner} and {option} name the same file: give each its own")
        with _writing(option, path):
            if str(path) != "-":
                _open_to_write(path)


def write_output(option: str, path: Path, text: str, more: str = "") -> None:
    """Replace a file, or write to a pipe, a device, or stdout (`-`). Raises UsageError, which adds `more`."""
    if str(path) == "-":
        with output():
            sys.stdout.write(text)
        return
    with _writing(option, path, more):
        is_other = path.exists() and not path.is_file()
        if is_other or path.parts[1:2] in (("dev",), ("proc",)) or not os.access(path.parent, os.W_OK):
            path.write_text(text, encoding="utf-8")
            return
        # A link stays one.
        file = Path(os.path.realpath(path))
        with whole_file(file) as partial:
            partial.write_text(text, encoding="utf-8")
            if file.exists():
                shutil.copymode(file, partial)


@contextmanager
def _writing(option: str, path: Path, more: str = "") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{option} {one_line(str(path))} cannot be written: {error.strerror}{more}"
        ) from error


def _open_to_write(path: Path) -> None:
    """Does not change the file. Raises OSError, also for a pipe without a reader."""
    is_new = not os.path.lexists(path)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.ENXIO, "nobody reads this pipe: start its reader first") from error
        raise
    # A closed pipe would end its reader: the pipe stays open until this process ends.
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
    if is_new:
        path.unlink()
