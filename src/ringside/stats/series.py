"""Values in time: steady states of repeats in a process, level changes over runs, when a series settles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import fmean, median
from typing import Any, TypeAlias

from ringside.arrays import np

# Shorter series are not classified.
MIN_FOR_STEADY_STATE = 10
# Longer series are divided into at most this many equal parts, which are classified by their medians.
_MOST_PARTS = 100
# The steady state has this share of the series or more, and this many values: fewer show no trend.
_LEAST_SHARE, _LEAST_VALUES = 1 / 3, 5
# Levels closer than this share count as equal.
SAME_LEVEL = 0.03
# A program that got faster is still warming up while its level is so much above the last quarter.
_STILL_FASTER = 0.05
# The quantile of the normal distribution for an error rate of 5 % in each direction.
_TREND = 1.645
# The first two values and the last quarter are off the level beyond this many standard deviations.
_BESIDE = 4.0


class SeriesKind(StrEnum):
    """The course of a series. The last two kinds have no steady state."""

    STEADY = "steady"
    WARM = "warmed up"
    SLOWED = "slowed down"
    WARMING_UP = "warming up"
    UNSTEADY = "no steady state"


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The kind of a series of times. `first`: the first time; `level`: the median of the steady state, or of
    the last third where there is none; `since`: where the steady state begins, from 0, or None."""

    kind: SeriesKind
    first: float
    level: float
    since: int | None


def steady_state(values: Sequence[float]) -> SteadyState | None:
    """The kind of a series of times, positive and in their order; None for fewer than ten.

    The steady state is the longest end of the series, a third of it or more, that has no trend and neither
    begins nor ends beside its own level (docs/METHODOLOGY.md). The trend test is that of H. B. Mann
    ("Nonparametric Tests Against Trend", Econometrica 13 (1945)) and Kendall, with the normal distribution
    and the correction for continuity, at 5 % in each direction. The kinds follow E. Barrett et al., "Virtual
    machine warmup blows hot and cold", OOPSLA 2017. Of more than a hundred times, medians of parts of one
    length are classified. Raises ValueError for a time that is not positive and finite."""
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("times must be positive and finite")
    return _kind_of(tuple(values)) if len(values) >= MIN_FOR_STEADY_STATE else None


@lru_cache(maxsize=8192)
def _kind_of(values: tuple[float, ...]) -> SteadyState:
    length = math.ceil(len(values) / _MOST_PARTS)
    # The last part may be longer by what is left.
    begins = range(0, len(values) - length + 1, length)
    edges = [*begins, len(values)]
    logs = [math.log(median(values[begin:end])) for begin, end in itertools.pairwise(edges)]
    last_quarter = median(logs[-(len(logs) // 4) :])
    scores = [sum((later > each) - (later < each) for later in logs[i + 1 :]) for i, each in enumerate(logs)]
    latest = len(logs) - max(_LEAST_VALUES, math.ceil(_LEAST_SHARE * len(logs)))
    for begin in range(latest + 1):
        rest = logs[begin:]
        level, quarter = median(rest), len(rest) // 4
        # The median of the distances from the median is 0.6745 standard deviations.
        deviation = median(abs(each - level) for each in rest) / 0.6745
        ends = (fmean(rest[:2]), median(rest[-quarter:]))
        is_beside = max(abs(end - level) for end in ends) > max(SAME_LEVEL, _BESIDE * deviation)
        still_falls = begin > 0 and level - last_quarter > _STILL_FASTER
        change = ends[1] - median(rest[:quarter])
        n, score = len(rest), abs(sum(scores[begin:]))
        is_significant = score - 1 > _TREND * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        has_trend = abs(change) >= SAME_LEVEL and is_significant
        if not is_beside and not still_falls and not has_trend:
            break
    else:
        kind = SeriesKind.WARMING_UP if still_falls or change < 0 else SeriesKind.UNSTEADY
        return SteadyState(kind, values[0], math.exp(level), None)
    kind = SeriesKind.STEADY
    if begin:
        kind = SeriesKind.WARM if median(logs[:begin]) > level else SeriesKind.SLOWED
    return SteadyState(kind, values[0], math.exp(level), begins[begin])


def merged(logs: Sequence[float], edges: Sequence[int], least: float) -> list[int]:
    """Drop edges between medians that differ by less than `least`, the smallest difference first."""
    edges = list(edges)
    while len(edges) > 2:
        medians = [median(logs[begin:end]) for begin, end in itertools.pairwise(edges)]
        steps = [abs(after - before) for before, after in itertools.pairwise(medians)]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if steps[smallest] >= least:
            break
        del edges[smallest + 1]
    return edges


# A level needs this many values on each side of a change.
MIN_LEVEL_RUNS = 3
# With fewer values no change is significant at 1 %. Every split has a mirror image that is as large: for ten
# values two of 252 splits into fives are 0.8 %, for nine values two of 126 splits are 1.6 %.
MIN_VALUES = 10
SIGNIFICANCE = 0.01
_PERMUTATIONS = 999
_SEED = 20_140_101
# Distances that are permuted at a time.
_BATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level in a series. `index`: of the first value of the new level; `p`: the share of
    permutations whose statistic is at least as large, 0.001 or more."""

    index: int
    p: float


def level_changes(values: Sequence[float]) -> tuple[LevelChange, ...]:
    """Find the indices at which the distribution of a series changes, in ascending order.

    E-divisive (D. S. Matteson, N. A. James, "A Nonparametric Approach for Multiple Change Point Analysis of
    Multivariate Data", JASA 109 (2014)) splits a segment where the energy distance between the two sides,
    weighted by their sizes, is largest. It keeps the split if at most 1 % of 999 permutations of the
    segment's values (from a fixed seed) reach that distance, and then splits both sides in the same way.
    Raises ValueError if a value is not finite."""
    if not all(math.isfinite(value) for value in values):
        raise ValueError("values must be finite")
    if len(values) < MIN_VALUES:
        return ()
    series = np.array(values)
    draws = np.random.default_rng(_SEED)
    changes: list[LevelChange] = []
    segments = [(0, len(values))]
    while segments:
        begin, end = segments.pop()
        n = end - begin
        if n < MIN_VALUES:
            continue
        distances = np.abs(series[begin:end, None] - series[None, begin:end])
        [index], [statistic] = best_splits(distances[None])
        if statistic <= 0:
            continue
        # A statistic that differs only by rounding counts as large.
        limit = statistic * (1 - 1e-9)
        larger = 0
        batch = max(1, _BATCH // (n * n))
        for first in range(0, _PERMUTATIONS, batch):
            count = min(batch, _PERMUTATIONS - first)
            orders = draws.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
            _, statistics = best_splits(distances[orders[:, :, None], orders[:, None, :]])
            larger += int((statistics >= limit).sum())
        p = (1 + larger) / (1 + _PERMUTATIONS)
        if p <= SIGNIFICANCE:
            changes.append(LevelChange(begin + int(index), p))
            segments += [(begin, begin + int(index)), (begin + int(index), end)]
    return tuple(sorted(changes, key=lambda change: change.index))


def best_splits(distances: Any) -> tuple[Any, Any]:
    """The best split of each of b orders of a segment, and its weighted energy distance. `distances`: between
    the n values of the segment, b × n × n."""
    n = distances.shape[1]
    sums = distances.cumsum(axis=1).cumsum(axis=2)
    first = np.arange(MIN_LEVEL_RUNS, n - MIN_LEVEL_RUNS + 1)
    second = n - first
    # `left` and `right` count each pair twice.
    left = sums[:, first - 1, first - 1]
    crossing = sums[:, first - 1, n - 1] - left
    right = sums[:, n - 1, n - 1][:, None] - left - 2 * crossing
    energy = 2 * crossing / (first * second) - left / (first * (first - 1)) - right / (second * (second - 1))
    weighted = energy * first * second / n
    best = weighted.argmax(axis=1)
    return first[best], weighted[np.arange(len(best)), best]


Numbers: TypeAlias = "Sequence[float] | np.ndarray"
_SETTLED_WITHIN = 0.02
# The last part of the time, whose median is the final value. A series that changes there has not settled.
_FINAL_SHARE = 0.1
# The number of equal parts of the time over which rates are taken.
_WINDOWS = 20
# With so many standard deviations, 8 % of 2,000 simulated rates that only scatter seemed to settle later.
_SCATTERS = 4


def settled_at(times: Numbers, values: Numbers, *, end: float, noise: float = 0.0) -> float | None:
    """The first of `times` from which all values lie within 2 %, or `noise`, of the final value: the median
    of the values in the last tenth of the time up to `end`, or the last value where there are none. None if
    this is not reached before the last tenth begins, or where `times` is empty.

    `times` ascend; a value holds until the next. Raises ValueError when the lengths differ."""
    if len(times) != len(values):
        raise ValueError(f"{len(times)} times and {len(values)} values")
    if len(times) == 0 or end <= times[0]:
        return None
    at, levels = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    final_part = end - _FINAL_SHARE * (end - float(at[0]))
    # Faster than numpy's median for so few values.
    final = median(levels[np.searchsorted(at, final_part) :].tolist() or levels[-1:].tolist())
    (outside,) = np.nonzero(np.abs(levels - final) > max(_SETTLED_WITHIN * abs(final), noise))
    rest = at[outside[-1] + 1 :] if len(outside) else at
    return float(rest[0]) if len(rest) and rest[0] <= final_part else None


def rate_settled_at(times: Numbers, totals: Numbers, *, begin: float, end: float) -> float | None:
    """When the rate at which `totals` grow from `begin` to `end` has settled: the beginning of the first of
    twenty equal parts from which all rates lie within 2 % of the final rate, or within their scatter."""
    if len(times) < 2:
        return None
    edges = begin + (end - begin) / _WINDOWS * np.arange(_WINDOWS + 1)
    # Between two times the total grows evenly.
    rates = np.diff(np.interp(edges, times, totals))
    # Of normal values, the median distance from the line through both neighbours is 1.65 standard deviations.
    scatter = float(np.median(np.abs(np.diff(rates, 2)))) / 1.65
    return settled_at(edges[:-1], rates, end=end, noise=_SCATTERS * scatter)
