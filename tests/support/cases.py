"""Tables of cases beside the tests that take them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def cases(test: str, name: str) -> list[Any]:
    """The table of that name in the TOML file beside a test, its lists as tuples."""
    table = tomllib.loads(Path(test).with_suffix(".toml").read_text(encoding="utf-8"))[name]
    return [_frozen(row) for row in table]


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
