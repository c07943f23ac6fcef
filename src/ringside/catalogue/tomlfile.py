"""TOML files with the place of each error: file and line, as far as the line can be known."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringside.errors import CatalogueError
from ringside.text import one_line

# Names of tables and keys, and indexes in lists and in arrays of tables.
Key = str | int

_MESSAGE_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A file that has been parsed. `source` is its text, `data` what stands in it."""

    path: Path
    source: str
    data: dict[str, Any]

    def error(self, message: str, keys: Sequence[Key] = ()) -> CatalogueError:
        """An error about the value at `keys`, or at as many of them as there are; of what concerns the whole
        file, the line is the first."""
        line = find_line(self.source, self.data, keys) or 1
        return CatalogueError(f"{self.path}:{line}: {one_line(message, _MESSAGE_LENGTH)}")


def read(path: Path) -> TomlFile:
    """Read a TOML file. Raises CatalogueError, with the line of a syntax error."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        # Newlines as text files have them, in which lines are counted.
        source = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CatalogueError(f"{path}:{line}: cannot be read: it is not UTF-8 text") from error
    try:
        return TomlFile(path, source, tomllib.loads(source))
    except RecursionError as error:
        raise CatalogueError(
            f"{path}:1: broken TOML: tables or lists lie too deep inside each other"
        ) from error
    except ValueError as error:  # Besides broken TOML: a number of more digits than Python reads.
        match = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error))
        line, reason = (int(match[2]), match[1]) if match else (len(source.splitlines()) or 1, str(error))
        raise CatalogueError(f"{path}:{line}: broken TOML: {reason}") from error


def find_line(source: str, data: dict[str, Any], keys: Sequence[Key]) -> int | None:
    """The line, counted from 1, where the statement begins that brings the value at `keys`, or the deepest
    value on the way there. None where there is none but the whole file.

    tomllib keeps no positions. But a file that is cut off after a whole statement is TOML as well, so the
    statement is the one whose addition makes the value appear.
    """
    keys = _existing(data, keys)
    if not keys:
        return None
    lines = source.replace("\r\n", "\n").split("\n")

    def parse(count: int) -> tuple[int, dict[str, Any]]:
        """The whole statements in the first `count` lines: how many lines they take, and their data."""
        while True:
            try:
                return count, tomllib.loads("\n".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                count -= 1

    last = bisect_left(
        range(len(lines) + 1), True, key=lambda count: len(_existing(parse(count)[1], keys)) == len(keys)
    )
    return parse(last - 1)[0] + 1


def value_at(data: Any, keys: Sequence[Key]) -> Any:
    """The value at `keys`. Raises LookupError or TypeError where there is none."""
    for key in keys:
        data = data[key]
    return data


def _existing(data: Any, keys: Sequence[Key]) -> Sequence[Key]:
    """As many of the keys, from the first, as lead to a value."""
    for index in range(len(keys)):
        try:
            data = data[keys[index]]
        except (LookupError, TypeError):
            return keys[:index]
    return keys
