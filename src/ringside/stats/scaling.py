"""Laws of scaling: how a time changes over cores, and over the size of the work."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ringside.model.results import Interval
from ringside.stats.interval import LEAST, median_interval

# The law has three parameters.
LEAST_LEVELS = 3
_RESAMPLES = 400
_SEED = 1


@dataclass(frozen=True, slots=True)
class Scalability:
    """The Universal Scalability Law of one contender: throughput over P cores is
    X(P) = X1·P / (1 + σ(P − 1) + κP(P − 1)).

    `contention` is σ (the share of the work that cannot be shared), `coherency` κ (the cost of each pair of
    cores that have to agree), both without a unit and never below 0. `best` is the number of cores with the
    largest throughput by the law, infinite where κ is 0. `one` is X1, in works per second. `levels` are the
    numbers of cores that were measured.
    """

    one: float
    contention: Interval
    coherency: Interval
    best: Interval
    levels: tuple[int, ...]

    def speed_up(self, cores: float) -> float:
        """X(P)/X1 by the fitted law."""
        return cores / (
            1 + self.contention.estimate * (cores - 1) + self.coherency.estimate * cores * (cores - 1)
        )


def scalability(blocks: Mapping[int, Mapping[int, float]]) -> Scalability | None:
    """The law fitted to seconds by block and number of cores; None with fewer than three numbers of cores.

    The law is linear in its inverse: P/X = a + b(P − 1) + cP(P − 1) with σ = b/a and κ = c/a (N. J. Gunther,
    Guerrilla Capacity Planning, chapter 5), so that non-negative least squares on relative errors give it
    (scipy's `nnls`). The median over blocks of each number of cores is fitted; the intervals are the middle
    95 % of fits to blocks drawn again with replacement (bootstrap, percentiles), and there are none below
    six blocks. Raises ValueError for a time that is not positive and finite.
    """
    values = [seconds for levels in blocks.values() for seconds in levels.values()]
    if not all(math.isfinite(seconds) and seconds > 0 for seconds in values):
        raise ValueError("times must be positive and finite")
    found = _fit(list(blocks.values()))
    if found is None:
        return None
    one, contention, coherency = found
    levels = tuple(sorted({cores for at in blocks.values() for cores in at}))
    again = []
    if len(blocks) >= LEAST:
        rng = random.Random(_SEED)
        kept = list(blocks.values())
        again = [fit for _ in range(_RESAMPLES) if (fit := _fit(rng.choices(kept, k=len(kept))))]

    def interval(estimate: float, drawn: Sequence[float]) -> Interval:
        if not drawn:
            return Interval(estimate, None, None, len(blocks))
        ordered = sorted(drawn)
        cut = int(0.025 * len(ordered))
        return Interval(estimate, min(ordered[cut], estimate), max(ordered[-1 - cut], estimate), len(blocks))

    return Scalability(
        one=one,
        contention=interval(contention, [fit[1] for fit in again]),
        coherency=interval(coherency, [fit[2] for fit in again]),
        best=interval(best_cores(contention, coherency), [best_cores(fit[1], fit[2]) for fit in again]),
        levels=levels,
    )


def best_cores(contention: float, coherency: float) -> float:
    """P with the largest X(P): √((1 − σ)/κ), 1 at least; infinite where κ is 0 and σ below 1."""
    if contention >= 1:
        return 1.0
    return math.inf if coherency <= 0 else max(1.0, math.sqrt((1 - contention) / coherency))


def _fit(blocks: Sequence[Mapping[int, float]]) -> tuple[float, float, float] | None:
    """X1, σ and κ from the medians over blocks."""
    times: dict[int, list[float]] = {}
    for at in blocks:
        for cores, seconds in at.items():
            times.setdefault(cores, []).append(seconds)
    if len(times) < LEAST_LEVELS:
        return None
    import numpy as np  # here, since most verbs do without
    from scipy.optimize import nnls

    cores = np.array(sorted(times), dtype=float)
    inverse = np.array([p * median(times[int(p)]) for p in cores])
    design = np.stack([np.ones_like(cores), cores - 1, cores * (cores - 1)], axis=1)
    # Divided by what is to be met: errors count as ratios.
    (a, b, c), _ = nnls(design / inverse[:, None], np.ones_like(inverse))
    if a <= 0:
        return None
    return float(1 / a), float(b / a), float(c / a)


def exponent(blocks: Mapping[int, Mapping[float, float]]) -> Interval | None:
    """By which power a figure grows with a factor: the median over blocks of the slope of log figure over log
    level, with its interval. Values by block and level; levels and values that are not positive drop out.
    None where no block has two levels left."""
    found = []
    for at in blocks.values():
        pairs = [(math.log(x), math.log(y)) for x, y in at.items() if x > 0 and y > 0]
        if len(pairs) < 2:
            continue
        from scipy.stats import linregress

        found.append(float(linregress([x for x, _ in pairs], [y for _, y in pairs]).slope))
    return median_interval(found) if found else None
