"""TOML files into the types of `schema`; errors of msgspec into one line with file, line and the way out."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from ringside.catalogue import shapes
from ringside.catalogue.tomlfile import Key, TomlFile, value_at
from ringside.errors import CatalogueError

T = TypeVar("T")


def decode(file: TomlFile, schema: type[T]) -> T:
    """The file as `schema`, a msgspec type. Raises CatalogueError about the first thing that does not fit."""
    try:
        return msgspec.convert(file.data, schema)
    except msgspec.ValidationError as error:
        keys = _keys_of(error, file.data, schema)
        root = inspect.type_info(schema)
        expected, value = shapes.type_at(root, keys), value_at(file.data, keys)
        if isinstance(expected, inspect.StructType) and isinstance(value, dict):
            raise _key_error(file, keys, value, expected, root) from None
        if _lacks_name(root, keys, value):
            header = f"[{'.'.join(map(str, keys[:-1]))}"
            message = f"`{keys[-1]}` stands below {header}]: name the table, as {header}.NAME]"
            raise file.error(message, keys) from None
        message = f"{_name(keys)} must be {shapes.describe(expected)}, not {_show(value)}"
        if isinstance(value, str) and (near := nearest(value, shapes.literals(expected))):
            message += f"; did you mean {_show(near)}?"
        raise file.error(message, keys) from None


def _lacks_name(root: inspect.Type, keys: tuple[Key, ...], value: object) -> bool:
    """Whether a key of a named table, such as [runtime.NAME], stands below the header without the name."""
    if not keys or isinstance(value, dict):
        return False
    parent = shapes.plain(shapes.type_at(root, keys[:-1]))
    named = parent.value_type if isinstance(parent, inspect.DictType) else None
    return isinstance(named, inspect.StructType) and any(
        field.encode_name == keys[-1] for field in named.fields
    )


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The one of the names that `name` may be a misspelling of."""
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


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
    for header, table in shapes.tables(root):
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
