"""What the parts of a run's analysis share: its plan, the trials that count, by cell, and their examination;
and what is computed of these alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import get_args

from ringside.analysis import plausibility
from ringside.analysis.cells import CellAnalysis, analyse_cell
from ringside.analysis.comparisons import Ranking, compared_pairs, over_floor, rank, shown_pairs
from ringside.analysis.diagnostics import diagnose
from ringside.analysis.examination import RunExamination, judge_trials, nominal_confidence
from ringside.analysis.published import ThenAndNow, then_and_now
from ringside.analysis.scaling import SlopeAnalysis, analyse_slopes
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Cell, Experiment, Level, Metric, Point, is_number, varying_factors
from ringside.model.results import Comparison, Diagnostic, Interval, Run, Trial, counted
from ringside.store.plans import RunPlan, read_plan
from ringside.workloads import measurement as find_measurement
from ringside.workloads.base import Measurement, ScalingLaw, Workload

# A factor with so many levels is swept where the experiment names none.
_SWEEP_LEVELS = 3

Comparisons = Mapping[tuple[str, str], Comparison]


@dataclass(frozen=True)
class MeasuredRun:
    """A run with the trials that count."""

    run: Run
    plan: RunPlan
    measurement: Measurement
    trials: Sequence[Trial]
    by_cell: Mapping[Cell, Sequence[Trial]]
    examination: RunExamination
    cells: Mapping[Cell, CellAnalysis]

    @property
    def experiment(self) -> Experiment:
        return self.plan.experiment

    @property
    def points(self) -> tuple[Point, ...]:
        return self.plan.points

    @property
    def names(self) -> tuple[str, ...]:
        return self.plan.experiment.contenders

    @property
    def headline(self) -> Metric:
        return self.examination.metrics[0]

    @property
    def confidence(self) -> float:
        return nominal_confidence(self.experiment)

    @property
    def kinds(self) -> dict[str, ContenderClass]:
        """The class of each contender."""
        return {name: self.plan.contenders[name].kind for name in self.names}

    @property
    def floor(self) -> str | None:
        return next((name for name, kind in self.kinds.items() if kind == "floor"), None)

    @cached_property
    def varying(self) -> tuple[str, ...]:
        return varying_factors(self.points)

    @cached_property
    def comparisons(self) -> dict[tuple[str, Point], Comparisons]:
        """By metric and point, those of all pairs that are compared."""
        pairs, compare = compared_pairs(self.experiment), self.examination.comparison
        return {
            (metric.name, point): {
                pair: comparison for pair in pairs if (comparison := compare(metric, point, *pair))
            }
            for metric in self.examination.metrics
            for point in self.points
        }

    @cached_property
    def rankings(self) -> dict[tuple[str, Point], Ranking]:
        """By metric and point."""
        classes = classes_of(self.plan)
        return {
            (metric.name, point): rank(
                {name: self.cells[Cell(name, point)].metrics.get(metric.name) for name in self.names},
                metric,
                partial(self.examination.ranked, metric, point),
                classes,
                [name for name in self.names if self.cells[Cell(name, point)].often_failed],
            )
            for metric in self.examination.metrics
            for point in self.points
        }

    @cached_property
    def floor_ratios(self) -> Mapping[tuple[str, Point], Mapping[str, Interval]]:
        metrics = self.examination.metrics
        return over_floor(metrics, self.points, self.names, self.floor, self.cells, self.confidence)

    @cached_property
    def slopes(self) -> tuple[SlopeAnalysis, ...]:
        return analyse_slopes(self.measurement, self.names, self.points, self.cells)

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What no honest program can have first, then the weak points of figures."""
        margin = self.experiment.margin
        return (
            *plausibility.implausible(
                self.headline,
                self.floor,
                {point: self.floor_ratios[self.headline.name, point] for point in self.points},
                self.cells.values(),
                self.slopes,
                self.measurement,
                self.trials,
                margin=margin,
            ),
            *plausibility.beyond_floor(
                self.examination.metrics, self.floor, self.floor_ratios, self.points, margin=margin
            ),
            *diagnose(
                self.run,
                self.experiment,
                self.measurement,
                self.trials,
                self.cells,
                [comparison for at in self.comparisons.values() for comparison in at.values()],
                blocks_done=self.examination.blocks,
                options=self.plan.options,
            ),
        )

    def then_and_now(self) -> tuple[ThenAndNow, ...]:
        """The source's figures beside those of this run, where its experiment names one."""
        if not self.plan.published or not isinstance(self.measurement, Workload):
            return ()
        return then_and_now(
            self.plan.published,
            self.measurement,
            self.names,
            shown_pairs(self.experiment),
            self.points,
            self.cells,
            self.confidence,
        )

    def laws(self, kind: str) -> list[ScalingLaw]:
        """The laws of a kind over factors that have several levels in this run, all of them integers."""
        numeric = {
            name for name in self.varying if all(isinstance(point[name], int) for point in self.points)
        }
        return [law for law in self.measurement.scaling_laws if law.over in numeric and law.kind == kind]

    def swept(self) -> str | None:
        """The factor along which lines are drawn: the experiment's own, else the numeric one with the most
        levels, three at least."""

        def levels(factor: str) -> set[Level]:
            return {point[factor] for point in self.points}

        own = self.experiment.show.sweep
        if own and len(levels(own)) > 1:
            return own
        numeric = [name for name in self.varying if all(map(is_number, levels(name)))]
        most = max(numeric, key=lambda name: len(levels(name)), default=None)
        return most if most and len(levels(most)) >= _SWEEP_LEVELS else None


def measured_run(run: Run, trials: Sequence[Trial]) -> MeasuredRun:
    """A run with those of its stored trials that count. Raises UsageError where its workload is not known
    here, StoreError where its plan cannot be read or its trials do not fit it."""
    plan = read_plan(run)
    experiment, points = plan.experiment, plan.points
    measurement = find_measurement(experiment.workload)
    planned = [Cell(name, point) for point in points for name in experiment.contenders]
    plausibility.check_coherent(run, measurement, points, planned, trials)
    trials = counted(trials)
    by_cell: dict[Cell, list[Trial]] = {}
    for trial in trials:
        by_cell.setdefault(trial.cell, []).append(trial)
    examination = judge_trials(
        experiment,
        measurement,
        points,
        trials,
        classes_of(plan),
        is_over=run.ended_at is not None,
    )
    by_block = examination.observations.by_block()
    cells = {
        cell: analyse_cell(cell, by_cell.get(cell, []), by_block.get(cell, {}), measurement)
        for cell in planned
    }
    return MeasuredRun(run, plan, measurement, trials, by_cell, examination, cells)


def classes_of(plan: RunPlan) -> list[list[str]]:
    """The contenders by class: that of the baseline first, the floor last."""
    kinds = {name: plan.contenders[name].kind for name in plan.experiment.contenders}
    order = dict.fromkeys((kinds[plan.experiment.baseline], *get_args(ContenderClass)))
    return [[name for name, kind in kinds.items() if kind == each] for each in order]
