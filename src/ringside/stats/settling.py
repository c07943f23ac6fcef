"""When a time series has reached its final value."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from statistics import median

TOLERANCE = 0.02
# The last part of the time, whose median is the final value. A series that changes there has not settled.
_FINAL_SHARE = 0.1
# The number of equal parts of the time over which rates are taken.
_WINDOWS = 20


def settled_at(
    times: Sequence[float], values: Sequence[float], *, end: float, tolerance: float = TOLERANCE
) -> float | None:
    """The first of `times` from which all values lie within `tolerance`, a share, of the final value: the
    median of the values in the last tenth of the time up to `end`, or the last value where there are none.
    None where this is not reached before the last tenth begins, or where `times` is empty.

    `times` ascend; a value holds until the next. Raises ValueError when the lengths differ.
    """
    if len(times) != len(values):
        raise ValueError(f"{len(times)} times and {len(values)} values")
    if not times or end <= times[0]:
        return None
    final_part = end - _FINAL_SHARE * (end - times[0])
    final = median(values[bisect.bisect_left(times, final_part) :] or values[-1:])
    settled = None
    for time, value in zip(reversed(times), reversed(values), strict=True):
        if abs(value - final) > tolerance * abs(final):
            break
        settled = time
    return settled if settled is not None and settled <= final_part else None


def rate_settled_at(
    times: Sequence[float], totals: Sequence[float], *, begin: float, end: float, tolerance: float = TOLERANCE
) -> float | None:
    """When the rate at which `totals` grow from `begin` to `end` has settled. Rates are taken over twentieths
    of that time; the result is the beginning of the first from which all rates lie within `tolerance` of the
    final rate."""
    if len(times) < 2:
        return None
    width = (end - begin) / _WINDOWS
    edges = [begin + width * number for number in range(_WINDOWS + 1)]
    at_edges = [interpolated(times, totals, edge) for edge in edges]
    rates = [after - before for before, after in itertools.pairwise(at_edges)]
    return settled_at(edges[:-1], rates, end=end, tolerance=tolerance)


def interpolated(times: Sequence[float], values: Sequence[float], at: float) -> float:
    """The value on the straight line between the two neighbours of `at`; outside of `times` the first or the
    last value. (numpy.interp would convert both sequences for each single time.)"""
    place = bisect.bisect_left(times, at)
    if place == 0:
        return values[0]
    if place == len(times):
        return values[-1]
    (before, after), (low, high) = times[place - 1 : place + 1], values[place - 1 : place + 1]
    # `before` < `at` <= `after`.
    return low + (at - before) / (after - before) * (high - low)
