"""Order statistics of sums of pairs, which are too many to store, by counting them."""

from __future__ import annotations

import bisect
import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

# So few numbers are sorted.
_FEW = 10_000
# So many numbers lie between the one that is sought and the bounds aimed at.
_BESIDE = 3_000


class OrderStatistic(ABC):
    """Order statistics of numbers that pairs of values make: `stored` in their order where they are few, else
    counted on demand, so that 30,000 values need no gigabytes."""

    def __init__(self, stored: np.ndarray | None = None) -> None:
        self._stored = stored
        # Every bound that was counted, and its count: one search begins where others came by.
        self._bounds: list[float] = []
        self._counts: list[int] = []

    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """Two bounds: no number is above the second, and those that are not above the first equal it."""

    @abstractmethod
    def count_at_most(self, bound: float) -> int:
        """How many numbers are at most that large."""

    @abstractmethod
    def between(self, low: float, high: float) -> np.ndarray:
        """The numbers above `low` that are at most `high`."""

    def smallest(self, k: int) -> float:
        """The k-th smallest, from 0. Bounds beside it are interpolated, every third is half-way, until few
        numbers or no other number lie between."""
        if self._stored is not None:
            return float(self._stored[k])
        import numpy as np  # here, since most commands do without

        if not self._bounds:
            self._bounds = list(self.ends())
            self._counts = list(map(self.count_at_most, self._bounds))
        place = bisect.bisect_right(self._counts, k)
        if place == 0:
            return self._bounds[0]
        for turn in itertools.count():
            low, high = self._bounds[place - 1 : place + 1]
            below, up_to = self._counts[place - 1 : place + 1]
            if up_to - below <= _FEW:
                break
            # Once above the k-th and once below it, so that both bounds come close.
            aim = (k - below + (_BESIDE if turn % 3 else -_BESIDE)) / (up_to - below)
            bound = low + (high - low) * (aim if turn % 3 < 2 and 0 < aim < 1 else 0.5)
            if bound in (low, high):
                bound = low + (high - low) / 2
            if bound in (low, high):
                return high
            count = self.count_at_most(bound)
            self._bounds.insert(place, bound)
            self._counts.insert(place, count)
            place += count <= k
        numbers = self.between(low, high)
        return float(np.partition(numbers, k - below)[k - below])


def pairs_between(values: np.ndarray, firsts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of each row i with those of `values[firsts[i]:ends[i]]`: the rows, and the values."""
    import numpy as np

    lengths = np.maximum(ends - firsts, 0)
    rows: np.ndarray = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, values[firsts[rows] + within]
