"""One trial of a run again, without storing it: to see what a contender that failed writes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure.host import Executor
from ringside.measure.runs import plan
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.prepare import Prepared, input_files
from ringside.measure.runs.trials import ContenderTrials
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Ready, Unavailable
from ringside.model.design import Cell, Point
from ringside.model.results import REPEATABLE, Outcome, Run, Trial
from ringside.probe.protocol import TrialRequest
from ringside.store.plans import RunPlan, read_plan
from ringside.workloads import measurement
from ringside.workloads.base import Workload

# Only makes the environment's size vary.
_PADDING = "RINGSIDE_PADDING"


@dataclass(frozen=True, slots=True)
class Repetition:
    """A trial that can be carried out again: its block, its position there, and its cell. `has_changed`: the
    contender is not what it was in the run."""

    trials: ContenderTrials
    place: tuple[int, int, Cell]
    has_changed: bool


def repetition(
    run: Run,
    earlier: Sequence[Trial],
    contender: str,
    settings: Mapping[str, Sequence[str]],
    *,
    catalogue: Catalogue,
    toolchain: Toolchain,
    inputs: Inputs,
    executor: Executor,
) -> Repetition | Unavailable:
    """A trial of the contender at the point that `settings` name, that of its first failure where several
    fit. `earlier`: the trials of the run. Raises UsageError where the run has no such trial, CatalogueError
    where the manifest is broken."""
    kept = read_plan(run)
    workload = measurement(kept.experiment.workload)
    if not isinstance(workload, Workload):
        raise UsageError(f"run {run.id} is not one of `ringside run`: repeat its command by hand")
    if contender not in kept.contenders:
        known = ", ".join(kept.contenders)
        raise UsageError(f"run {run.id} has no contender `{contender}`; it has: {known}")
    points = _points(kept, run, workload, settings)
    failed = [
        trial
        for trial in earlier
        if trial.cell.contender == contender
        and trial.cell.point in points
        and trial.outcome not in (Outcome.OK, Outcome.UNAVAILABLE, *REPEATABLE)
    ]
    cell = failed[0].cell if failed else Cell(contender, points[0])
    place = (failed[0].block, failed[0].position) if failed else (1, 0)
    plan.check_machine([cell.point], workload, executor.capacity())
    cell = kept.measured(cell)
    named = catalogue.contender(contender)
    ready = toolchain.prepare(named, workload.name)
    if not isinstance(ready, Ready):
        return ready
    files = input_files([cell.point], workload, inputs)
    prepared = Prepared(kept.experiment, workload, (cell.point,), {contender: ready}, files)
    trials = ContenderTrials(run.seed, prepared, executor)
    changed = ready.content != kept.contenders[contender].content
    return Repetition(trials, (*place, cell), changed)


def _points(
    kept: RunPlan, run: Run, workload: Workload, settings: Mapping[str, Sequence[str]]
) -> list[Point]:
    for factor in settings:
        workload.factor(factor)
    points = [
        point
        for point in kept.points
        if all(str(point.as_dict().get(factor)) in levels for factor, levels in settings.items())
    ]
    if not points:
        raise UsageError(f"run {run.id} has no such point; it has: {'; '.join(map(str, kept.points[:9]))}")
    return points


def plain_command(request: TrialRequest) -> str:
    """A line for a shell that starts the program as the probe does, without its limits, CPUs and load. A
    program that pauses until it gets a line gets lines."""
    environment = [f"{name}={value}" for name, value in request.env.items() if name != _PADDING]
    lines = "yes '' | " if request.awaits else ""
    return f"cd {shlex.quote(request.cwd)} && {lines}env -i {shlex.join([*environment, *request.argv])}"
