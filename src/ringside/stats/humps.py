"""Whether timings gather about two places instead of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ringside.stats.ratio import usable

# With fewer values chance makes humps.
LEAST = 40
# The smaller hump must hold so much of the values.
_SHARE = 0.1
# How thinly the valley between may be filled, beside what lies about the two humps.
_VALLEY = 0.25


def two_humps(values: Sequence[float]) -> tuple[float, float] | None:
    """The places of two humps, the medians of the two groups of values, in their unit; None where one hump
    explains them, or there are fewer than forty.

    The logarithms are split where the sum of squares within the two groups is least (Otsu's threshold). Two
    humps are claimed when the middle third of the way between the two medians holds far less than its even
    share of the values between them: seldom by chance in one hump, flat ones included (simulated in the
    tests), but wide humps that run into each other are not seen.
    """
    logs = sorted(math.log(value) for value in values if usable(value))
    n = len(logs)
    if n < LEAST:
        return None
    split = _split(logs)
    if min(split, n - split) < max(4, _SHARE * n):
        return None
    low, high = median(logs[:split]), median(logs[split:])
    third = (high - low) / 3
    between = sum(low <= x <= high for x in logs)
    valley = sum(low + third < x < high - third for x in logs)
    # About half of all values lie between the two medians; where there is one hump, a third of these or more
    # in the middle third of the way.
    if third <= 0 or between < 0.3 * n or valley > _VALLEY * between / 3:
        return None
    return math.exp(low), math.exp(high)


def _split(ordered: Sequence[float]) -> int:
    """How many values the lower group has when the squares between the two means are most."""
    total, n = math.fsum(ordered), len(ordered)
    best, found, running = -1.0, 1, 0.0
    for k in range(1, n):
        running += ordered[k - 1]
        apart = k * (n - k) * (running / k - (total - running) / (n - k)) ** 2
        if apart > best:
            best, found = apart, k
    return found
