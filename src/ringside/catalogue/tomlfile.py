"""A strict reader of TOML: every key is asked for by name and type, and what was not asked for is an
error with file and line. Files are read into these tables; the domain's types are built from them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from ringside.errors import CatalogueError

T = TypeVar("T")
_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table"}


class Table:
    """One table of a TOML file. Ask for keys, then call `done()`: keys left over are errors."""

    def __init__(self, file: Path, source: str, data: dict[str, Any], path: tuple[str, ...] = ()) -> None:
        self._file = file
        self._source = source
        self._data = data
        self._path = path
        self._asked: set[str] = set()

    def error(self, key: str | None, message: str) -> CatalogueError:
        """An error about `key` of this table, with its line where it can be found."""
        line = find_line(self._source, self._path, key)
        where = f"{self._file}:{line}" if line else str(self._file)
        return CatalogueError(f"{where}: {message}")

    def has(self, key: str) -> bool:
        return key in self._data

    def names(self) -> list[str]:
        return list(self._data)

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The value of `key`; required when there is no default."""
        self._asked.add(key)
        if key not in self._data:
            if default is None:
                raise self.error(None, f"`{self._name(key)}` is missing")
            return default
        return self._check(key, self._data[key], kind)

    def maybe(self, key: str, kind: type[T]) -> T | None:
        """The value of `key`, or None where it is not given."""
        return self.get(key, kind) if key in self._data else None

    def texts(self, key: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of text, not empty when required."""
        values = self.items(key, required=required)
        return tuple(self._check(key, value, str) for value in values)

    def items(self, key: str, *, required: bool = False) -> list[Any]:
        """A list as it stands."""
        self._asked.add(key)
        value = self._data.get(key, [])
        if not isinstance(value, list) or (required and not value):
            raise self.error(key, f"`{self._name(key)}` must be a list{' with something in it' * required}")
        return value

    def table(self, key: str) -> Table:
        """The table `key`; an empty one where it is not given."""
        data = self.get(key, dict, {})
        return Table(self._file, self._source, data, (*self._path, key))

    def tables(self, key: str) -> Iterator[Table]:
        """The array of tables `key`."""
        for data in self.items(key):
            yield Table(self._file, self._source, self._check(key, data, dict), (*self._path, key))

    def raw(self, key: str) -> Any:
        """The value of `key` as it stands: the caller checks it."""
        self._asked.add(key)
        return self._data[key]

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.error(key, f"unknown key `{self._name(key)}`; known here: {known}")

    def _name(self, key: str) -> str:
        return ".".join((*self._path, key))

    def _check(self, key: str, value: Any, kind: type[T]) -> T:
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(key, f"`{self._name(key)}` must be {_KINDS.get(kind, kind.__name__)}")
        return value


def read(file: Path) -> Table:
    """Read a TOML file. Raises CatalogueError with the line where it is broken."""
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CatalogueError(f"{file}: cannot be read: {reason}") from error
    try:
        return Table(file, source, tomllib.loads(source))
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error))
        where, what = (f"{file}:{match[2]}", match[1]) if match else (str(file), str(error))
        raise CatalogueError(f"{where}: broken TOML: {what}") from error


def find_line(source: str, path: tuple[str, ...], key: str | None) -> int | None:
    """The line, counted from 1, of `key` in the table `path`, or of the table's header; None where it
    cannot be told. tomllib keeps no positions, so this reads headers and keys as written."""
    wanted = ".".join(path)
    current, header_line = "", None
    for number, line in enumerate(source.splitlines(), start=1):
        if header := re.match(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(#.*)?$", line):
            current = re.sub(r"""["'\s]""", "", header[1])
            if current == wanted and header_line is None:
                header_line = number
            if key is not None and current == f"{wanted}.{key}".lstrip("."):
                return number
        elif key is not None and (pair := re.match(r"\s*([^=#]+?)\s*=", line)):
            name = ".".join(filter(None, (current, re.sub(r"""["'\s]""", "", pair[1]))))
            full = ".".join(filter(None, (wanted, key)))
            if name == full or name.startswith(f"{full}."):
                return number
            # A key inside an inline table: `install = { debian = [...] }`.
            inline = re.search(rf"[{{,]\s*{re.escape(key)}\s*=", line)
            if inline and wanted.startswith(name):
                return number
    return header_line
