"""Values in the order of their times: the steady state of repeats in one process, changes of level from run
to run, and when a time series has settled."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

# Shorter series are not classified.
MIN_FOR_STEADY_STATE = 10
# Of longer series, parts of one length are classified by their medians: so many, or fewer.
_MOST_PARTS = 100
# Segments whose medians differ by less than this share count as equal.
SAME_LEVEL = 0.02
# With a change in this last part of the series there is no steady state yet.
_END_SHARE = 0.25
# Outliers beyond this many standard deviations from the median of their neighbours, this many on each side,
# are clipped, so that they make no segment.
_OUTLIER = 3.0
_NEIGHBOURS = 2
# The penalty of one more change, in units of the variance of the noise and log n; simulated in the tests.
_PENALTY = 5.0
# A segment of one value would be an outlier.
_MIN_CHANGE_LEN = 2
# The autocorrelation is estimated about so many levels, and comes out too small by about this over the number
# of values; so much of it is left to chance, and no more than so much believed.
_LEVELS = 3
_BIAS, _CHANCE, _MAX_AUTOCORRELATION = 5.0, 0.15, 0.9


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
    E. Barrett et al., "Virtual machine warmup blows hot and cold", OOPSLA 2017. Of a series of more than a
    hundred times it is the medians of parts of one length that are classified. Raises ValueError for a time
    that is not positive and finite.
    """
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("times must be positive and finite")
    return _kind_of(tuple(values)) if len(values) >= MIN_FOR_STEADY_STATE else None


@lru_cache(maxsize=8192)
def _kind_of(values: tuple[float, ...]) -> SteadyState:
    length = math.ceil(len(values) / _MOST_PARTS)
    # The last part may be longer by what is left.
    begins = range(0, len(values) - length + 1, length)
    ends = [*begins[1:], len(values)]
    parts = [median(values[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    logs = [math.log(value) for value in parts]
    edges = segments_of(logs)
    since = edges[-2]
    if since > (1 - _END_SHARE) * len(logs):
        return SteadyState(SeriesKind.NO_STEADY_STATE, values[0], None, None)
    *_, last = medians = _medians(logs, edges)
    different = [level for level in medians if abs(level - last) > SAME_LEVEL]
    if not different:
        kind = SeriesKind.STEADY
    elif min(different) < last:
        kind = SeriesKind.SLOWING
    else:
        kind = SeriesKind.WARMING_UP
    return SteadyState(kind, values[0], math.exp(last), begins[since])


def segments_of(logs: Sequence[float]) -> list[int]:
    """The edges of the segments: 0, the places of changes, the number of values."""
    import numpy as np  # here, since most commands do without

    n = len(logs)
    clipped = np.array(without_outliers(logs))
    noise = noise_of(clipped.tolist()) * _persistence(clipped)
    edges = [0, n]
    if noise > 0:
        edges = optimal_segments(clipped / noise, _PENALTY * math.log(n))
    return merged(logs, edges, SAME_LEVEL)


def merged(logs: Sequence[float], edges: Sequence[int], least: float) -> list[int]:
    """The edges of segments without those between medians that differ by less than `least`, the smallest
    difference first."""
    edges = list(edges)
    while len(edges) > 2:
        steps = [abs(after - before) for before, after in itertools.pairwise(_medians(logs, edges))]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        if steps[smallest] >= least:
            break
        del edges[smallest + 1]
    return edges


def _persistence(values: np.ndarray) -> float:
    """How much further noise that persists from value to value moves means than its steps show: √(1 + φ) /
    (1 - φ) of a first-order autoregression with the coefficient φ. It is estimated about three levels, those
    of the two best changes, one after the other, so that changes of level are not taken for it."""
    import numpy as np

    n = len(values)
    parts = [values]
    for _ in range(_LEVELS - 1):
        gains = [_best_change(part) for part in parts]
        best = max(range(len(parts)), key=lambda place: gains[place][0])
        gain, at = gains[best]
        if gain <= 0:
            return 1.0
        parts[best : best + 1] = [parts[best][:at], parts[best][at:]]
    rest = np.concatenate([part - np.median(part) for part in parts])
    limit = _OUTLIER * np.median(np.abs(rest)) / NormalDist().inv_cdf(0.75)
    rest = np.clip(rest, -limit, limit) if limit > 0 else rest
    total = float((rest**2).sum())
    if total <= 0:
        return 1.0
    estimate = float((rest[1:] * rest[:-1]).sum()) / total
    phi = estimate * (1 + _BIAS / n) + _BIAS / n - _CHANCE
    phi = min(_MAX_AUTOCORRELATION, max(0.0, phi))
    return math.sqrt(1 + phi) / (1 - phi)


def _best_change(values: np.ndarray) -> tuple[float, int]:
    """By how much the best change of level reduces the sum of squares, and where it is."""
    import numpy as np

    n = len(values)
    if n < 2 * _MIN_CHANGE_LEN:
        return 0.0, n
    sums = np.cumsum(values - values.mean())
    sizes = np.arange(_MIN_CHANGE_LEN, n - _MIN_CHANGE_LEN + 1)
    gains = sums[sizes - 1] ** 2 * (1 / sizes + 1 / (n - sizes))
    return float(gains.max()), int(sizes[gains.argmax()])


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
    for t in range(_MIN_CHANGE_LEN, n + 1):
        begins = np.append(begins[last_end[begins] >= t], t - _MIN_CHANGE_LEN)
        within = squares[t] - squares[begins] - (sums[t] - sums[begins]) ** 2 / (t - begins)
        totals = costs[begins] + within
        best = int(totals.argmin())
        costs[t], last_begin[t] = totals[best] + penalty, begins[best]
        pruned = begins[totals >= costs[t]]
        last_end[pruned] = np.minimum(last_end[pruned], t + _MIN_CHANGE_LEN - 1)
    edges = [n]
    while edges[0] > 0:
        edges.insert(0, int(last_begin[edges[0]]))
    return edges


def _medians(logs: Sequence[float], edges: Sequence[int]) -> list[float]:
    return [median(logs[begin:end]) for begin, end in itertools.pairwise(edges)]


def noise_of(values: Sequence[float]) -> float:
    """The standard deviation of values about their segment's level, from the steps between neighbours, which
    a change of level affects little. Where most steps are 0, from the others."""
    steps = [abs(after - before) for before, after in itertools.pairwise(values)]
    typical = median(steps) or median([step for step in steps if step] or [0.0])
    # A step has twice the variance of a value; half of all steps lie within this quantile of a normal one.
    return typical / (NormalDist().inv_cdf(0.75) * math.sqrt(2))


def without_outliers(logs: Sequence[float]) -> list[float]:
    """Each value limited to a distance from the median of its neighbours (a Hampel filter). The first stays:
    a longer first time is part of what is to be detected."""
    limit = _OUTLIER * noise_of(logs)
    clipped = list(logs)
    for i in range(1, len(logs)):
        centre = median(logs[max(0, i - _NEIGHBOURS) : i + _NEIGHBOURS + 1])
        clipped[i] = min(max(logs[i], centre - limit), centre + limit)
    return clipped


# Fewer values on one side of a change are no level.
MIN_LEVEL_RUNS = 3
# Fewer values cannot show a change. A split has a mirror image that is as large: two of the 252 ways to split
# ten values into fives are 0.8 %, two of the 126 to split nine into four and five 1.6 %.
MIN_VALUES = 10
SIGNIFICANCE = 0.01
_PERMUTATIONS = 999
_SEED = 20_140_101
# Distances that are permuted at a time.
_BATCH = 1_000_000


@dataclass(frozen=True, slots=True)
class LevelChange:
    """`index`: the first value of the new level. `p`: of so large a statistic among permutations, at least
    0.001."""

    index: int
    p: float


def level_changes(values: Sequence[float]) -> tuple[LevelChange, ...]:
    """The places where the distribution of a series changes, in their order.

    E-divisive (D. S. Matteson, N. A. James, "A Nonparametric Approach for Multiple Change Point Analysis of
    Multivariate Data", JASA 109 (2014)): a segment is split where the energy distance of the two sides,
    weighted by their sizes, is the largest; the split counts if at most 1 % of 999 permutations of the
    segment's values have one as large; both sides are then split again. Here each side has at least three
    values, a segment at least ten, and the sides reach to the ends of the segment. D. Daly et al., "The Use
    of Change Point Detection to Identify Software Performance Regressions in a Continuous Integration System"
    (ICPE 2020), report on it for series of this kind. The permutations are drawn from a fixed seed, so that
    the same series gives the same places. Raises ValueError for a value that is not finite.
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError("values must be finite")
    if len(values) < MIN_VALUES:
        return ()
    import numpy as np  # here, since most commands do without

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
        # What is equal but for rounding counts as large.
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
    """Where the weighted energy distance of both sides is largest, and how large, of each of b orders of a
    segment. `distances`: b × n × n."""
    import numpy as np

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


_SETTLED_WITHIN = 0.02
# The last part of the time, whose median is the final value. A series that changes there has not settled.
_FINAL_SHARE = 0.1
# The number of equal parts of the time over which rates are taken.
_WINDOWS = 20


def settled_at(
    times: Sequence[float] | np.ndarray,
    values: Sequence[float] | np.ndarray,
    *,
    end: float,
    tolerance: float = _SETTLED_WITHIN,
) -> float | None:
    """The first of `times` from which all values lie within `tolerance`, a share, of the final value: the
    median of the values in the last tenth of the time up to `end`, or the last value where there are none.
    None where this is not reached before the last tenth begins, or where `times` is empty.

    `times` ascend; a value holds until the next. Raises ValueError when the lengths differ.
    """
    if len(times) != len(values):
        raise ValueError(f"{len(times)} times and {len(values)} values")
    import numpy as np  # here, since most commands do without

    if len(times) == 0 or end <= times[0]:
        return None
    at, levels = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    final_part = end - _FINAL_SHARE * (end - float(at[0]))
    # For so few values faster than numpy's.
    final = median(levels[np.searchsorted(at, final_part) :].tolist() or levels[-1:].tolist())
    (outside,) = np.nonzero(np.abs(levels - final) > tolerance * abs(final))
    rest = at[outside[-1] + 1 :] if len(outside) else at
    return float(rest[0]) if len(rest) and rest[0] <= final_part else None


def rate_settled_at(
    times: Sequence[float] | np.ndarray,
    totals: Sequence[float] | np.ndarray,
    *,
    begin: float,
    end: float,
    tolerance: float = _SETTLED_WITHIN,
) -> float | None:
    """When the rate at which `totals` grow from `begin` to `end` has settled. Rates are taken over twentieths
    of that time; the result is the beginning of the first from which all rates lie within `tolerance` of the
    final rate."""
    import numpy as np

    if len(times) < 2:
        return None
    edges = begin + (end - begin) / _WINDOWS * np.arange(_WINDOWS + 1)
    # Between two times the total grows evenly.
    rates = np.diff(np.interp(edges, times, totals))
    return settled_at(edges[:-1], rates, end=end, tolerance=tolerance)
