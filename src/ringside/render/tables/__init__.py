"""The tables of a run as data, the same for the terminal, Markdown and the page."""

from __future__ import annotations

from ringside.analysis.run import RunAnalysis
from ringside.render.table import TableData
from ringside.render.tables import contenders, points, scaling

# Up to so many points each has a table of its own; beyond, one table has a row for each point.
_POINT_TABLES = 4


def tables(analysis: RunAnalysis, *, everything: bool = True) -> list[TableData]:
    """All tables of a run, in the order in which they are read; without `everything`, of metrics that are
    compared besides the headline and of its parts none."""
    shown = (
        *figures(analysis, everything=everything),
        contenders.contender_table(analysis),
        contenders.failure_table(analysis),
    )
    return [table for table in shown if table]


def part_tables(analysis: RunAnalysis, *, everything: bool = True) -> list[TableData]:
    """The tables of a run that is a part of a suite; what the contenders are stands once, behind all
    parts."""
    shown = (*figures(analysis, everything=everything), contenders.failure_table(analysis))
    return [table for table in shown if table]


def answer_table(analysis: RunAnalysis) -> TableData:
    """The one of the tables that the answer in words comes from."""
    is_split = len(analysis.points) <= _POINT_TABLES
    return figures(analysis)[analysis.points.index(analysis.overview_point) if is_split else 0]


def figures(analysis: RunAnalysis, *, everything: bool = True) -> list[TableData]:
    """The tables of what was measured."""
    of_points: list[TableData | None]
    if len(analysis.points) <= _POINT_TABLES:
        of_points = [points.marked_table(analysis, point) for point in analysis.points]
    else:
        of_points = [
            table
            for metric in (analysis.metrics if everything else (analysis.headline,))
            for table in (
                points.metric_table(analysis, metric),
                points.ratio_table(analysis, metric) if analysis.pairs else None,
            )
        ]
    shown = (
        *of_points,
        points.machine_table(analysis),
        points.warm_up_table(analysis),
        *scaling.slope_tables(analysis),
        *scaling.scaling_tables(analysis),
        points.breakdown_table(analysis) if everything else None,
        *points.published_tables(analysis),
    )
    return [table for table in shown if table]
