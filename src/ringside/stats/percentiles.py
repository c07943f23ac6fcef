"""Percentiles of histograms, as far into the tail as the number of values supports them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

# Fewer values beyond a percentile do not support it: the number beyond varies by about its square root.
MIN_BEYOND = 10
# Steps to each tenth of what is left up to 100 %.
_STEPS = 10
_ALWAYS = (0.5, 0.95)


class Histogram:
    """Counts by value; empty ones are left out."""

    def __init__(self, counts: Iterable[tuple[int, int]]) -> None:
        by_value: Counter[int] = Counter()
        for value, count in counts:
            by_value[value] += count
        self._counts = {value: by_value[value] for value in sorted(by_value) if by_value[value] > 0}
        self._values = list(self._counts)
        self._cumulated = list(accumulate(self._counts.values()))

    @classmethod
    def merged(cls, histograms: Iterable[Histogram]) -> Histogram:
        """The values of all of them."""
        return cls(pair for histogram in histograms for pair in histogram._counts.items())

    @property
    def total(self) -> int:
        return self._cumulated[-1] if self._cumulated else 0

    def percentile(self, level: float) -> int:
        """The smallest value such that a share of `level` (0 to 1) of all is no larger. Raises ValueError
        where it is empty."""
        if not self._values:
            raise ValueError("an empty histogram has no percentiles")
        # Products of decimal shares come out a rounding error too large.
        rank = math.ceil(level * self.total - 1e-9 * self.total)
        return self._values[bisect_left(self._cumulated, max(1, rank))]


def is_supported(level: float, total: int) -> bool:
    """Whether so many values have a percentile: enough of them lie beyond it."""
    return total * (1 - level) >= MIN_BEYOND * (1 - 1e-9)


def supported_levels(total: int) -> Sequence[float]:
    """The shares, ascending from 0, at which a curve of so many values is drawn: even on an axis of
    1/(1 - level), and the last that is supported. Empty where not even the median is."""
    if not is_supported(0.5, total):
        return ()
    last = 1 - MIN_BEYOND / total
    steps = range(math.floor(_STEPS * math.log10(total / MIN_BEYOND)) + 1)
    even = (round(1 - 10 ** (-step / _STEPS), 12) for step in steps)
    return sorted({last, *(level for level in (*even, *_ALWAYS) if level < last)})
