"""Wilcoxon's signed-rank statistic, and the estimate and interval that belong to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE, LEAST

if TYPE_CHECKING:
    import numpy as np

# Beyond this many values the exact distribution is slow and its normal approximation good.
_EXACT = 60
# Beyond this many values the means of all pairs are counted instead of written down.
_WRITTEN = 1000


@lru_cache(maxsize=256)
def _cumulated(n: int) -> tuple[int, ...]:
    """For w = 0, 1, …: how many subsets of {1 … n} have a sum of w at most."""
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for w, count in enumerate(counts):
            longer[w + rank] += count
        counts = longer
    found, total = [], 0
    for count in counts:
        total += count
        found.append(total)
    return tuple(found)


def tail(w: int, n: int) -> float:
    """P(W <= w) for Wilcoxon's signed-rank statistic W of n values that lie symmetrically about 0: exact up
    to 60 values, then by the normal approximation with correction for continuity."""
    if w < 0:
        return 0.0
    if n <= _EXACT:
        counts = _cumulated(n)
        return counts[min(w, len(counts) - 1)] / float(2**n)
    mean, variance = n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24
    return 0.5 * math.erfc((mean - w - 0.5) / math.sqrt(2 * variance))


@lru_cache(maxsize=1024)
def cut(n: int, confidence: float = CONFIDENCE) -> int | None:
    """The largest c with P(W <= c) within one half of what `confidence` leaves; None where there is none."""
    beyond = (1 - confidence) / 2
    low, high = -1, n * (n + 1) // 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tail(middle, n) <= beyond else (low, middle - 1)
    return None if low < 0 else low


def p_value(values: Sequence[float]) -> float:
    """How likely values at least as one-sided as these are if they lie symmetrically about 0, in both
    directions. Below 5 % exactly where the interval of `middle` leaves out 0. 1 for no values."""
    return _p_value(_Means(values)) if values else 1.0


def middle(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The middle of values that lie symmetrically about it, with an interval; in the unit of the values.

    Estimate: Hodges and Lehmann's, the median of the means of all pairs of values, each with itself too.
    Interval: the signed-rank test turned round (M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric
    Statistical Methods, 3rd ed., sections 3.2 and 3.3). An outlier moves both little. Fewer than six values
    have no interval. Raises ValueError for no values, or one that is not finite.
    """
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError("a middle needs one finite value at least, and finite ones only")
    return _middle(_Means(values), confidence)


def middle_and_p(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[Interval, float]:
    """Both `middle` and `p_value`, which need the same means: of finite values, one at least."""
    means = _Means(values)
    return _middle(means, confidence), _p_value(means)


def _p_value(means: _Means) -> float:
    n = means.n
    # Means of 0 speak for both sides.
    against = min(means.at_most(0.0), n * (n + 1) // 2 - means.below(0.0))
    return min(1.0, 2 * tail(against, n))


def _middle(means: _Means, confidence: float) -> Interval:
    n, total = means.n, means.n * (means.n + 1) // 2
    estimate = (means.smallest((total - 1) // 2) + means.smallest(total // 2)) / 2
    c = cut(n, confidence)
    if n < LEAST or c is None:
        return Interval(estimate, None, None, n)
    return Interval(estimate, means.smallest(c), means.smallest(total - 1 - c), n)


@lru_cache(maxsize=64)
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of both values of each pair."""
    import numpy as np  # here, since `--help` does without

    row, column = np.triu_indices(n)
    return row, column


class _Means:
    """The means of all pairs of values (i <= j): written down and sorted where they are few, else counted, so
    that 30,000 values need no gigabytes."""

    def __init__(self, values: Sequence[float]) -> None:
        import numpy as np  # here, since `--help` does without

        self._numpy = np
        self.n = len(values)
        self._values: np.ndarray = np.sort(np.array(values, dtype=float))
        self._all: np.ndarray | None = None
        if len(values) <= _WRITTEN:
            row, column = _pairs(len(values))
            self._all = np.sort((self._values[row] + self._values[column]) / 2)

    def at_most(self, bound: float) -> int:
        return self._count(bound, "right")

    def below(self, bound: float) -> int:
        return self._count(bound, "left")

    def smallest(self, k: int) -> float:
        """The k-th smallest, from 0."""
        if self._all is not None:
            return float(self._all[k])
        low, high = float(self._values[0]), float(self._values[-1])
        # Halved until no number lies between.
        while True:
            half = low + (high - low) / 2
            if half in (low, high):
                return high if self._count(low, "right") <= k else low
            if self._count(half, "right") > k:
                high = half
            else:
                low = half

    def _count(self, bound: float, side: Literal["left", "right"]) -> int:
        if self._all is not None:
            return int(self._numpy.searchsorted(self._all, bound, side=side))
        # Both orders of each pair, and each value with itself once.
        ordered = self._numpy.searchsorted(self._values, 2 * bound - self._values, side=side).sum()
        alone = self._numpy.searchsorted(self._values, bound, side=side)
        return int(ordered + alone) // 2
