"""The analysis of a run: everything that any form of output shows, computed once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

from ringside.analysis import plausibility
from ringside.analysis.answers import Conclusion, Evidence, conclude
from ringside.analysis.cells import CellAnalysis, analyse_cell, fullest_point, median_trials
from ringside.analysis.comparisons import (
    Ranking,
    behind_best,
    beside_itself,
    compared_pairs,
    over_floor,
    rank,
    shown_pairs,
)
from ringside.analysis.diagnostics import MACHINE_CODES, diagnose, references, sees_carry_over
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
from ringside.analysis.examination import (
    MAX_FAILED_SHARE,
    Observations,
    RunExamination,
    examine,
    nominal_confidence,
)
from ringside.analysis.machines import MachineAnalysis, analyse_machines
from ringside.analysis.plausibility import check_coherent
from ringside.analysis.published import ThenAndNow, then_and_now
from ringside.analysis.scaling import (
    BreakdownRow,
    CoresScaling,
    Growth,
    SlopeAnalysis,
    analyse_slopes,
    breakdown,
    growth,
    over_cores,
)
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Cell, Experiment, Level, Metric, Point, is_number, varying_factors
from ringside.model.results import (
    Comparison,
    Diagnostic,
    Interval,
    Outcome,
    Run,
    Span,
    Timeline,
    Trial,
    counted,
)
from ringside.store import Store
from ringside.store.plans import PLAN_VERSION, PlannedContender, RunPlan, read_plan
from ringside.workloads import measurement as find_measurement
from ringside.workloads.base import Measurement, ScalingLaw, Workload

# A factor with so many levels is swept where the experiment names none.
_SWEEP_LEVELS = 3

Comparisons = Mapping[tuple[str, str], Comparison]


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
    of a run with fewer than six such pairs, or of an earlier version. `sees_carry_over`: there are enough
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
    plan = read_plan(run)
    experiment, points, names = plan.experiment, plan.points, plan.experiment.contenders
    measurement = find_measurement(experiment.workload)
    planned = [Cell(name, point) for point in points for name in names]
    check_coherent(run, measurement, points, planned, trials)
    trials = counted(trials)
    by_cell: dict[Cell, list[Trial]] = {}
    for trial in trials:
        by_cell.setdefault(trial.cell, []).append(trial)
    classes = _classes(plan)
    examination = examine(
        experiment,
        measurement,
        points,
        trials,
        classes,
        is_over=run.ended_at is not None,
        other_rules=plan.version < PLAN_VERSION,
    )
    by_block = examination.observations.by_block()
    cells = {
        cell: analyse_cell(cell, by_cell.get(cell, []), by_block.get(cell, {}), measurement)
        for cell in planned
    }
    confidence = nominal_confidence(experiment)
    varying = varying_factors(points)
    laws = _laws(measurement, points, varying)
    comparisons = _comparisons(examination, experiment, points)
    rankings = _rankings(examination, plan, cells)
    floor_ratios = over_floor(examination.metrics, points, names, _floor(plan), cells, confidence)
    slopes = analyse_slopes(measurement, names, points, cells)
    headline = examination.metrics[0]
    medians = median_trials(headline.name, cells, by_cell)
    diagnostics = _diagnostics(run, plan, examination, trials, cells, comparisons, floor_ratios, slopes)
    warm_ups = analyse_warm_ups(measurement, by_cell)
    overview_point = fullest_point(names, points, cells)
    evidence = Evidence(
        headline=headline,
        measurement=measurement,
        names=names,
        kinds={name: plan.contenders[name].kind for name in names},
        floor=_floor(plan),
        cells=cells,
        rankings=rankings,
        floor_ratios=floor_ratios,
        ranked=partial(examination.ranked, headline),
        compare=partial(examination.comparison, headline),
        diagnostics=diagnostics,
        warm_ups=warm_ups,
        released={name: each.release.day for name, each in plan.contenders.items() if each.release},
    )
    return RunAnalysis(
        run=run,
        plan=plan,
        experiment=experiment,
        measurement=measurement,
        points=points,
        names=names,
        contenders=plan.contenders,
        floor=_floor(plan),
        metrics=examination.metrics,
        confirmatory=len(examination.confirmatory),
        cells=cells,
        pairs=shown_pairs(experiment),
        comparisons=comparisons,
        rankings=rankings,
        floor_ratios=floor_ratios,
        behind_best={
            point: behind_best(headline, point, rankings[headline.name, point], cells, confidence)
            for point in points
        },
        machines=analyse_machines(trials, cells, headline, experiment.baseline, points, names, confidence),
        executions=analyse_executions(headline.name, names, points, cells, confidence),
        load_totals=load_totals(trials),
        percentiles=analyse_percentiles(measurement, trials) if for_plots else (),
        overview_point=overview_point,
        slopes=slopes,
        cores_scaling=over_cores(laws["cores"], names, points, cells, confidence),
        growth=growth(laws["size"], names, points, cells),
        breakdown=breakdown(measurement, laws["cores"], names, points, cells),
        warm_ups=warm_ups,
        then_and_now=_then_and_now(plan, measurement, cells, confidence),
        timelines={cell: line for cell, trial in medians.items() if (line := measurement.timeline_of(trial))},
        spans={cell: spans for cell, trial in medians.items() if (spans := measurement.spans_of(trial))},
        diagnostics=diagnostics,
        conclusion=conclude(evidence, points, overview_point, is_over=run.ended_at is not None),
        # Earlier versions had another order, in which a cell follows itself by chance.
        control=beside_itself(cells, trials, headline.name)
        if len(names) > 1 and plan.version == PLAN_VERSION
        else None,
        sees_carry_over=sees_carry_over([trial for trial in trials if trial.block > 0]),
        references_ns=references(trials),
        varying=varying,
        swept=_swept(experiment, points, varying),
        blocks_done=examination.blocks,
        trial_count=sum(trial.block > 0 for trial in trials),
        trials=tuple(trials),
        observations=examination.observations,
    )


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


def _comparisons(
    examination: RunExamination, experiment: Experiment, points: Sequence[Point]
) -> dict[tuple[str, Point], Comparisons]:
    """By metric and point, those of all pairs that are compared."""
    pairs = compared_pairs(experiment)
    return {
        (metric.name, point): {
            pair: comparison for pair in pairs if (comparison := examination.comparison(metric, point, *pair))
        }
        for metric in examination.metrics
        for point in points
    }


def _rankings(
    examination: RunExamination, plan: RunPlan, cells: Mapping[Cell, CellAnalysis]
) -> dict[tuple[str, Point], Ranking]:
    """By metric and point."""
    classes = _classes(plan)
    return {
        (metric.name, point): rank(
            {name: cells[Cell(name, point)].metrics.get(metric.name) for name in plan.experiment.contenders},
            metric,
            partial(examination.ranked, metric, point),
            classes,
        )
        for metric in examination.metrics
        for point in plan.points
    }


def _diagnostics(
    run: Run,
    plan: RunPlan,
    examination: RunExamination,
    trials: Sequence[Trial],
    cells: Mapping[Cell, CellAnalysis],
    comparisons: Mapping[tuple[str, Point], Comparisons],
    floor_ratios: Mapping[tuple[str, Point], Mapping[str, Interval]],
    slopes: Sequence[SlopeAnalysis],
) -> tuple[Diagnostic, ...]:
    """What no honest program can have first, then the weak points of figures."""
    experiment, headline = plan.experiment, examination.metrics[0]
    measurement = find_measurement(experiment.workload)
    return (
        *plausibility.implausible(
            headline,
            _floor(plan),
            {point: floor_ratios[headline.name, point] for point in plan.points},
            cells.values(),
            slopes,
            measurement,
            trials,
            margin=experiment.margin,
        ),
        *plausibility.beyond_floor(
            examination.metrics, _floor(plan), floor_ratios, plan.points, margin=experiment.margin
        ),
        *diagnose(
            run,
            experiment,
            measurement,
            trials,
            cells,
            [comparison for at in comparisons.values() for comparison in at.values()],
            blocks_done=examination.blocks,
        ),
    )


def _floor(plan: RunPlan) -> str | None:
    names = plan.experiment.contenders
    return next((name for name in names if plan.contenders[name].kind == "floor"), None)


def _then_and_now(
    plan: RunPlan, measurement: Measurement, cells: Mapping[Cell, CellAnalysis], confidence: float
) -> tuple[ThenAndNow, ...]:
    if not plan.published or not isinstance(measurement, Workload):
        return ()
    experiment = plan.experiment
    pairs = shown_pairs(experiment)
    return then_and_now(
        plan.published, measurement, experiment.contenders, pairs, plan.points, cells, confidence
    )


def _classes(plan: RunPlan) -> list[list[str]]:
    """The contenders by class: that of the baseline first, the floor last."""
    kinds = {name: plan.contenders[name].kind for name in plan.experiment.contenders}
    order = dict.fromkeys((kinds[plan.experiment.baseline], *get_args(ContenderClass)))
    return [[name for name, kind in kinds.items() if kind == each] for each in order]


def _laws(
    measurement: Measurement, points: Sequence[Point], varying: Sequence[str]
) -> dict[str, list[ScalingLaw]]:
    """The laws over factors that have several levels in this run, all of them integers, by kind."""
    numeric = {name for name in varying if all(isinstance(point[name], int) for point in points)}
    laws = [law for law in measurement.scaling_laws if law.over in numeric]
    return {kind: [law for law in laws if law.kind == kind] for kind in ("cores", "size")}


def _swept(experiment: Experiment, points: Sequence[Point], varying: Sequence[str]) -> str | None:
    """The factor along which lines are drawn: the experiment's own, else the numeric one with the most
    levels, three at least."""

    def levels(factor: str) -> set[Level]:
        return {point[factor] for point in points}

    own = experiment.show.sweep
    if own and len(levels(own)) > 1:
        return own
    numeric = [name for name in varying if all(map(is_number, levels(name)))]
    most = max(numeric, key=lambda name: len(levels(name)), default=None)
    return most if most and len(levels(most)) >= _SWEEP_LEVELS else None
