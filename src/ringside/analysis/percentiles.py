"""Times of single requests over percentiles: what users of each cell saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LatencySummary, LoadMessage
from ringside.stats.samples import Histogram, is_supported, supported_levels
from ringside.workloads.base import Distribution, Measurement

# The percentiles that summaries of histograms have.
_SUMMARISED = (("p50_ns", 0.5), ("p90_ns", 0.9), ("p95_ns", 0.95), ("p99_ns", 0.99), ("p99_9_ns", 0.999))


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
    """The requests of all `ok` trials of a cell. A description of these requests, without an inference: those
    of one trial depend on each other. `is_merged`: each percentile is that of all requests together; else,
    where the store has no histograms, the median of the trials' own."""

    distribution: Distribution
    cell: Cell
    requests: int
    is_merged: bool
    percentiles: tuple[Percentile, ...]


def analyse_percentiles(measurement: Measurement, trials: Sequence[Trial]) -> tuple[PercentileCurve, ...]:
    """The curve of each distribution and cell that has one."""
    by_cell: dict[Cell, list[Trial]] = {}
    for trial in trials:
        by_cell.setdefault(trial.cell, []).append(trial)
    return tuple(
        curve
        for distribution in measurement.distributions
        for cell, its_trials in by_cell.items()
        if (curve := _curve(distribution, cell, list(_loads(distribution, its_trials))))
    )


def _loads(distribution: Distribution, trials: Sequence[Trial]) -> Iterator[LoadMessage]:
    for trial in trials:
        load = trial.load(distribution.step, distribution.load)
        if trial.outcome is Outcome.OK and load and load.latency(distribution.histogram):
            yield load


def _curve(distribution: Distribution, cell: Cell, loads: Sequence[LoadMessage]) -> PercentileCurve | None:
    name = distribution.histogram
    if not loads:
        return None
    is_merged = all(load.counts.get(name) for load in loads)
    if is_merged:
        histograms = [Histogram(_pairs(load.counts[name])) for load in loads]
        merged = Histogram.merged(histograms)
        requests, percentiles = merged.total, _of_histograms(merged, histograms)
    else:
        summaries = [summary for load in loads if (summary := load.latency(name))]
        requests = sum(summary.count for summary in summaries)
        percentiles = _of_summaries(summaries)
    return PercentileCurve(distribution, cell, requests, is_merged, percentiles) if percentiles else None


def _pairs(text: str) -> Iterator[tuple[int, int]]:
    numbers = list(map(int, text.split()))
    return zip(numbers[::2], numbers[1::2], strict=True)


def _of_histograms(merged: Histogram, histograms: Sequence[Histogram]) -> tuple[Percentile, ...]:
    fewest = min(histogram.total for histogram in histograms)
    percentiles = []
    for level in supported_levels(merged.total):
        value = merged.percentile(level)
        if is_supported(level, fewest):
            each = [histogram.percentile(level) for histogram in histograms]
            percentiles.append(Percentile(level, value, min(each), max(each)))
        else:
            percentiles.append(Percentile(level, value, None, None))
    return tuple(percentiles)


def _of_summaries(summaries: Sequence[LatencySummary]) -> tuple[Percentile, ...]:
    fewest = min(summary.count for summary in summaries)
    percentiles = []
    for field, level in _SUMMARISED:
        if is_supported(level, fewest):
            each = [getattr(summary, field) for summary in summaries]
            percentiles.append(Percentile(level, median(each), min(each), max(each)))
    return tuple(percentiles)
