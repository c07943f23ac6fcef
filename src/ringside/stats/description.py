"""A sample described: mean, deviation, range, outliers, histogram."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, quantiles, stdev

from ringside.model.results import Bin, Description

# J. W. Tukey, Exploratory Data Analysis (1977), section 2D: a value is far out beyond three times the
# distance of the quartiles from the nearer of them.
_FENCE = 3.0
# Fewer have no quartiles worth the name.
_MIN_VALUES = 5
_MAX_BINS = 12


def describe(values: Sequence[float]) -> Description:
    """Describe a sample. Raises ValueError where it is empty or has values that are not finite."""
    if not values or not all(math.isfinite(value) for value in values):
        raise ValueError("a description needs at least one value, and finite ones only")
    outliers = _outliers(values)
    inner = [value for value in values if value not in outliers]
    return Description(
        n=len(values),
        mean=fmean(values),
        deviation=stdev(values) if len(values) > 1 else None,
        median=median(values),
        least=min(values),
        most=max(values),
        outliers=tuple(value for value in values if value in outliers),
        bins=_bins(inner),
    )


def _outliers(values: Sequence[float]) -> frozenset[float]:
    if len(values) < _MIN_VALUES:
        return frozenset()
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    reach = _FENCE * (upper - lower)
    # Where half of the values are the same, no scale is left to judge the others by.
    if reach == 0:
        return frozenset()
    return frozenset(value for value in values if not lower - reach <= value <= upper + reach)


def _bins(values: Sequence[float]) -> tuple[Bin, ...]:
    """As many bins as the square root of the number of values, twelve at most."""
    low, high = min(values), max(values)
    number = min(_MAX_BINS, math.ceil(math.sqrt(len(values))))
    width = (high - low) / number
    if width <= 0:
        return (Bin(low, high, len(values)),)
    counts = [0] * number
    for value in values:
        counts[min(number - 1, int((value - low) / width))] += 1
    return tuple(
        Bin(low + place * width, low + (place + 1) * width, count) for place, count in enumerate(counts)
    )
