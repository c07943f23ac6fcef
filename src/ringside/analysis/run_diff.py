"""Runs of one workload, measured at different times: those of the second side over those of the first."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ringside.analysis.figures import verdict_of
from ringside.analysis.history import MACHINE
from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.model.design import Cell, Metric
from ringside.model.results import Diagnostic, Interval, Obstacle, Verdict
from ringside.stats import unpaired
from ringside.stats.interval import exponential, is_positive_finite
from ringside.stats.unpaired import ASSUMED_BETWEEN_RUNS

Runs = Sequence[RunAnalysis]
# By run and block.
Values = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell of both sides in a metric. `ratio`: second over first; `obstacle`: why there is no verdict."""

    cell: Cell
    metric: Metric
    before: Interval
    after: Interval
    ratio: Interval
    verdict: Verdict
    obstacle: Obstacle | None = None


@dataclass(frozen=True, slots=True)
class RunDiff:
    """Two sides of runs and their shared parts. `machine`: by reference computation, how much longer it took
    on the second side; if it is missing, there are no verdicts. `margin`: closer ratios are equivalent."""

    firsts: tuple[RunAnalysis, ...]
    seconds: tuple[RunAnalysis, ...]
    changes: tuple[CellChange, ...]
    machine: Mapping[str, Interval]
    diagnostics: tuple[Diagnostic, ...]
    margin: float

    @property
    def first(self) -> RunAnalysis:
        """The last run of the first side."""
        return self.firsts[-1]

    @property
    def names(self) -> tuple[str, str]:
        """Both sides, as `compare` takes them."""
        one, other = (",".join(each.run.id for each in side) for side in (self.firsts, self.seconds))
        return one, other


def diff(
    one: RunAnalysis | Runs, other: RunAnalysis | Runs, metric: str | None = None, margin: float | None = None
) -> RunDiff:
    """The comparison of two sides of one run or several, cell by cell; the intervals of one metric hold
    together with 95 %. Without `margin`, the last run's counts. Raises UsageError if they share nothing."""
    firsts, seconds = ((side,) if isinstance(side, RunAnalysis) else tuple(side) for side in (one, other))
    runs = (*firsts, *seconds)
    _check(firsts, seconds)
    margin = runs[-1].experiment.margin if margin is None else margin
    metrics = (runs[0].measurement.metric(metric),) if metric else firsts[-1].metrics
    having = [{cell for cell, each in run.cells.items() if each.has_figures} for run in runs]
    shared = [cell for cell in runs[0].cells if all(cell in cells for cells in having)]
    ids = " and ".join(run.run.id for run in runs)
    if not shared:
        way = "`ringside show` names what failed; give programs the same names in both"
        raise UsageError(f"{ids} share no cell with figures: {way}")

    def references(side: Runs, name: str) -> Values:
        return [list(run.references_ns.get(name, {}).values()) for run in side]

    names = runs[0].references_ns
    moves = {name: _log_shift(references(seconds, name), references(firsts, name)) for name in names}
    machine = {name: moved for name, moved in moves.items() if moved}
    shifts = list(machine.values())
    changes = [each for one in metrics for each in _changes(firsts, seconds, one, shared, shifts, margin)]
    if not changes:
        raise UsageError(f"{ids} share no figure above 0: they have no ratio")
    ratios = {name: exponential(moved) for name, moved in machine.items()}
    return RunDiff(firsts, seconds, tuple(changes), ratios, _diagnose(firsts, seconds, machine), margin)


def _check(firsts: Runs, seconds: Runs) -> None:
    first, *others = runs = (*firsts, *seconds)
    names = [run.run.id for run in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageError(f"run {twice[0]} is named twice: compare it with another one")
    for other in others:
        if first.measurement.name != other.measurement.name:
            raise UsageError(
                f"{first.run.id} is of the workload `{first.measurement.name}`, {other.run.id} of "
                f"`{other.measurement.name}`: they cannot be compared"
            )
        if first.experiment.engines != other.experiment.engines:
            origins = [(run.run.id, run.experiment.engines) for run in (first, other)]
            own = "its own machine"
            engines = (f"{n} engine{'s' * (n != 1)} on other machines" if n else own for _, n in origins)
            places = (f"{id} came from {place}" for (id, _), place in zip(origins, engines, strict=True))
            raise UsageError(
                f"the load of {' and that of '.join(places)}: runs that are loaded from different places "
                "cannot be compared"
            )


def _log_shift(after: Values, before: Values) -> Interval | None:
    """How a reference computation changed; None if a run has none."""
    if len(after) + len(before) == 2:
        return unpaired.log_shift(after[0], before[0])
    if not all((*after, *before)):
        return None
    later, earlier = ([math.log(median(run)) for run in side] for side in (after, before))
    return unpaired.shift_of_runs(later, earlier)


def _is_known(machine: Iterable[Interval]) -> bool:
    """Whether reference computations show by how much the machine changed."""
    return bool(shifts := [*machine]) and all(each.low is not None for each in shifts)


def _ratio(after: Values, before: Values, machine: Sequence[Interval], family: int) -> Interval | None:
    """From the blocks of one run per side, or the medians of several. None if a value is not positive."""
    if len(after) + len(before) == 2:
        return unpaired.ratio(after[0], before[0], machine, family=family, between=ASSUMED_BETWEEN_RUNS)
    later, earlier = ([median(run) for run in side] for side in (after, before))
    if not all(is_positive_finite(level) for level in (*later, *earlier)):
        return None
    return unpaired.ratio_of_runs(later, earlier, [each.estimate for each in machine], family=family)


def _level(runs: Runs, cell: Cell, metric: Metric) -> Interval:
    """The figure of a side: its run's figure, or the median of several runs' figures."""
    figures = [run.cells[cell].metrics[metric.name] for run in runs]
    if len(figures) == 1:
        return figures[0]
    return Interval(median(each.estimate for each in figures), None, None, len(figures))


def _changes(
    firsts: Runs,
    seconds: Runs,
    metric: Metric,
    shared: Sequence[Cell],
    machine: Sequence[Interval],
    margin: float,
) -> list[CellChange]:
    def values(runs: Runs, cell: Cell) -> Values:
        has_figures = all(metric.name in run.cells[cell].metrics for run in runs)
        return [list(run.cells[cell].values(metric.name).values() if has_figures else ()) for run in runs]

    all_of_them = [cell for cell in shared if all(values((*firsts, *seconds), cell))]
    changes = []
    for cell in all_of_them:
        after, before = values(seconds, cell), values(firsts, cell)
        ratio = _ratio(after, before, machine if _is_known(machine) else (), family=len(all_of_them))
        if ratio is None:
            continue
        obstacle = None
        if ratio.low is None:
            obstacle = Obstacle.TOO_FEW_BLOCKS
        elif not _is_known(machine):
            obstacle = Obstacle.NO_REFERENCE
        elif len({value for run in (*after, *before) for value in run}) == 1:
            obstacle = Obstacle.SAME_VALUES
        elif not all(run.values(metric.name, cell.contender, cell.point) for run in (*firsts, *seconds)):
            obstacle = Obstacle.FAILED_BLOCKS
        changes.append(
            CellChange(
                cell=cell,
                metric=metric,
                before=_level(firsts, cell, metric),
                after=_level(seconds, cell, metric),
                ratio=ratio,
                verdict=Verdict.INCONCLUSIVE if obstacle else verdict_of(ratio, metric, margin),
                obstacle=obstacle,
            )
        )
    return changes


def _diagnose(firsts: Runs, seconds: Runs, machine: Mapping[str, Interval]) -> tuple[Diagnostic, ...]:
    runs = (*firsts, *seconds)
    diagnostics, hosts = [], [run.run.host for run in runs]
    if len(runs) == 2:
        claimed = math.expm1(unpaired.assumed_shift(ASSUMED_BETWEEN_RUNS))
        values = {"share": ASSUMED_BETWEEN_RUNS, "claimed": claimed}
        diagnostics.append(Diagnostic("single-runs", values=values))
    if not _is_known(machine.values()):
        diagnostics.append(Diagnostic("no-reference"))
    elif "memory" not in machine:
        diagnostics.append(Diagnostic("no-memory-reference"))
    if differ := tuple(fact for fact in MACHINE if any(h.get(fact) != hosts[0].get(fact) for h in hosts)):
        diagnostics.append(Diagnostic("other-machine", values={"facts": differ}))
    names = dict.fromkeys(name for run in runs for name in run.names)
    if only := [name for name in names if not all(name in run.names for run in runs)]:
        diagnostics.append(Diagnostic("one-sided", tuple(only)))
    return tuple(diagnostics)
