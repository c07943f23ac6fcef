"""The ratio of two contenders from pairs inside blocks, on the log scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

from ringside.model import Interval, Verdict
from ringside.stats.interval import CONFIDENCE, LEAST

# Beyond this many pairs the exact distribution is slow and its normal approximation good.
_EXACT = 60


@lru_cache(maxsize=256)
def _signed_rank_cut(n: int) -> int | None:
    """The largest c with P(W <= c) <= 2.5 %, W being Wilcoxon's signed-rank statistic of n pairs."""
    tail = (1 - CONFIDENCE) / 2
    if n > _EXACT:
        mean, variance = n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24
        return math.floor(mean - 1.959963984540054 * math.sqrt(variance) - 0.5)
    # counts[w]: subsets of {1 … n} with the sum w.
    counts = [1]
    for rank in range(1, n + 1):
        longer = counts + [0] * rank
        for w, count in enumerate(counts):
            longer[w + rank] += count
        counts = longer
    cumulated, found = 0, None
    for w, count in enumerate(counts):
        cumulated += count
        if cumulated > tail * 2**n:
            break
        found = w
    return found


def paired_ratio(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> Interval | None:
    """How many times `denominator` is `numerator`: values by block, positive; blocks in which one of them
    is missing drop out. None where no pair is left.

    Estimate: the Hodges-Lehmann estimator of the log ratios, exp of the median of all pairwise means.
    Interval: the Wilcoxon signed-rank test turned round, exact up to 60 pairs (M. Hollander, D. A. Wolfe,
    E. Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.2 and 3.3). It assumes only that a
    log ratio lies symmetrically about its middle, which pairs in random order give, and an outlier moves
    it little. Fewer than six pairs have no interval.
    """
    logs = [
        math.log(numerator[block] / denominator[block])
        for block in sorted(numerator.keys() & denominator.keys())
        if _usable(numerator[block]) and _usable(denominator[block])
    ]
    n = len(logs)
    if n == 0:
        return None
    import numpy as np  # here, since `--help` does without

    values = np.array(logs)
    row, column = np.triu_indices(n)
    walsh = np.sort((values[row] + values[column]) / 2)
    estimate = math.exp(float(np.median(walsh)))
    cut = _signed_rank_cut(n)
    if n < LEAST or cut is None:
        return Interval(estimate, None, None, n)
    return Interval(estimate, math.exp(walsh[cut]), math.exp(walsh[len(walsh) - 1 - cut]), n)


def _usable(value: float) -> bool:
    return math.isfinite(value) and value > 0


def verdict(ratio: Interval, *, smaller_is_better: bool = True) -> Verdict:
    """What the interval of a ratio (contender over baseline) says of the contender."""
    if ratio.low is None or ratio.high is None:
        return Verdict.TOO_FEW_BLOCKS
    if ratio.low <= 1 <= ratio.high:
        return Verdict.INDISTINGUISHABLE
    return Verdict.FASTER if (ratio.high < 1) == smaller_is_better else Verdict.SLOWER
