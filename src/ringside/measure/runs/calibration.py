"""How often each cell's program does its work in one process, so that what is measured of a trial takes long
enough: as trials before the first block show. The plan keeps the numbers, for a run that goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from ringside.measure.runs.events import TICK, Event, Notify
from ringside.measure.runs.runners import TrialRunner
from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.stats.series import MIN_FOR_STEADY_STATE
from ringside.store import Store
from ringside.store.plans import RunPlan, read_plan
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


def calibrated(run: Run, workload: Workload, runner: TrialRunner, store: Store, notify: Notify) -> Run:
    """The run with the repeats of its cells in its plan. KeyboardInterrupt and ClusterError pass through; the
    store then has none of them."""
    plan = read_plan(run)
    if plan.repeats or not any(map(workload.can_repeat, plan.points)):
        return run
    numbers: dict[str, list[int]] = {}
    for name in plan.experiment.contenders:
        for point in plan.points:
            cell = Cell(name, point)
            offered = REPEATED.name in plan.contenders[name].capabilities
            can = offered and workload.can_repeat(point)
            number = _number(cell, plan, workload, runner, notify) if can else repeats(point)
            numbers.setdefault(name, []).append(number)
    return store.set_plan(run, {**run.plan, "repeats": numbers})


def _number(cell: Cell, plan: RunPlan, workload: Workload, runner: TrialRunner, notify: Notify) -> int:
    """The repeats of a cell; where a trial fails, as many as the one before had, or 1, which the first block
    shows."""
    number = before = 1
    for _ in range(_TRIES):
        notify(Event("warm-up", cell))
        trial = _trial(replace(cell, point=cell.point.but(repeats=number)), cell, runner, notify)
        if trial is not None and trial.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        times_ns = trial.phases.get(workload.repeated_phase) if trial else None
        if trial is None or trial.outcome is not Outcome.OK or not times_ns:
            return before
        before, number = number, enough(times_ns, plan.experiment.least_s)
        if number <= _CLOSE * before:
            break
    return number


def _trial(measured: Cell, planned: Cell, runner: TrialRunner, notify: Notify) -> Trial | None:
    """A trial at the first place that can carry it out; None where none can."""
    while True:
        if not runner.names():
            runner.engage()
        unavailable = runner.unavailable()
        place = next((name for name in runner.names() if planned not in unavailable[name]), None)
        if place is None:
            return None
        runner.ask(place, 0, 0, measured, first=False)
        answer = None
        while answer is None:
            # To the end: only then are answers taken.
            answer = next((each for _, each in list(runner.answers())), None)
            notify(TICK)
        if isinstance(answer, Trial):
            return answer
        runner.lose(place, f"lost before the first block: {answer}")
