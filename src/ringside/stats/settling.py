"""When a series has come to its final value."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from statistics import median

TOLERANCE = 0.02
# The final value is that of the last part; what moves still there has not settled.
_FINAL_SHARE = 0.1
# Rates are taken over so many parts of the time.
_WINDOWS = 20


def settled_at(
    times: Sequence[float], values: Sequence[float], *, end: float, tolerance: float = TOLERANCE
) -> float | None:
    """The first of `times` from which on all values lie within `tolerance` of the final one: the median of
    those in the last tenth of the time up to `end`, or the last value where there are none. None where that
    is not reached before the last tenth begins, or nothing is known.

    `times` ascend; a value holds until the next. Raises ValueError when the lengths differ.
    """
    if len(times) != len(values):
        raise ValueError(f"{len(times)} times and {len(values)} values")
    if not times or end <= times[0]:
        return None
    last_part = end - _FINAL_SHARE * (end - times[0])
    final = median(values[bisect.bisect_left(times, last_part) :] or values[-1:])
    found = None
    for time, value in zip(reversed(times), reversed(values), strict=True):
        if abs(value - final) > tolerance * abs(final):
            break
        found = time
    return found if found is not None and found <= last_part else None


def rate_settled_at(
    times: Sequence[float], totals: Sequence[float], *, begin: float, end: float, tolerance: float = TOLERANCE
) -> float | None:
    """The same for the rate at which `totals` grow from `begin` to `end`, in twentieths of that time: when
    the first of them begins from which on all rates lie within `tolerance` of the last ones'."""
    if len(times) < 2 or end <= begin:
        return None
    width = (end - begin) / _WINDOWS
    edges = [begin + width * number for number in range(_WINDOWS + 1)]
    at = [interpolated(times, totals, edge) for edge in edges]
    rates = [after - before for before, after in itertools.pairwise(at)]
    return settled_at(edges[:-1], rates, end=end, tolerance=tolerance)


def interpolated(times: Sequence[float], values: Sequence[float], at: float) -> float:
    """The value on the straight line between the two neighbours of `at`; at the ends the first or last."""
    place = bisect.bisect_left(times, at)
    if place == 0:
        return values[0]
    if place == len(times):
        return values[-1]
    (before, after), (low, high) = times[place - 1 : place + 1], values[place - 1 : place + 1]
    share = (at - before) / (after - before) if after > before else 1.0
    return low + share * (high - low)
