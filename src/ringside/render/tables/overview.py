"""The table of several runs: problems × contenders."""

from __future__ import annotations

from ringside import units
from ringside.analysis.suite import Overview, OverviewColumn
from ringside.render.heading import headline
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells


def table(overview: Overview) -> TableData:
    """A row for each contender, a column for each problem: times the best one's headline, and the rank."""
    return TableData(
        "Overview",
        ("contender", *(column.label for column in overview.columns)),
        tuple(
            (cells.text(name), *(_cell(column, name) for column in overview.columns))
            for name in overview.names
        ),
        subtitle="how many times worse than the best of each problem, and in brackets the ranks it can have; "
        "a contender of another class than the baseline has its class there",
        notes=tuple(_explanation(column) for column in overview.columns),
    )


def _cell(column: OverviewColumn, name: str) -> TableCell:
    cell = column.cell(name)
    if cell is None:
        return TableCell("", "quiet")
    if cell.ratio is None:
        return TableCell(str(cell.outcome), "failed") if cell.outcome else cells.ABSENT
    if cell.other_class:
        return TableCell(f"{units.significant(cell.ratio)} [{cell.other_class}]", "number")
    rank = f" [{units.rank_interval(cell.ranks)}]" if cell.ranks else ""
    if cell.is_best:
        return TableCell(f"1{rank}", "faster")
    kind = "faster" if cell.ranks and cell.ranks[0] == 1 else "number"
    return TableCell(f"{units.significant(cell.ratio)}{rank}", kind)


def _explanation(column: OverviewColumn) -> str:
    analysis = column.analysis
    best = analysis.rankings[analysis.headline.name, column.point].order[0]
    value = analysis.cell(best, column.point).metrics.get(analysis.headline.name)
    amount = f"; best: {best}, {units.metric_estimate(value, analysis.headline)}" if value else ""
    return f"{column.label}: {headline(column)}{amount}"
