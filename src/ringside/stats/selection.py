"""Order statistics of numbers too many to store, by counting them."""

from __future__ import annotations

from collections.abc import Callable


def smallest(count_at_most: Callable[[float], int], k: int, low: float, high: float) -> float:
    """The k-th smallest, from 0, of numbers of which `count_at_most(bound)` are at most that large; none is
    below `low` or above `high`. By bisection, until no floating-point number lies between."""
    while True:
        half = low + (high - low) / 2
        if half in (low, high):
            return high if count_at_most(low) <= k else low
        if count_at_most(half) > k:
            high = half
        else:
            low = half
