"""Two runs of one workload, measured at different times: the second over the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.model.design import Cell, Metric
from ringside.model.results import Diagnostic, Interval, Verdict
from ringside.stats import unpaired
from ringside.stats.ratio import verdict

_MACHINE = ("cpu_model", "cpus", "kernel", "memory_bytes")


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell of both runs in one metric: medians before and after, the ratio of the second run over the
    first, and what that makes the second run."""

    cell: Cell
    metric: Metric
    before: Interval
    after: Interval
    ratio: Interval
    verdict: Verdict

    @property
    def worse_by(self) -> float:
        """The share by which the second run is worse; below 0 where it is better."""
        return (self.ratio.estimate if self.metric.smaller_is_better else 1 / self.ratio.estimate) - 1


@dataclass(frozen=True, slots=True)
class ContenderChange:
    """What is not the same about a contender in the two runs; None: it was not available."""

    contender: str
    before: str | None
    after: str | None
    sources_changed: bool


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Both runs and all that they share. `drift`: by how much the machine's speed is known to have changed, a
    difference of logarithms; None where one run has no reference computation, and then there are no
    verdicts."""

    first: RunAnalysis
    second: RunAnalysis
    changes: tuple[CellChange, ...]
    drift: float | None
    contender_changes: tuple[ContenderChange, ...]
    diagnostics: tuple[Diagnostic, ...]

    def beyond(self, share: float) -> list[CellChange]:
        """The cells that the verdict calls worse in the second run, and the estimate by more than this
        share."""
        return [
            change for change in self.changes if change.verdict is Verdict.SLOWER and change.worse_by > share
        ]


def diff(first: RunAnalysis, second: RunAnalysis, metric: str | None = None) -> RunDiff:
    """The comparison of two runs, cell by cell; the intervals of one metric hold together with 95 %. Raises
    UsageError where the two have nothing in common."""
    if first.measurement.name != second.measurement.name:
        raise UsageError(
            f"{first.run.id} is of the workload `{first.measurement.name}`, {second.run.id} of "
            f"`{second.measurement.name}`: they cannot be compared"
        )
    metrics = (first.measurement.metric(metric),) if metric else first.metrics
    shared = [
        cell
        for cell, analysis in first.cells.items()
        if analysis.has_figures and cell in second.cells and second.cells[cell].has_figures
    ]
    if not shared:
        raise UsageError(f"{first.run.id} and {second.run.id} share no cell with figures")
    references = [*first.references_ns.values(), *second.references_ns.values()]
    known = bool(first.references_ns and second.references_ns)
    drift = unpaired.drift(references) if known else None
    return RunDiff(
        first,
        second,
        tuple(
            change for one_metric in metrics for change in _changes(first, second, one_metric, shared, drift)
        ),
        drift,
        _contender_changes(first, second),
        _diagnose(first, second, drift),
    )


def _changes(
    first: RunAnalysis, second: RunAnalysis, metric: Metric, shared: Sequence[Cell], drift: float | None
) -> list[CellChange]:
    def values(run: RunAnalysis, cell: Cell) -> list[float]:
        return list(run.cells[cell].by_block.get(metric.name, {}).values())

    both = [cell for cell in shared if values(first, cell) and values(second, cell)]
    changes = []
    for cell in both:
        ratio = unpaired.ratio(
            values(second, cell), values(first, cell), drift=drift or 0.0, family=len(both)
        )
        if ratio is None:
            continue
        if drift is None:
            ratio = Interval(ratio.estimate, None, None, ratio.n)
        changes.append(
            CellChange(
                cell=cell,
                metric=metric,
                before=first.cells[cell].metrics[metric.name],
                after=second.cells[cell].metrics[metric.name],
                ratio=ratio,
                verdict=verdict(ratio, smaller_is_better=metric.smaller_is_better),
            )
        )
    return changes


def _contender_changes(first: RunAnalysis, second: RunAnalysis) -> tuple[ContenderChange, ...]:
    changes = []
    for name, before in first.contenders.items():
        after = second.contenders.get(name)
        if after and (before.version != after.version or before.files != after.files):
            changes.append(ContenderChange(name, before.version, after.version, before.files != after.files))
    return tuple(changes)


def _diagnose(first: RunAnalysis, second: RunAnalysis, drift: float | None) -> tuple[Diagnostic, ...]:
    diagnostics = []
    if drift is None:
        diagnostics.append(Diagnostic("no-reference"))
    differ = tuple(name for name in _MACHINE if first.run.host.get(name) != second.run.host.get(name))
    if differ:
        diagnostics.append(Diagnostic("other-machine", values={"facts": differ}))
    only = [name for name in first.names if name not in second.names]
    only += [name for name in second.names if name not in first.names]
    if only:
        diagnostics.append(Diagnostic("one-sided", tuple(only)))
    return tuple(diagnostics)
