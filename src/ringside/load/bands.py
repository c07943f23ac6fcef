"""Bands of latency on a logarithmic scale with round edges, and how dark a count is drawn."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable

from ringside import units as numbers

# Steps within ten: the finest that gives few enough bands is taken.
_FINE = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)
_ONE_TWO_FIVE = (1.0, 2.0, 5.0)
_ONE_THREE = (1.0, 3.0)
_TENS = (1.0,)
_COARSE = (_ONE_TWO_FIVE, _ONE_THREE, _TENS)
SHADES = " ░▒▓█"


def edges(low_ns: float, high_ns: float, most: int, *, fine: bool = True) -> list[float]:
    """Upper edges in nanoseconds of up to `most` bands that hold all values from low to high."""
    low_ns, high_ns = max(1.0, low_ns), max(1.0, low_ns, high_ns)
    for steps in (_FINE, *_COARSE) if fine else _COARSE:
        first, last = math.floor(math.log10(low_ns)) - 1, math.ceil(math.log10(high_ns)) + 1
        # Powers of ten with a negative exponent are not exact, and edges are not below 1 ns.
        series = [step * 10**power for power in range(max(0, first), last + 1) for step in steps]
        found = series[bisect_left(series, low_ns) : bisect_left(series, high_ns) + 1]
        if len(found) <= most:
            return found
    # Twelve decades do not fit: several tens in a band.
    every = math.ceil(len(found) / most)
    return list(reversed(found[::-1][::every]))


def spread(pairs: Iterable[tuple[float, int]], upper_edges: list[float]) -> list[int]:
    """Counts in each band of (value, count) pairs; what lies above the last edge counts there."""
    found = [0] * len(upper_edges)
    for value, count in pairs:
        found[min(bisect_left(upper_edges, value), len(found) - 1)] += count
    return found


def label(edge_ns: float) -> str:
    """An edge as text: `20 µs`, `1.25 ms`."""
    factor, name = numbers.scale(edge_ns, "ns")
    return f"{edge_ns / factor:g} {name}"


def shade(count: int, most: int) -> int:
    """How dark, from 0 (nothing) to 4 (the most), on a logarithmic scale: a few slow replies among many
    fast ones are what one looks for."""
    if count <= 0 or most <= 0:
        return 0
    return min(4, max(1, math.ceil(4 * math.log1p(count) / math.log1p(most))))
