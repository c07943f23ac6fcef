"""Whether a sample has two modes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median

from ringside.stats.interval import is_positive_finite

# In smaller samples two modes appear by chance.
MIN_SAMPLES = 40
# The smaller mode must hold at least this share of the values.
_MIN_SHARE = 0.1
# The middle third of the way between the medians may hold at most this share of what it would hold if the
# values between them were spread evenly. With one mode it holds its even share or more.
_MAX_VALLEY = 0.25


def bimodality(values: Sequence[float]) -> tuple[float, float] | None:
    """The lower and the upper mode, as the medians of the two groups of values, in their unit. None where one
    mode explains the values, or where there are fewer than forty positive finite ones.

    The logarithms are split where the sum of squares within the two groups is smallest (Otsu's threshold).
    There are two modes when the middle third of the way between the two medians holds far less than its even
    share of the values between them. This is rare by chance, for flat distributions too (simulated in the
    tests), but two wide modes that overlap are not detected.
    """
    logs = sorted(math.log(value) for value in values if is_positive_finite(value))
    n = len(logs)
    if n < MIN_SAMPLES:
        return None
    split = _otsu_split(logs)
    if min(split, n - split) < _MIN_SHARE * n:
        return None
    low, high = median(logs[:split]), median(logs[split:])
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
