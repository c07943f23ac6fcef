"""Executions of commands as `vs` shows them beside the comparisons: descriptions of samples, and how they
change with a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import Description, Interval
from ringside.stats.description import describe
from ringside.stats.ratio import paired_ratio


def descriptions(analysis: RunAnalysis) -> dict[Cell, Description]:
    """The headline of each cell that has figures, described; in the order of the points."""
    name = analysis.headline.name
    return {
        cell: describe(list(each.by_block[name].values()))
        for cell, each in analysis.cells.items()
        if each.by_block.get(name)
    }


def means(analysis: RunAnalysis, cell: Cell) -> dict[str, float]:
    """The mean of each metric of a cell."""
    by_block = analysis.cells[cell].by_block
    return {name: fmean(values.values()) for name, values in by_block.items() if values}


def over_first_point(analysis: RunAnalysis) -> Mapping[Cell, Interval]:
    """The headline of each command at each point over that of the same command at the first point, from pairs
    inside blocks; without verdicts, and without the first point itself."""
    first, *others = analysis.points
    name = analysis.headline.name
    ratios = {}
    for contender in analysis.names:
        base = analysis.cell(contender, first).by_block.get(name, {})
        for point in others:
            values = analysis.cell(contender, point).by_block.get(name, {})
            ratio = paired_ratio(values, base, analysis.confidence)
            if ratio:
                ratios[Cell(contender, point)] = ratio
    return ratios
