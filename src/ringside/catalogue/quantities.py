"""Shares, goals and durations as they are written in files and on the command line. Each function raises
ValueError with how to write it."""

from __future__ import annotations

import math
import re

from ringside.model.design import Goal
from ringside.text import one_line
from ringside.units import TIME_UNITS

_UNITS_S = {"h": 3600.0, "m": 60.0} | {name: TIME_UNITS[name].ns / 1e9 for name in ("s", "ms", "us")}
# No library reads these: durationpy 0.11 skips what it does not know ("1s oops 2s" is 3 s) and takes "mm" for
# months, pytimeparse 1.1.10 knows no milliseconds, and pytimeparse2 has had no release since 2023.
_DURATION = re.compile("".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in _UNITS_S))
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def seconds(text: str) -> float:
    """`10s`, `500ms`, `250us`, `1m30s`, or `10` for seconds."""
    stripped = text.strip()
    match = _DURATION.fullmatch(stripped)
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    if not stripped or not match:
        raise ValueError(f"'{one_line(text, 60)}' is not a duration: write it as 10s, 500ms or 1m30s")
    numbers = zip(match.groups(default="0"), _UNITS_S.values(), strict=True)
    return sum(float(number) * unit_s for number, unit_s in numbers)


def share(text: str) -> float:
    """`2%` or `0.5 %` as 0.02 or 0.005."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = math.nan
    if not percent or rest or not 0 < value <= 1:
        raise ValueError(f"write {text!r} as a share from 0 to 100 %, like 2%")
    return value


def margin(text: str) -> float:
    """`5%` or `0.05` as 0.05."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if rest or not 0 <= value <= 1:
        raise ValueError(f"write {text!r} as a share from 0 to 100 %, like 5%")
    return value


def goal(text: str) -> Goal:
    """`decided`, `end`, or a share like `2%`."""
    if text == "decided":
        return "decided"
    if text == "end":
        return "end"
    try:
        return share(text)
    except ValueError:
        raise ValueError(f"write {text!r} as decided, end, or a share like 2%") from None
