"""Tables of slopes."""

from __future__ import annotations

from ringside.analysis.run import RunAnalysis
from ringside.render.table import TableData
from ringside.render.tables import cells


def tables(analysis: RunAnalysis) -> list[TableData]:
    """A table for each slope of the workload: a row for each contender, the smallest first, and a column for
    each setting of the other factors."""
    slope_tables = []
    for slope in analysis.measurement.slopes:
        slopes = [row for row in analysis.slopes if row.slope.name == slope.name]
        settings = list(dict.fromkeys(row.fixed for row in slopes))
        values = {(row.contender, row.fixed): row.value for row in slopes}
        order = dict.fromkeys(row.contender for row in sorted(slopes, key=lambda row: row.value.estimate))
        if not settings:
            continue
        rows = tuple(
            (
                cells.text(name),
                *(cells.interval(values.get((name, fixed)), slope.unit) for fixed in settings),
            )
            for name in order
        )
        columns = tuple(str(fixed) if len(settings) > 1 else slope.title for fixed in settings)
        slope_tables.append(TableData(slope.title, ("contender", *columns), rows, subtitle=slope.explanation))
    return slope_tables
