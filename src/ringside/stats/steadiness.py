"""How the times of one piece of work change when it is done again and again inside one process."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

# Below this nothing is said of steadiness.
LEAST = 10
# Levels closer than this are one.
TOLERANCE = 0.02
# A change in so much of the end means that there is no steady state yet.
_END_SHARE = 0.25
# Outliers beyond so many deviations from their neighbours are drawn in, so that they make no level.
_OUTLIER = 3.0
_NEIGHBOURS = 2
# For one more change, in units of the noise's variance and log n; simulated in the tests.
_PENALTY = 5.0


class Kind(StrEnum):
    """What a series does."""

    STEADY = "steady"
    WARMING_UP = "warming up"
    SLOWING = "slowing"
    NO_STEADY_STATE = "no steady state"


@dataclass(frozen=True, slots=True)
class Steadiness:
    """What a series of times does. `first`: the first of them; `steady`: the median of the last level, None
    without a steady state; `since`: from which place on, counted from 0, that level holds."""

    kind: Kind
    first: float
    steady: float | None
    since: int | None


def missing() -> bool:
    """Whether the package that finds changes is not installed."""
    return importlib.util.find_spec("ruptures") is None


def steadiness(values: Sequence[float]) -> Steadiness | None:
    """What a series of times, positive and in their order, does; None for fewer than ten.

    The logarithms are cut into levels by PELT with the costs of squares (R. Killick, P. Fearnhead, I. A.
    Eckley, JASA 107 (2012); the package `ruptures`); neighbours that differ by less than 2 % are one level. A
    change in the last quarter: no steady state. Else the last level is the steady one: warming up where all
    others are slower, slowing where one is faster. The four kinds follow E. Barrett et al., "Virtual machine
    warmup blows hot and cold", OOPSLA 2017. Raises ValueError for a time that is not positive and finite.
    """
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("times must be positive and finite")
    if len(values) < LEAST:
        return None
    logs = [math.log(value) for value in values]
    edges = _levels(logs)
    middles = [median(logs[begin:end]) for begin, end in itertools.pairwise(edges)]
    last, since = middles[-1], edges[-2]
    if since > (1 - _END_SHARE) * len(logs):
        return Steadiness(Kind.NO_STEADY_STATE, values[0], None, None)
    others = [one for one in middles if abs(one - last) > TOLERANCE]
    if not others:
        return Steadiness(Kind.STEADY, values[0], math.exp(last), since if len(middles) > 1 else 0)
    kind = Kind.SLOWING if min(others) < last else Kind.WARMING_UP
    return Steadiness(kind, values[0], math.exp(last), since)


def _levels(logs: Sequence[float]) -> list[int]:
    """The edges of the levels: 0, the places of changes, the number of values."""
    import numpy as np  # both here, since most verbs do without
    import ruptures

    n = len(logs)
    drawn = np.array(_without_outliers(logs))
    noise = _noise(drawn.tolist())
    found = [0, n]
    if noise > 0:
        search = ruptures.Pelt(model="l2", min_size=2, jump=1).fit((drawn / noise).reshape(-1, 1))
        found = [0, *search.predict(pen=_PENALTY * math.log(n))]
    # What differs too little to matter is one level.
    merged = True
    while merged and len(found) > 2:
        middles = [median(logs[begin:end]) for begin, end in itertools.pairwise(found)]
        steps = [abs(one - next_one) for one, next_one in itertools.pairwise(middles)]
        smallest = min(range(len(steps)), key=steps.__getitem__)
        merged = steps[smallest] <= TOLERANCE
        if merged:
            del found[smallest + 1]
    return found


def _noise(values: Sequence[float]) -> float:
    """The deviation of values about their level, from the steps between neighbours, which a change of level
    moves little; where most steps are nothing, from those that are something."""
    steps = [abs(after - before) for before, after in itertools.pairwise(values)]
    typical = median(steps) or median([step for step in steps if step] or [0.0])
    return typical / (0.6745 * math.sqrt(2))


def _without_outliers(logs: Sequence[float]) -> list[float]:
    """Each value drawn in towards the median of its neighbourhood where it lies far off. The first stays: a
    first time that is longer is what is looked for."""
    noise = _noise(logs)
    found = list(logs)
    for i in range(1, len(logs)):
        near = logs[max(0, i - _NEIGHBOURS) : i + _NEIGHBOURS + 1]
        centre, most = median(near), _OUTLIER * noise
        found[i] = min(max(logs[i], centre - most), centre + most)
    return found
