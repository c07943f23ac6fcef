"""The destination of a command's output (`vs --output`, `--show-output`), and what `--metric` finds."""

import math
import os
import re
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ringside.errors import UsageError
from ringside.model.design import Metric, Unit
from ringside.text import one_line

INHERIT = "inherit"
NULL = "null"
PIPE = "pipe"
TTY = "tty"
KEPT = "kept"  # A file that is kept until its figures are read.
_PIECE_BYTES = 1 << 16


class Output(NamedTuple):
    """Paths for the probe; None for its own pipes, which it reads and hashes."""

    stdout: str | None = None
    stderr: str | None = None


@contextmanager
def output_to(where: str | None, folder: Path) -> Iterator[Output]:
    """The output of one execution, while it lasts. `where`: `pipe` or None, `null`, `tty` (stdout is a
    terminal that nobody looks at), `inherit` (it is shown as it comes), or a file, which each execution
    writes anew. Raises UsageError if that cannot be written."""
    if where in (None, PIPE, NULL):
        yield Output(os.devnull if where == NULL else None)
    elif where == KEPT:
        with tempfile.NamedTemporaryFile(prefix="ringside-output-") as file:
            yield Output(file.name)
    elif where == TTY:
        own, its = os.openpty()
        termios.tcsetwinsize(its, (24, 80))  # The usual size.
        with _pumped(own, its, lambda piece: None):
            yield Output(os.ttyname(its))
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

    def copy(piece: bytes) -> None:
        try:
            target.write(piece)
            target.flush()
        except BrokenPipeError:  # The reader of `target` went away.
            pass
        except OSError as error:
            errors.append(error)

    with _pumped(read_end, write_end, copy):
        yield f"/proc/{os.getpid()}/fd/{write_end}"


@contextmanager
def _pumped(read_end: int, write_end: int, take: Callable[[bytes], None]) -> Iterator[None]:
    """Pass the bytes written to one end within the block, piece by piece, to `take`; closes both ends."""

    def pump() -> None:
        with suppress(OSError):  # A terminal has no writer any more.
            while piece := os.read(read_end, _PIECE_BYTES):
                take(piece)

    thread = threading.Thread(target=pump, daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(write_end)
        thread.join()
        os.close(read_end)


def check_output(where: str) -> str:
    """The value of `--output`. Raises UsageError for a word that is neither known nor a path."""
    if where not in (NULL, PIPE, TTY, INHERIT) and os.sep not in where:
        raise UsageError(
            f"--output {where}: write null, pipe, tty, inherit, or a file with its folder: ./{where}"
        )
    return where


_PATTERN = re.compile(
    r"(?:(?P<name>[^=,(\\]{1,60}?)(?:,(?P<unit>[^=,(\\]+?))??(?:,(?P<better>higher|lower))?=)?(?P<text>.+)",
    re.DOTALL,
)
_HOW = "write it as 'PATTERN' or 'NAME,UNIT,higher=PATTERN', as in --metric 'rate,/s,higher=rate: ([0-9.]+)'"
# Our unit for each, and how many of ours it is.
_METRIC_UNITS: dict[str, tuple[Unit, float]] = {
    **{"s": ("s", 1.0), "ms": ("s", 1e-3), "us": ("s", 1e-6), "ns": ("s", 1e-9), "/s": ("/s", 1.0)},
    **{"B": ("B", 1.0), "KiB": ("B", 1024.0), "MiB": ("B", 1048576.0), "%": ("%", 1.0)},
}


class Pattern(NamedTuple):
    """A metric of the output of commands: the number in the group of a pattern that matches once."""

    metric: Metric
    pattern: re.Pattern[bytes]
    factor: float

    def found_in(self, output: Output, stderr: str) -> float | str:
        """The number in stdout, or else in the end of stderr; or why there is none, in words."""
        printed = Path(output.stdout or os.devnull).read_bytes()
        matches = [*self.pattern.finditer(printed)] or [*self.pattern.finditer(stderr.encode())]
        if not matches:
            return "the output has nothing that the pattern matches"
        if len(matches) > 1:
            shown = one_line(self.pattern.pattern.decode(), 60)
            return f"the pattern `{shown}` matches {len(matches)} times; make it match once"
        text = (matches[0][1] or b"").decode(errors="replace")
        with suppress(ValueError):
            if math.isfinite(value := float(re.sub(r",(?=[0-9]{3}\b)", "", text))):
                return value * self.factor
        return f"its group has `{one_line(text, 60)}`, which is not a number"


def pattern(text: str) -> Pattern:
    """`--metric` as it is written; words before the group are its name. Raises UsageError."""
    parts = _PATTERN.fullmatch(text)
    try:
        pattern = re.compile(parts["text"].encode() if parts else b"", re.MULTILINE)
    except re.error as error:
        raise UsageError(f"--metric '{one_line(text, 60)}' is not a regular expression: {error}") from error
    if not parts or pattern.groups != 1:
        raise UsageError(f"--metric '{one_line(text, 60)}' needs one group, for the number: {_HOW}")
    name = parts["name"] or re.sub(r"\\.", "", parts["text"].partition("(")[0]).strip(" :=+*?.^$")
    unit = parts["unit"] or ("/s" if name.endswith("/s") else "")
    if not name.strip() or (unit and unit not in _METRIC_UNITS):
        what = f"has the unit {unit!r}; known: {', '.join(_METRIC_UNITS)}" if name else "has no name"
        raise UsageError(f"--metric '{one_line(text, 60)}' {what}; {_HOW}")
    kind, factor = _METRIC_UNITS.get(unit, ("", 1.0))
    is_lower = parts["better"] == "lower" or (not parts["better"] and kind != "/s")
    metric = Metric(one_line(name.strip(), 60), kind, one_line(name.strip(), 60), "in the output", is_lower)
    return Pattern(metric, pattern, factor)
