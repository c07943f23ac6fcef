"""TOML files into the types of `schema`. Every error is one line with the file, the line as far as it can be
known, and the way out."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from ringside.errors import CatalogueError
from ringside.text import nearest, one_line

T = TypeVar("T")
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


def read_toml(path: Path) -> TomlFile:
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


def decode(file: TomlFile, schema: type[T]) -> T:
    """The file as `schema`, a msgspec type. Raises CatalogueError about the first thing that does not fit."""
    try:
        return msgspec.convert(file.data, schema)
    except msgspec.ValidationError as error:
        keys = _keys_of(error, file.data, schema)
        root = inspect.type_info(schema)
        expected, value = type_at(root, keys), value_at(file.data, keys)
        table = next((each for each in options(expected) if isinstance(each, inspect.StructType)), None)
        if table and isinstance(value, dict):
            raise _key_error(file, keys, value, table, root) from None
        if _lacks_name(root, keys, value):
            header = f"[{'.'.join(map(str, keys[:-1]))}"
            message = f"`{keys[-1]}` stands below {header}]: name the table, as {header}.NAME]"
            raise file.error(message, keys) from None
        message = f"{_name(keys)} must be {describe(expected)}, not {_show(value)}"
        if isinstance(value, str) and (near := nearest(value, literals(expected))):
            message += f"; did you mean {_show(near)}?"
        raise file.error(message, keys) from None


def _lacks_name(root: inspect.Type, keys: tuple[Key, ...], value: object) -> bool:
    """Whether a key of a named table, such as [runtime.NAME], stands below the header without the name."""
    if not keys or isinstance(value, dict):
        return False
    parent = type_at(root, keys[:-1])
    named = parent.value_type if isinstance(parent, inspect.DictType) else None
    return isinstance(named, inspect.StructType) and any(
        field.encode_name == keys[-1] for field in named.fields
    )


def _keys_of(error: msgspec.ValidationError, data: Any, schema: type[Any]) -> tuple[Key, ...]:
    """Where the error is. msgspec writes `$.runtime[...].version[1]` and does not say which runtime: it is
    the first that gives the same error when it is the only one."""
    match = re.search(r" - at `\$([^`]*)`$", str(error))
    keys: tuple[Key, ...] = ()
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", match[1] if match else ""):
        if index == "...":
            candidates = value_at(data, keys)
            key: Key = next(
                key for key in candidates if _error_text(_with_only(data, keys, key), schema) == str(error)
            )
        else:
            key = name or int(index)
        keys = (*keys, key)
    return keys


def _with_only(data: Any, keys: Sequence[Key], only: Key) -> Any:
    """A copy in which the table at `keys` holds nothing but the key `only`."""
    if not keys:
        return {only: data[only]}
    copy = data.copy()
    copy[keys[0]] = _with_only(data[keys[0]], keys[1:], only)
    return copy


def _error_text(data: Any, schema: type[Any]) -> str:
    try:
        msgspec.convert(data, schema)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _key_error(
    file: TomlFile,
    keys: tuple[Key, ...],
    table: dict[str, Any],
    expected: inspect.StructType,
    root: inspect.Type,
) -> CatalogueError:
    """The error about a table that lacks a key, or has one too many. A misspelt key is both. `root`: the type
    of the whole file, in which the key may have another place."""
    known = sorted(field.encode_name for field in expected.fields)
    unknown = [key for key in table if key not in known]
    missing = [
        field.encode_name for field in expected.fields if field.required and field.encode_name not in table
    ]
    header = _header(keys)
    for key in missing:
        if near := nearest(key, unknown):
            message = f"{_name((*keys, key))} is missing{header}; is `{near}` meant to be `{key}`?"
            return file.error(message, (*keys, near))
    if unknown:
        # A table of tables may be meant beside another of the same.
        possible = [key for key in known if key not in table or isinstance(table[key], dict)]
        near = nearest(unknown[0], possible)
        place = _place_of(unknown[0], root)
        hint = f"did you mean `{near}`? " if near else f"its place is {place}; " if place else ""
        message = f"unknown key {_name((*keys, unknown[0]))}; {hint}known here: {', '.join(known)}"
        return file.error(message, (*keys, unknown[0]))
    return file.error(f"{_name((*keys, missing[0]))} is missing{header}", keys)


def _place_of(key: str, root: inspect.Type) -> str | None:
    """Where else in the file the key may stand: `[limits]`, or `the top of the file`."""
    if not isinstance(root, inspect.StructType):
        return None
    if any(field.encode_name == key for field in root.fields):
        return "the top of the file, above all tables"
    for header, table in tables(root):
        if any(field.encode_name == key for field in table.fields):
            return header
    return None


def _header(keys: Sequence[Key]) -> str:
    """` from [limits]`; ` from [[build]]` for one of an array of tables; nothing for the file itself."""
    if not keys:
        return ""
    name = ".".join(key for key in keys if isinstance(key, str))
    return f" from [[{name}]]" if isinstance(keys[-1], int) else f" from [{name}]"


def _name(keys: Sequence[Key]) -> str:
    """The key as it is written, `limits.wall_s`. The line says which one of an array of tables."""
    name = ".".join(key for key in keys if isinstance(key, str))
    return f"item {keys[-1] + 1} of `{name}`" if isinstance(keys[-1], int) else f"`{name}`"


def _show(value: Any) -> str:
    match value:
        case dict():
            return "a table"
        case []:
            return "an empty list"
        case list():
            return "a list"
        case bool() | int() | float() | str():
            text = json.dumps(value, ensure_ascii=False)
            return text if len(text) <= 60 else f"{text[:59]}…"
        case _:
            return str(value)


# --- what a value must be, in words ---------------------------------------------------------------


def options(node: inspect.Type) -> Sequence[inspect.Type]:
    """The types that a value may have, None apart."""
    if not isinstance(node, inspect.UnionType):
        return (node,)
    return [option for option in node.types if not isinstance(option, inspect.NoneType)]


def table_in(node: inspect.Type) -> inspect.StructType | None:
    """The table that a value of this type is, holds by name, or lists; None where it is none of these."""
    match node:
        case inspect.StructType() as table:
            return table
        case inspect.DictType(value_type=inspect.StructType() as table):
            return table
        case inspect.VarTupleType(item_type=inspect.StructType() as table):
            return table
    return None


def tables(root: inspect.StructType) -> Iterator[tuple[str, inspect.StructType]]:
    """The tables below a file, each by its header: `[limits]`, `[runtime.NAME]`, `[[build]]`."""
    for field in root.fields:
        if table := table_in(field.type):
            yield header_of(field.encode_name, field.type), table


def header_of(name: str, node: inspect.Type) -> str:
    """The header of a table as it is written."""
    match node:
        case inspect.DictType():
            return f"[{name}.NAME]"
        case inspect.VarTupleType():
            return f"[[{name}]]"
    return f"[{name}]"


def describe(node: inspect.Type) -> str:
    """What a value must be: `a whole number above 0`, `a list with something in it`."""
    match node:
        case inspect.UnionType():
            return " or ".join(", ".join(map(describe, options(node))).rsplit(", ", 1))
        case inspect.StrType(max_length=most):
            return "text" if most is None else f"text of up to {most} characters"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType() as number:
            return f"a whole number{_bounds(number)}"
        case inspect.FloatType() as number:
            return f"a number{_bounds(number)}"
        case inspect.LiteralType(values):
            return " or ".join(", ".join(map(str, values)).rsplit(", ", 1))
        case inspect.VarTupleType(item_type=inspect.StructType() | inspect.DictType()):
            return "a list of tables, each below its [[header]]"
        case inspect.VarTupleType(min_length=least):
            return "a list with something in it" if least else "a list"
    return "a table"


def literals(node: inspect.Type) -> list[str]:
    """The words that a value may be, where it is one of a few."""
    return [
        str(value)
        for option in options(node)
        if isinstance(option, inspect.LiteralType)
        for value in option.values
    ]


def type_at(root: inspect.Type, keys: Sequence[Any]) -> inspect.Type:
    """The type of the value at `keys`, names and indexes."""
    node = root
    for key in keys:
        for option in options(node):
            if isinstance(option, inspect.StructType) and isinstance(key, str):
                node = next(field.type for field in option.fields if field.encode_name == key)
            elif isinstance(option, inspect.DictType) and isinstance(key, str):
                node = option.value_type
            elif isinstance(option, inspect.VarTupleType) and isinstance(key, int):
                node = option.item_type
    return node


def _bounds(node: inspect.IntType | inspect.FloatType) -> str:
    """As the schema has them: ` from 1 to 10000`, ` above 0`, ` above 0 and up to 60`, or nothing."""
    if node.ge is not None:
        return f" from {node.ge:g} to {node.le:g}"
    low = f" above {node.gt:g}" if node.gt is not None else ""
    return low + (f" and up to {node.le:g}" if node.le is not None else "")
