"""The ratio of figures that were taken at different times, and so not in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE
from ringside.stats.ratio import usable

# Beyond this many values on a side the exact distribution is slow and its normal approximation good.
_EXACT = 40


@lru_cache(maxsize=64)
def _counts(n: int, m: int) -> tuple[int, ...]:
    """For u = 0 … n·m: in how many of the orders of n and m values the Mann-Whitney statistic is u. By the
    recurrence on which side the largest value is (H. B. Mann, D. R. Whitney, Ann. Math. Stat. 18 (1947))."""
    if n == 0 or m == 0:
        return (1,)
    with_first, with_second = _counts(n - 1, m), _counts(n, m - 1)
    found = [0] * (n * m + 1)
    for u, count in enumerate(with_first):
        found[u + m] += count
    for u, count in enumerate(with_second):
        found[u] += count
    return tuple(found)


@lru_cache(maxsize=256)
def cut(n: int, m: int, family: int = 1) -> int | None:
    """The largest c with P(U <= c) <= 2.5 % / `family` for the Mann-Whitney statistic U of n and m values of
    one distribution; None where there is none. Exact up to 40 values on each side."""
    beyond = (1 - CONFIDENCE) / 2 / family
    if max(n, m) > _EXACT:
        mean, variance = n * m / 2, n * m * (n + m + 1) / 12
        found = math.floor(mean + NormalDist().inv_cdf(beyond) * math.sqrt(variance) - 0.5)
        return found if found >= 0 else None
    total, cumulated, best = math.comb(n + m, n), 0, None
    for u, count in enumerate(_counts(n, m)):
        cumulated += count
        if cumulated > beyond * total:
            break
        best = u
    return best


def ratio(
    numerator: Sequence[float], denominator: Sequence[float], *, drift: float, family: int = 1
) -> Interval | None:
    """How many times the second figures are the first, both positive; None where one side has none.

    Estimate: exp of the median of all differences of logarithms (Hodges and Lehmann, two samples). Interval:
    the Mann-Whitney test turned round (Hollander, Wolfe, Chicken, section 4.2), and then wider by `drift`, a
    difference of logarithms, at both ends: by so much the machine itself is known to have moved. It holds
    for two runs of one machine only as far as `drift` tells of what moved. `family`: of how many comparisons
    this is one; all their intervals hold together with 95 % (Bonferroni). No interval where there are too few
    values. `n` is the smaller of the two numbers of values.
    """
    one = [math.log(value) for value in numerator if usable(value)]
    other = [math.log(value) for value in denominator if usable(value)]
    if not one or not other:
        return None
    import numpy as np  # here, since `--help` does without

    apart = np.sort(np.subtract.outer(np.array(one), np.array(other)), axis=None)
    estimate = math.exp(float(np.median(apart)))
    c, n = cut(len(one), len(other), family), min(len(one), len(other))
    if c is None:
        return Interval(estimate, None, None, n)
    low, high = float(apart[c]) - drift, float(apart[len(apart) - 1 - c]) + drift
    return Interval(estimate, math.exp(low), math.exp(high), n)


def drift(references: Sequence[float]) -> float | None:
    """By how much the machine moved: the difference of the logarithms of the longest and the shortest time
    that a fixed computation took. None where there are fewer than two."""
    logs = [math.log(value) for value in references if usable(value)]
    return max(logs) - min(logs) if len(logs) > 1 else None
