"""How often each cell's program does its work in one process, so that what is measured of a trial takes long
enough: as trials before the first block show. The plan keeps the numbers, for a run that goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.stats.series import MIN_FOR_STEADY_STATE, SeriesKind, steady_state
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads.base import REPEATED, REPEATS, Workload, repeats

# As many repeats as show a steady state, if they take no more than so many times the least; more of a program
# that gets faster, or of one repeat alone: with few it would be compared while it compiles. One that is still
# warming up gets so many times as many, up to a time of its own.
_STEADY_TIMES = 5
_WARM_TIMES = 100
_WARMING_UP_TIMES, _MORE = 20, 3
# Of fewer repeats than show a steady state the later take less than such a share of the first.
_FALLS_TO = 0.95
# Later trials may be faster than the one that the number is from.
_RESERVE = 1.2
# A runtime that warms up takes less time for each repeat the more there are.
_TRIES = 5
_CLOSE = 1.1


def enough(times_ns: Sequence[int], least_s: float) -> int:
    """How many repeats take `least_s` or more, and show a steady state unless that takes too long; by the
    median of the later half of `times_ns`."""
    typical_s = max(1.0, median(times_ns[len(times_ns) // 2 :])) / 1e9
    state = steady_state([max(1, each) for each in times_ns])
    may_warm = state.kind is not SeriesKind.STEADY if state else typical_s < _FALLS_TO * times_ns[0] / 1e9
    # As many as took it to get warm, or more than did not suffice.
    settling = 0
    if state and state.kind is SeriesKind.WARM:
        settling = len(times_ns)
    elif state and state.since is None:
        settling = min(_MORE * len(times_ns), int(_WARMING_UP_TIMES * least_s / typical_s))
    most_s = (_WARM_TIMES if may_warm or len(times_ns) == 1 else _STEADY_TIMES) * least_s
    for_steady = min(MIN_FOR_STEADY_STATE, int(most_s / typical_s))
    for_time = math.ceil(_RESERVE * least_s / typical_s)
    return max(1, min(REPEATS.most, max(for_time, for_steady, settling)))


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
