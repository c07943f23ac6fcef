"""How numbers are written: three significant digits, units that a person reads. And how shares, goals and
durations are read, from files and the command line: these functions raise ValueError with how to write it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ringside.text import one_line

# The help of commands needs the units of time, and none of what results are decoded with.
if TYPE_CHECKING:
    from ringside.model.results import Interval


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """`symbol`: as options have it, in ASCII; `name`: as it is shown."""

    symbol: str
    name: str
    word: str
    ns: float


_EACH_TIME_UNIT = (
    TimeUnit("s", "s", "seconds", 1e9),
    TimeUnit("ms", "ms", "milliseconds", 1e6),
    TimeUnit("us", "µs", "microseconds", 1e3),
    TimeUnit("ns", "ns", "nanoseconds", 1.0),
)
TIME_UNITS = {unit.symbol: unit for unit in _EACH_TIME_UNIT}
MILLISECONDS = TIME_UNITS["ms"]
_SCALES = {
    "ns": tuple((unit.ns, unit.name) for unit in TIME_UNITS.values()),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")),
}
_DIGITS = 3
# The unit of all times that are written now; None: the one that suits each.
_TIME_UNIT: ContextVar[TimeUnit | None] = ContextVar("time_unit", default=None)
# Decimals of a ratio whose interval ends just above or below 1.
_MAX_RATIO_DECIMALS = 4
_UNITS_S = {"h": 3600.0, "m": 60.0} | {name: TIME_UNITS[name].ns / 1e9 for name in ("s", "ms", "us")}
# No library suits: durationpy 0.11 skips what it does not know ("1s oops 2s" is 3 s) and takes "mm" for
# months, pytimeparse 1.1.10 knows no milliseconds, and pytimeparse2 has had no release since 2023.
_DURATION = re.compile("".join(rf"(?:([0-9]+(?:\.[0-9]+)?){unit})?" for unit in _UNITS_S))
# Python's own readers take `1_0`, ` 10`, `+10` and digits of other scripts as well.
_WHOLE = re.compile(r"-?[0-9]{1,1000}")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)( ?%)?")


@contextmanager
def time_unit(unit: TimeUnit | None) -> Iterator[None]:
    """Within it every time is written in this unit; None: in the one that suits it."""
    token = _TIME_UNIT.set(unit)
    try:
        yield
    finally:
        _TIME_UNIT.reset(token)


def rank_interval(ends: tuple[int, int]) -> str:
    """`1`, or `2–4`."""
    first, last = ends
    return str(first) if first == last else f"{first}–{last}"


def significant(value: float, digits: int = _DIGITS) -> str:
    """A number with this many significant digits, without an exponent: 0.0123, 1.23, 123, 12,300."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    return _to_place(value, _last_place(value, digits))


def percent(share: float) -> str:
    """A share as `19 %`."""
    return f"{share * 100:.0f} %"


def count(number: int, noun: str) -> str:
    """`1 block`, `7 blocks`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration(seconds: float) -> str:
    """`45 s`, `3 min 20 s`, `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def quantity(value: float, unit: str) -> str:
    """A value with its unit, scaled so that it reads well: `1.23 µs`, `45.6 MiB`, `12,300`."""
    if not unit and float(value).is_integer():
        return f"{value:,.0f}"
    factor, name = scale(value, unit)
    return f"{significant(value / factor)} {name}".strip()


def scale(value: float, unit: str) -> tuple[float, str]:
    """The unit in which a value reads well, as (how many of `unit` it is, its name): 1e6, "ms" of ns."""
    if unit in ("s", "ns") and (fixed := _TIME_UNIT.get()):
        return fixed.ns / (1e9 if unit == "s" else 1.0), fixed.name
    scales = _SCALES.get(unit, ((1.0, unit),))
    return next(((f, n) for f, n in scales if abs(value) >= f), scales[-1])


def with_interval(value: Interval, unit: str) -> str:
    """`123 ns (118–131)`: the interval in the estimate's scale, with as many decimals; without it where there
    is none."""
    factor, name = scale(value.estimate, unit)
    place = _last_place(value.estimate / factor, _DIGITS)
    text = f"{significant(value.estimate / factor)} {name}".strip()
    ends = _ends(value, factor, place)
    return f"{text} ({ends})" if ends else text


def ratio(value: Interval) -> str:
    """`1.63 (1.55–1.74)`."""
    estimate, ends = ratio_parts(value)
    return f"{estimate} ({ends})" if ends else estimate


def ratio_parts(value: Interval) -> tuple[str, str]:
    """A ratio and the two ends of its interval, `1.63` and `1.55–1.74`, with the same number of decimals; the
    second is empty if there is no interval. An interval that excludes 1 is written so that it does."""
    place = _last_place(value.estimate, _DIGITS)
    if value.low is not None and value.high is not None and (value.low > 1 or value.high < 1):
        nearest = value.low if value.low > 1 else value.high
        while place < _MAX_RATIO_DECIMALS and round(nearest, place) == 1:
            place += 1
    return _to_place(value.estimate, place) if value.estimate else "0", _ends(value, 1.0, place)


# From this ratio on a difference is read as times, below it as a percentage.
TIMES_FROM = 1.3
# An interval is this many units of the last digit wide, or more.
_LEAST_WIDTH = 3


def excess(value: Interval) -> tuple[str, str]:
    """By how much a ratio above 1 exceeds it: `35 times` and `28–41` as `times`, or below `TIMES_FROM` `5 %`
    and `3–7 %`."""
    if not is_small_excess(value):
        return times(value)
    low, high = (None if end is None else (end - 1) * 100 for end in (value.low, value.high))
    shares = replace(value, estimate=(value.estimate - 1) * 100, low=low, high=high)
    return times(shares, is_share=True)


def is_small_excess(value: Interval) -> bool:
    """Whether a ratio above 1 is written as a percentage."""
    low = value.estimate if value.low is None else value.low
    return low > 1 and value.estimate < TIMES_FROM


def times(value: Interval, *, is_share: bool = False) -> tuple[str, str]:
    """A ratio and its interval as `35 times` and `28–41`, or a share as `5 %` and `3–7 %`, with the digits
    that the interval supports, and that tell it from no difference. The second is empty without interval."""
    unit, digits, no_difference = ("%", _DIGITS - 1, 0.0) if is_share else ("times", _DIGITS, 1.0)
    place = _last_place(value.estimate, digits)
    if value.low is None or value.high is None:
        return f"{_to_place(value.estimate, place)} {unit}", ""
    if value.high > value.low:
        place = min(place, -math.floor(math.log10((value.high - value.low) / _LEAST_WIDTH)))
    if value.low > no_difference:
        while place < _MAX_RATIO_DECIMALS and round(value.low, place) <= no_difference:
            place += 1
    if is_share and value.estimate >= 1:
        place = max(place, 0)
    ends = f"{_to_place(value.low, place)}–{_to_place(value.high, place)}"
    return f"{_to_place(value.estimate, place)} {unit}", f"{ends} %" if is_share else ends


def at_place_of(value: float, other: float) -> str:
    """A value with as many decimals as `other` has at three significant digits; with digits of its own where
    those would make it 0."""
    return _end(value, _last_place(other, _DIGITS))


def digits_between(width: float) -> int:
    """The number of decimals at which values so far apart look different."""
    return max(0, 1 - math.floor(math.log10(width))) if width > 0 else _DIGITS


def _ends(value: Interval, factor: float, place: int) -> str:
    if value.low is None or value.high is None:
        return ""
    ends = (value.low / factor, value.high / factor)
    if not value.estimate:
        place = _last_place(max(ends, key=abs), _DIGITS)
    return "–".join(_end(end, place) for end in ends)


def _end(value: float, place: int) -> str:
    """One end of an interval; with digits of its own where those of the estimate would make it 0."""
    if value == 0:
        return "0"
    return significant(value) if round(value, place) == 0 else _to_place(value, place)


def _last_place(value: float, digits: int) -> int:
    """The decimal place of the last of this many significant digits; negative before the point."""
    if value == 0 or not math.isfinite(value):
        return digits - 1
    return digits - 1 - math.floor(math.log10(abs(value)) + 1e-12)


def _to_place(value: float, place: int) -> str:
    return f"{round(value, place):,.{max(0, place)}f}"


def whole(text: str) -> int:
    """A whole number, in digits and with no sign but `-`. Raises ValueError."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"'{one_line(text, 60)}' is not a whole number: write it in digits, like 10")
    return int(text)


def number(text: str) -> float:
    """A number from 0, as `10` or `0.5`. Raises ValueError."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"'{one_line(text, 60)}' is not a number: write it as 10 or 0.5")
    return float(text)


def seconds(text: str) -> float:
    """`10s`, `500ms`, `250us`, `1m30s`, or `10` for seconds."""
    if _NUMBER.fullmatch(text):
        return float(text)
    match = _DURATION.fullmatch(text)
    if not text or not match:
        raise ValueError(f"'{one_line(text, 60)}' is not a duration: write it as 10s, 500ms or 1m30s")
    numbers = zip(match.groups(default="0"), _UNITS_S.values(), strict=True)
    return sum(float(number) * unit_s for number, unit_s in numbers)


def margin(text: str, most: float = 1.0) -> float:
    """`5%` or `0.05` as 0.05, up to `most`; what has no `%` is up to 1."""
    match = _SHARE.fullmatch(text)
    value = float(match[1]) / (100 if match[2] else 1) if match else math.nan
    if not 0 <= value <= (most if match and match[2] else 1):
        shown = one_line(text, 60)
        raise ValueError(f"write '{shown}' as a share from 0 to {most * 100:g} %, like 5%")
    return value
