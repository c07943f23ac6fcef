"""The table of where the time went."""

from __future__ import annotations

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.analysis.scaling import BreakdownRow
from ringside.model.design import Metric
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells


def table(analysis: RunAnalysis) -> TableData | None:
    """The metrics of the workload's breakdown, and below what they show in words; None without any."""
    if not analysis.breakdown:
        return None
    metrics = [analysis.measurement.metric(name) for name in analysis.measurement.breakdown]
    several = len({row.cell.point for row in analysis.breakdown}) > 1
    notes = []
    for row in analysis.breakdown:
        if row.diagnosis:
            where = f"{analysis.label(row.cell.point)}: " if several else ""
            notes.append(f"{where}{row.diagnosis}.")
    return TableData(
        "Where the time went",
        ("contender", *(("point",) if several else ()), *(metric.title for metric in metrics)),
        tuple(
            (
                cells.text(row.cell.contender),
                *((cells.text(analysis.label(row.cell.point)),) if several else ()),
                *(_figure(row, metric) for metric in metrics),
            )
            for row in analysis.breakdown
        ),
        subtitle="medians over blocks; times are sums over all units of a kind",
        notes=tuple(notes),
        narrow=tuple(metric.title for metric in reversed(metrics)),
    )


def _figure(row: BreakdownRow, metric: Metric) -> TableCell:
    value = row.figures.get(metric.name)
    return TableCell(units.metric_estimate(value, metric)) if value else cells.ABSENT
