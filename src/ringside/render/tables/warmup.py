"""The table of repeats inside one process: the first beside the steady ones."""

from __future__ import annotations

from ringside import units
from ringside.analysis.distributions import REPEATS_FOR_STEADY_STATE, WarmUp
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Metric
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells


def table(analysis: RunAnalysis) -> TableData | None:
    """A row for each cell whose work was repeated; None where none was."""
    name = analysis.measurement.repeated_metric
    if not analysis.warm_ups or name is None:
        return None
    metric = analysis.measurement.metric(name)
    by_cell = {warm_up.cell: warm_up for warm_up in analysis.warm_ups}
    ordered = (Cell(contender, point) for point in analysis.points for contender in analysis.names)
    several = len(analysis.points) > 1
    return TableData(
        f"{metric.title}: first and steady, inside one process",
        (
            *("contender", *(("point",) if several else ())),
            *("first", "steady", "first / steady", "steady from", "course"),
        ),
        tuple(
            (
                cells.text(cell.contender),
                *((cells.text(analysis.label(cell.point)),) if several else ()),
                *_figures(by_cell[cell], metric),
                cells.text(_course(by_cell[cell])),
            )
            for cell in ordered
            if cell in by_cell
        ),
        subtitle="medians over blocks; `steady from`: the number of the repeat; blocks are counted where "
        "they differ",
        notes=()
        if all(warm_up.is_long_enough for warm_up in analysis.warm_ups)
        else (f"With fewer than {REPEATS_FOR_STEADY_STATE} repeats no steady state can be detected.",),
        narrow=("steady from",),
    )


def _figures(warm_up: WarmUp, metric: Metric) -> tuple[TableCell, ...]:
    first = TableCell(units.quantity(warm_up.first, metric.unit))
    if warm_up.steady is None or warm_up.first_over_steady is None:
        return first, cells.ABSENT, cells.ABSENT, cells.ABSENT
    return (
        first,
        TableCell(units.quantity(warm_up.steady, metric.unit)),
        TableCell(units.significant(warm_up.first_over_steady)),
        TableCell(str(warm_up.since)),
    )


def _course(warm_up: WarmUp) -> str:
    """`warming up`, or `5 × steady, 2 × warming up` where blocks differ."""
    counts = sorted(warm_up.kinds.items(), key=lambda item: -item[1])
    if len(counts) == 1:
        return str(counts[0][0])
    return ", ".join(f"{n} × {kind}" for kind, n in counts)
