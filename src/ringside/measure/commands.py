"""The commands of `ringside vs`, parsed and checked."""

from __future__ import annotations

import os
import shlex
import shutil
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside.errors import UsageError
from ringside.text import one_line

# One letter for each command where they are not named.
MAX_COMMANDS = len(string.ascii_uppercase)


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, as it was written, and as it is started. `prepare` runs before each execution,
    untimed."""

    name: str
    text: str
    argv: tuple[str, ...]
    prepare: tuple[str, ...] | None = None


def parse_commands(
    texts: Sequence[str], names: Sequence[str], prepares: Sequence[str], shell: str | None
) -> tuple[Command, ...]:
    """The commands; those without a name are A, B, C …. One `prepare` is for all of them, else there is one
    for each. Raises UsageError with what is wrong."""
    if not 2 <= len(texts) <= MAX_COMMANDS:
        raise UsageError(
            f"name 2 to {MAX_COMMANDS} commands, each quoted as one argument: "
            "ringside vs 'sleep 0.1' 'sleep 0.2'"
        )
    if len(names) > len(texts):
        raise UsageError(f"{len(names)} names for {len(texts)} commands: at most one -n for each")
    own_names = [one_line(name, 60) for name in names]
    all_names = [*own_names, *string.ascii_uppercase[len(own_names) : len(texts)]]
    if len(set(all_names)) != len(all_names) or not all(all_names):
        raise UsageError(f"names must differ and not be empty: {', '.join(all_names)}")
    if len(prepares) not in (0, 1, len(texts)):
        raise UsageError(f"give --prepare once for all commands, or once for each of the {len(texts)}")
    before = list(prepares) if len(prepares) == len(texts) else list(prepares) * len(texts)
    return tuple(
        Command(
            name,
            text,
            _argv(text, shell),
            _argv(before[i], shell) if before and before[i].strip() else None,
        )
        for i, (name, text) in enumerate(zip(all_names, texts, strict=True))
    )


def readable(path: Path | None) -> Path | None:
    """The path of an input, whole. Raises UsageError where it cannot be read."""
    if path is None:
        return None
    try:
        with path.open("rb"):
            return path.resolve()
    except OSError as error:
        raise UsageError(f"--input {path}: {error.strerror}") from error


def _argv(text: str, shell: str | None) -> tuple[str, ...]:
    if "\0" in text:
        raise UsageError("a command cannot hold a NUL character")
    words = [*_split(shell), "-c", text] if shell else _split(text)
    if not words or not words[0]:
        raise UsageError("a command is empty: quote it as one argument, 'sleep 0.1'")
    program = words[0]
    if shutil.which(program) is None:
        if os.sep in program and Path(program).exists():
            raise UsageError(f"{program} is no program that can be run: chmod +x it, or name its interpreter")
        hint = "" if shell else _shell_hint(text)
        raise UsageError(f"there is no program {one_line(program, 80)}{hint}")
    return tuple(words)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        reason = str(error).lower()
        raise UsageError(f"{one_line(text, 80)}: {reason}; quote it as for a shell") from error


def _shell_hint(text: str) -> str:
    operators = [operator for operator in ("|", ">", "<", "&&", ";", "$", "*") if operator in text]
    return f"; `{operators[0]}` needs a shell: add --shell" if operators else ""
