"""The ratio of metrics that were measured at different times, and therefore not in pairs."""

import bisect
import itertools
import math
import operator
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from statistics import NormalDist, fmean, quantiles

from ringside.arrays import np
from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE, exponential, is_positive_finite, order_statistic, t_quantile

Values = Sequence[float]

# The standard deviation (of logarithms) that is assumed between runs of one program, beyond that of their
# blocks, if there is one run per side.
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
    among_n, among_m = (0,) * m + _counts(n - 1, m), _counts(n, m - 1) + (0,) * n
    return tuple(map(operator.add, among_n, among_m))


@lru_cache(maxsize=256)
def critical_value(n: int, m: int, confidence: float = CONFIDENCE) -> int | None:
    """The largest c with P(U <= c) <= (1 - `confidence`)/2 for the Mann-Whitney statistic U of n and m values
    of one distribution; None if there is none. Exact up to 40 values on each side, then by the normal
    approximation with continuity correction."""
    tail = (1 - confidence) / 2
    if max(n, m) > _MAX_EXACT:
        mean, variance = n * m / 2, n * m * (n + m + 1) / 12
        c = math.floor(NormalDist(mean, math.sqrt(variance)).inv_cdf(tail) - 0.5)
        return c if c >= 0 else None
    # 1 - 0.9 is a little less than a tenth.
    orders = tail * math.comb(n + m, n) * (1 + 1e-9)
    count = bisect.bisect_right(list(itertools.accumulate(_counts(n, m))), orders)
    return count - 1 if count else None


def shift(minuend: Values, subtrahend: Values, confidence: float = CONFIDENCE) -> Interval:
    """By how much values of `minuend` exceed those of `subtrahend`, in their unit; both must have values.

    Estimate: the median of all differences (Hodges and Lehmann, two samples). Interval: the inverted
    Mann-Whitney test (Hollander, Wolfe, Chicken, section 4.2); none if there are too few values. `n` is
    the size of the smaller sample."""
    smallest, size = _differences(minuend, subtrahend), len(minuend) * len(subtrahend)
    n, estimate = min(len(minuend), len(subtrahend)), (smallest((size - 1) // 2) + smallest(size // 2)) / 2
    c = critical_value(len(minuend), len(subtrahend), confidence)
    if c is None:
        return Interval(estimate, None, None, n)
    return Interval(estimate, smallest(c), smallest(size - 1 - c), n)


def _differences(minuend: Values, subtrahend: Values) -> Callable[[int], float]:
    """The k-th smallest, from 0, of the differences of all pairs of two samples."""
    above, below = (np.sort(np.array(values, dtype=float)) for values in (minuend, subtrahend))
    if len(above) * len(below) <= _MAX_STORED:
        differences: np.ndarray = np.sort(np.subtract.outer(above, below), axis=None)
        return lambda k: float(differences[k])

    @cache  # Searches for neighbours begin alike.
    def count_at_most(bound: float) -> int:
        return int((len(below) - np.searchsorted(below, above - bound, side="left")).sum())

    low, high = above[0] - below[-1], above[-1] - below[0]
    return lambda k: order_statistic(count_at_most, k, float(low), float(high))


def log_shift(numerator: Values, denominator: Values, confidence: float = CONFIDENCE) -> Interval | None:
    """The shift of the logarithms of values that are positive and finite. None where a side has none."""
    upper = [math.log(value) for value in numerator if is_positive_finite(value)]
    lower = [math.log(value) for value in denominator if is_positive_finite(value)]
    return shift(upper, lower, confidence) if upper and lower else None


def ratio(
    numerator: Values,
    denominator: Values,
    machine: Sequence[Interval] = (),
    *,
    family: int = 1,
    between: float = 0.0,
) -> Interval | None:
    """The ratio of two samples from different times; None if a side has no values.

    `machine`: by how much reference computations changed between these times, as intervals of differences of
    logarithms. All of them widen the interval, since it is unknown how much a program depends on each.
    `family`: how many intervals contain the truth together with 95 % (Bonferroni). `between`: the standard
    deviation between runs, beyond that of their blocks. Too few values give no interval."""
    confidence = 1 - (1 - CONFIDENCE) / family
    interval = log_shift(numerator, denominator, confidence)
    if interval is None:
        return None
    estimate, moves = interval.estimate, [end for each in machine for end in (each.low, each.high)]
    ends = [0.0, *(end for end in moves if end is not None)]
    if interval.low is None or interval.high is None or None in moves:
        return exponential(Interval(estimate, None, None, interval.n))
    wider = assumed_shift(between, confidence)
    low = estimate - math.hypot(estimate - interval.low, wider) - max(ends)
    high = estimate + math.hypot(interval.high - estimate, wider) - min(ends)
    return exponential(Interval(estimate, low, high, interval.n))


def assumed_shift(between: float, confidence: float = CONFIDENCE) -> float:
    """How far apart two runs of one program may be, with this confidence, for a standard deviation `between`
    runs; both in logarithms."""
    return NormalDist().inv_cdf((1 + confidence) / 2) * math.sqrt(2) * between


def is_beyond_runs(ratio: Interval) -> bool:
    """Whether a ratio of pairs of one run, with an interval, is beyond what runs are assumed to differ by."""
    size, *ends = (abs(math.log(each)) for each in (ratio.estimate, ratio.low or 1.0, ratio.high or 1.0))
    return size > math.hypot(size - min(ends), assumed_shift(ASSUMED_BETWEEN_RUNS))


def shift_of_runs(after: Values, before: Values = (), confidence: float = CONFIDENCE) -> Interval:
    """The difference of the means of runs' levels, as logarithms, three runs or more in all; without `before`
    the mean of two or more.

    Student's interval with one variance for both sides (pooled). `n` is the number of runs."""
    sides = [side for side in (after, before) if side]
    n, parts = sum(map(len, sides)), sum(1 / len(side) for side in sides)
    freedom = n - len(sides)
    estimate = fmean(after) - (fmean(before) if before else 0.0)
    squares = sum((value - fmean(side)) ** 2 for side in sides for value in side)
    half = t_quantile((1 + confidence) / 2, freedom) * math.sqrt(squares / freedom * parts)
    return Interval(estimate, estimate - half, estimate + half, n)


def ratio_of_runs(after: Values, before: Values, machine: Values = (), *, family: int = 1) -> Interval:
    """The ratio of levels of runs, three or more in all. `machine`: by how much the reference computations
    changed between the sides, as differences of logarithms, which widen the interval as in `ratio`. Their
    uncertainty is not added, because the variance between runs includes what changes from run to run."""
    later, earlier = ([math.log(value) for value in side] for side in (after, before))
    shift = shift_of_runs(later, earlier, 1 - (1 - CONFIDENCE) / family)
    assert shift.low is not None
    assert shift.high is not None
    ends = [0.0, *machine]
    return exponential(Interval(shift.estimate, shift.low - max(ends), shift.high - min(ends), shift.n))


def drift(references: Values) -> float | None:
    """How much the machine changes: the distance between the first and the ninth decile of the logarithms of
    a fixed computation's times. It does not grow with their number. None for fewer than two."""
    logs = [math.log(value) for value in references if is_positive_finite(value)]
    if len(logs) < 2:
        return None
    low, *_, high = quantiles(logs, n=10, method="inclusive")
    return high - low
