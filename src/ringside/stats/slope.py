"""Growth of a figure over a factor, the base apart."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.model.results import Interval
from ringside.stats.interval import median_interval


def slope(points: Mapping[float, float]) -> tuple[float, float] | None:
    """Slope and base of the least-squares line through (x, y) points; None for fewer than two x.

    The slope is in y's unit per unit of x, the base in y's unit.
    """
    n = len(points)
    if n < 2:
        return None
    mean_x = sum(points) / n
    mean_y = sum(points.values()) / n
    spread = sum((x - mean_x) ** 2 for x in points)
    found = sum((x - mean_x) * (y - mean_y) for x, y in points.items()) / spread
    return found, mean_y - found * mean_x


def slope_over_blocks(blocks: Mapping[int, Mapping[float, float]]) -> Interval | None:
    """The median over blocks of each block's slope, with its interval; None where no block has two x."""
    found = [line[0] for values in blocks.values() if (line := slope(values)) is not None]
    return median_interval(found) if found else None
