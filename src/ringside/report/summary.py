"""What a run says: cells with their metrics, comparisons, slopes, warnings. All forms of output, from the
terminal to the page, are made from this."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringside.model import (
    Cell,
    Comparison,
    Experiment,
    Interval,
    Level,
    Metric,
    Outcome,
    Point,
    Span,
    Trial,
    Warned,
)
from ringside.stats.interval import LEAST, median_interval
from ringside.stats.ratio import paired_ratio, verdict
from ringside.stats.slope import slope_over_blocks
from ringside.store import Run, Store, experiment_of, without_interrupted
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Slope, Workload
from ringside.workloads.timeline import Timeline

LIMIT = "limit"
# What a server may take to end, by the contract.
END_NS = 2_000_000_000


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
    _ratios: dict[tuple[str, str, str, Point], Comparison | None] = field(default_factory=dict)

    def metrics(self) -> list[Metric]:
        """The metrics that are compared, the headline first."""
        names = self.experiment.show.metrics or self.workload.compared
        return [self.workload.metric(name) for name in names]

    def names(self) -> list[str]:
        return list(self.experiment.contenders)

    def compare(self, metric: Metric, contender: str, baseline: str, point: Point) -> Comparison | None:
        """The comparison of two contenders at a point; None where they share no block with figures."""
        key = (metric.name, contender, baseline, point)
        if key not in self._ratios:
            one, other = self.cells.get(Cell(contender, point)), self.cells.get(Cell(baseline, point))
            ratio = None
            if one and other:
                ratio = paired_ratio(one.by_block.get(metric.name, {}), other.by_block.get(metric.name, {}))
            self._ratios[key] = (
                None
                if ratio is None
                else Comparison(
                    point,
                    metric.name,
                    contender,
                    baseline,
                    ratio,
                    verdict(ratio, smaller_is_better=metric.smaller_is_better),
                )
            )
        return self._ratios[key]

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs whose ratios are shown: those that the experiment names, else all over the baseline."""
        if self.experiment.show.ratios:
            return list(self.experiment.show.ratios)
        baseline = self.experiment.baseline
        return [(name, baseline) for name in self.names() if name != baseline]

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
    middle = _middle(workload, cells, by_cell)
    return Summary(
        run=run,
        experiment=experiment,
        workload=workload,
        points=points,
        contenders=run.plan["contenders"],
        cells=cells,
        slopes=tuple(_slopes(workload, experiment, points, cells)),
        warnings=tuple(_warnings(run, experiment, counted)),
        blocks_done=blocks_done,
        trials=sum(trial.block > 0 for trial in counted),
        timelines={cell: line for cell, one in middle.items() if (line := workload.timeline_of(one))},
        spans={cell: spans for cell, one in middle.items() if (spans := workload.spans_of(one))},
    )


def _middle(
    workload: Workload, cells: Mapping[Cell, CellSummary], by_cell: Mapping[Cell, Sequence[Trial]]
) -> dict[Cell, Trial]:
    """For each cell the trial whose headline is the middle one, to be shown over time."""
    found = {}
    for cell, trials in by_cell.items():
        ok = [trial for trial in trials if trial.outcome is Outcome.OK]
        if cell not in cells or not ok:
            continue
        headline = cells[cell].by_block.get(workload.compared[0], {})
        ranked = sorted(ok, key=lambda trial: headline.get(trial.block, math.inf))
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


def _warnings(run: Run, experiment: Experiment, trials: Sequence[Trial]) -> list[Warned]:
    found = []
    blocks = max((trial.block for trial in trials), default=0)
    measured = [trial for trial in trials if trial.outcome_line]
    if blocks < LEAST:
        found.append(
            Warned(
                "too-few-blocks",
                f"{blocks} block{'s' * (blocks != 1)}: below {LEAST} no interval holds 95 %, so none "
                "is shown and no verdict is given",
                f"run it with --blocks {max(experiment.blocks, 7)}",
            )
        )
    if run.ended_at is None:
        found.append(
            Warned(
                "unfinished",
                "the run was cut off: its figures stand on the blocks that were made",
                f"go on with `ringside run --resume {run.id}`",
            )
        )
    usable = set(run.host.get("cpus_usable") or [])
    if usable and any(usable <= set(trial.cpus) for trial in measured):
        found.append(
            Warned(
                "cores-shared",
                "some contenders had all CPUs, so the probe ran on one of theirs",
                "leave a CPU free with cores below the machine's number",
            )
        )
    behind = sorted({t.cell.contender for t in measured if t.outcome_line.get("left_behind")})
    if behind:
        found.append(
            Warned(
                "left-behind",
                f"{', '.join(behind)}: processes still ran after the program had ended, and were killed",
                "make the program wait for what it starts",
            )
        )
    slow = {t.cell.contender for t in measured if (t.outcome_line.get("ending_ns") or 0) > END_NS}
    if slow:
        found.append(
            Warned(
                "slow-end",
                f"{', '.join(sorted(slow))}: still ran more than 2 s after SIGTERM",
                "end at once on SIGTERM, whatever is open; no figure of the table depends on it",
            )
        )
    missing = sorted({text for trial in measured for text in trial.missing})
    if missing:
        found.append(
            Warned(
                "accounting",
                "not available here: " + "; ".join(missing),
                "nothing need be done: what they would tell or hold is sampled from /proc instead",
            )
        )
    return found
