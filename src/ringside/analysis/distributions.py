"""Figures of trials besides the medians of cells: percentiles and totals of loads, the spread of executions,
repeats inside one process, a program compared with itself, each machine alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from ringside.analysis.figures import RunFigures, verdict_of
from ringside.model.design import Cell, Point
from ringside.model.results import Comparison, Description, Interval, Obstacle, Outcome, Trial, Verdict
from ringside.probe.protocol import LoadMessage
from ringside.stats.interval import is_positive_finite, median_interval
from ringside.stats.paired import log_ratios, paired_ratio
from ringside.stats.samples import ValueCounts, between_groups, describe, is_supported, supported_levels
from ringside.stats.sequential import ERROR_RATE
from ringside.stats.series import MIN_FOR_STEADY_STATE, SeriesKind, steady_state
from ringside.text import one_line
from ringside.workloads.base import Distribution


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile in nanoseconds, at a level from 0 to 1. `low_ns`, `high_ns`: the lowest and the highest of
    the trials' own; None where a trial has too few requests for it."""

    level: float
    value_ns: float
    low_ns: float | None
    high_ns: float | None


@dataclass(frozen=True, slots=True)
class PercentileCurve:
    """All requests of the `ok` trials of a cell together. This describes them without inference, because
    requests of one trial depend on each other."""

    distribution: Distribution
    cell: Cell
    requests: int
    percentiles: tuple[Percentile, ...]


def analyse_percentiles(run: RunFigures) -> tuple[PercentileCurve, ...]:
    """The curve of each distribution and cell that has one."""
    return tuple(
        curve
        for distribution in run.measurement.distributions
        for cell, trials in run.by_cell.items()
        if (curve := _curve(distribution, cell, trials))
    )


def _curve(distribution: Distribution, cell: Cell, trials: Sequence[Trial]) -> PercentileCurve | None:
    histograms = []
    for trial in trials:
        load = trial.load(distribution.step, distribution.load)
        if trial.outcome is Outcome.OK and load and (counts := load.counts.get(distribution.histogram)):
            histograms.append(ValueCounts.read(counts))
    merged = ValueCounts.merged(histograms)
    fewest = min((histogram.total for histogram in histograms), default=0)
    percentiles = []
    for level in supported_levels(merged.total):
        value = merged.percentile(level)
        if is_supported(level, fewest):
            each = [histogram.percentile(level) for histogram in histograms]
            percentiles.append(Percentile(level, value, min(each), max(each)))
        else:
            percentiles.append(Percentile(level, value, None, None))
    return PercentileCurve(distribution, cell, merged.total, tuple(percentiles)) if percentiles else None


@dataclass(frozen=True, slots=True)
class LoadTotals:
    """Sums over the loads of a contender's measured trials: right answers in time, messages of streams,
    requests without an answer, errors of all kinds."""

    answered: int
    messages: int
    unfinished: int
    errors: int


def load_totals(run: RunFigures) -> dict[str, LoadTotals]:
    """The totals by contender; warm-ups do not count."""
    loads: dict[str, list[LoadMessage]] = {}
    for trial in run.trials:
        loads.setdefault(trial.cell.contender, []).extend(trial.loads if trial.block > 0 else ())
    return {
        name: LoadTotals(
            answered=sum(load.requests for load in each),
            messages=sum(load.messages for load in each),
            unfinished=sum(load.unfinished for load in each),
            errors=sum(sum(load.errors.values()) for load in each),
        )
        for name, each in loads.items()
    }


@dataclass(frozen=True, slots=True)
class ExecutionAnalysis:
    """`descriptions`: of the headline of each cell that has figures, in the order of the points; `walls`: of
    its wall time. `means`: of each metric of these cells."""

    descriptions: Mapping[Cell, Description]
    walls: Mapping[Cell, Description]
    means: Mapping[Cell, Mapping[str, float]]


def analyse_executions(run: RunFigures) -> ExecutionAnalysis:
    headline = run.headline.name
    by_block = {cell: each.by_block for cell, each in run.cells.items() if each.values(headline)}
    return ExecutionAnalysis(
        descriptions={cell: describe(list(values[headline].values())) for cell, values in by_block.items()},
        walls={
            cell: describe([*each["wall_s"].values()]) for cell, each in by_block.items() if "wall_s" in each
        },
        means={
            cell: {name: fmean(each.values()) for name, each in values.items() if each}
            for cell, values in by_block.items()
        },
    )


def over_points(
    run: RunFigures, name: str, base: Point, others: Sequence[Point], tests: int = 0
) -> Iterator[Comparison]:
    """A command at other points over the same command at one point, in the headline; the points are the
    names. Bonferroni's bound keeps the error rate of so many `tests` together [default: of these]."""
    metric = run.headline
    for point in others:
        upper, lower = (run.cell(name, each).values(metric.name) for each in (point, base))
        if not (ratio := paired_ratio(upper, lower, 1 - ERROR_RATE / (tests or len(others)))):
            continue
        obstacle = Obstacle.TOO_FEW_BLOCKS if ratio.low is None else None
        verdict = Verdict.INCONCLUSIVE if obstacle else verdict_of(ratio, metric, run.experiment.margin)
        above, below = (one_line(run.label(each)) for each in (point, base))
        yield Comparison(point, metric.name, above, below, ratio, verdict, 1.0, obstacle)


# With fewer repeats in one process no steady state can be detected.
REPEATS_FOR_STEADY_STATE = MIN_FOR_STEADY_STATE


@dataclass(frozen=True, slots=True)
class WarmUp:
    """A cell whose work was repeated. `series`: the repeated metric of each repeat, by trial; `medians`: of
    each repeat over the trials. Medians over trials: `first` of the first repeat, `steady` of the level of
    the steady state and `since` of the repeat (from 1) from which it holds, both None without one. `kinds`:
    how many trials were of which kind; empty where there are too few repeats."""

    cell: Cell
    series: tuple[tuple[float, ...], ...]
    medians: tuple[float, ...]
    first: float
    steady: float | None
    since: int | None
    kinds: Mapping[SeriesKind, int]

    @property
    def first_over_steady(self) -> float | None:
        return self.first / self.steady if self.steady else None

    @property
    def is_long_enough(self) -> bool:
        """Whether each trial has enough repeats to tell a steady state."""
        return all(len(series) >= MIN_FOR_STEADY_STATE for series in self.series)


def analyse_warm_ups(run: RunFigures) -> tuple[WarmUp, ...]:
    """The warm-up of each cell whose work was repeated in one process."""
    warm_ups = []
    for cell, trials in run.by_cell.items():
        repeats = [run.measurement.repeats_of(trial) for trial in trials if trial.outcome is Outcome.OK]
        if series := tuple(each for each in repeats if each):
            warm_ups.append(_warm_up(cell, series))
    return tuple(warm_ups)


def _warm_up(cell: Cell, series: tuple[tuple[float, ...], ...]) -> WarmUp:
    # A program may report a time of 0, which has no logarithm.
    usable = [each for each in series if all(map(is_positive_finite, each))]
    states = [state for each in usable if (state := steady_state(each))]
    steady = [state.steady for state in states if state.steady is not None]
    since = [state.since + 1 for state in states if state.since is not None]
    longest = max(map(len, series))
    return WarmUp(
        cell=cell,
        series=series,
        medians=tuple(
            median(each[place] for each in series if place < len(each)) for place in range(longest)
        ),
        first=median(each[0] for each in series),
        steady=median(steady) if steady else None,
        since=round(median(since)) if since else None,
        kinds=Counter(state.kind for state in states),
    )


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A contender at a point. By machine, as far as there are figures: `figures`, medians of the headline;
    `ratios`, it over the baseline. These are of pairs inside blocks, and a block is of one machine, so none
    compares machines. `spread`: the factor by which the ratios of two machines typically differ (a standard
    deviation of their logarithms, as a factor: 1 is none); None where fewer than two machines have two
    pairs."""

    cell: Cell
    figures: Mapping[str, Interval]
    ratios: Mapping[str, Interval]
    spread: float | None


@dataclass(frozen=True, slots=True)
class MachineAnalysis:
    """The machines, by name, the blocks of each, and the rows of all cells."""

    names: tuple[str, ...]
    blocks: Mapping[str, int]
    rows: tuple[MachineRow, ...]


def analyse_machines(run: RunFigures) -> MachineAnalysis | None:
    """None of a run on one machine."""
    places = {(trial.block, trial.cell): trial.machine for trial in run.trials if trial.machine}
    machines = tuple(sorted(set(places.values())))
    if len(machines) < 2:
        return None

    def by_machine(cell: Cell) -> dict[str, dict[int, float]]:
        values = run.cells[cell].values(run.headline.name)
        return {
            machine: {block: value for block, value in values.items() if places.get((block, cell)) == machine}
            for machine in machines
        }

    rows = []
    baseline = run.experiment.baseline
    for cell in run.cells:
        own, base = by_machine(cell), by_machine(Cell(baseline, cell.point))
        pairs = {machine: (own[machine], base[machine]) for machine in machines if cell.contender != baseline}
        ratios = {machine: paired_ratio(*pair, run.confidence) for machine, pair in pairs.items()}
        between = between_groups([list(log_ratios(*pair).values()) for pair in pairs.values()])
        rows.append(
            MachineRow(
                cell,
                {machine: median_interval(list(each.values())) for machine, each in own.items() if each},
                {machine: ratio for machine, ratio in ratios.items() if ratio},
                None if between is None else math.exp(between),
            )
        )
    blocks = {
        machine: len({block for (block, _), place in places.items() if place == machine and block > 0})
        for machine in machines
    }
    return MachineAnalysis(machines, blocks, tuple(rows))
