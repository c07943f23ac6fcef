"""Units in which times of a load are shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """`symbol` as in `--time-unit`; `ns`: how many nanoseconds it has."""

    symbol: str
    word: str
    ns: float


UNITS = {
    unit.symbol: unit
    for unit in (
        TimeUnit("ns", "nanoseconds", 1),
        TimeUnit("us", "microseconds", 1e3),
        TimeUnit("ms", "milliseconds", 1e6),
        TimeUnit("s", "seconds", 1e9),
    )
}
MILLISECONDS = UNITS["ms"]
