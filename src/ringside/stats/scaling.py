"""Laws of scaling: how a time changes over cores, and over the size of the work; slopes."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median
from typing import NamedTuple

from ringside.arrays import np
from ringside.model.design import grouped
from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE, MIN_BLOCKS, median_interval

# The law has three parameters.
MIN_LEVELS = 3
_RESAMPLES = 400
_SEED = 1


@dataclass(frozen=True, slots=True)
class Scalability:
    """The Universal Scalability Law of one contender: throughput over P cores is
    X(P) = X1·P / (1 + σ(P − 1) + κP(P − 1)).

    `contention` is σ (the share of the work that is serial), `coherency` is κ (the cost of each pair of cores
    that have to agree). `best` is the number of cores with the largest throughput by the law, infinite where
    κ is 0. `levels` are the numbers of cores that were measured, ascending."""

    contention: Interval
    coherency: Interval
    best: Interval
    levels: tuple[int, ...]

    def speed_up(self, cores: float) -> float:
        """X(P)/X1 by the fitted law."""
        return cores / (
            1 + self.contention.estimate * (cores - 1) + self.coherency.estimate * cores * (cores - 1)
        )


class Fit(NamedTuple):
    contention: float
    coherency: float

    @property
    def best_cores(self) -> float:
        """P with the largest X(P): √((1 − σ)/κ), 1 at least; infinite where κ is 0 and σ below 1."""
        if self.contention >= 1:
            return 1.0
        return max(1.0, math.sqrt((1 - self.contention) / self.coherency)) if self.coherency > 0 else math.inf


def scalability(blocks: Mapping[int, Mapping[int, float]]) -> Scalability | None:
    """The law fitted to seconds by block and number of cores; None with fewer than three numbers of cores.

    The law is linear in its inverse: P/X = a + b(P − 1) + cP(P − 1) with σ = b/a and κ = c/a (N. J. Gunther,
    Guerrilla Capacity Planning, chapter 5), so it is fitted by non-negative least squares on relative errors,
    to the median over blocks at each number of cores. The intervals, from six blocks on, are the middle 95 %
    of fits to resampled blocks. Raises ValueError for a time that is not positive and finite."""
    values = [seconds for levels in blocks.values() for seconds in levels.values()]
    if not all(math.isfinite(seconds) and seconds > 0 for seconds in values):
        raise ValueError("times must be positive and finite")
    fit = _fit(list(blocks.values()))
    if fit is None:
        return None
    resampled = _resampled_fits(list(blocks.values())) if len(blocks) >= MIN_BLOCKS else []

    def interval(estimate: float, resamples: Sequence[float]) -> Interval:
        if not resamples:
            return Interval(estimate, None, None, len(blocks))
        ordered = sorted(resamples)
        outside = int((1 - CONFIDENCE) / 2 * len(ordered))
        low, high = ordered[outside], ordered[-1 - outside]
        return Interval(estimate, min(low, estimate), max(high, estimate), len(blocks))

    return Scalability(
        contention=interval(fit.contention, [again.contention for again in resampled]),
        coherency=interval(fit.coherency, [again.coherency for again in resampled]),
        best=interval(fit.best_cores, [again.best_cores for again in resampled]),
        levels=tuple(sorted({cores for levels in blocks.values() for cores in levels})),
    )


def _resampled_fits(blocks: Sequence[Mapping[int, float]]) -> list[Fit]:
    """The fits to whole blocks drawn with replacement; of incomplete ones, some draws may have no fit."""
    rng = random.Random(_SEED)
    draws = (rng.choices(blocks, k=len(blocks)) for _ in range(_RESAMPLES))
    return [fit for draw in draws if (fit := _fit(draw)) is not None]


def _fit(blocks: Sequence[Mapping[int, float]]) -> Fit | None:
    """σ and κ from the medians over blocks; None for fewer than three numbers of cores."""
    times = grouped(each for levels in blocks for each in levels.items())
    if len(times) < MIN_LEVELS:
        return None
    p = np.array(sorted(times))
    # P/X, since X is 1 / seconds.
    inverse = np.array([cores * median(times[cores]) for cores in sorted(times)])
    design = np.stack([np.ones_like(p), p - 1, p * (p - 1)], axis=1)
    # Each equation divided by its right side: errors count as ratios.
    a, b, c = non_negative_least_squares(design / inverse[:, None], np.ones_like(inverse)).tolist()
    return Fit(b / a, c / a) if a > 0 else None


def non_negative_least_squares(design: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The x ≥ 0 of least |design·x − target|. The columns of `design`, a few, are independent.

    In the columns where x is positive it is their least-squares solution without a bound; so that is computed
    for each set of columns, and the best of those without a negative component is x."""
    columns = design.shape[1]
    best: np.ndarray = np.zeros(columns)
    least = float(target @ target)
    for size in range(columns, 0, -1):
        for chosen in map(list, itertools.combinations(range(columns), size)):
            part = np.linalg.lstsq(design[:, chosen], target)[0]
            residual = design[:, chosen] @ part - target
            if (part >= 0).all() and (squares := float(residual @ residual)) < least:
                best, least = np.zeros(columns), squares
                best[chosen] = part
    return best


def exponent(blocks: Mapping[int, Mapping[float, float]]) -> Interval | None:
    """The power of a level with which a metric grows: the median over blocks of the slope of log value over
    log level, with its interval. Values by block and level; levels and values that are not positive are left
    out. None if no block has two levels left."""
    logs = {
        block: {math.log(x): math.log(y) for x, y in values.items() if x > 0 and y > 0}
        for block, values in blocks.items()
    }
    return slope_over_blocks(logs)


def slope_over_blocks(blocks: Mapping[int, Mapping[float, float]]) -> Interval | None:
    """The median over blocks of the slope of each block's least-squares line through (x, y) points, in y's
    unit per unit of x, with its interval; None if no block has two x."""
    lines = [linear_regression(list(each), list(each.values())) for each in blocks.values() if len(each) > 1]
    return median_interval([line.slope for line in lines]) if lines else None
