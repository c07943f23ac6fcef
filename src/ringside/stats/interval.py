"""The median of a sample, with a confidence interval that assumes no distribution."""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import median

from ringside.model.results import Interval

CONFIDENCE = 0.95
# Fewer than six values give no distribution-free interval of 95 %: 1 - 2/2^5 is 93.75 %.
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


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: int) -> float:
    """The quantile above 0.5 of Student's t, by bisection of its distribution in finite form (Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4)."""
    # Beyond, the quantile hardly changes, and the sum would have as many terms.
    freedom = min(freedom, 1000)
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


@lru_cache(maxsize=256)
def _median_rank(n: int) -> int | None:
    """The largest k, from 0, such that the median lies between the k-th smallest and the k-th largest of n
    values with 95 % or more: P(Binomial(n, 1/2) <= k) <= 2.5 %. None if there is none."""
    log_counts = (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n))
    cumulated = itertools.accumulate(math.exp(each - n * math.log(2)) for each in log_counts)
    count = sum(1 for _ in itertools.takewhile(lambda share: share <= (1 - CONFIDENCE) / 2, cumulated))
    return count - 1 if count else None


def median_interval(values: Sequence[float]) -> Interval:
    """The median with a 95 % interval between order statistics (the inverted sign test: W. J. Conover,
    Practical Nonparametric Statistics, 3rd ed., section 3.2), in the unit of the values. Fewer than six
    values have no interval.

    Raises ValueError if there is no value, or one that is not finite."""
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError("a median needs at least one value, and finite ones only")
    ordered, n = sorted(values), len(values)
    k = _median_rank(n)
    if k is None:
        return Interval(median(ordered), None, None, n)
    return Interval(median(ordered), ordered[k], ordered[n - 1 - k], n)


def order_statistic(count_at_most: Callable[[float], int], k: int, low: float, high: float) -> float:
    """The k-th smallest, from 0, of numbers from `low` to `high` that are too many to store, to 15 digits of
    `high - low`, by halving. `count_at_most`: how many numbers are no larger."""
    precision = 1e-15 * (high - low)
    if count_at_most(low) > k:
        return low
    while high - low > precision and (middle := low + (high - low) / 2) not in (low, high):
        if count_at_most(middle) > k:
            high = middle
        else:
            low = middle
    return high
