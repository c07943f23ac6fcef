"""Executions of commands as `vs` shows them beside the comparisons: descriptions of samples, and how they
change with a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ringside.analysis.cells import CellAnalysis
from ringside.model.design import Cell, Point
from ringside.model.results import Description, Interval
from ringside.stats.paired import paired_ratio
from ringside.stats.samples import describe


@dataclass(frozen=True, slots=True)
class ExecutionAnalysis:
    """`descriptions`: of the headline of each cell that has figures, in the order of the points. `means`: of
    each metric of these cells. `over_first_point`: the headline of each command at each point over that of
    the same command at the first point, from pairs inside blocks; without verdicts, and without the first
    point itself."""

    descriptions: Mapping[Cell, Description]
    means: Mapping[Cell, Mapping[str, float]]
    over_first_point: Mapping[Cell, Interval]


def analyse_executions(
    headline: str,
    names: Sequence[str],
    points: Sequence[Point],
    cells: Mapping[Cell, CellAnalysis],
    confidence: float,
) -> ExecutionAnalysis:
    """`headline`: the name of the metric; `names`: of the commands."""
    with_figures = {cell: each.by_block for cell, each in cells.items() if each.by_block.get(headline)}
    return ExecutionAnalysis(
        descriptions={
            cell: describe(list(by_block[headline].values())) for cell, by_block in with_figures.items()
        },
        means={
            cell: {name: fmean(values.values()) for name, values in by_block.items() if values}
            for cell, by_block in with_figures.items()
        },
        over_first_point=_over_first_point(headline, names, points, cells, confidence),
    )


def _over_first_point(
    headline: str,
    names: Sequence[str],
    points: Sequence[Point],
    cells: Mapping[Cell, CellAnalysis],
    confidence: float,
) -> dict[Cell, Interval]:
    first, *others = points
    ratios = {}
    for name in names:
        base = cells[Cell(name, first)].by_block.get(headline, {})
        for point in others:
            values = cells[Cell(name, point)].by_block.get(headline, {})
            if ratio := paired_ratio(values, base, confidence):
                ratios[Cell(name, point)] = ratio
    return ratios
