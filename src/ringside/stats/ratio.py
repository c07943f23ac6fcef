"""The ratio of two contenders from pairs inside blocks, on the log scale."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ringside.model.results import Interval
from ringside.stats import signed_rank
from ringside.stats.interval import CONFIDENCE, exponential, is_positive_finite


def paired_ratio(
    numerator: Mapping[int, float], denominator: Mapping[int, float], confidence: float = CONFIDENCE
) -> Interval | None:
    """The ratio of two metrics, given as positive values by block. Blocks in which one of the two is missing,
    or not positive and finite, are left out; None where no pair remains.

    What is estimated is the pseudo-median of the log ratio: the median of the mean of two log ratios from
    blocks chosen at random (Hodges and Lehmann's estimate; see `signed_rank`). Where log ratios are
    distributed symmetrically, that is their median and their mean; where they are not, it lies between, and
    contenders of equal medians can have a ratio other than 1. Fewer than six pairs have no interval.
    """
    logs = log_ratios(numerator, denominator)
    if not logs:
        return None
    return exponential(signed_rank.hodges_lehmann([logs[block] for block in sorted(logs)], confidence))


def log_ratios(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> dict[int, float]:
    """The logarithm of the ratio by block, of the blocks that have both values, positive and finite."""
    return differences(logarithms(numerator), logarithms(denominator))


def logarithms(values: Mapping[int, float]) -> dict[int, float]:
    """The logarithms by block of the values that are positive and finite."""
    return {block: math.log(value) for block, value in values.items() if is_positive_finite(value)}


def differences(minuend: Mapping[int, float], subtrahend: Mapping[int, float]) -> dict[int, float]:
    """The difference by block, ascending, of the blocks that have both values."""
    return {block: minuend[block] - subtrahend[block] for block in sorted(minuend.keys() & subtrahend.keys())}
