"""The ratio of two contenders from pairs inside blocks, on the log scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ringside.model.results import Interval, Verdict
from ringside.stats import signed_rank
from ringside.stats.interval import CONFIDENCE, is_positive_finite
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """Numerator over denominator with a 95 % interval. `p`: the probability of pairs at least as one-sided as
    these when the two differ in nothing but the random order in which they ran."""

    ratio: Interval
    p: float


def paired(
    numerator: Mapping[int, float], denominator: Mapping[int, float], *, sequential: bool = False
) -> PairedRatio | None:
    """The ratio of two metrics, given as positive values by block. Blocks in which one of the two is missing,
    or not positive and finite, are left out; None where no pair remains.

    The Hodges-Lehmann estimate of the log ratios with Wilcoxon's test (see `signed_rank`). It assumes that
    log ratios are distributed symmetrically. Pairs in random order ensure that where the two do not differ,
    whatever the modes and outliers of the times; elsewhere it is an assumption. Fewer than six pairs have no
    interval. `sequential`: blocks were made until the intervals were narrow. Then an interval of nominally
    97 % holds 95 % (see `stats.sequential`), and `p` is scaled up to match.
    """
    logs = log_ratios(numerator, denominator)
    if not logs:
        return None
    nominal = SEQUENTIAL_CONFIDENCE if sequential else CONFIDENCE
    log_ratio, p = signed_rank.hodges_lehmann_and_p(logs, nominal)
    low, high = (None if bound is None else math.exp(bound) for bound in (log_ratio.low, log_ratio.high))
    ratio = Interval(math.exp(log_ratio.estimate), low, high, log_ratio.n)
    return PairedRatio(ratio, min(1.0, p * (1 - CONFIDENCE) / (1 - nominal)))


def paired_ratio(
    numerator: Mapping[int, float], denominator: Mapping[int, float], *, sequential: bool = False
) -> Interval | None:
    """The ratio of `paired`, without its p-value."""
    comparison = paired(numerator, denominator, sequential=sequential)
    return None if comparison is None else comparison.ratio


def log_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> list[float]:
    """The logarithms of the ratios, in the order of the blocks that have both values."""
    return [
        math.log(numerator[block]) - math.log(denominator[block])
        for block in sorted(numerator.keys() & denominator.keys())
        if is_positive_finite(numerator[block]) and is_positive_finite(denominator[block])
    ]


def verdict(ratio: Interval, *, smaller_is_better: bool = True, p: float | None = None) -> Verdict:
    """What the interval of contender over baseline shows. `p`: the p-value of this comparison, adjusted for
    its family (`family.hochberg`); if it is given, a verdict needs p <= 5 % as well."""
    if ratio.low is None or ratio.high is None:
        return Verdict.TOO_FEW_BLOCKS
    if ratio.low <= 1 <= ratio.high or (p is not None and p > 1 - CONFIDENCE):
        return Verdict.INDISTINGUISHABLE
    return Verdict.FASTER if (ratio.high < 1) == smaller_is_better else Verdict.SLOWER
