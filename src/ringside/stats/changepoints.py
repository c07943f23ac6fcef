"""Warm-up and steady state: how the times of a piece of work change when one process repeats it."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import NormalDist, median

# Shorter series are not classified.
MIN_SAMPLES = 10
# Segments whose medians differ by less than this share count as equal.
TOLERANCE = 0.02
# With a change in this last part of the series there is no steady state yet.
_END_SHARE = 0.25
# Outliers beyond this many standard deviations from the median of their neighbours, this many on each side,
# are clipped, so that they make no segment.
_OUTLIER = 3.0
_NEIGHBOURS = 2
# The penalty of one more change, in units of the variance of the noise and log n; simulated in the tests.
_PENALTY = 5.0


class SeriesKind(StrEnum):
    """What a series does."""

    STEADY = "steady"
    WARMING_UP = "warming up"
    SLOWING = "slowing"
    NO_STEADY_STATE = "no steady state"


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The kind of a series of times. `first`: the first time; `steady`: the median of the last segment;
    `since`: where that segment begins, from 0. Both are None without a steady state."""

    kind: SeriesKind
    first: float
    steady: float | None
    since: int | None


def missing() -> bool:
    """Whether the package that detects changes is not installed."""
    return importlib.util.find_spec("ruptures") is None


def steady_state(values: Sequence[float]) -> SteadyState | None:
    """The kind of a series of times, positive and in their order; None for fewer than ten.

    The logarithms are cut into segments by PELT with quadratic costs (R. Killick, P. Fearnhead, I. A. Eckley,
    JASA 107 (2012); the package `ruptures`); adjacent segments whose medians differ by less than 2 % are
    merged. A change in the last quarter: no steady state. Otherwise the last segment is the steady state. The
    series is warming up if all segments that differ from it are slower, and slowing if one of them is faster.
    The four kinds follow E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017. Raises
    ValueError for a time that is not positive and finite.
    """
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("times must be positive and finite")
    return _kind_of(tuple(values)) if len(values) >= MIN_SAMPLES else None


@lru_cache(maxsize=8192)
def _kind_of(values: tuple[float, ...]) -> SteadyState:
    logs = [math.log(value) for value in values]
    edges = _segments(logs)
    since = edges[-2]
    if since > (1 - _END_SHARE) * len(logs):
        return SteadyState(SeriesKind.NO_STEADY_STATE, values[0], None, None)
    *_, last = medians = _medians(logs, edges)
    different = [level for level in medians if abs(level - last) > TOLERANCE]
    if not different:
        kind = SeriesKind.STEADY
    elif min(different) < last:
        kind = SeriesKind.SLOWING
    else:
        kind = SeriesKind.WARMING_UP
    return SteadyState(kind, values[0], math.exp(last), since)


def _segments(logs: Sequence[float]) -> list[int]:
    """The edges of the segments: 0, the places of changes, the number of values."""
    import numpy as np  # both here, since most commands do without
    import ruptures

    n = len(logs)
    clipped = np.array(_without_outliers(logs))
    noise = _noise(clipped.tolist())
    edges = [0, n]
    if noise > 0:
        search = ruptures.Pelt(model="l2", min_size=2, jump=1).fit((clipped / noise).reshape(-1, 1))
        edges = [0, *search.predict(pen=_PENALTY * math.log(n))]
    while len(edges) > 2:
        steps = [abs(after - before) for before, after in itertools.pairwise(_medians(logs, edges))]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if steps[smallest] > TOLERANCE:
            break
        del edges[smallest + 1]
    return edges


def _medians(logs: Sequence[float], edges: Sequence[int]) -> list[float]:
    return [median(logs[begin:end]) for begin, end in itertools.pairwise(edges)]


def _noise(values: Sequence[float]) -> float:
    """The standard deviation of values about their segment's level, from the steps between neighbours, which
    a change of level affects little. Where most steps are 0, from the others."""
    steps = [abs(after - before) for before, after in itertools.pairwise(values)]
    typical = median(steps) or median([step for step in steps if step] or [0.0])
    # A step has twice the variance of a value; half of all steps lie within this quantile of a normal one.
    return typical / (NormalDist().inv_cdf(0.75) * math.sqrt(2))


def _without_outliers(logs: Sequence[float]) -> list[float]:
    """Each value limited to a distance from the median of its neighbours (a Hampel filter). The first stays:
    a longer first time is part of what is to be detected."""
    limit = _OUTLIER * _noise(logs)
    clipped = list(logs)
    for i in range(1, len(logs)):
        centre = median(logs[max(0, i - _NEIGHBOURS) : i + _NEIGHBOURS + 1])
        clipped[i] = min(max(logs[i], centre - limit), centre + limit)
    return clipped
