"""Tables of what a source reported beside this run."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.published import ThenAndNowRow
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells

# A row, the metric that it is of, and its unit: none for a ratio.
_Row = tuple[Metric, ThenAndNowRow, str]


def tables(analysis: RunAnalysis) -> list[TableData]:
    """Figures of contenders then and now, and ratios of pairs; none without a source."""
    if not analysis.then_and_now:
        return []
    figures = [(both.metric, row, both.metric.unit) for both in analysis.then_and_now for row in both.figures]
    ratios = [(both.metric, row, "") for both in analysis.then_and_now for row in both.ratios]
    figure_table = _table(analysis, "Then and now", "contender", figures)
    if not ratios:
        return [figure_table]
    return [figure_table, _table(analysis, "Ratios then and now", "pair", ratios)]


def _table(analysis: RunAnalysis, title: str, column: str, rows: Sequence[_Row]) -> TableData:
    source, metric = analysis.then_and_now[0].source, analysis.then_and_now[0].metric
    several = len(analysis.then_and_now) > 1
    has_notes = any(row.note for _, row, _ in rows)
    return TableData(
        title,
        (
            "point",
            column,
            *(("metric",) if several else ()),
            "then",
            *(("as it was then",) if has_notes else ()),
            "now",
        ),
        tuple(
            (
                cells.text(analysis.label(row.point)),
                cells.text(row.label),
                *((cells.text(metric.title),) if several else ()),
                TableCell(units.quantity(row.then, unit) if unit else units.significant(row.then)),
                *((cells.text(row.note),) if has_notes else ()),
                cells.interval(row.now, unit),
            )
            for metric, row, unit in rows
        ),
        subtitle="" if several else f"{metric.title}: {metric.explanation}",
        notes=(
            f"Then: {source.title} ({source.date}); hardware: {source.hardware}.",
            *([f"The source's figures: {source.metric_note}."] if source.metric_note else []),
        ),
    )
