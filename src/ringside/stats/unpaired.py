"""The ratio of metrics that were measured at different times, and therefore not in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist, fmean, quantiles
from typing import TYPE_CHECKING

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE, exponential, is_positive_finite
from ringside.stats.selection import OrderStatistic, pairs_between

if TYPE_CHECKING:
    import numpy as np

# What runs of one program are taken to differ by beyond their blocks where one run a side cannot show it: a
# standard deviation of logarithms.
ASSUMED_BETWEEN_RUNS = 0.01
# For larger samples the exact distribution is slow and its normal approximation good.
_MAX_EXACT = 40
# More differences than these are counted, which is faster than to store and sort them.
_MAX_STORED = 100_000


@lru_cache(maxsize=64)
def _counts(n: int, m: int) -> tuple[int, ...]:
    """For u = 0 … n·m: the number of orders of n and m values whose Mann-Whitney statistic is u. By the
    recurrence on the side of the largest value (H. B. Mann, D. R. Whitney, Ann. Math. Stat. 18 (1947))."""
    if n == 0 or m == 0:
        return (1,)
    counts = [0] * (n * m + 1)
    for u, count in enumerate(_counts(n - 1, m)):
        counts[u + m] += count
    for u, count in enumerate(_counts(n, m - 1)):
        counts[u] += count
    return tuple(counts)


@lru_cache(maxsize=256)
def critical_value(n: int, m: int, confidence: float = CONFIDENCE) -> int | None:
    """The largest c with P(U <= c) <= (1 - `confidence`)/2 for the Mann-Whitney statistic U of n and m values
    of one distribution; None where there is none. Exact up to 40 values on each side, then by the normal
    approximation with continuity correction."""
    tail = (1 - confidence) / 2
    if max(n, m) > _MAX_EXACT:
        mean, variance = n * m / 2, n * m * (n + m + 1) / 12
        c = math.floor(NormalDist(mean, math.sqrt(variance)).inv_cdf(tail) - 0.5)
        return c if c >= 0 else None
    orders, cumulated, largest = math.comb(n + m, n), 0, None
    for u, count in enumerate(_counts(n, m)):
        cumulated += count
        # 1 - 0.9 is a little less than a tenth.
        if cumulated > tail * orders * (1 + 1e-9):
            break
        largest = u
    return largest


def shift(minuend: Sequence[float], subtrahend: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """By how much the values of `minuend` are larger than those of `subtrahend`, in their unit; both must
    have values.

    Estimate: the median of all differences (Hodges and Lehmann, two samples). Interval: the inverted
    Mann-Whitney test (Hollander, Wolfe, Chicken, section 4.2); none where there are too few values. `n` is
    the size of the smaller sample.
    """
    differences = _Differences(minuend, subtrahend)
    size, n = differences.total, min(len(minuend), len(subtrahend))
    estimate = (differences.smallest((size - 1) // 2) + differences.smallest(size // 2)) / 2
    c = critical_value(len(minuend), len(subtrahend), confidence)
    if c is None:
        return Interval(estimate, None, None, n)
    return Interval(estimate, differences.smallest(c), differences.smallest(size - 1 - c), n)


class _Differences(OrderStatistic):
    """The differences of all pairs of two samples."""

    def __init__(self, minuend: Sequence[float], subtrahend: Sequence[float]) -> None:
        import numpy as np  # here, since most commands do without

        self._numpy = np
        self.total = len(minuend) * len(subtrahend)
        self._minuend: np.ndarray = np.sort(np.array(minuend, dtype=float))
        self._subtrahend: np.ndarray = np.sort(np.array(subtrahend, dtype=float))
        stored: np.ndarray | None = None
        if self.total <= _MAX_STORED:
            stored = np.sort(np.subtract.outer(self._minuend, self._subtrahend), axis=None)
        super().__init__(stored)

    def ends(self) -> tuple[float, float]:
        # Sums of a bound and a value are rounded, so that a difference may seem to be above itself.
        largest = self._numpy.abs([*self._minuend[[0, -1]], *self._subtrahend[[0, -1]]]).max()
        margin = 2 * self._numpy.spacing(largest)
        low, high = self._minuend[0] - self._subtrahend[-1], self._minuend[-1] - self._subtrahend[0]
        return float(low - margin), float(high + margin)

    def count_at_most(self, bound: float) -> int:
        return int(self._up_to(bound).sum())

    def _up_to(self, bound: float) -> np.ndarray:
        """For each value of the shorter sample, how many of its differences are at most `bound`: those with
        the largest of `subtrahend`, or with the smallest of `minuend`."""
        counts: np.ndarray
        if len(self._minuend) < len(self._subtrahend):
            smaller = self._numpy.searchsorted(self._subtrahend, self._minuend - bound, side="left")
            counts = self._numpy.subtract(len(self._subtrahend), smaller)
        else:
            counts = self._numpy.asarray(
                self._numpy.searchsorted(self._minuend, self._subtrahend + bound, side="right")
            )
        return counts

    def between(self, low: float, high: float) -> np.ndarray:
        fewer, more = self._up_to(low), self._up_to(high)
        if len(self._minuend) < len(self._subtrahend):
            size = len(self._subtrahend)
            rows, others = pairs_between(self._subtrahend, size - more, size - fewer)
            differences: np.ndarray = self._minuend[rows] - others
        else:
            rows, ones = pairs_between(self._minuend, fewer, more)
            differences = ones - self._subtrahend[rows]
        return differences


def log_shift(
    numerator: Sequence[float], denominator: Sequence[float], confidence: float = CONFIDENCE
) -> Interval | None:
    """The shift of the logarithms; values that are not positive and finite are left out. None where a side
    has no values."""
    upper = [math.log(value) for value in numerator if is_positive_finite(value)]
    lower = [math.log(value) for value in denominator if is_positive_finite(value)]
    return shift(upper, lower, confidence) if upper and lower else None


def ratio(
    numerator: Sequence[float],
    denominator: Sequence[float],
    machine: Sequence[Interval] = (),
    *,
    family: int = 1,
    between: float = 0.0,
) -> Interval | None:
    """The ratio of two samples from different times; None where a side has no values.

    `machine`: intervals of the shift of reference computations between these times, as differences of
    logarithms. What part of these shifts a program shares is not known, from none to all of any of them; so
    the interval of the ratio is widened by all of that. As runs get longer, the intervals of the shifts get
    narrower with the ratio's own, and more data never makes the widening larger on average. `family`: the
    number of ratios, all of whose intervals hold together with 95 % (Bonferroni). `between`: what runs differ
    by beyond their blocks, which blocks of one run do not show; added as a variance. No interval where there
    are too few values.
    """
    confidence = 1 - (1 - CONFIDENCE) / family
    interval = log_shift(numerator, denominator, confidence)
    if interval is None:
        return None
    if interval.low is None or interval.high is None:
        return Interval(math.exp(interval.estimate), None, None, interval.n)
    wider = assumed_shift(between, confidence)
    interval = Interval(
        interval.estimate,
        interval.estimate - math.hypot(interval.estimate - interval.low, wider),
        interval.estimate + math.hypot(interval.high - interval.estimate, wider),
        interval.n,
    )
    ends = [0.0]
    for each in machine:
        if each.low is None or each.high is None:
            return Interval(math.exp(interval.estimate), None, None, interval.n)
        ends += [each.low, each.high]
    assert interval.low is not None
    assert interval.high is not None
    low, high = interval.low - max(ends), interval.high - min(ends)
    return Interval(math.exp(interval.estimate), math.exp(low), math.exp(high), interval.n)


def assumed_shift(between: float, confidence: float = CONFIDENCE) -> float:
    """How far two runs of one program may be apart, with this confidence, if the standard deviation between
    runs is `between`; both are of logarithms."""
    return NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(2) * between


def is_beyond_runs(ratio: Interval) -> bool:
    """Whether a ratio of pairs of one run, with an interval, is beyond what runs are assumed to differ by."""
    size, *ends = (abs(math.log(each)) for each in (ratio.estimate, ratio.low or 1.0, ratio.high or 1.0))
    return size > math.hypot(size - min(ends), assumed_shift(ASSUMED_BETWEEN_RUNS))


def shift_of_runs(
    after: Sequence[float], before: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """The difference of the means of runs' levels, as logarithms, three runs or more in all.

    Student's interval with one variance for both sides (pooled), so that one run can be set against several:
    of so few values no distribution-free interval holds 95 %. `n` is the number of runs.
    """
    n, m = len(after), len(before)
    freedom = n + m - 2
    estimate = fmean(after) - fmean(before)
    squares = sum((value - fmean(side)) ** 2 for side in (after, before) for value in side)
    half = t_quantile((1 + confidence) / 2, freedom) * math.sqrt(squares / freedom * (1 / n + 1 / m))
    return Interval(estimate, estimate - half, estimate + half, n + m)


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: int) -> float:
    """The quantile above 0.5 of Student's t, by bisection of its distribution in finite form (Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4)."""
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        # The share between -t and t, where t is the tangent of the angle times the root of `freedom`.
        term = math.sin(angle) * (math.cos(angle) if freedom % 2 else 1.0)
        total = 0.0
        for k in range(2 + freedom % 2, freedom + 1, 2):
            total += term
            term *= math.cos(angle) ** 2 * (k - 1) / k
        share = 2 / math.pi * (angle + total) if freedom % 2 else total
        low, high = (angle, high) if share < 2 * level - 1 else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def ratio_of_runs(
    after: Sequence[float], before: Sequence[float], machine: Sequence[float] = (), *, family: int = 1
) -> Interval:
    """The ratio of levels of runs, three or more in all. `machine`: by how much the reference computations
    changed between the two sides, as differences of logarithms, by which the interval is widened as that of
    `ratio`. How uncertain these are is not added: what comes and goes from run to run is in the variance."""
    later, earlier = ([math.log(value) for value in side] for side in (after, before))
    shift = shift_of_runs(later, earlier, 1 - (1 - CONFIDENCE) / family)
    assert shift.low is not None
    assert shift.high is not None
    ends = [0.0, *machine]
    return exponential(Interval(shift.estimate, shift.low - max(ends), shift.high - min(ends), shift.n))


def drift(references: Sequence[float]) -> float | None:
    """How much the machine changes: the distance of the first and the ninth decile of the logarithms of the
    times of a fixed computation, a scale, which does not grow with their number. None for fewer than two."""
    logs = [math.log(value) for value in references if is_positive_finite(value)]
    if len(logs) < 2:
        return None
    low, *_, high = quantiles(logs, n=10, method="inclusive")
    return high - low
