"""The growth of a metric per unit of a factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ringside.analysis.cells import CellAnalysis
from ringside.model.design import Cell, Point
from ringside.model.results import Interval
from ringside.stats.scaling import slope_over_blocks
from ringside.workloads.base import Measurement, Slope


@dataclass(frozen=True, slots=True)
class SlopeAnalysis:
    """The slope of one contender, the other factors fixed."""

    slope: Slope
    contender: str
    fixed: Point
    value: Interval


def analyse_slopes(
    measurement: Measurement,
    contenders: Sequence[str],
    points: Sequence[Point],
    cells: Mapping[Cell, CellAnalysis],
) -> tuple[SlopeAnalysis, ...]:
    """A slope for each contender and each setting of the factors that matter, over factors whose levels are
    all numbers. In a block, points that differ only in factors that the metric cannot depend on are
    averaged."""
    slopes = []
    for slope in measurement.slopes:
        if not all(isinstance(point.as_dict().get(slope.over), int) for point in points):
            continue
        ignored = (slope.over, *slope.regardless_of)
        for contender in contenders:
            for fixed in dict.fromkeys(point.without(*ignored) for point in points):
                blocks: dict[int, dict[float, list[float]]] = {}
                for point in points:
                    if point.without(*ignored) == fixed:
                        values = cells[Cell(contender, point)].by_block.get(slope.metric, {})
                        for block, value in values.items():
                            blocks.setdefault(block, {}).setdefault(float(point[slope.over]), []).append(
                                value
                            )
                means = {
                    block: {level: fmean(values) for level, values in levels.items()}
                    for block, levels in blocks.items()
                }
                if (growth := slope_over_blocks(means)) is not None:
                    slopes.append(SlopeAnalysis(slope, contender, fixed, growth))
    return tuple(slopes)
