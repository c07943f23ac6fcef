"""The commands of `ringside vs`, parsed and checked; their parameters, `{VAR}`, and the points of these."""

import functools
import itertools
import math
import os
import re
import shlex
import shutil
import statistics
import string
import subprocess
import tempfile
import timeit
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from ringside.errors import UsageError
from ringside.files import pieces
from ringside.measure.vs.revisions import Revision
from ringside.model.design import PLACEHOLDER, Level, Point
from ringside.text import one_line

# One letter for each command where they are not named.
MAX_COMMANDS = len(string.ascii_uppercase)
DEFAULT_SHELL = ("sh",)
# More points than that take longer than anybody waits.
MAX_POINTS = 1000
_SCAN_HINT = "write it as -P threads 1 8, or -P delay 0.1 0.5 -D 0.1"

# Syntax of bash that POSIX shells lack or understand differently.
_BASHISM = re.compile(r"&>|\[\[ |[<>]\(|\|&|<<<|\{\d+\.\.\d+\}|(?:^|[;&|] *)source ")
# The limit for an input that is a pipe.
_MAX_INPUT_BYTES = 1 << 30
# The part of a program's file that counts: the kernel reads no more of a `#!` line.
_LOOK_BYTES = 256

# Quoted parts of a line, as far as they hide words of bash.
_QUOTED = re.compile(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
# Text that a shell and `shlex` read alike: blanks, letters and signs without a meaning to a shell, `{}` and
# `{name}`, quotes without expansions. A `#` or `~` has a meaning only at the start of a word.
_PLAIN = re.compile(
    r"(?:[ \t]+|[\w./,:@%+=^\x80-\U0010ffff-]+|\{\w*\}|\\[^\n]|'[^']*'|\"(?:[^\"\\$`]|\\[\"\\])*\""
    r"|(?<=[^ \t])[#~])*"
)
# The first sign after it that a shell understands; in double quotes only some have a meaning.
_SIGN = re.compile(r"[^\"]|\"[^$`\\]*[$`\\]", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, and as it was written, where `{VAR}` stands for the level of a parameter. `shell`:
    the words that start a shell for it and for its hooks; None: it is started by itself. `hooks`: commands
    around it by option, none of them timed: `setup` before its warm-ups and `cleanup` after the last block,
    `prepare` and `conclude` around each execution. `output`: where its output goes, `None` for a pipe that
    is read and hashed. `is_literal`: what only a shell understands is for the program. `revision`: in whose
    folder it is executed, if not in the working folder."""

    name: str
    text: str
    shell: tuple[str, ...] | None = None
    hooks: Mapping[str, str] = field(default_factory=dict)
    output: str | None = None
    is_literal: bool = False
    revision: Revision | None = None

    def line(self, point: Point) -> str:
        """The command line at a point, with its parameters filled in."""
        return point.filled_in(self.text)

    def argv(self, point: Point) -> tuple[str, ...]:
        """The words that are executed. Raises UsageError if the line cannot be split."""
        return self.words(self.line(point))

    def words(self, line: str) -> tuple[str, ...]:
        """The words that execute a line of the command or a hook, or a shell for it. Raises UsageError."""
        if "\0" in line:
            raise UsageError("a command cannot hold a NUL character")
        shell = self.shell_of(line)
        argv = [*shell, "-c", line] if shell else _split(line)
        if not argv or not argv[0] or not line.strip():
            raise UsageError("a command is empty: quote it as one argument, 'sleep 0.1'")
        return tuple(argv)

    def shell_of(self, line: str) -> tuple[str, ...] | None:
        """The shell for a line; where none was asked for, only if the line needs it. Raises UsageError."""
        if self.shell or self.is_literal or _shell_reason(line) is None:
            return self.shell
        return DEFAULT_SHELL


def parse_commands(
    texts: Sequence[str],
    names: Sequence[str] = (),
    hooks: Mapping[str, Sequence[str]] = {},
    shell: Sequence[str] | None = None,
    *,
    points: Sequence[Point] = (Point(()),),
    outputs: Sequence[str | None] = (),
    is_literal: bool = False,
    revisions: Sequence[Revision] = (),
) -> tuple[Command, ...]:
    """The commands, which can be executed at all points; those without a name are A, B, C …. `hooks` by
    option, and `outputs`: one for all commands, or one for each. `revisions`: one for each, or none.
    `is_literal`: what only a shell understands is for the program. Raises UsageError."""
    if not 1 <= len(texts) <= MAX_COMMANDS:
        how = "each quoted as one argument: ringside vs 'sleep 0.1' 'sleep 0.2'"
        raise UsageError(f"name a command, or up to {MAX_COMMANDS}, {how}")
    each_hook = {name: _for_each(lines, len(texts), f"--{name}") for name, lines in hooks.items()}
    each_output = _for_each(outputs, len(texts), "--output")
    commands = tuple(
        Command(
            name,
            text,
            tuple(shell) if shell else None,
            {hook: line for hook, lines in each_hook.items() if (line := lines[i])},
            each_output[i],
            is_literal,
            revisions[i] if revisions else None,
        )
        for i, (name, text) in enumerate(zip(_names(texts, names), texts, strict=True))
    )
    for command in commands:
        # The command's preparation may create the program.
        is_made = not command.hooks.keys().isdisjoint(("setup", "prepare"))
        for point in points:
            argv = command.argv(point)
            if not is_made or command.shell_of(command.line(point)):
                _check_program(argv[0], command.revision)
        for hook in command.hooks.values():
            if hook.strip():
                command.words(points[0].filled_in(hook))
    return commands


def split_shell(text: str) -> tuple[str, ...] | None:
    """The words of `--shell=TEXT`: `default` is sh, `none` is no shell. Raises UsageError."""
    if text == "none":
        return None
    return DEFAULT_SHELL if text in ("", "default") else tuple(_split(text))


@contextmanager
def input_file(path: Path | None) -> Iterator[Path | None]:
    """The file of an input, for each execution anew: what can be read once, a pipe, is read into one that
    lasts as long as this. Raises UsageError."""
    with ExitStack() as stack:
        try:
            if path and path.is_fifo():
                copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="ringside-input-"))
                for piece in pieces(path):
                    copy.write(piece)
                    if copy.tell() > _MAX_INPUT_BYTES:
                        raise UsageError(f"--input {path}: more than 1 GiB from a pipe: name a file")
                copy.flush()
                path = Path(copy.name)
            elif path:
                path.open("rb").close()
        except OSError as error:
            raise UsageError(f"--input {path}: {error.strerror}") from error
        yield path and path.resolve()


def _names(texts: Sequence[str], names: Sequence[str]) -> list[str]:
    all_names = [*(one_line(name, 60) for name in names), *string.ascii_uppercase[len(names) : len(texts)]]
    if not all(name.strip() for name in all_names):
        raise UsageError("a name is empty: give each -n a word")
    if len(set(all_names)) != len(all_names):
        beyond = ", in their first 60 characters" if any(len(name) > 60 for name in names) else ""
        raise UsageError(f"names must differ{beyond}: {', '.join(all_names)}")
    return all_names


def _for_each(values: Sequence[str | None], commands: int, option: str) -> list[str | None]:
    if len(values) not in (0, 1, commands):
        raise UsageError(f"give {option} once for all commands, or once for each of the {commands}")
    return list(values) if len(values) == commands else (list(values) or [None]) * commands


def notes(commands: Sequence[Command], points: Sequence[Point]) -> list[str]:
    """Notes on commands before they are executed: their preparations differ, a shell executes them although
    none was asked for, or they look like bash and sh is another shell."""
    reasons: dict[str, str] = {}
    bashisms: dict[str, str] = {}
    for command in commands:
        for line in (command.line(point) for point in points):
            shell = command.shell_of(line)
            if shell and not command.shell:
                reasons.setdefault(command.name, _shell_reason(line) or "")
            if shell == DEFAULT_SHELL and (bashism := _BASHISM.search(_QUOTED.sub("_", line))):
                bashisms.setdefault(command.name, bashism[0].strip())
    texts = []
    prepares = {command.name: command.hooks.get("prepare") for command in commands}
    if len(set(prepares.values())) > 1:
        parts = (
            f"{name} after {one_line(text, 40) if text else 'nothing'}" for name, text in prepares.items()
        )
        texts.append(f"{', '.join(parts)}: what --prepare does differs, and its effects are in the ratio")
    for command in commands:
        if command.is_literal and (sign := _shell_reason(command.line(points[0]))):
            texts.append(f"{command.name}: {sign} is in the program's arguments, since -N has no shell")
    if reasons:
        start = functools.partial(subprocess.run, [*DEFAULT_SHELL, "-c", ":"], check=False, close_fds=False)
        start_ms = 1000 * statistics.median(timeit.repeat(start, number=1))
        texts.append(
            f"{', '.join(reasons)}: executed through sh, since {next(iter(reasons.values()))} needs a shell; "
            f"its start, here {start_ms:.1f} ms, is in the time (-S: all through it; -N: none)"
        )
    if bashisms and "bash" not in Path(shutil.which("sh") or "").resolve().name:
        texts.append(
            f"{', '.join(bashisms)}: `{next(iter(bashisms.values()))}` works in bash, but sh is another "
            "shell here: use --shell=bash"
        )
    return texts


def _shell_reason(line: str) -> str | None:
    """The part of a line that needs a shell; None if it has only plain words and quotes, and its program is a
    file, or nothing that a shell knows. Raises UsageError if a quotation is not closed."""
    rest = line.removeprefix(_PLAIN.match(line)[0])  # type: ignore[index]
    if rest:
        if rest[0] in "'\"" or rest == "\\":
            _split(line)
        sign = _SIGN.match(rest)
        return "a new line" if rest[0] == "\n" else f"`{sign[0][-1] if sign else rest[0]}`"
    program = next(iter(_split(line)), "")
    if not program or os.sep in program or shutil.which(program):
        return None
    return f"`{one_line(program, 40)}`" if _ASSIGNMENT.match(program) or _is_of_shell(program) else None


@functools.cache
def _is_of_shell(program: str) -> bool:
    ask = [*DEFAULT_SHELL, "-c", 'command -v -- "$0"', program]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip() == program


def _check_program(program: str, revision: Revision | None) -> None:
    name = one_line(program, 80)
    if revision:
        name += f" in {one_line(revision.name, 60)}"
        program = os.path.join(revision.folder, program) if os.sep in program else program
    file = shutil.which(program)
    if file is not None:
        if why := _why_not_started(file):
            raise UsageError(f"{name} cannot be started: {why}")
        return
    if os.sep in program and Path(program).is_dir():
        raise UsageError(f"{name} is a folder: name a program")
    if os.sep in program and Path(program).exists():
        raise UsageError(f"{name} has no permission to be executed: chmod +x it, or name its interpreter")
    if os.path.isfile(program):
        raise UsageError(f"{name} is a file and no program: quote each command as one argument")
    raise UsageError(f"there is no program {name}")


def _why_not_started(file: str) -> str:
    """Why the kernel does not start a script that is there; empty if nothing is known."""
    try:
        with open(file, "rb") as opened:
            start = opened.read(_LOOK_BYTES)
    except OSError:
        return ""
    if not start.startswith(b"#!"):
        # Other formats of binaries have their own handlers.
        is_text = b"\0" not in start
        return "it has no `#!` line: add one, or name its interpreter, as in `sh FILE`" if is_text else ""
    interpreter = os.fsdecode(start[2:].partition(b"\n")[0].strip(b" \t").partition(b" ")[0])
    return "" if Path(interpreter).exists() else f"its interpreter {one_line(interpreter, 80)} does not exist"


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        reason = str(error).lower()
        raise UsageError(f"{one_line(text, 80)}: {reason}; quote it as for a shell") from error


def scanned_levels(least: str, most: str, step: str | None) -> tuple[Level, ...]:
    """The numbers of `-P VAR LEAST MOST -D STEP`, integers where all three are. Raises UsageError."""
    first, last, width = _number(least), _number(most), _number(step or "1")
    if width <= 0:
        raise UsageError(f"-D {one_line(step or '', 20)}: a step is larger than 0")
    if first > last:
        raise UsageError(
            f"-P {one_line(least, 20)} {one_line(most, 20)}: from the smaller number up, {_SCAN_HINT}"
        )
    if (last - first) / width >= MAX_POINTS:
        raise UsageError(f"-P {least} {most}: up to {MAX_POINTS:,} levels are possible; make -D larger")
    numbers = [first + number * width for number in range(math.floor((last - first) / width) + 1)]
    if all(number == number.to_integral_value() for number in (first, width)):
        return tuple(int(number) for number in numbers)
    return tuple(format(number, "f") for number in numbers)


def listed_levels(text: str) -> tuple[Level, ...]:
    """The levels of `-L VAR a,b,c`; a backslash before a comma or a backslash makes that part of a level.
    What is written as an integer is one. Raises UsageError if one comes twice."""
    parts = re.findall(r"(?:^|,)((?:\\[,\\]|[^,])*)", text)
    texts = [re.sub(r"\\([,\\])", r"\1", part) for part in parts]
    if len(set(texts)) != len(texts):
        raise UsageError(f"-L {one_line(text, 60)}: name each value once")
    return tuple(int(each) if re.fullmatch(r"0|-?[1-9][0-9]{0,17}", each) else each for each in texts)


def scan_points(factors: Mapping[str, Sequence[Level]]) -> tuple[Point, ...]:
    """Every combination of levels; without factors one point. Raises UsageError if they are too many."""
    points = math.prod(len(levels) for levels in factors.values())
    if points > MAX_POINTS:
        raise UsageError(f"the parameters have {points:,} combinations: up to {MAX_POINTS:,} are possible")
    return tuple(
        Point(tuple(zip(factors, levels, strict=True))) for levels in itertools.product(*factors.values())
    )


def check_parameter(name: str, factors: Mapping[str, Sequence[Level]]) -> None:
    """Raises UsageError if a parameter has no usable name, or one that is there already."""
    if name in factors:
        raise UsageError(f"the parameter {one_line(name, 40)} is given twice")
    if not PLACEHOLDER.fullmatch("{" + name + "}") or name != one_line(name, 40):
        raise UsageError(f"{one_line(name, 40)!r} is no name of a parameter: {_SCAN_HINT}")


def _number(text: str) -> Decimal:
    if not re.fullmatch(r"-?[0-9]{1,16}(?:\.[0-9]{1,16})?", text) or abs(Decimal(text)) > 10**15:
        raise UsageError(f"-P: {one_line(text, 40)!r} is no number: {_SCAN_HINT}")
    return Decimal(text)
