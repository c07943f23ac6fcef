"""The parts of a run's analysis: its trials, its figures, and the comparisons of its contenders."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial

from ringside.analysis import examination
from ringside.analysis.cells import MAX_FAILED_SHARE, CellAnalysis, analyse_cell
from ringside.errors import StoreError, UsageError
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Cell, Level, Metric, Point, grouped, is_number, varying_factors
from ringside.model.results import Comparison, Interval, Obstacle, Outcome, Run, Trial, Verdict, counted
from ringside.stats.paired import paired_ratio
from ringside.store.plans import read_plan
from ringside.workloads import measurement as find_measurement
from ringside.workloads.base import Cores, Factor, Measurement, ScalingLaw, Workload
from ringside.workloads.command import COMMAND

# A factor with this many levels is swept where the experiment names none.
_SWEEP_LEVELS = 3

Comparisons = Mapping[tuple[str, str], Comparison]


class RunFigures:
    """A run with its trials that count. Points are in the plan's order, contenders in the experiment's;
    metrics are the compared ones, the headline first."""

    def __init__(self, run: Run, trials: Sequence[Trial]) -> None:
        """Raises UsageError for an unknown workload, StoreError for a plan or trials that do not fit."""
        self.run, self.plan = run, read_plan(run)
        self.experiment, self.points = self.plan.experiment, self.plan.points
        self.contenders, self.names = self.plan.contenders, self.experiment.contenders
        self.measurement = find_measurement(self.experiment.workload, self.experiment.outputs)
        cells = [Cell(name, point) for point in self.points for name in self.names]
        check_coherent(run, self.measurement, self.points, cells, trials)
        self.trials = tuple(counted(trials))
        self.by_cell = grouped((trial.cell, trial) for trial in self.trials)
        if self.measurement.name == COMMAND.name:
            # A failed baseline does not spoil the comparisons of other contenders.
            works = {trial.cell.contender for trial in self.trials if trial.outcome is Outcome.OK}
            names = (name for name in (self.experiment.baseline, *self.names) if name in works or not works)
            self.experiment = replace(self.experiment, baseline=next(names))
        self._classes = examination.by_class(self.experiment, self.kind)
        self.examination = examination.judge_trials(
            self.experiment, self.measurement, self.points, self.trials, self._classes, is_over=self.is_over
        )
        observations = self.examination.observations
        self.cells: Mapping[Cell, CellAnalysis] = {
            cell: analyse_cell(
                cell,
                self.by_cell.get(cell, []),
                observations.values[cell],
                self.measurement,
                partial(observations.percentile, cell=cell),
            )
            for cell in cells
        }
        self.metrics = self.examination.metrics
        self.confidence = examination.nominal_confidence(self.experiment)
        # The pairs that tables show.
        self.pairs = examination.shown_pairs(self.experiment)

    @property
    def headline(self) -> Metric:
        return self.metrics[0]

    @property
    def is_over(self) -> bool:
        """Whether the run has ended; one that is in progress or was cut off has not."""
        return self.run.ended_at is not None

    @property
    def blocks_done(self) -> int:
        """How many blocks are whole."""
        return self.examination.blocks

    @property
    def trial_count(self) -> int:
        """How many trials are no warm-ups."""
        return sum(trial.block > 0 for trial in self.trials)

    def is_warming_up(self, metric: str, cell: Cell) -> bool:
        """Whether the repeats of most trials still got faster when they ended."""
        return self.examination.observations.obstacle(metric, cell) is Obstacle.WARMING_UP

    def kind(self, contender: str) -> ContenderClass:
        """The class of a contender: idiomatic, bare or floor."""
        return self.contenders[contender].kind

    @cached_property
    def floor(self) -> str | None:
        return next((name for name in self.names if self.kind(name) == "floor"), None)

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The factors with several levels in this run."""
        return varying_factors(self.points)

    @cached_property
    def swept(self) -> str | None:
        """The factor on the x axis: the experiment's, else the numeric one with most levels, 3 or more."""
        if (own := self.experiment.show.sweep) in self.varying:
            return own
        levels = {name: {point[name] for point in self.points} for name in self.varying}
        numeric = [name for name, each in levels.items() if all(map(is_number, each))]
        most = max(numeric, key=lambda name: len(levels[name]), default=None)
        return most if most and len(levels[most]) >= _SWEEP_LEVELS else None

    def laws(self, kind: str) -> list[ScalingLaw]:
        """The laws of a kind over integer factors that vary; of commands, over parameters with at least
        three numbers."""
        if self.measurement.name == COMMAND.name and kind == "size":
            own = {name: {each[name] for each in self.points} for name in self.varying}
            sweeps = {name: set(map(float, each)) for name, each in own.items() if all(map(is_number, each))}
            laws = ((name, each) for name, each in sweeps.items() if len(each) >= _SWEEP_LEVELS)
            return [ScalingLaw(name, self.headline.name) for name, each in laws if min(each) > 0]
        numeric = {name for name in self.varying if all(isinstance(each[name], int) for each in self.points)}
        return [law for law in self.measurement.scaling_laws if law.over in numeric and law.kind == kind]

    @cached_property
    def _labels(self) -> Mapping[Point, str]:
        labels = {}
        by_name = grouped((self.experiment.entry_of(point)[1], point) for point in self.points)
        for name, alike in by_name.items():
            factors = varying_factors(alike) if len(alike) > 1 else ()
            for point in alike:
                # Name only the factors that the experiment sets at this point, if any vary.
                own = [each for each in factors if each in self.experiment.entry_of(point)[0]]
                said = self.measurement.label(point, own or factors) if factors else ""
                labels[point] = ", ".join(filter(None, (name, said)))
        if len(self.points) == 1 and not labels[self.points[0]]:
            labels[self.points[0]] = self.conditions or self.measurement.title
        is_clear = len({*labels.values()} - {""}) == len(labels)
        return labels if is_clear else {point: point.label(self.varying) for point in self.points}

    def label(self, point: Point) -> str:
        """A point by its name, else by the factors that vary; a single point by the factors that were set."""
        return self._labels.get(point) or point.label(self.varying)

    @property
    def conditions(self) -> str:
        """The fixed settings, in words."""
        point = self.points[0]
        fixed = self.experiment.entry_of(point)[0] - {*self.varying}
        return self.measurement.label(point, fixed) if fixed else ""

    def setting(self, fixed: Point) -> str:
        """A point that has only some factors, described by those that vary in this run."""
        return self.measurement.label(fixed, self.varying) if {*self.varying} & {*fixed.as_dict()} else ""

    def cell(self, contender: str, point: Point) -> CellAnalysis:
        return self.cells[Cell(contender, point)]

    def figure(self, contender: str, point: Point) -> Interval | None:
        """The headline of a cell; None if it has no figure."""
        return self.cell(contender, point).metrics.get(self.headline.name)

    def values(self, metric: str, contender: str, point: Point) -> Mapping[int, float]:
        """A metric of a cell by block; empty if it has no figures, or too many blocks failed."""
        failed_share = self.examination.observations.failed_share(metric, Cell(contender, point))
        return {} if failed_share > MAX_FAILED_SHARE else self.cell(contender, point).values(metric)

    def ratio(self, metric: str, numerator: Cell, denominator: Cell) -> Interval | None:
        """The ratio of two cells from pairs inside blocks, without a verdict."""
        upper, lower = (self.cells[cell].values(metric) for cell in (numerator, denominator))
        return paired_ratio(upper, lower, self.confidence)

    @property
    def is_complete(self) -> bool:
        """Whether every cell has figures, and none that the program should have reported is missing."""
        return all(cell.has_figures and not cell.missing for cell in self.cells.values())

    @cached_property
    def comparisons(self) -> Mapping[tuple[str, Point], Comparisons]:
        """By metric and point, those of all pairs that get a verdict."""
        pairs, compare = examination.compared_pairs(self.experiment), self.examination.comparison
        return {
            (metric.name, point): {pair: each for pair in pairs if (each := compare(metric, point, *pair))}
            for metric, point in itertools.product(self.metrics, self.points)
        }

    def comparison(self, metric: Metric, contender: str, baseline: str, point: Point) -> Comparison | None:
        """The comparison of a pair that gets a verdict; None if the two share no block with figures."""
        return self.comparisons[metric.name, point].get((contender, baseline))

    def shown_comparisons(self) -> Iterator[Comparison]:
        """The comparisons of the pairs that tables show, metric by metric."""
        for metric, point, pair in itertools.product(self.metrics, self.points, self.pairs):
            if comparison := self.comparisons[metric.name, point].get(pair):
                yield comparison

    @cached_property
    def rankings(self) -> Mapping[tuple[str, Point], examination.Ranking]:
        """By metric and point."""
        return {
            (metric.name, point): examination.rank(
                {name: self.cell(name, point).metrics.get(metric.name) for name in self.names},
                metric,
                partial(self.examination.comparison, metric, point),
                self._classes,
                [name for name in self.names if self.cell(name, point).often_failed],
                [name for name in self.names if self.is_warming_up(metric.name, Cell(name, point))],
            )
            for metric, point in itertools.product(self.metrics, self.points)
        }

    @cached_property
    def floor_ratios(self) -> Mapping[tuple[str, Point], Mapping[str, Interval]]:
        """By metric and point each contender over the floor, without verdicts; empty without a floor."""
        floor = self.floor
        return {
            (metric.name, point): {
                name: ratio
                for name in self.names
                if floor is not None and name != floor
                if (ratio := self.ratio(metric.name, Cell(name, point), Cell(floor, point)))
            }
            for metric, point in itertools.product(self.metrics, self.points)
        }

    def times_worse(self, name: str, point: Point) -> float | None:
        """How many times worse a contender's headline is than the best median of the baseline's class: at
        least 1 in this class. None without a figure, or if it is better than the best but often failed."""
        headline, ranking = self.headline, self.rankings[self.headline.name, point]
        best = ranking.order[0]
        if name == best:
            return 1.0 if headline.name in self.cell(name, point).metrics else None
        pair = (name, best) if headline.smaller_is_better else (best, name)
        ratio = self.ratio(headline.name, *(Cell(each, point) for each in pair))
        if ratio is None or (ratio.estimate < 1 and name in ranking.failing):
            return None
        return max(ratio.estimate, 1.0) if self.kind(name) == self.kind(best) else ratio.estimate

    @cached_property
    def overview_point(self) -> Point:
        """The last point with the most contenders; of a sweep, the last with more than half of them."""
        present = {
            point: sum(set(self.cell(name, point).outcomes) != {Outcome.UNAVAILABLE} for name in self.names)
            for point in self.points
        }
        most = max(present.values())
        least = most // 2 + 1 if self.experiment.show.sweep else most
        return next(point for point in reversed(self.points) if present[point] >= least)

    @cached_property
    def median_trials(self) -> dict[Cell, Trial]:
        """For each cell the trial whose headline is the median one, to be shown over time."""
        medians = {}
        for cell, analysis in self.cells.items():
            values = analysis.values(self.headline.name)
            ok = [trial for trial in self.by_cell.get(cell, ()) if trial.outcome is Outcome.OK]
            if ok:
                ordered = sorted(ok, key=lambda trial: values.get(trial.block, math.inf))
                medians[cell] = ordered[(len(ordered) - 1) // 2]
        return medians


def check_coherent(
    run: Run,
    measurement: Measurement,
    points: Sequence[Point],
    cells: Sequence[Cell],
    trials: Sequence[Trial],
) -> None:
    """Raise StoreError if the workload lacks a point of the run, or a trial belongs to no cell."""
    factors = measurement.factors if isinstance(measurement, Workload) else ()
    for point, factor in itertools.product(points, factors):
        if not _fits(factor, point.as_dict().get(factor.name, "")):
            raise StoreError(f"run {run.id} cannot be read: a point has no usable {factor.name}")
    if not {trial.cell for trial in trials} <= set(cells):
        raise StoreError(f"run {run.id} cannot be read: it has a trial of a cell that is not in its plan")


def _fits(factor: Factor, level: Level) -> bool:
    """Whether a factor can have a level on any machine, perhaps one with more cores or memory."""
    if isinstance(factor, Cores):
        return isinstance(level, int) and level >= 1
    if isinstance(level, int) and not factor.choices:
        return level >= factor.least
    try:
        return factor.check(level) == level
    except UsageError:
        return False


def verdict_of(ratio: Interval, metric: Metric, margin: float) -> Verdict:
    """The verdict about a ratio, later over earlier, by its interval alone."""
    if ratio.low is None or ratio.high is None:
        return Verdict.INCONCLUSIVE
    if not ratio.low <= 1 <= ratio.high:
        return Verdict.FASTER if (ratio.high < 1) == metric.smaller_is_better else Verdict.SLOWER
    if 1 / (1 + margin) < ratio.low and ratio.high < 1 + margin:
        return Verdict.EQUIVALENT
    return Verdict.INCONCLUSIVE
