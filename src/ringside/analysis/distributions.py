"""Figures of trials besides medians: percentiles and totals of loads, spreads, repeats, machines."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median

from ringside.analysis.figures import RunFigures, verdict_of
from ringside.model.design import Cell, Point
from ringside.model.results import Comparison, Description, Interval, Obstacle, Outcome
from ringside.stats.interval import is_positive_finite, median_interval
from ringside.stats.paired import log_ratios, paired_ratio
from ringside.stats.samples import ValueCounts, between_groups, describe, is_supported, supported_levels
from ringside.stats.sequential import ERROR_RATE
from ringside.stats.series import MIN_FOR_STEADY_STATE as MIN_FOR_STEADY_STATE
from ringside.stats.series import SeriesKind, steady_state
from ringside.text import one_line
from ringside.workloads.base import Distribution


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile, its level from 0 to 1. `low_ns`, `high_ns`: the trials' range, if they support it."""

    level: float
    value_ns: float
    low_ns: float | None
    high_ns: float | None


@dataclass(frozen=True, slots=True)
class PercentileCurve:
    """All requests of a cell's `ok` trials together, without inference: they depend on each other."""

    distribution: Distribution
    cell: Cell
    requests: int
    percentiles: tuple[Percentile, ...]


def analyse_percentiles(run: RunFigures) -> tuple[PercentileCurve, ...]:
    """The curve of each distribution and cell that has one."""
    curves = []
    for distribution, (cell, trials) in product(run.measurement.distributions, run.by_cell.items()):
        ok = (trial for trial in trials if trial.outcome is Outcome.OK)
        loads = (trial.load(distribution.step, distribution.load) for trial in ok)
        texts = (load.counts.get(distribution.histogram) for load in loads if load)
        histograms = [ValueCounts.read(text) for text in texts if text]
        merged = ValueCounts.merged(histograms)
        fewest = min((histogram.total for histogram in histograms), default=0)
        percentiles = []
        for level in supported_levels(merged.total):
            own = [each.percentile(level) for each in histograms] if is_supported(level, fewest) else []
            ends = min(own, default=None), max(own, default=None)
            percentiles.append(Percentile(level, merged.percentile(level), *ends))
        if percentiles:
            curves.append(PercentileCurve(distribution, cell, merged.total, tuple(percentiles)))
    return tuple(curves)


def load_totals(run: RunFigures) -> dict[str, Counter[str]]:
    """By contender, sums over the loads of its measured trials: right answers in time (`answered`),
    `messages` of streams, requests without an answer (`unfinished`), `errors` of all kinds."""
    totals: dict[str, Counter[str]] = {}
    for trial in run.trials:
        own = totals.setdefault(trial.cell.contender, Counter())
        for load in trial.loads if trial.block > 0 else ():
            own.update(answered=load.requests, messages=load.messages, unfinished=load.unfinished)
            own.update(errors=sum(load.errors.values()))
    return totals


def description(run: RunFigures, cell: Cell, metric: str) -> Description | None:
    """The values of a metric of a cell; None without any."""
    values = run.cells[cell].values(metric)
    return describe(list(values.values())) if values else None


def descriptions(run: RunFigures) -> dict[Cell, Description]:
    """The description of the headline of each cell that has figures, in the order of the points."""
    every = ((cell, description(run, cell, run.headline.name)) for cell in run.cells)
    return {cell: each for cell, each in every if each}


def over_points(
    run: RunFigures, name: str, base: Point, others: Sequence[Point], tests: int = 0
) -> Iterator[Comparison]:
    """Compare a command at other points with `base`, by the headline; Bonferroni over `tests` (0: all)."""
    metric = run.headline
    for point in others:
        upper, lower = (run.cell(name, each).values(metric.name) for each in (point, base))
        if not (ratio := paired_ratio(upper, lower, 1 - ERROR_RATE / (tests or len(others)))):
            continue
        obstacle = Obstacle.TOO_FEW_BLOCKS if ratio.low is None else None
        verdict = verdict_of(ratio, metric, run.experiment.margin)
        above, below = (one_line(run.label(each)) for each in (point, base))
        yield Comparison(point, metric.name, above, below, ratio, verdict, 1.0, obstacle)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """A cell whose work was repeated. `series`: by trial, the metric of each repeat; `medians`: over trials.
    `first`, `steady`, `since`: medians of the first repeat, of the steady level, and of where it begins (from
    1), if any. `kinds`: how trials behaved, with enough repeats."""

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
        repeats = (run.measurement.repeats_of(trial) for trial in trials if trial.outcome is Outcome.OK)
        if not (series := tuple(filter(None, repeats))):
            continue
        # A program may report a time of 0, which has no logarithm.
        usable = [each for each in series if all(map(is_positive_finite, each))]
        states = [state for each in usable if (state := steady_state(each))]
        steady = [state.level for state in states if state.since is not None]
        since = [state.since + 1 for state in states if state.since is not None]
        places = range(max(map(len, series)))
        warm_up = WarmUp(
            cell=cell,
            series=series,
            medians=tuple(median(each[place] for each in series if place < len(each)) for place in places),
            first=median(each[0] for each in series),
            steady=median(steady) if steady else None,
            since=round(median(since)) if since else None,
            kinds=Counter(state.kind for state in states),
        )
        warm_ups.append(warm_up)
    return tuple(warm_ups)


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A contender by machine: medians of the headline, and ratios over the baseline, from pairs on one
    machine. `spread`: the factor by which two machines' ratios typically differ (1: none); None without two
    machines of two pairs."""

    cell: Cell
    figures: Mapping[str, Interval]
    ratios: Mapping[str, Interval]
    spread: float | None


@dataclass(frozen=True, slots=True)
class MachineAnalysis:
    """The number of blocks of each machine, by name, and the rows of all cells."""

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
    return MachineAnalysis(blocks, tuple(rows))
