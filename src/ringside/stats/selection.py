"""Order statistics of sums of pairs, which are too many to store, by counting them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# So few numbers are sorted.
_FEW = 10_000


def smallest(
    count_at_most: Callable[[float], int],
    between: Callable[[float, float], np.ndarray],
    k: int,
    low: float,
    high: float,
) -> float:
    """The k-th smallest, from 0, of numbers of which `count_at_most(bound)` are at most that large, and which
    `between(low, high)` lists where they are above `low` and at most `high`; none is above `high`. By
    bisection, until few are left, or no floating-point number lies between."""
    import numpy as np  # here, since `--help` does without

    below, up_to = count_at_most(low), count_at_most(high)
    if k < below:
        return low
    while up_to - below > _FEW:
        half = low + (high - low) / 2
        if half in (low, high):
            return high
        count = count_at_most(half)
        if count > k:
            high, up_to = half, count
        else:
            low, below = half, count
    found = between(low, high)
    return float(np.partition(found, k - below)[k - below])


def pairs_between(values: np.ndarray, firsts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of each row i with those of `values[firsts[i]:ends[i]]`: the rows, and the values."""
    import numpy as np  # here, since `--help` does without

    lengths = np.maximum(ends - firsts, 0)
    rows: np.ndarray = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, values[firsts[rows] + within]
