"""Standard streams that are closed, full, or a terminal that went away."""

from __future__ import annotations

import io
import os
import sys


class _Talk(io.FileIO):
    """A stream whose errors are no reason to end: talk that nobody can read is lost."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError:
            return memoryview(data).nbytes  # type: ignore[arg-type]


def make_safe() -> None:
    """Open what is closed, so that no file of ours gets the number of a standard stream, and let nothing fail
    because stderr cannot be written. Streams that were replaced before stay as they are."""
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
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        raw = _Talk(2, "w", closefd=False)
        encoding = getattr(sys.stderr, "encoding", "utf-8")
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=True
        )
