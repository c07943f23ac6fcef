"""Where the output of a command goes, for `vs --output` and `--show-output`."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from ringside.errors import UsageError

INHERIT = "inherit"
NULL = "null"
PIPE = "pipe"
_PIECE_BYTES = 1 << 16


class Output:
    """The output of one execution, while it lasts. `where`: `pipe` or None (the probe reads and hashes it),
    `null`, `inherit` (it is shown as it comes), or a file, which each execution writes anew.

    `stdout` and `stderr` are paths for the probe, None for its pipes. The probe has a session of its own, so
    output that is shown goes through pipes of this process: its own files may be at any position, or no files
    at all.
    """

    def __init__(self, where: str | None, folder: Path) -> None:
        self._where = None if where == PIPE else where
        self._folder = folder
        self._write_ends: list[int] = []
        self._pumps: list[threading.Thread] = []
        self._errors: list[OSError] = []
        self.stdout: str | None = None
        self.stderr: str | None = None

    def __enter__(self) -> Output:
        if self._where == NULL:
            self.stdout = os.devnull
        elif self._where == INHERIT:
            sys.stdout.flush()
            self.stdout = self._shown(sys.stdout.buffer)
            self.stderr = self._shown(sys.stderr.buffer)
        elif self._where is not None:
            path = self._folder / self._where
            self.stdout = str(path.resolve())
            try:
                path.open("wb").close()
            except OSError as error:
                raise UsageError(f"--output {self._where}: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in self._write_ends:
            os.close(end)
        for pump in self._pumps:
            pump.join()
        if error is None and self._errors:
            raise self._errors[0]

    def _shown(self, target: BinaryIO) -> str:
        read_end, write_end = os.pipe()
        pump = threading.Thread(target=self._pump, args=(read_end, target), daemon=True)
        pump.start()
        self._write_ends.append(write_end)
        self._pumps.append(pump)
        return f"/proc/{os.getpid()}/fd/{write_end}"

    def _pump(self, read_end: int, target: BinaryIO) -> None:
        """Copy until all writers are gone. A reader of `target` that went away is not waited for."""
        with os.fdopen(read_end, "rb", buffering=0) as source:
            while piece := source.read(_PIECE_BYTES):
                try:
                    target.write(piece)
                    target.flush()
                except BrokenPipeError:
                    continue
                except OSError as error:
                    self._errors.append(error)


def check_output(where: str) -> str:
    """The value of `--output`. Raises UsageError for a word that is neither known nor a path."""
    if where not in (NULL, PIPE, INHERIT) and os.sep not in where:
        raise UsageError(f"--output {where}: write null, pipe, inherit, or a file with its folder: ./{where}")
    return where
