"""How often each cell's program does its work in one process, so that what is measured of a trial takes long
enough: as trials before the first block show. The plan keeps the numbers, for a run that goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.stats.series import MIN_FOR_STEADY_STATE
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads.base import REPEATED, REPEATS, Workload, repeats

# As many repeats as show a steady state, if they take no more than so many times the least. Of a program
# whose later repeats take less than such a share of the first, more: with few it would be compared while it
# compiles. So of one repeat alone, which does not show whether a program gets faster.
_STEADY_TIMES = 5
_WARMING_TIMES = 100
_FALLS_TO = 0.8
# Later trials may be faster than the one that the number is from.
_RESERVE = 1.2
# A runtime that warms up takes less time for each repeat the more there are.
_TRIES = 5
_CLOSE = 1.1


def enough(times_ns: Sequence[int], least_s: float) -> int:
    """How many repeats take `least_s` or more, and show a steady state unless that takes too long; by the
    median of the later half of `times_ns`."""
    typical_s = max(1.0, median(times_ns[len(times_ns) // 2 :])) / 1e9
    may_warm = len(times_ns) == 1 or typical_s < _FALLS_TO * times_ns[0] / 1e9
    for_time = math.ceil(_RESERVE * least_s / typical_s)
    most_s = (_WARMING_TIMES if may_warm else _STEADY_TIMES) * least_s
    for_steady = min(MIN_FOR_STEADY_STATE, int(most_s / typical_s))
    return max(1, min(REPEATS.most, max(for_time, for_steady)))


def calibrated(
    run: Run, workload: Workload, rehearse: Callable[[Cell, Cell], Trial | None], store: Store
) -> Run:
    """The run with the repeats of its cells in its plan. `rehearse`: carries out a cell as it is measured,
    and as it is planned; None where that is not possible. What it raises passes through, and so does
    KeyboardInterrupt; the store then has no repeats."""
    plan = read_plan(run)
    if plan.repeats or not any(map(workload.can_repeat, plan.points)):
        return run

    def number(cell: Cell) -> int:
        """The repeats of a cell; where a trial fails, as many as the one before had, or 1, which the first
        block shows."""
        number = before = 1
        for _ in range(_TRIES):
            trial = rehearse(replace(cell, point=cell.point.but(repeats=number)), cell)
            if trial is not None and trial.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
            times_ns = trial.phases.get(workload.repeated_phase) if trial else None
            if trial is None or trial.outcome is not Outcome.OK or not times_ns:
                return before
            before, number = number, enough(times_ns, plan.experiment.least_s)
            if number <= _CLOSE * before:
                break
        return number

    numbers: dict[str, list[int]] = {}
    for name in plan.experiment.contenders:
        can_repeat = REPEATED.name in plan.contenders[name].capabilities
        numbers[name] = [
            number(Cell(name, point)) if can_repeat and workload.can_repeat(point) else repeats(point)
            for point in plan.points
        ]
    return store.set_plan(run, {**run.plan, "repeats": numbers})
