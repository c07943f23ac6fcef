"""Tables of cases beside the tests that take them."""

import tomllib
from pathlib import Path
from typing import Any


def cases(test: str, name: str) -> list[Any]:
    """The table of that name in the TOML file beside a test, its lists as tuples."""
    return [*tables(test)[name]]


def tables(test: str, file: str = "") -> dict[str, Any]:
    """All tables of that file, or of another one beside the test."""
    path = Path(test).with_name(file) if file else Path(test).with_suffix(".toml")
    read: dict[str, Any] = _frozen(tomllib.loads(path.read_text(encoding="utf-8")))
    return read


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
