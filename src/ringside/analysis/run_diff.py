"""Two runs of one workload, measured at different times: the second over the first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.analysis.examination import MAX_FAILED_SHARE
from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.model.design import Cell, Metric
from ringside.model.results import Diagnostic, Interval, Obstacle, Verdict
from ringside.stats import unpaired
from ringside.stats.interval import exponential

_MACHINE = ("cpu_model", "cpus", "kernel", "memory_bytes")


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell of both runs in one metric: medians before and after, the ratio of the second run over the
    first, and what that makes the second run; `obstacle`: why there is no verdict whatever the ratio."""

    cell: Cell
    metric: Metric
    before: Interval
    after: Interval
    ratio: Interval
    verdict: Verdict
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class ContenderChange:
    """What is not the same about a contender in the two runs; None: it was not available."""

    contender: str
    before: str | None
    after: str | None
    sources_changed: bool


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Both runs and all that they share. `machine`: by the name of a reference computation (`computing`,
    `memory`), how much longer it took in the second run, a ratio; empty where one run has none, and then
    there are no verdicts. `margin`: ratios closer to 1 are equivalent."""

    first: RunAnalysis
    second: RunAnalysis
    changes: tuple[CellChange, ...]
    machine: Mapping[str, Interval]
    contender_changes: tuple[ContenderChange, ...]
    diagnostics: tuple[Diagnostic, ...]
    margin: float


def diff(
    first: RunAnalysis, second: RunAnalysis, metric: str | None = None, margin: float | None = None
) -> RunDiff:
    """The comparison of two runs, cell by cell; the intervals of one metric hold together with 95 %.
    `margin`: the second run's if left out. Raises UsageError where the two have nothing in common."""
    margin = second.experiment.margin if margin is None else margin
    if first.measurement.name != second.measurement.name:
        raise UsageError(
            f"{first.run.id} is of the workload `{first.measurement.name}`, {second.run.id} of "
            f"`{second.measurement.name}`: they cannot be compared"
        )
    if first.experiment.engines != second.experiment.engines:
        places = (_load_place(run) for run in (first, second))
        raise UsageError(
            f"the load of {' and that of '.join(places)}: where the load is changes what is measured, so the "
            "two cannot be compared"
        )
    metrics = (first.measurement.metric(metric),) if metric else first.metrics
    shared = [
        cell
        for cell, analysis in first.cells.items()
        if analysis.has_figures and cell in second.cells and second.cells[cell].has_figures
    ]
    if not shared:
        raise UsageError(f"{first.run.id} and {second.run.id} share no cell with figures")
    machine = {
        name: moved
        for name in first.references_ns
        if (moved := _log_shift(second.references_ns.get(name, {}), first.references_ns[name]))
    }
    return RunDiff(
        first,
        second,
        tuple(
            change
            for one_metric in metrics
            for change in _changes(first, second, one_metric, shared, list(machine.values()), margin)
        ),
        {name: exponential(moved) for name, moved in machine.items()},
        _contender_changes(first, second),
        _diagnose(first, second, machine),
        margin,
    )


def _load_place(run: RunAnalysis) -> str:
    engines = run.experiment.engines
    if not engines:
        return f"{run.run.id} came from its own machine"
    return f"{run.run.id} came from {engines} engine{'s' * (engines != 1)} on other machines"


def _log_shift(after: Mapping[int, float], before: Mapping[int, float]) -> Interval | None:
    return unpaired.log_shift(list(after.values()), list(before.values()))


def _changes(
    first: RunAnalysis,
    second: RunAnalysis,
    metric: Metric,
    shared: Sequence[Cell],
    machine: Sequence[Interval],
    margin: float,
) -> list[CellChange]:
    def values(run: RunAnalysis, cell: Cell) -> list[float]:
        return list(run.cells[cell].by_block.get(metric.name, {}).values())

    both = [cell for cell in shared if values(first, cell) and values(second, cell)]
    changes = []
    for cell in both:
        after, before = values(second, cell), values(first, cell)
        ratio = unpaired.ratio(after, before, machine, family=len(both))
        if ratio is None:
            continue
        obstacle = None
        if not machine:
            obstacle, ratio = Obstacle.NO_REFERENCE, Interval(ratio.estimate, None, None, ratio.n)
        elif ratio.low is None:
            obstacle = Obstacle.TOO_FEW_BLOCKS
        elif len({*after, *before}) == 1:
            obstacle = Obstacle.SAME_VALUES
        elif any(run.failed_share(metric, cell) > MAX_FAILED_SHARE for run in (first, second)):
            obstacle = Obstacle.FAILED_BLOCKS
        changes.append(
            CellChange(
                cell=cell,
                metric=metric,
                before=first.cells[cell].metrics[metric.name],
                after=second.cells[cell].metrics[metric.name],
                ratio=ratio,
                verdict=Verdict.INCONCLUSIVE if obstacle else verdict_of(ratio, metric, margin),
                obstacle=obstacle,
            )
        )
    return changes


def verdict_of(ratio: Interval, metric: Metric, margin: float) -> Verdict:
    """The verdict about a ratio that has an interval: later over earlier."""
    assert ratio.low is not None
    assert ratio.high is not None
    if not ratio.low <= 1 <= ratio.high:
        return Verdict.FASTER if (ratio.high < 1) == metric.smaller_is_better else Verdict.SLOWER
    if 1 / (1 + margin) < ratio.low and ratio.high < 1 + margin:
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE


def _contender_changes(first: RunAnalysis, second: RunAnalysis) -> tuple[ContenderChange, ...]:
    changes = []
    for name, before in first.contenders.items():
        after = second.contenders.get(name)
        if after and (before.version != after.version or before.files != after.files):
            changes.append(ContenderChange(name, before.version, after.version, before.files != after.files))
    return tuple(changes)


def _diagnose(
    first: RunAnalysis, second: RunAnalysis, machine: Mapping[str, Interval]
) -> tuple[Diagnostic, ...]:
    diagnostics = []
    if not machine:
        diagnostics.append(Diagnostic("no-reference"))
    elif "memory" not in machine:
        diagnostics.append(Diagnostic("no-memory-reference"))
    differ = tuple(name for name in _MACHINE if first.run.host.get(name) != second.run.host.get(name))
    if differ:
        diagnostics.append(Diagnostic("other-machine", values={"facts": differ}))
    only = [name for name in first.names if name not in second.names]
    only += [name for name in second.names if name not in first.names]
    if only:
        diagnostics.append(Diagnostic("one-sided", tuple(only)))
    return tuple(diagnostics)
