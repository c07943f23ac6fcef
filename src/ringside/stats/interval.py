"""An estimate of where the middle lies, with an interval that assumes no distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import median

from ringside.model.results import Interval

CONFIDENCE = 0.95
# Below six values no interval without assumptions can hold 95 %: 1 - 2/2^5 is 93.75 %.
LEAST = 6


@lru_cache(maxsize=256)
def _order_statistic(n: int) -> int | None:
    """The largest k, from 0, so that the median lies between the k-th smallest and the k-th largest of n
    values with 95 % or more: P(Binomial(n, 1/2) <= k) <= 2.5 %."""
    tail, found = 0.0, None
    for k in range(n // 2):
        tail += math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))
        if tail > (1 - CONFIDENCE) / 2:
            break
        found = k
    return found


def median_interval(values: Sequence[float]) -> Interval:
    """The median with a 95 % interval from order statistics (the sign test turned round: W. J. Conover,
    Practical Nonparametric Statistics, 3rd ed., section 3.2). In the unit of the values.

    Raises ValueError for no values, or one that is not finite.
    """
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError("a median needs one finite value at least, and finite ones only")
    ordered, n = sorted(values), len(values)
    k = _order_statistic(n)
    if n < LEAST or k is None:
        return Interval(median(ordered), None, None, n)
    return Interval(median(ordered), ordered[k], ordered[n - 1 - k], n)
