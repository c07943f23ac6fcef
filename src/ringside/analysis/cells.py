"""Cells: how their trials ended, and their metrics over the `ok` ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ringside.model.design import Cell, Point
from ringside.model.results import Interval, Outcome, Trial
from ringside.stats.interval import is_positive_finite, median_interval
from ringside.stats.series import SeriesKind, SteadyState, steady_state
from ringside.workloads.base import Measurement


@dataclass(frozen=True, slots=True)
class CellAnalysis:
    """One cell. `metrics`: medians over blocks; `by_block`: the value in each block. `reason` and `stderr`:
    why trials had no figures (the commonest reason), and what such a trial wrote: hostile texts. `missing`:
    why metrics have no value in any `ok` trial, though they should; hostile texts too."""

    cell: Cell
    outcomes: Mapping[Outcome, int]
    metrics: Mapping[str, Interval]
    by_block: Mapping[str, Mapping[int, float]]
    reason: str = ""
    stderr: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_figures(self) -> bool:
        return bool(self.metrics)


def trial_figures(trial: Trial, measurement: Measurement) -> dict[str, float]:
    """The finite metrics of an `ok` trial, empty for others. A repeated metric is the level of the steady
    state, where the repeats reached one."""
    if trial.outcome is not Outcome.OK:
        return {}
    figures = {name: value for name, value in measurement.figures(trial).items() if math.isfinite(value)}
    if measurement.repeated_metric in figures and (state := _steady_state(trial, measurement)):
        figures[measurement.repeated_metric] = state.steady or figures[measurement.repeated_metric]
    return figures


def has_no_steady_state(trial: Trial, measurement: Measurement) -> bool:
    """Whether the trial's repeats are enough to tell a steady state, and there is none."""
    state = _steady_state(trial, measurement)
    return state is not None and state.kind is SeriesKind.NO_STEADY_STATE


def _steady_state(trial: Trial, measurement: Measurement) -> SteadyState | None:
    repeats = measurement.repeats_of(trial) if trial.outcome is Outcome.OK else ()
    if not repeats or not all(map(is_positive_finite, repeats)):
        return None
    return steady_state(repeats)


def analyse_cell(
    cell: Cell,
    trials: Sequence[Trial],
    by_block: Mapping[str, Mapping[int, float]],
    measurement: Measurement,
) -> CellAnalysis:
    """The analysis of a cell from all of its trials, and from their figures by metric and block."""
    failed = [trial for trial in trials if trial.outcome is not Outcome.OK]
    reason, stderr = "" if trials else "no trial yet", ""
    if failed:
        outcome, detail = Counter((trial.outcome, trial.detail) for trial in failed).most_common(1)[0][0]
        reason = f"{outcome}: {detail}" if detail else str(outcome)
        tails = (trial.report.stderr_tail for trial in failed if trial.report)
        stderr = next(filter(None, tails), "")
    missing = _missing(trials, by_block, measurement)
    if missing and not reason:
        reason = "; ".join(dict.fromkeys(missing.values()))
    return CellAnalysis(
        cell=cell,
        outcomes=dict(Counter(trial.outcome for trial in trials)),
        metrics={name: median_interval(list(values.values())) for name, values in by_block.items()},
        by_block=by_block,
        reason=reason,
        stderr=stderr,
        missing=missing,
    )


def _missing(
    trials: Sequence[Trial], by_block: Mapping[str, Mapping[int, float]], measurement: Measurement
) -> dict[str, str]:
    """By metric that is made from a phase: why the `ok` trials have none. The last of them is shown."""
    last = next((trial for trial in reversed(trials) if trial.outcome is Outcome.OK), None)
    if last is None:
        return {}
    reported = ", ".join(f"`{name}`" for name in last.phases) or "none"
    return {
        metric: (
            f"`::phase name={phase}` was 0"
            if phase in last.phases
            else f"no `::phase name={phase}`; the phases reported: {reported}"
        )
        for metric, phase in measurement.phase_of.items()
        if metric not in by_block
    }


def median_trials(
    headline: str, cells: Mapping[Cell, CellAnalysis], trials: Mapping[Cell, Sequence[Trial]]
) -> dict[Cell, Trial]:
    """For each cell the trial whose headline is the median one, to be shown over time."""
    medians = {}
    for cell, analysis in cells.items():
        ok = [trial for trial in trials.get(cell, ()) if trial.outcome is Outcome.OK]
        if ok:
            values = analysis.by_block.get(headline, {})
            ordered = sorted(ok, key=lambda trial: values.get(trial.block, math.inf))
            medians[cell] = ordered[(len(ordered) - 1) // 2]
    return medians


def fullest_point(names: Sequence[str], points: Sequence[Point], cells: Mapping[Cell, CellAnalysis]) -> Point:
    """The last of the points that the most contenders can be at: some have no queue of that bound, say."""

    def present(point: Point) -> int:
        return sum(set(cells[Cell(name, point)].outcomes) != {Outcome.UNAVAILABLE} for name in names)

    return max(reversed(points), key=present)
