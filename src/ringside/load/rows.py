"""The CSV of `ringside load --csv`: a header, a row for each of several targets, a row for the whole load."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ringside.load.result import LoadResult
from ringside.load.target import Target
from ringside.load.time_units import TimeUnit
from ringside.probe.protocol import LatencySummary, TargetFigures

_TIMES = ("mean", "min", "p50", "p90", "p95", "p99", "p99_9", "max")
_HEADER = (
    "target",
    "weight",
    "outcome",
    "duration_s",
    "requests",
    "rate_per_s",
    "intended_rate_per_s",
    "late_requests",
    "unfinished",
    "errors",
    "messages",
)
TOTAL = "total"


def as_csv(targets: Sequence[Target], weights: Sequence[int], result: LoadResult, unit: TimeUnit) -> str:
    """One load as CSV; cells of what was not measured are empty. Times are latencies, of streams lateness."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    name = result.main_histogram
    writer.writerow([*_HEADER, *(f"{name}_{time}_{unit.symbol}" for time in _TIMES)])
    duration_s = result.figures.duration_ns / 1e9
    if len(targets) > 1:
        for target, weight, figures in zip(targets, weights, result.figures.targets, strict=True):
            writer.writerow(_of_target(target, weight, figures, duration_s, unit))
    whole = result.figures
    row: list[object] = [targets[0].text if len(targets) == 1 else TOTAL, sum(weights)]
    row += [whole.outcome, duration_s, whole.requests, whole.achieved_rate_per_s, whole.intended_rate_per_s]
    row += [whole.late_requests, whole.unfinished, sum(whole.errors.values()), whole.messages]
    writer.writerow([*row, *_times(whole.latency(name), unit)])
    return text.getvalue()


def _of_target(
    target: Target, weight: int, figures: TargetFigures, duration_s: float, unit: TimeUnit
) -> list[object]:
    rate_per_s = figures.requests / duration_s if duration_s else 0.0
    row: list[object] = [target.text, weight, None, duration_s, figures.requests, rate_per_s, None]
    row += [figures.late_requests, figures.unfinished, sum(figures.errors.values()), None]
    return [*row, *_times(figures.latency, unit)]


def _times(summary: LatencySummary | None, unit: TimeUnit) -> list[float | None]:
    if summary is None or not summary.count:
        return [None] * len(_TIMES)
    return [getattr(summary, f"{time}_ns") / unit.ns for time in _TIMES]
