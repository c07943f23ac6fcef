"""When a time series has reached its final value."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

TOLERANCE = 0.02
# The last part of the time, whose median is the final value. A series that changes there has not settled.
_FINAL_SHARE = 0.1
# The number of equal parts of the time over which rates are taken.
_WINDOWS = 20


def settled_at(
    times: Sequence[float] | np.ndarray,
    values: Sequence[float] | np.ndarray,
    *,
    end: float,
    tolerance: float = TOLERANCE,
) -> float | None:
    """The first of `times` from which all values lie within `tolerance`, a share, of the final value: the
    median of the values in the last tenth of the time up to `end`, or the last value where there are none.
    None where this is not reached before the last tenth begins, or where `times` is empty.

    `times` ascend; a value holds until the next. Raises ValueError when the lengths differ.
    """
    if len(times) != len(values):
        raise ValueError(f"{len(times)} times and {len(values)} values")
    import numpy as np  # here, since most commands do without

    if len(times) == 0 or end <= times[0]:
        return None
    at, levels = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    final_part = end - _FINAL_SHARE * (end - float(at[0]))
    # For so few values faster than numpy's.
    final = median(levels[np.searchsorted(at, final_part) :].tolist() or levels[-1:].tolist())
    (outside,) = np.nonzero(np.abs(levels - final) > tolerance * abs(final))
    rest = at[outside[-1] + 1 :] if len(outside) else at
    return float(rest[0]) if len(rest) and rest[0] <= final_part else None


def rate_settled_at(
    times: Sequence[float] | np.ndarray,
    totals: Sequence[float] | np.ndarray,
    *,
    begin: float,
    end: float,
    tolerance: float = TOLERANCE,
) -> float | None:
    """When the rate at which `totals` grow from `begin` to `end` has settled. Rates are taken over twentieths
    of that time; the result is the beginning of the first from which all rates lie within `tolerance` of the
    final rate."""
    import numpy as np

    if len(times) < 2:
        return None
    edges = begin + (end - begin) / _WINDOWS * np.arange(_WINDOWS + 1)
    # Between two times the total grows evenly.
    rates = np.diff(np.interp(edges, times, totals))
    return settled_at(edges[:-1], rates, end=end, tolerance=tolerance)
