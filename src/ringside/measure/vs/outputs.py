"""Where the output of a command goes, for `vs --output` and `--show-output`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ringside.errors import UsageError

INHERIT = "inherit"
NULL = "null"
PIPE = "pipe"
_PIECE_BYTES = 1 << 16


class Output(NamedTuple):
    """Paths for the probe; None for its own pipes, which it reads and hashes."""

    stdout: str | None = None
    stderr: str | None = None


@contextmanager
def output_to(where: str | None, folder: Path) -> Iterator[Output]:
    """The output of one execution, while it lasts. `where`: `pipe` or None, `null`, `inherit` (it is shown as
    it comes), or a file, which each execution writes anew. Raises UsageError where that cannot be written."""
    if where in (None, PIPE, NULL):
        yield Output(os.devnull if where == NULL else None)
    elif where == INHERIT:
        sys.stdout.flush()
        errors: list[OSError] = []
        with _shown(sys.stdout.buffer, errors) as stdout, _shown(sys.stderr.buffer, errors) as stderr:
            yield Output(stdout, stderr)
        if errors:
            raise errors[0]
    else:
        path = folder / where
        try:
            path.open("wb").close()
        except OSError as error:
            raise UsageError(f"--output {where}: {error.strerror}") from error
        yield Output(str(path.resolve()))


@contextmanager
def _shown(target: BinaryIO, errors: list[OSError]) -> Iterator[str]:
    """The path of a pipe whose contents are copied to a file of this process. The probe has a session of its
    own, and that file may be at any position, or no file at all."""
    read_end, write_end = os.pipe()

    def pump() -> None:
        """Copy until all writers are gone. A reader of `target` that went away is not waited for."""
        with os.fdopen(read_end, "rb", buffering=0) as source:
            while piece := source.read(_PIECE_BYTES):
                try:
                    target.write(piece)
                    target.flush()
                except BrokenPipeError:
                    continue
                except OSError as error:
                    errors.append(error)

    thread = threading.Thread(target=pump, daemon=True)
    thread.start()
    try:
        yield f"/proc/{os.getpid()}/fd/{write_end}"
    finally:
        os.close(write_end)
        thread.join()


def check_output(where: str) -> str:
    """The value of `--output`. Raises UsageError for a word that is neither known nor a path."""
    if where not in (NULL, PIPE, INHERIT) and os.sep not in where:
        raise UsageError(f"--output {where}: write null, pipe, inherit, or a file with its folder: ./{where}")
    return where
