"""Whether a sample has two modes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median

from ringside.stats.interval import is_positive_finite

# In smaller samples two modes appear by chance.
MIN_SAMPLES = 7
# The smaller mode must hold at least this share of many values; of few values more, and three of them.
_MIN_SHARE = 0.1
_MIN_SHARE_OF_FEW = 0.2
_MIN_COUNT = 3
# By number of values: the share of the sum of squares that a split into two groups explains in 1 % of flat
# samples, which of all shapes with one mode look most like two (20,000 samples of normal, flat, exponential,
# lognormal, Pareto and Student's distributions each; the tests repeat it). Between them by interpolation.
_EXPLAINED = {7: 0.97, 10: 0.95, 14: 0.935, 20: 0.9, 30: 0.87, 40: 0.855}
# From so many values on, the valley between the modes is looked at instead, which detects wider ones.
_MANY = 40
# The middle third of the way between the medians may hold at most this share of what it would hold if the
# values between them were spread evenly. With one mode it holds its even share or more.
_MAX_VALLEY = 0.25


def bimodality(values: Sequence[float]) -> tuple[float, float] | None:
    """The lower and the upper mode, as the medians of the two groups of values, in their unit. None where one
    mode explains the values, or where there are fewer than seven positive finite ones.

    The logarithms are split where the sum of squares within the two groups is smallest (Otsu's threshold). Of
    fewer than forty values there are two modes when the split explains more of the sum of squares than it
    does in 1 % of flat samples: with noise of 1 % and modes 35 % apart, one of which has 40 % of the values,
    this detects 49 % at 7 values, 82 % at 10, 98 % at 20. Of more values, when the middle third of the way
    between the two medians holds far less than its even share of the values between them. Two wide modes that
    overlap are not detected.
    """
    logs = sorted(math.log(value) for value in values if is_positive_finite(value))
    n = len(logs)
    if n < MIN_SAMPLES:
        return None
    split = _otsu_split(logs)
    least = _MIN_SHARE * n if n >= _MANY else max(_MIN_COUNT, _MIN_SHARE_OF_FEW * n)
    if min(split, n - split) < least:
        return None
    low, high = median(logs[:split]), median(logs[split:])
    if n < _MANY:
        is_bimodal = _explained(logs, split) > _threshold(n)
        return (math.exp(low), math.exp(high)) if is_bimodal else None
    third = (high - low) / 3
    between = sum(low <= x <= high for x in logs)
    valley = sum(low + third < x < high - third for x in logs)
    if third <= 0 or valley > _MAX_VALLEY * between / 3:
        return None
    return math.exp(low), math.exp(high)


def _otsu_split(ordered: Sequence[float]) -> int:
    """The size of the lower group that maximises the sum of squares between the two groups."""
    total, n = math.fsum(ordered), len(ordered)
    sums = list(itertools.accumulate(ordered))

    def between_groups(k: int) -> float:
        lower_mean, upper_mean = sums[k - 1] / k, (total - sums[k - 1]) / (n - k)
        return float(k * (n - k) * (lower_mean - upper_mean) ** 2)

    return max(range(1, n), key=between_groups)


def _explained(ordered: Sequence[float], split: int) -> float:
    """The share of the sum of squares that lies between the two groups."""

    def within(group: Sequence[float]) -> float:
        mean = math.fsum(group) / len(group)
        return math.fsum((value - mean) ** 2 for value in group)

    total = within(ordered)
    return 1 - (within(ordered[:split]) + within(ordered[split:])) / total if total > 0 else 0.0


def _threshold(n: int) -> float:
    """What a split of seven to forty values must explain."""
    low, high = next((low, high) for low, high in itertools.pairwise(sorted(_EXPLAINED)) if n <= high)
    share = (n - low) / (high - low)
    return _EXPLAINED[low] + share * (_EXPLAINED[high] - _EXPLAINED[low])
