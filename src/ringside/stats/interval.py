"""The median of a sample, with a confidence interval that assumes no distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist, median

from ringside.model.results import Interval

CONFIDENCE = 0.95
# Below six values no distribution-free interval can hold 95 %: 1 - 2/2^5 is 93.75 %.
MIN_BLOCKS = 6
# Beyond it exp() is no finite number.
_MAX_LOG = 700.0


def is_positive_finite(value: float) -> bool:
    """Whether `value` has a finite logarithm."""
    return math.isfinite(value) and value > 0


def exponential(logarithm: Interval) -> Interval:
    """The interval of a ratio from that of its logarithm; ratios too large or too small for a number are the
    last that are one."""
    estimate, low, high = (
        None if value is None else math.exp(min(max(value, -_MAX_LOG), _MAX_LOG))
        for value in (logarithm.estimate, logarithm.low, logarithm.high)
    )
    assert estimate is not None
    return Interval(estimate, low, high, logarithm.n)


def student(confidence: float, degrees: int) -> float:
    """The two-sided quantile of Student's t, by its expansion from that of the normal distribution (M.
    Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 26.7.5): from five degrees on 0.2 % off."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384 / degrees
    second = ((5 * z**5 + 16 * z**3 + 3 * z) / 96 + third) / degrees
    return z + ((z**3 + z) / 4 + second) / degrees


@lru_cache(maxsize=256)
def _order_statistic(n: int) -> int | None:
    """The largest k, from 0, such that the median lies between the k-th smallest and the k-th largest of n
    values with 95 % or more: P(Binomial(n, 1/2) <= k) <= 2.5 %. None where there is none."""
    cumulated, largest = 0.0, None
    for k in range(n):
        log_count = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        cumulated += math.exp(log_count - n * math.log(2))
        if cumulated > (1 - CONFIDENCE) / 2:
            break
        largest = k
    return largest


def median_interval(values: Sequence[float]) -> Interval:
    """The median with a 95 % interval between order statistics (the inverted sign test: W. J. Conover,
    Practical Nonparametric Statistics, 3rd ed., section 3.2), in the unit of the values. Fewer than six
    values have no interval.

    Raises ValueError if there is no value, or one that is not finite.
    """
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError("a median needs at least one value, and finite ones only")
    ordered, n = sorted(values), len(values)
    k = _order_statistic(n)
    if k is None:
        return Interval(median(ordered), None, None, n)
    return Interval(median(ordered), ordered[k], ordered[n - 1 - k], n)
