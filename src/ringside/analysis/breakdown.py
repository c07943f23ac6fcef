"""Where the time of programs went, by the metrics that a workload names for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.analysis.cells import CellAnalysis
from ringside.model.design import Cell, Point
from ringside.model.results import Interval
from ringside.workloads.base import Measurement, ScalingLaw


@dataclass(frozen=True, slots=True)
class BreakdownRow:
    """Where the time of one cell went: its metrics of the breakdown, and the workload's own sentence."""

    cell: Cell
    figures: Mapping[str, Interval]
    diagnosis: str | None


def breakdown(
    measurement: Measurement,
    core_laws: Sequence[ScalingLaw],
    names: Sequence[str],
    points: Sequence[Point],
    cells: Mapping[Cell, CellAnalysis],
) -> tuple[BreakdownRow, ...]:
    """Where the time went in each cell with figures; at the most cores where several were measured."""
    if not measurement.breakdown:
        return ()
    for law in core_laws:
        most = max(int(point[law.over]) for point in points)
        points = [point for point in points if point[law.over] == most]
    rows = []
    for point in points:
        for name in names:
            cell = cells[Cell(name, point)]
            if cell.has_figures:
                figures = {
                    metric: cell.metrics[metric] for metric in measurement.breakdown if metric in cell.metrics
                }
                rows.append(
                    BreakdownRow(cell.cell, figures, measurement.diagnosis(name, point, cell.metrics))
                )
    return tuple(rows)
