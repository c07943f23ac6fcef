"""Ratios from pairs inside blocks: the Hodges-Lehmann estimate on the log scale, and the signed-rank test."""

import bisect
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from statistics import NormalDist, fmean, stdev

from ringside.arrays import np
from ringside.model.results import Interval
from ringside.stats import interval


def paired_ratio(
    numerator: Mapping[int, float], denominator: Mapping[int, float], confidence: float = interval.CONFIDENCE
) -> Interval | None:
    """The ratio of two metrics, given as positive values by block. Blocks in which one of the two is missing,
    or not positive and finite, are left out; None if no pair remains.

    What is estimated is the pseudo-median of the log ratio (`hodges_lehmann`). Where log ratios are
    distributed symmetrically, that is their median and their mean; where they are not, it lies between, and
    contenders of equal medians can have a ratio other than 1. Fewer than six pairs have no interval."""
    logs = list(log_ratios(numerator, denominator).values())
    return interval.exponential(hodges_lehmann(logs, confidence)) if logs else None


def ratio_of_means(
    numerator: Mapping[int, float], denominator: Mapping[int, float], confidence: float = interval.CONFIDENCE
) -> Interval | None:
    """The ratio of the means over the blocks of `paired_ratio`, six at least; the variance of its logarithm
    comes from the differences of what each block adds to either mean."""
    blocks = logarithms(numerator).keys() & logarithms(denominator).keys()
    if len(blocks) < interval.MIN_BLOCKS:
        return None
    above, below = (fmean(values[block] for block in blocks) for values in (numerator, denominator))
    parts = [numerator[block] / above - denominator[block] / below for block in blocks]
    n, ratio = len(blocks), math.log(above / below)
    reach = interval.t_quantile((1 + confidence) / 2, n - 1) * stdev(parts) / math.sqrt(n)
    return interval.exponential(Interval(ratio, ratio - reach, ratio + reach, n))


def log_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> dict[int, float]:
    """The logarithm of the ratio by block, of the blocks that have both values, positive and finite."""
    return differences(logarithms(numerator), logarithms(denominator))


def logarithms(values: Mapping[int, float]) -> dict[int, float]:
    """The logarithms by block of the values that are positive and finite."""
    return {block: math.log(value) for block, value in values.items() if interval.is_positive_finite(value)}


def differences(minuend: Mapping[int, float], subtrahend: Mapping[int, float]) -> dict[int, float]:
    """The difference by block, ascending, of the blocks that have both values."""
    return {block: minuend[block] - subtrahend[block] for block in sorted(minuend.keys() & subtrahend.keys())}


# For larger samples the exact distribution is slow and its normal approximation good.
_MAX_EXACT = 60
# For larger samples it is faster to count Walsh averages than to store them.
_MAX_STORED = 300


@lru_cache(maxsize=256)
def cumulated_counts(n: int) -> tuple[int, ...]:
    """For w = 0, 1, …, n(n + 1)/2: how many subsets of {1 … n} have a sum of at most w."""
    counts = [1]
    for rank in range(1, n + 1):
        # Each subset without this rank, and with it.
        counts = list(map(operator.add, counts + [0] * rank, [0] * rank + counts))
    return tuple(itertools.accumulate(counts))


@lru_cache(maxsize=1024)
def critical_value(n: int, confidence: float = interval.CONFIDENCE) -> int | None:
    """The largest c with P(W <= c) <= (1 - `confidence`)/2 for Wilcoxon's signed-rank statistic W of n values
    that are distributed symmetrically about 0; None if there is none. Exact up to 60 values, then by the
    normal approximation with continuity correction."""
    tail = (1 - confidence) / 2
    if n > _MAX_EXACT:
        mean, variance = n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24
        c = math.floor(NormalDist(mean, math.sqrt(variance)).inv_cdf(tail) - 0.5)
        return c if c >= 0 else None
    count = bisect.bisect_right(cumulated_counts(n), tail * 2**n)
    return count - 1 if count else None


def hodges_lehmann(values: Sequence[float], confidence: float = interval.CONFIDENCE) -> Interval:
    """The centre of a symmetric distribution, with an interval; in the unit of the values.

    Estimate: Hodges and Lehmann's, the median of the Walsh averages, which are the means of all pairs of
    values, each value with itself included. Interval: the inverted signed-rank test (M. Hollander, D. A.
    Wolfe, E. Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.2 and 3.3), from six values on.
    Raises ValueError if there is no value, or one that is not finite."""
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError("an estimate needs at least one value, and finite ones only")
    smallest, n, total = _walsh_averages(values), len(values), len(values) * (len(values) + 1) // 2
    estimate = (smallest((total - 1) // 2) + smallest(total // 2)) / 2
    c = critical_value(n, confidence)
    if n < interval.MIN_BLOCKS or c is None:
        return Interval(estimate, None, None, n)
    return Interval(estimate, smallest(c), smallest(total - 1 - c), n)


def _walsh_averages(values: Sequence[float]) -> Callable[[int], float]:
    """The k-th smallest, from 0, of the means of all pairs of values (i <= j)."""
    ordered: np.ndarray = np.sort(np.array(values, dtype=float))
    places = np.arange(len(ordered))
    if len(ordered) <= _MAX_STORED:
        is_pair: np.ndarray = np.tri(len(ordered), dtype=bool)
        averages: np.ndarray = np.sort(np.add.outer(ordered, ordered)[is_pair] / 2)
        return lambda k: float(averages[k])

    @cache  # Searches for neighbours begin alike.
    def count_at_most(bound: float) -> int:
        ends = np.searchsorted(ordered, 2 * bound - ordered, side="right")
        return int((np.maximum(ends, places) - places).sum())

    return lambda k: interval.order_statistic(count_at_most, k, float(ordered[0]), float(ordered[-1]))
