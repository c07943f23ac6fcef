"""The ratio of metrics that were measured at different times, and therefore not in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE, is_positive_finite

# For larger samples the exact distribution is slow and its normal approximation good.
_MAX_EXACT = 40


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
def critical_value(n: int, m: int, family: int = 1) -> int | None:
    """The largest c with P(U <= c) <= 2.5 % / `family` for the Mann-Whitney statistic U of n and m values of
    one distribution; None where there is none. Exact up to 40 values on each side, then by the normal
    approximation with continuity correction."""
    tail = (1 - CONFIDENCE) / 2 / family
    if max(n, m) > _MAX_EXACT:
        mean, variance = n * m / 2, n * m * (n + m + 1) / 12
        c = math.floor(NormalDist(mean, math.sqrt(variance)).inv_cdf(tail) - 0.5)
        return c if c >= 0 else None
    orders, cumulated, largest = math.comb(n + m, n), 0, None
    for u, count in enumerate(_counts(n, m)):
        cumulated += count
        if cumulated > tail * orders:
            break
        largest = u
    return largest


def ratio(
    numerator: Sequence[float], denominator: Sequence[float], *, drift: float, family: int = 1
) -> Interval | None:
    """The ratio of two samples; values that are not positive and finite are left out. None where a side has
    no values.

    Estimate: exp of the median of all differences of logarithms (Hodges and Lehmann, two samples). Interval:
    the inverted Mann-Whitney test (Hollander, Wolfe, Chicken, section 4.2), widened at both ends by `drift`,
    the known change of the machine between the samples as a difference of logarithms. It holds for two runs
    on one machine only as far as `drift` covers what changed. `family`: the number of comparisons, all of
    whose intervals hold together with 95 % (Bonferroni). No interval where there are too few values. `n` is
    the size of the smaller sample.
    """
    upper = [math.log(value) for value in numerator if is_positive_finite(value)]
    lower = [math.log(value) for value in denominator if is_positive_finite(value)]
    if not upper or not lower:
        return None
    import numpy as np  # here, since `--help` does without

    differences = np.sort(np.subtract.outer(np.array(upper), np.array(lower)), axis=None)
    estimate = math.exp(float(np.median(differences)))
    c, n = critical_value(len(upper), len(lower), family), min(len(upper), len(lower))
    if c is None:
        return Interval(estimate, None, None, n)
    low, high = float(differences[c]) - drift, float(differences[-1 - c]) + drift
    return Interval(estimate, math.exp(low), math.exp(high), n)


def drift(references: Sequence[float]) -> float | None:
    """How much the machine changed: the difference of the logarithms of the longest and the shortest time of
    a fixed computation. None for fewer than two times."""
    logs = [math.log(value) for value in references if is_positive_finite(value)]
    return max(logs) - min(logs) if len(logs) > 1 else None
