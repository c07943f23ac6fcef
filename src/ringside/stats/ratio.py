"""The ratio of two contenders from pairs inside blocks, on the log scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ringside.model.results import Interval, Verdict
from ringside.stats import signed_rank
from ringside.stats.interval import CONFIDENCE
from ringside.stats.stopping import PEEKED


@dataclass(frozen=True, slots=True)
class Paired:
    """How many times as large one figure is as another, with a 95 % interval. `p`: how likely pairs at least
    as one-sided are when nothing lies between the two but the order in which they ran."""

    ratio: Interval
    p: float


def paired(
    numerator: Mapping[int, float], denominator: Mapping[int, float], *, peeked: bool = False
) -> Paired | None:
    """How many times `denominator` is `numerator`: values by block, positive; blocks in which one of them
    is missing, or is no positive number, drop out. None where no pair is left.

    The middle of the log ratios with Wilcoxon's test (see `signed_rank.middle`). It assumes only that a log
    ratio lies symmetrically about its middle, which pairs in random order give, humps and outliers or not.
    Fewer than six pairs have no interval. `peeked`: blocks were made until intervals were narrow, which takes
    an interval that is nominally of 97 % to hold 95 % (see `stopping`), and a p that is larger accordingly.
    """
    logs = log_ratios(numerator, denominator)
    if not logs:
        return None
    nominal = PEEKED if peeked else CONFIDENCE
    found, p = signed_rank.middle_and_p(logs, nominal)
    low, high = (None if end is None else math.exp(end) for end in (found.low, found.high))
    ratio = Interval(math.exp(found.estimate), low, high, found.n)
    return Paired(ratio, min(1.0, p * (1 - CONFIDENCE) / (1 - nominal)))


def paired_ratio(
    numerator: Mapping[int, float], denominator: Mapping[int, float], *, peeked: bool = False
) -> Interval | None:
    """The ratio of `paired` alone."""
    found = paired(numerator, denominator, peeked=peeked)
    return None if found is None else found.ratio


def log_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> list[float]:
    """The logarithms of the ratios of all blocks that have both."""
    return [
        math.log(numerator[block]) - math.log(denominator[block])
        for block in sorted(numerator.keys() & denominator.keys())
        if usable(numerator[block]) and usable(denominator[block])
    ]


def usable(value: float) -> bool:
    """Whether it has a logarithm."""
    return math.isfinite(value) and value > 0


def verdict(ratio: Interval, *, smaller_is_better: bool = True, p: float | None = None) -> Verdict:
    """What the interval of a ratio (contender over baseline) says of the contender. `p`: of this comparison
    as one of a family, where it is one of several (`family.adjusted`); it must be small too."""
    if ratio.low is None or ratio.high is None:
        return Verdict.TOO_FEW_BLOCKS
    if ratio.low <= 1 <= ratio.high or (p is not None and p > 1 - CONFIDENCE):
        return Verdict.INDISTINGUISHABLE
    return Verdict.FASTER if (ratio.high < 1) == smaller_is_better else Verdict.SLOWER
