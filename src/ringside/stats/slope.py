"""Linear growth of a metric over a factor."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import linear_regression

from ringside.model.results import Interval
from ringside.stats.interval import median_interval


def slope(points: Mapping[float, float]) -> float | None:
    """The slope of the least-squares line through (x, y) points, in y's unit per unit of x; None for fewer
    than two x."""
    if len(points) < 2:
        return None
    return linear_regression(list(points), list(points.values())).slope


def slope_over_blocks(blocks: Mapping[int, Mapping[float, float]]) -> Interval | None:
    """The median over blocks of each block's slope, with its interval; None where no block has two x."""
    slopes = [growth for points in blocks.values() if (growth := slope(points)) is not None]
    return median_interval(slopes) if slopes else None
