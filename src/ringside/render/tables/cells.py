"""Table cells of figures, ratios and verdicts."""

from __future__ import annotations

from ringside import units
from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.model.results import Comparison, Interval, Outcome
from ringside.render.answers import stall_word
from ringside.render.table import TableCell

ABSENT = TableCell("–", "quiet")


# Behind the names of contenders with implausible figures.
MARK = "(!)"


def name(analysis: RunAnalysis, contender: str) -> TableCell:
    """A contender's name in a table of figures, marked where they are implausible."""
    return text(f"{contender} {MARK}" if contender in analysis.implausible else contender)


def text(value: str) -> TableCell:
    return TableCell(value or "–", "text")


def figure(cell: CellAnalysis, metric: Metric, *, interval: bool = False) -> TableCell:
    """A metric of a cell; where the cell has no figures at all, how its trials ended; where the program did
    not report what it should have, that it is missing."""
    value = cell.metrics.get(metric.name)
    if value is not None:
        return TableCell(
            units.with_interval(value, metric.unit) if interval else units.metric_estimate(value, metric)
        )
    if metric.name in cell.missing:
        return TableCell("missing", "failed")
    failed = next((outcome for outcome in cell.outcomes if outcome is not Outcome.OK), None)
    return TableCell(str(failed), "failed") if failed and not cell.has_figures else ABSENT


def interval(value: Interval | None, unit: str) -> TableCell:
    return TableCell(units.with_interval(value, unit)) if value else ABSENT


def ratio(comparison: Comparison | None, metric: Metric, *, is_baseline: bool = False) -> TableCell:
    if is_baseline:
        return TableCell("1", "quiet")
    if comparison is None:
        return ABSENT
    word = verdict(comparison, metric)
    return TableCell(units.ratio(comparison.ratio), word.kind, word.text)


def verdict(comparison: Comparison | None, metric: Metric, *, is_baseline: bool = False) -> TableCell:
    if is_baseline:
        return TableCell("baseline", "quiet")
    if comparison is None:
        return ABSENT
    if comparison.stalls:
        return TableCell(stall_word(metric))
    return TableCell(units.verdict_word(comparison.verdict, metric), units.kind(comparison.verdict))
