"""Where the level of a short series changes: E-divisive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Fewer values on one side of a change are no level.
MIN_SEGMENT = 3
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
        [index], [statistic] = _best_splits(distances[None])
        if statistic <= 0:
            continue
        # What is equal but for rounding counts as large.
        limit = statistic * (1 - 1e-9)
        larger = 0
        batch = max(1, _BATCH // (n * n))
        for first in range(0, _PERMUTATIONS, batch):
            count = min(batch, _PERMUTATIONS - first)
            orders = draws.permuted(np.tile(np.arange(n), (count, 1)), axis=1)
            _, statistics = _best_splits(distances[orders[:, :, None], orders[:, None, :]])
            larger += int((statistics >= limit).sum())
        p = (1 + larger) / (1 + _PERMUTATIONS)
        if p <= SIGNIFICANCE:
            changes.append(LevelChange(begin + int(index), p))
            segments += [(begin, begin + int(index)), (begin + int(index), end)]
    return tuple(sorted(changes, key=lambda change: change.index))


def _best_splits(distances: Any) -> tuple[Any, Any]:
    """Where the weighted energy distance of both sides is largest, and how large, of each of b orders of a
    segment. `distances`: b × n × n."""
    import numpy as np

    n = distances.shape[1]
    sums = distances.cumsum(axis=1).cumsum(axis=2)
    first = np.arange(MIN_SEGMENT, n - MIN_SEGMENT + 1)
    second = n - first
    # `left` and `right` count each pair twice.
    left = sums[:, first - 1, first - 1]
    crossing = sums[:, first - 1, n - 1] - left
    right = sums[:, n - 1, n - 1][:, None] - left - 2 * crossing
    energy = 2 * crossing / (first * second) - left / (first * (first - 1)) - right / (second * (second - 1))
    weighted = energy * first * second / n
    best = weighted.argmax(axis=1)
    return first[best], weighted[np.arange(len(best)), best]
