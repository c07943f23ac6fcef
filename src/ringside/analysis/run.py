"""The analysis of a run: everything that any form of output shows, computed once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ringside.analysis import plausibility
from ringside.analysis.answers import AnswerInputs, Conclusion, conclude
from ringside.analysis.cells import MAX_FAILED_SHARE, CellAnalysis, fullest_point, median_trials
from ringside.analysis.comparisons import (
    Ranking,
    behind_best,
    beside_itself,
    shown_pairs,
)
from ringside.analysis.diagnostics import MACHINE_CODES, references, sees_carry_over
from ringside.analysis.distributions import (
    ExecutionAnalysis,
    LoadTotals,
    PercentileCurve,
    WarmUp,
    analyse_executions,
    analyse_percentiles,
    analyse_warm_ups,
    load_totals,
)
from ringside.analysis.examination import Observations, nominal_confidence
from ringside.analysis.machines import MachineAnalysis, analyse_machines
from ringside.analysis.measured import Comparisons, MeasuredRun, measured_run
from ringside.analysis.published import ThenAndNow
from ringside.analysis.scaling import (
    BreakdownRow,
    CoresScaling,
    Growth,
    SlopeAnalysis,
    breakdown,
    growth,
    over_cores,
)
from ringside.model.design import Cell, Experiment, Level, Metric, Point
from ringside.model.results import (
    Comparison,
    Diagnostic,
    Interval,
    Outcome,
    Run,
    Span,
    Timeline,
    Trial,
)
from ringside.store import Store
from ringside.store.plans import PlannedContender, RunPlan, read_plan
from ringside.workloads import measurement as find_measurement
from ringside.workloads.base import Measurement


@dataclass(frozen=True, slots=True)
class RunAnalysis:
    """A whole run. `points` are in the plan's order, `names` (of contenders) in the experiment's.

    `metrics`: those that are compared, the headline first. `confirmatory`: how many of them share the error
    rate of the headline; each of the others has one of its own. `comparisons` and `rankings` are by metric
    and point; `floor_ratios` by metric and point: each contender over the floor, without verdicts;
    `behind_best` by point: how many times the headline of the best of the baseline's class each contender's
    is, or that one is of it, where more is better. `varying`: the factors with several levels in
    this run; `swept`: the one along which plots draw lines. Timelines and spans are those of the trial with
    the median headline. `machines`: None of a run on one. `load_totals`: by contender. `percentiles`: the
    curve of each distribution and cell that has one; empty where plots are not wanted. `overview_point`: the
    point that stands for the run in an overview. `control`: the headline of a program beside itself; None
    of a run with fewer than six such pairs. `sees_carry_over`: there are enough
    trials to see what contenders do to those after them. `references_ns`: by reference
    computation and block, how long it took. `sources`: texts of the contenders' files by hash; empty where
    nothing was stored with them.
    """

    run: Run
    plan: RunPlan
    experiment: Experiment
    measurement: Measurement
    points: tuple[Point, ...]
    names: tuple[str, ...]
    contenders: Mapping[str, PlannedContender]
    floor: str | None
    metrics: tuple[Metric, ...]
    confirmatory: int
    cells: Mapping[Cell, CellAnalysis]
    pairs: tuple[tuple[str, str], ...]
    comparisons: Mapping[tuple[str, Point], Comparisons]
    rankings: Mapping[tuple[str, Point], Ranking]
    floor_ratios: Mapping[tuple[str, Point], Mapping[str, Interval]]
    behind_best: Mapping[Point, Mapping[str, Interval]]
    machines: MachineAnalysis | None
    executions: ExecutionAnalysis
    load_totals: Mapping[str, LoadTotals]
    percentiles: tuple[PercentileCurve, ...]
    overview_point: Point
    slopes: tuple[SlopeAnalysis, ...]
    cores_scaling: tuple[CoresScaling, ...]
    growth: tuple[Growth, ...]
    breakdown: tuple[BreakdownRow, ...]
    warm_ups: tuple[WarmUp, ...]
    then_and_now: tuple[ThenAndNow, ...]
    timelines: Mapping[Cell, Timeline]
    spans: Mapping[Cell, tuple[Span, ...]]
    diagnostics: tuple[Diagnostic, ...]
    conclusion: Conclusion
    control: Interval | None
    sees_carry_over: bool
    references_ns: Mapping[str, Mapping[int, float]]
    varying: tuple[str, ...]
    swept: str | None
    blocks_done: int
    trial_count: int
    trials: tuple[Trial, ...]
    observations: Observations
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> Metric:
        return self.metrics[0]

    @property
    def is_complete(self) -> bool:
        """Whether every cell has figures, and none that the program should have reported is missing."""
        return all(cell.has_figures and not cell.missing for cell in self.cells.values())

    @property
    def fixed(self) -> dict[str, Level]:
        """The factors that have one level in this run."""
        return {name: level for name, level in self.points[0].levels if name not in self.varying}

    @property
    def implausible(self) -> frozenset[str]:
        """The contenders with figures that no honest program can have."""
        flagged = (each for each in self.diagnostics if each.code in plausibility.CODES)
        return frozenset(name for each in flagged for name in each.subjects)

    @property
    def confidence(self) -> float:
        """The nominal confidence of the intervals of ratios."""
        return nominal_confidence(self.experiment)

    @property
    def own_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Those that do not concern the machine, which are the same in every run of a suite."""
        return tuple(each for each in self.diagnostics if each.code not in MACHINE_CODES)

    def cell(self, contender: str, point: Point) -> CellAnalysis:
        return self.cells[Cell(contender, point)]

    def kind(self, contender: str) -> str:
        """The class of a contender: idiomatic, bare or floor."""
        return self.contenders[contender].kind

    def metric(self, name: str) -> Metric:
        """The metric of that name. Raises UsageError for an unknown one."""
        return self.measurement.metric(name)

    def values(self, metric: str, contender: str, point: Point) -> Mapping[int, float]:
        """A metric of a cell by block; empty where it has no figures, or where so many blocks failed that
        there are no verdicts."""
        cell = Cell(contender, point)
        if self.observations.failed_share(metric, cell) > MAX_FAILED_SHARE:
            return {}
        return self.cells[cell].by_block.get(metric, {})

    def outcomes(self, contender: str, point: Point) -> Mapping[Outcome, int]:
        """How often the trials of a cell ended in which way."""
        return self.cell(contender, point).outcomes

    def build_s(self, contender: str) -> float | None:
        """How long a contender's build took, in seconds; None where that is not known."""
        return self.contenders[contender].build_s

    def program(self, contender: str) -> Mapping[str, str]:
        """The texts of a contender's files by path; without those that were not stored."""
        files = self.contenders[contender].files
        return {path: self.sources[digest] for path, digest in files.items() if digest in self.sources}

    def comparison(self, metric: Metric, contender: str, baseline: str, point: Point) -> Comparison | None:
        """The comparison of a pair that gets a verdict; None where the two share no block with figures."""
        return self.comparisons[metric.name, point].get((contender, baseline))

    def shown_comparisons(self) -> Iterator[Comparison]:
        """The comparisons of the pairs that tables show, metric by metric."""
        for metric in self.metrics:
            for point in self.points:
                for pair in self.pairs:
                    if comparison := self.comparisons[metric.name, point].get(pair):
                        yield comparison

    def failed_share(self, metric: Metric, cell: Cell) -> float:
        """The share of the blocks of a cell that gave no value of the metric."""
        return self.observations.failed_share(metric.name, cell)

    def label(self, point: Point) -> str:
        """A point by what varies; by all of it where nothing does."""
        return point.label(self.varying)

    def setting(self, fixed: Point) -> str:
        """A point that lacks factors, by those of the others that vary."""
        return " ".join(f"{name}={level}" for name, level in fixed.levels if name in self.varying)


def analyse(run: Run, trials: Sequence[Trial], *, for_plots: bool = True) -> RunAnalysis:
    """The analysis of a run from its stored trials. `for_plots`: with what plots alone need, curves over
    percentiles, whose histograms are long. Raises UsageError where its workload is not known here, StoreError
    where its plan cannot be read."""
    measured = measured_run(run, trials)
    plan, examination, measurement = measured.plan, measured.examination, measured.measurement
    points, names, cells, confidence = measured.points, measured.names, measured.cells, measured.confidence
    headline, rankings, trials = measured.headline, measured.rankings, measured.trials
    medians = median_trials(headline.name, cells, measured.by_cell)
    warm_ups = analyse_warm_ups(measurement, measured.by_cell)
    overview_point = fullest_point(names, points, cells)
    return RunAnalysis(
        run=run,
        plan=plan,
        experiment=measured.experiment,
        measurement=measurement,
        points=points,
        names=names,
        contenders=plan.contenders,
        floor=measured.floor,
        metrics=examination.metrics,
        confirmatory=len(examination.confirmatory),
        cells=cells,
        pairs=shown_pairs(measured.experiment),
        comparisons=measured.comparisons,
        rankings=rankings,
        floor_ratios=measured.floor_ratios,
        behind_best={
            point: behind_best(headline, point, rankings[headline.name, point], cells, confidence)
            for point in points
        },
        machines=analyse_machines(
            trials, cells, headline, plan.experiment.baseline, points, names, confidence
        ),
        executions=analyse_executions(headline.name, names, points, cells, confidence),
        load_totals=load_totals(trials),
        percentiles=analyse_percentiles(measurement, trials) if for_plots else (),
        overview_point=overview_point,
        slopes=measured.slopes,
        cores_scaling=over_cores(measured.laws("cores"), names, points, cells, confidence),
        growth=growth(measured.laws("size"), names, points, cells),
        breakdown=breakdown(measurement, measured.laws("cores"), names, points, cells),
        warm_ups=warm_ups,
        then_and_now=measured.then_and_now(),
        timelines={cell: line for cell, trial in medians.items() if (line := measurement.timeline_of(trial))},
        spans={cell: spans for cell, trial in medians.items() if (spans := measurement.spans_of(trial))},
        diagnostics=measured.diagnostics,
        conclusion=_conclusion(measured, warm_ups, overview_point),
        control=beside_itself(cells, trials, headline.name) if len(names) > 1 else None,
        sees_carry_over=sees_carry_over([trial for trial in trials if trial.block > 0]),
        references_ns=references(trials),
        varying=measured.varying,
        swept=measured.swept(),
        blocks_done=examination.blocks,
        trial_count=sum(trial.block > 0 for trial in trials),
        trials=tuple(trials),
        observations=examination.observations,
    )


def _conclusion(measured: MeasuredRun, warm_ups: tuple[WarmUp, ...], overview_point: Point) -> Conclusion:
    planned = measured.plan.contenders
    evidence = AnswerInputs(
        headline=measured.headline,
        measurement=measured.measurement,
        names=measured.names,
        kinds=measured.kinds,
        floor=measured.floor,
        cells=measured.cells,
        rankings=measured.rankings,
        floor_ratios=measured.floor_ratios,
        ranked=partial(measured.examination.ranked, measured.headline),
        compare=partial(measured.examination.comparison, measured.headline),
        diagnostics=measured.diagnostics,
        warm_ups=warm_ups,
        released={name: each.release.day for name, each in planned.items() if each.release},
    )
    is_over = measured.run.ended_at is not None
    return conclude(evidence, measured.points, overview_point, is_over=is_over)


def analysis_of(store: Store, run: Run, *, for_plots: bool = True) -> RunAnalysis:
    """The analysis of a run of the store; `for_plots`: with what plots alone need. Of a run in progress it
    does not say that the run was interrupted."""
    needs_samples = find_measurement(read_plan(run).experiment.workload).timeline_view is not None
    analysis = analyse(run, store.trials(run, samples=needs_samples), for_plots=for_plots)
    hashes = {digest for contender in analysis.contenders.values() for digest in contender.files.values()}
    analysis = dataclasses.replace(analysis, sources=store.sources(sorted(hashes)))
    if run.ended_at is not None or not store.is_held(run.id):
        return analysis
    weak_points = tuple(each for each in analysis.diagnostics if each.code != "unfinished")
    return dataclasses.replace(analysis, diagnostics=weak_points)
