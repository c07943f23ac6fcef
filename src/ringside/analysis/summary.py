"""What a run says: cells with their metrics, comparisons, slopes, warnings. All forms of output, from the
terminal to the page, are made from this."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ringside.analysis.warned import reference_by_block, undecided, warned
from ringside.measure import plan
from ringside.model.design import Cell, Experiment, Level, Metric, Point
from ringside.model.results import Comparison, Interval, Outcome, Span, Trial, Warned
from ringside.stats.family import as_family, ranks
from ringside.stats.interval import median_interval
from ringside.stats.ratio import Paired, paired, verdict
from ringside.stats.slope import slope_over_blocks
from ringside.store import Run, Store, experiment_of, without_interrupted
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Slope, Workload
from ringside.workloads.timeline import Timeline

LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One cell: how its trials ended, its metrics over the `ok` ones, and why others were not."""

    cell: Cell
    outcomes: Mapping[Outcome, int]
    metrics: Mapping[str, Interval]
    by_block: Mapping[str, Mapping[int, float]]
    reason: str = ""
    stderr: str = ""

    @property
    def has_figures(self) -> bool:
        return bool(self.metrics)


@dataclass(frozen=True, slots=True)
class SlopeSummary:
    """Growth of a figure over a factor for one contender, the other factors fixed."""

    slope: Slope
    contender: str
    fixed: Point
    value: Interval


@dataclass(frozen=True)
class Summary:
    """A whole run. `points` in the plan's order, `contenders` in the experiment's."""

    run: Run
    experiment: Experiment
    workload: Workload
    points: tuple[Point, ...]
    contenders: Mapping[str, Mapping[str, Any]]
    cells: Mapping[Cell, CellSummary]
    slopes: tuple[SlopeSummary, ...]
    warnings: tuple[Warned, ...]
    blocks_done: int
    trials: int
    timelines: Mapping[Cell, Timeline]
    spans: Mapping[Cell, tuple[Span, ...]]
    repeats: Mapping[Cell, tuple[tuple[float, ...], ...]]
    references: tuple[float, ...]
    _paired: dict[tuple[str, str, str, Point], Paired | None] = field(default_factory=dict)
    _families: dict[tuple[str, Point], Mapping[tuple[str, str], float]] = field(default_factory=dict)

    def metrics(self) -> list[Metric]:
        """The metrics that are compared, the headline first."""
        return plan.compared(self.experiment, self.workload)

    def names(self) -> list[str]:
        return list(self.experiment.contenders)

    def compare(self, metric: Metric, contender: str, baseline: str, point: Point) -> Comparison | None:
        """The comparison of two contenders at a point; None where they share no block with figures. Those of
        the pairs that are shown at one point are a family, whose error rate the verdicts hold."""
        found = self._pair(metric, contender, baseline, point)
        if found is None:
            return None
        p = self._family(metric, point).get((contender, baseline), found.p)
        said = verdict(found.ratio, smaller_is_better=metric.smaller_is_better, p=p)
        return Comparison(point, metric.name, contender, baseline, found.ratio, said, p)

    def _pair(self, metric: Metric, contender: str, baseline: str, point: Point) -> Paired | None:
        key = (metric.name, contender, baseline, point)
        if key not in self._paired:
            one, other = self.cells.get(Cell(contender, point)), self.cells.get(Cell(baseline, point))
            self._paired[key] = (
                paired(
                    one.by_block.get(metric.name, {}),
                    other.by_block.get(metric.name, {}),
                    peeked=self.experiment.until is not None,
                )
                if one and other
                else None
            )
        return self._paired[key]

    def _family(self, metric: Metric, point: Point) -> Mapping[tuple[str, str], float]:
        """The p of each pair that is shown, as one of all of them."""
        key = (metric.name, point)
        if key not in self._families:
            self._families[key] = as_family({pair: self._pair(metric, *pair, point) for pair in self.pairs()})
        return self._families[key]

    def ranked(self, metric: Metric, point: Point) -> list[str]:
        """The contenders at a point by the metric's median, the best first; those without figures last."""

        def key(name: str) -> tuple[bool, float]:
            value = self.cells[Cell(name, point)].metrics.get(metric.name)
            if value is None:
                return True, 0.0
            return False, value.estimate if metric.smaller_is_better else -value.estimate

        return sorted(self.names(), key=key)

    def ranks(self, metric: Metric, point: Point) -> dict[str, int]:
        """The group of ties in which each contender with figures is, from 1."""
        names = [
            name
            for name in self.ranked(metric, point)
            if metric.name in self.cells[Cell(name, point)].metrics
        ]

        def compare(one: str, other: str) -> Paired | None:
            return self._pair(metric, one, other, point)

        return ranks(names, compare, smaller_is_better=metric.smaller_is_better)

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs whose ratios are shown."""
        return plan.pairs(self.experiment)

    def comparisons(self) -> list[Comparison]:
        """All comparisons that are shown."""
        found = [
            self.compare(metric, one, other, point)
            for metric in self.metrics()
            for point in self.points
            for one, other in self.pairs()
        ]
        return [comparison for comparison in found if comparison is not None]

    def varying(self) -> list[str]:
        """The factors that have more than one level in this run."""
        return [name for name, _ in self.points[0].levels if len({point[name] for point in self.points}) > 1]

    def label(self, point: Point) -> str:
        """A point by what varies; by all of it where nothing does."""
        names = self.varying() or [name for name, _ in point.levels]
        return " ".join(f"{name}={point[name]}" for name in names)

    def fixed(self) -> dict[str, Level]:
        """The factors that have one level in this run."""
        varying = self.varying()
        return {name: level for name, level in self.points[0].levels if name not in varying}

    def complete(self) -> bool:
        """Whether every cell has figures."""
        return all(summary.has_figures for summary in self.cells.values())


def of_run(store: Store, run: Run) -> Summary:
    """The summary of a run that is in a store."""
    needed = find_workload(experiment_of(run).workload).timeline
    return summarise(run, store.trials(run, samples=needed))


def summarise(run: Run, trials: Sequence[Trial]) -> Summary:
    """The summary of a run from its stored rows."""
    experiment = experiment_of(run)
    workload = find_workload(experiment.workload)
    points = tuple(Point(tuple(levels.items())) for levels in run.plan["points"])
    counted = without_interrupted(trials)
    by_cell: dict[Cell, list[Trial]] = {}
    for trial in counted:
        by_cell.setdefault(trial.cell, []).append(trial)
    cells = {
        cell: _summarise_cell(cell, by_cell.get(cell, []), workload)
        for point in points
        for cell in (Cell(name, point) for name in experiment.contenders)
    }
    blocks_done = max((trial.block for trial in counted), default=0)
    headline = plan.compared(experiment, workload)[0].name
    middle = _middle(headline, cells, by_cell)
    found = Summary(
        run=run,
        experiment=experiment,
        workload=workload,
        points=points,
        contenders=run.plan["contenders"],
        cells=cells,
        slopes=tuple(_slopes(workload, experiment, points, cells)),
        warnings=tuple(warned(run, experiment, workload, counted, cells)),
        blocks_done=blocks_done,
        trials=sum(trial.block > 0 for trial in counted),
        timelines={cell: line for cell, one in middle.items() if (line := workload.timeline_of(one))},
        spans={cell: spans for cell, one in middle.items() if (spans := workload.spans_of(one))},
        repeats=_repeats(workload, by_cell),
        references=tuple(reference_by_block(counted).values()),
    )
    more = tuple(undecided(found.comparisons(), len(found.pairs())))
    return replace(found, warnings=(*more, *found.warnings)) if more else found


def _repeats(
    workload: Workload, by_cell: Mapping[Cell, Sequence[Trial]]
) -> dict[Cell, tuple[tuple[float, ...], ...]]:
    """For each cell whose work was repeated in one process: the figure of each repeat, by trial."""
    found = {}
    for cell, trials in by_cell.items():
        each = [workload.repeats_of(trial) for trial in trials if trial.outcome is Outcome.OK]
        if kept := tuple(series for series in each if series):
            found[cell] = kept
    return found


def _middle(
    headline: str, cells: Mapping[Cell, CellSummary], by_cell: Mapping[Cell, Sequence[Trial]]
) -> dict[Cell, Trial]:
    """For each cell the trial whose headline is the middle one, to be shown over time."""
    found = {}
    for cell, trials in by_cell.items():
        ok = [trial for trial in trials if trial.outcome is Outcome.OK]
        if cell not in cells or not ok:
            continue
        values = cells[cell].by_block.get(headline, {})
        ranked = sorted(ok, key=lambda trial: values.get(trial.block, math.inf))
        found[cell] = ranked[(len(ranked) - 1) // 2]
    return found


def _summarise_cell(cell: Cell, trials: Sequence[Trial], workload: Workload) -> CellSummary:
    by_block: dict[str, dict[int, float]] = {}
    for trial in trials:
        if trial.outcome is Outcome.OK:
            for name, value in workload.figures(trial).items():
                if math.isfinite(value):
                    by_block.setdefault(name, {})[trial.block] = value
    failed = [trial for trial in trials if trial.outcome is not Outcome.OK]
    reason, stderr = "", ""
    if failed:
        worst = Counter((trial.outcome, trial.detail) for trial in failed).most_common(1)[0][0]
        reason = f"{worst[0]}: {worst[1]}" if worst[1] else str(worst[0])
        stderr = next((text for t in failed if (text := t.outcome_line.get("stderr_tail", ""))), "")
    elif not trials:
        reason = "no trial yet"
    return CellSummary(
        cell=cell,
        outcomes=dict(Counter(trial.outcome for trial in trials)),
        metrics={name: median_interval(list(values.values())) for name, values in by_block.items()},
        by_block=by_block,
        reason=reason,
        stderr=stderr,
    )


def _slopes(
    workload: Workload, experiment: Experiment, points: Sequence[Point], cells: Mapping[Cell, CellSummary]
) -> list[SlopeSummary]:
    """For each contender and each setting of the factors that matter, the growth over the slope's factor.

    In a block, points that differ only in factors that the figure cannot depend on are averaged.
    """
    found = []
    for slope in workload.slopes:
        settings = list(dict.fromkeys(point.without(slope.over, *slope.regardless_of) for point in points))
        for contender in experiment.contenders:
            for fixed in settings:
                seen: dict[int, dict[float, list[float]]] = {}
                for point in points:
                    if point.without(slope.over, *slope.regardless_of) == fixed:
                        values = cells[Cell(contender, point)].by_block.get(slope.figure, {})
                        for block, value in values.items():
                            seen.setdefault(block, {}).setdefault(float(point[slope.over]), []).append(value)
                means = {
                    block: {x: sum(values) / len(values) for x, values in levels.items()}
                    for block, levels in seen.items()
                }
                value_found = slope_over_blocks(means)
                if value_found is not None:
                    found.append(SlopeSummary(slope, contender, fixed, value_found))
    return found
