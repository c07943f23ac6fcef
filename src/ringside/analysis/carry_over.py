"""Whether a contender slows, or speeds up, the one that runs after it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from ringside.model.design import Cell
from ringside.model.results import REPEATABLE, Trial
from ringside.stats.interval import is_positive_finite
from ringside.stats.unpaired import shift

# Effects below this share do no harm that random order would not even out.
_WORTH_A_WARNING = 0.01
# With fewer trials after a contender, and after others, chance makes effects of this size.
_MIN_TRIALS = 10
# All predecessors of a run together are called falsely in 1 % of runs.
_ERROR_RATE = 0.01


def carried_over(values: Mapping[Cell, Mapping[int, float]], trials: Sequence[Trial]) -> dict[str, float]:
    """By contender, the share by which the headline of the trials right after it is larger (below 0: smaller)
    than after others, where that is more than 1 % and not chance. `values`: the headline of
    each cell by block.

    A trial's logarithm is taken relative to the median of its cell and to the others of its block, so that
    neither size nor drift counts. The effect of a contender is the Hodges-Lehmann shift between the trials of
    other contenders right after it and their trials after others (`unpaired.shift`), with intervals that hold
    for all contenders together. In random order it burdens all others alike, but never itself: the ratio of
    two contenders moves by up to the effect, by half of it where there are no others.
    """
    ordered = sorted(trials, key=lambda trial: (trial.machine, trial.block, trial.position))
    counted = [trial for trial in ordered if trial.outcome not in REPEATABLE]
    logs = {
        (block, cell): math.log(value)
        for cell, by_block in values.items()
        for block, value in by_block.items()
        if is_positive_finite(value)
    }
    relative = _relative(logs)
    names = sorted({trial.cell.contender for trial in counted})
    steps = [
        (before.cell.contender, trial.cell.contender, value)
        for before, trial in itertools.pairwise(counted)
        if before.machine == trial.machine and (value := relative.get((trial.block, trial.cell))) is not None
    ]
    after = Counter(before for before, own, _ in steps if before != own)
    if any(after[name] < _MIN_TRIALS for name in names):
        # What one that is not tested does would be blamed on others.
        return {}
    effects: dict[str, float] = {}
    # The largest first: beside trials that it slowed, those after others would seem sped up.
    while sizes := {name: size for name in names if (size := _effect(name, steps, effects, len(names)))}:
        largest = max(sizes, key=lambda name: abs(sizes[name]))
        effects[largest] = math.expm1(sizes[largest])
    return dict(sorted(effects.items()))


def _effect(
    name: str, steps: Sequence[tuple[str, str, float]], known: Mapping[str, float], family: int
) -> float | None:
    """The effect of a contender as a difference of logarithms, where it is clear and worth a warning; None of
    one that is known. `steps`: the contender before, that of the trial, and the trial's relative logarithm;
    those after known ones do not count."""
    if name in known:
        return None
    others = [(before, value) for before, own, value in steps if own != name and before not in known]
    after = [value for before, value in others if before == name]
    not_after = [value for before, value in others if before != name]
    if min(len(after), len(not_after)) < _MIN_TRIALS:
        return None
    effect = shift(after, not_after, confidence=1 - _ERROR_RATE / family)
    is_clear = effect.low is not None and effect.high is not None and not effect.low <= 0 <= effect.high
    return effect.estimate if is_clear and abs(effect.estimate) > _WORTH_A_WARNING else None


def _relative(logs: Mapping[tuple[int, Cell], float]) -> dict[tuple[int, Cell], float]:
    """Each logarithm less the median of its cell, and less the median of such values of the other cells of
    its block."""
    by_cell: dict[Cell, list[float]] = {}
    for (_, cell), value in logs.items():
        by_cell.setdefault(cell, []).append(value)
    usual = {cell: median(each) for cell, each in by_cell.items()}
    by_block: dict[int, dict[Cell, float]] = {}
    for (block, cell), value in logs.items():
        by_block.setdefault(block, {})[cell] = value - usual[cell]
    return {
        (block, cell): value - usual_of_others
        for block, values in by_block.items()
        for (cell, value), usual_of_others in zip(
            values.items(), _medians_of_others(list(values.values())), strict=True
        )
    }


def _medians_of_others(values: Sequence[float]) -> list[float]:
    """For each value the median of all others; 0 for one that is alone."""
    if len(values) == 1:
        return [0.0]
    order = sorted(range(len(values)), key=values.__getitem__)
    # The places of the middle among the others: one, or two.
    places = (len(values) - 2) // 2, (len(values) - 1) // 2
    medians = [0.0] * len(values)
    for rank, index in enumerate(order):
        low, high = (values[order[place if place < rank else place + 1]] for place in places)
        medians[index] = (low + high) / 2
    return medians
