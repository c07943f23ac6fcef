"""Placeholders in requests: `{n}`, `{id}`, columns of a file. They are checked here, before a load."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ringside.errors import UsageError
from ringside.files import read_at_most
from ringside.probe.protocol import Templates
from ringside.text import nearest, one_line

_NAME = r"[A-Za-z_][A-Za-z0-9_.:-]*"
# As probe/engine/src/load/placeholder.rs reads a text: `{{name}}` stands for `{name}`.
_PLACEHOLDER = re.compile(rf"\{{\{{(?P<escaped>{_NAME})\}}\}}|\{{(?P<name>{_NAME})\}}")
_COLUMN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_OWN = ("n", "id")
PATH = "the path"
_MAX_BYTES = 8 << 20


def read_values(path: Path) -> list[tuple[str, ...]]:
    """A CSV file: the names of its columns, then rows of as many values. Raises UsageError."""
    shown = f"--values {one_line(str(path))}"
    try:
        content = read_at_most(path, _MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror}") from error
    if len(content) > _MAX_BYTES:
        raise UsageError(f"{shown} is larger than {_MAX_BYTES >> 20} MiB")
    try:
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        lines = [(reader.line_num, tuple(line)) for line in reader if line]
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is not UTF-8") from error
    except csv.Error as error:
        raise UsageError(f"{shown}: line {reader.line_num} is no CSV: {error}") from error
    if len(lines) < 2:
        raise UsageError(f"{shown} has no values: its first line names the columns, each other is a row")
    columns = tuple(name.strip() for name in lines[0][1])
    for name in columns:
        if not _COLUMN.fullmatch(name) or name in _OWN or columns.count(name) > 1:
            raise UsageError(
                f"{shown}: the column `{one_line(name, 40)}` needs another name: letters, digits and "
                "_.-, not n or id, each once"
            )
    for number, row in lines[1:]:
        if len(row) != len(columns):
            raise UsageError(f"{shown}: line {number} has {len(row)} values for {len(columns)} columns")
    return [columns, *(row for _, row in lines[1:])]


def check(texts: Mapping[str, str], values: Sequence[tuple[str, ...]]) -> Templates | None:
    """The values of the placeholders in these texts, by option, or None. A character is a byte. `values`:
    column names and rows. Raises UsageError for an unknown name."""
    columns = values[0] if values else ()
    matches = ((option, match) for option, text in texts.items() for match in _PLACEHOLDER.finditer(text))
    # None for an escaped one.
    names = [(option, match["name"]) for option, match in matches]
    for option, name in names:
        if name and name not in (*_OWN, *columns):
            raise UsageError(_unknown(option, name, columns))
    used = {name for _, name in names}
    chosen = [index for index, name in enumerate(columns) if name in used]
    if values and not chosen:
        raise UsageError(f"--values: no column is used: write {{{columns[0]}}} in the request")
    # The engine knows the connection's number in the path without templates too, for streams.
    if set(names) <= {(PATH, "id")}:
        return None
    rows = [tuple(wire_text(row[index]) for index in chosen) for row in values[1:]]
    return Templates(tuple(columns[index] for index in chosen), tuple(rows))


def literal(text: str) -> str:
    """The text in which nothing is a placeholder."""

    def escape(match: re.Match[str]) -> str:
        # `{{name}}` is to stay as it is: the first brace is text, and what follows is escaped.
        return f"{{{match[0]}}}" if match["name"] else f"{{{{{{{match['escaped']}}}}}}}"

    return _PLACEHOLDER.sub(escape, text)


def _unknown(option: str, name: str, columns: Sequence[str]) -> str:
    shown = f"{{{one_line(name, 40)}}}"
    known = [*_OWN, *columns]
    near = nearest(name, known)
    hint = f"did you mean {{{near}}}?" if near else f"known: {', '.join(f'{{{each}}}' for each in known)}."
    remedy = f"To send the braces, write {{{shown}}} or add --literal"
    return f"there is no value for {shown} in {option}; {hint} {remedy}"


def wire_text(text: str) -> str:
    """A text as requests carry it: a character for each byte of its UTF-8."""
    return text.encode().decode("latin-1")
