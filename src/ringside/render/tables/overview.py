"""The table of several runs: problems × contenders."""

from __future__ import annotations

from ringside import units
from ringside.analysis.overview import Overview, OverviewColumn
from ringside.model.results import Outcome
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
    analysis, point = column.analysis, column.point
    if name not in analysis.names:
        return TableCell("", "quiet")
    ranking = analysis.rankings[analysis.headline.name, point]
    best = ranking.order[0]
    rank = f" [{units.rank_interval(ranking.ranks[name])}]" if name in ranking.ranks else ""
    ratio = column.behind(name)
    if ratio is not None and name == best:
        return TableCell(f"1{rank}", "faster")
    if ratio is not None and analysis.kind(name) != analysis.kind(best):
        return TableCell(f"{units.significant(ratio)} [{analysis.kind(name)}]", "number")
    if ratio is not None:
        kind = "faster" if name in ranking.ranks and ranking.ranks[name][0] == 1 else "number"
        return TableCell(f"{units.significant(ratio)}{rank}", kind)
    failed = next((each for each in analysis.cell(name, point).outcomes if each is not Outcome.OK), None)
    return TableCell(str(failed), "failed") if failed else cells.ABSENT


def _explanation(column: OverviewColumn) -> str:
    analysis = column.analysis
    best = analysis.rankings[analysis.headline.name, column.point].order[0]
    value = analysis.cell(best, column.point).metrics.get(analysis.headline.name)
    amount = f"; best: {best}, {units.metric_estimate(value, analysis.headline)}" if value else ""
    where = f" at {analysis.label(column.point)}" if len(analysis.points) > 1 else ""
    return f"{column.label}: {analysis.headline.noun}{where}{amount}"
