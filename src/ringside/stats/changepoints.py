"""Warm-up and steady state: how the times of a piece of work change when one process repeats it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import NormalDist, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

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
# A segment of one value would be an outlier.
_MIN_SEGMENT = 2


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


def steady_state(values: Sequence[float]) -> SteadyState | None:
    """The kind of a series of times, positive and in their order; None for fewer than ten.

    The logarithms are cut into segments by PELT with quadratic costs (R. Killick, P. Fearnhead, I. A. Eckley,
    JASA 107 (2012)); adjacent segments whose medians differ by less than 2 % are merged. A change in the last
    quarter: no steady state. Otherwise the last segment is the steady state. The series is warming up if all
    segments that differ from it are slower, and slowing if one of them is faster. The four kinds follow
    E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017. Raises ValueError for a time
    that is not positive and finite.
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
    import numpy as np  # here, since most commands do without

    n = len(logs)
    clipped = np.array(_without_outliers(logs))
    noise = _noise(clipped.tolist())
    edges = [0, n]
    if noise > 0:
        edges = optimal_segments(clipped / noise, _PENALTY * math.log(n))
    while len(edges) > 2:
        steps = [abs(after - before) for before, after in itertools.pairwise(_medians(logs, edges))]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if steps[smallest] > TOLERANCE:
            break
        del edges[smallest + 1]
    return edges


def optimal_segments(values: np.ndarray, penalty: float) -> list[int]:
    """The edges, from 0 to the number of values, of the segments of at least two values that minimise the sum
    of squares about the segments' means plus `penalty` for each segment.

    PELT: for each t the best last segment of the first t values, among the beginnings that are not pruned.
    Where the cost up to a beginning s and of the segment from s to t is no less than the cost up to t, then t
    is a beginning at least as good for whatever follows. But the next value can only end a segment that began
    before t, so s is pruned after it.
    """
    import numpy as np

    n = len(values)
    centred = values - values.mean()
    sums, squares = (np.concatenate(([0.0], np.cumsum(each))) for each in (centred, centred**2))
    costs = np.full(n + 1, np.inf)
    costs[0] = 0.0
    last_begin: np.ndarray = np.zeros(n + 1, dtype=int)
    begins: np.ndarray = np.empty(0, dtype=int)
    last_end: np.ndarray = np.full(n + 1, n)
    for t in range(_MIN_SEGMENT, n + 1):
        begins = np.append(begins[last_end[begins] >= t], t - _MIN_SEGMENT)
        within = squares[t] - squares[begins] - (sums[t] - sums[begins]) ** 2 / (t - begins)
        totals = costs[begins] + within
        best = int(totals.argmin())
        costs[t], last_begin[t] = totals[best] + penalty, begins[best]
        pruned = begins[totals >= costs[t]]
        last_end[pruned] = np.minimum(last_end[pruned], t + _MIN_SEGMENT - 1)
    edges = [n]
    while edges[0] > 0:
        edges.insert(0, int(last_begin[edges[0]]))
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
