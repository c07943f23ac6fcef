"""Bars of a terminal, in eighths of a character; bands of latency on a logarithmic scale with round edges,
and how dark a count is drawn."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable

from ringside import units

_EIGHTHS = " ▏▎▍▌▋▊▉"
# Steps within ten: the finest that gives few enough bands is taken.
_FINE = (1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0)
_ONE_TWO_FIVE = (1.0, 2.0, 5.0)
_ONE_THREE = (1.0, 3.0)
_TENS = (1.0,)
_COARSE = (_ONE_TWO_FIVE, _ONE_THREE, _TENS)
SHADES = " ░▒▓█"


def bar(share: float, width: int) -> str:
    """A bar of up to `width` characters; any share above 0 shows (rich.bar.Bar rounds it down to nothing)."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def band_edges(low_ns: float, high_ns: float, max_bands: int, *, fine: bool = True) -> list[float]:
    """Upper edges in nanoseconds of up to `max_bands` bands that hold all values from low to high."""
    low_ns, high_ns = max(1.0, low_ns), max(1.0, low_ns, high_ns)
    for steps in (_FINE, *_COARSE) if fine else _COARSE:
        first, last = math.floor(math.log10(low_ns)) - 1, math.ceil(math.log10(high_ns)) + 1
        # Powers of ten with a negative exponent are not exact, and edges are not below 1 ns.
        series = [step * 10**power for power in range(max(0, first), last + 1) for step in steps]
        upper_edges = series[bisect_left(series, low_ns) : bisect_left(series, high_ns) + 1]
        if len(upper_edges) <= max_bands:
            return upper_edges
    # Twelve decades do not fit: a band holds several.
    every = math.ceil(len(upper_edges) / max_bands)
    return list(reversed(upper_edges[::-1][::every]))


def band_counts(pairs: Iterable[tuple[float, int]], upper_edges: list[float]) -> list[int]:
    """How many of (value, count) pairs lie in each band; the last one has those above, too."""
    counts = [0] * len(upper_edges)
    for value, count in pairs:
        counts[min(bisect_left(upper_edges, value), len(counts) - 1)] += count
    return counts


def band_label(edge_ns: float) -> str:
    """An edge as text: `20 µs`, `1.25 ms`."""
    factor, name = units.scale(edge_ns, "ns")
    return f"{edge_ns / factor:g} {name}"


def shade(count: int, highest: int) -> int:
    """How dark a count is drawn, from 0 (nothing) to 4 (the highest count), on a logarithmic scale, so that a
    few slow replies among many fast ones can be seen."""
    if count <= 0 or highest <= 0:
        return 0
    return min(4, max(1, math.ceil(4 * math.log1p(count) / math.log1p(highest))))
