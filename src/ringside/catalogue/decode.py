"""TOML files into structs of `ringside.model`. Each error is one line: the file, the line, what is wrong."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec.structs import fields

from ringside.errors import CatalogueError, UsageError
from ringside.text import nearest, one_line

T = TypeVar("T")
# Names of tables and keys, and indexes in lists and in arrays of tables.
Key = str | int

# Names with less in common are not suggested: `perl` is not a misspelling of `erlang`.
_NEAR = 0.65
# An error lists up to this many known names; if there are more, it only says the way out.
_MOST_NAMED = 40
# msgspec's names of the types that a value may have.
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


def unknown(kind: str, name: str, known: Iterable[str], way_out: str = "") -> UsageError:
    """The error for an unknown name: it suggests the nearest names, else lists all and adds `way_out`."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=_NEAR)
    listed = f"known: {', '.join(names) or 'none'}" if len(names) <= _MOST_NAMED else ""
    hint = f"did you mean {' or '.join(near)}?" if near else "; ".join(filter(None, (listed, way_out)))
    return UsageError(f"there is no {kind} `{one_line(name, 120)}`; {hint}")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A file that has been parsed: its text, and what it holds."""

    path: Path
    source: str
    data: dict[str, Any]

    def error(self, message: object, *keys: Key) -> CatalogueError:
        """An error about the value at `keys`."""
        line = find_line(self.source, keys)
        return CatalogueError(f"{self.path}:{line}: {one_line(str(message), 1000)}")

    def check_known(self, kind: str, name: str, known: Iterable[str], *keys: Key) -> None:
        """Raise CatalogueError for a name, at `keys`, that is not known."""
        if name not in known:
            raise self.error(unknown(kind, name, known), *keys)


def read_toml(path: Path) -> TomlFile:
    """Read a TOML file. Raises CatalogueError, with the line of a syntax error."""
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CatalogueError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise CatalogueError(f"{path}:{line}: cannot be read: it is not UTF-8 text") from error
    try:
        return TomlFile(path, source, tomllib.loads(source))
    except (ValueError, RecursionError) as error:
        match = re.search(r"at line (\d+)", str(error))
        line = int(match[1]) if match else len(source.splitlines()) or 1
        raise CatalogueError(f"{path}:{line}: broken TOML: {one_line(str(error))}") from error


def find_line(source: str, keys: Sequence[Key]) -> int:
    """The line, counted from 1, of the statement that sets the value at `keys`, or the deepest value on the
    way there. tomllib keeps no positions, but a file cut off after a whole statement is valid TOML too."""
    lines = source.split("\n")
    start, depth, line = 0, 0, 1
    for end in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("\n".join(lines[:end]))
        except ValueError:
            continue
        if (deeper := _depth(data, keys)) > depth:
            depth, line = deeper, start + 1
        if depth == len(keys):
            break
        start = end
    return line


def _depth(data: Any, keys: Sequence[Key]) -> int:
    """How many of the keys lead to a value."""
    for depth, key in enumerate(keys):
        try:
            data = data[key]
        except (LookupError, TypeError):
            return depth
    return len(keys)


def decode(file: TomlFile, shape: type[T]) -> T:
    """The file as a struct. Raises CatalogueError about a value that does not fit."""
    try:
        return msgspec.convert(file.data, shape)
    except msgspec.ValidationError as error:
        raise _first_error(file, file.data, shape, (), str(error)) from None


def _first_error(file: TomlFile, value: Any, shape: Any, keys: tuple[Key, ...], why: str) -> CatalogueError:
    """The error about the first value, at `keys` or below, that does not fit; `why`: msgspec's reason."""
    # msgspec does not say in which of several named tables the value is.
    for key, part, part_shape in _parts(value, shape):
        try:
            msgspec.convert(part, part_shape)
        except msgspec.ValidationError as error:
            return _first_error(file, part, part_shape, (*keys, key), str(error))
    return _error(file, value, shape, keys, why)


def _options(shape: Any) -> list[Any]:
    """The types of a union, or the one type."""
    if get_origin(shape) is Annotated:
        return _options(get_args(shape)[0])
    if get_origin(shape) in (Union, UnionType):
        return [option for each in get_args(shape) for option in _options(each)]
    return [shape]


def _is_struct(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, msgspec.Struct)


def _parts(value: Any, shape: Any) -> Iterator[tuple[Key, Any, Any]]:
    """The values inside a list or table, with their keys and the types that they must have."""
    for option in _options(shape):
        origin, arguments = get_origin(option), get_args(option)
        if isinstance(value, list) and origin is tuple:
            yield from ((index, item, arguments[0]) for index, item in enumerate(value))
        elif isinstance(value, dict) and origin is dict:
            yield from ((name, item, arguments[1]) for name, item in value.items())
        elif isinstance(value, dict) and _is_struct(option):
            for field in fields(option):
                if field.encode_name in value:
                    yield field.encode_name, value[field.encode_name], field.type


def _error(file: TomlFile, value: Any, shape: Any, keys: tuple[Key, ...], reason: str) -> CatalogueError:
    """The error about a value for msgspec's reason; one of `__post_init__` may begin with its key."""
    name = ".".join(key for key in keys if isinstance(key, str))
    if match := re.fullmatch(r"Object (contains unknown|missing required) field `(.*)`", reason):
        key = f"`{name}.{match[2]}`" if name else f"`{match[2]}`"
        if match[1] == "missing required":
            return file.error(f"{key} is missing", *keys)
        structs = filter(_is_struct, _options(shape))
        known = sorted(field.encode_name for struct in structs for field in fields(struct))
        near = nearest(match[2], [each for each in known if each not in value])
        hint = f"did you mean `{near}`? " if near else ""
        return file.error(f"unknown key {key}; {hint}known here: {', '.join(known)}", *keys, match[2])
    literals = [word for each in _options(shape) if get_origin(each) is Literal for word in get_args(each)]
    if not literals and not reason.startswith("Expected "):
        match = re.match(r"`([\w.-]+)`", reason)
        return file.error(reason, *keys, *(match[1].split(".") if match else ()))
    expected = reason.removeprefix("Expected ").partition(", got ")[0]
    for word, meaning in _WORDS.items():
        expected = re.sub(rf"(?<=[` ]){word}(?=[` ])", meaning, expected)
    expected = expected.replace(" | null", "").replace(" | ", " or ").replace("`", "")
    if literals:
        expected = f"one of {', '.join(filter(None, literals))}"
    expected = re.sub(r"^a list of length >= 1$", "a list with something in it", expected)
    where = f"item {keys[-1] + 1} of `{name}`" if isinstance(keys[-1], int) else f"`{name}`"
    shown = one_line(json.dumps(value, ensure_ascii=False, default=str), 60)
    message = f"{where} must be {expected}, not {shown}"
    if expected == "text" and isinstance(value, int | float):
        message += ": write it in quotes, with its unit where it has one"
    if near := nearest(str(value), literals):
        message += f"; did you mean {near}?"
    return file.error(message, *keys)
