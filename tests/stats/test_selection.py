from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats import selection
from ringside.stats.selection import OrderStatistic, pairs_between

# Many are the same.
NUMBERS = st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float), min_size=1, max_size=40)


class Sorted(OrderStatistic):
    """Those of numbers in their order. `counted`, `listed`: what was asked for."""

    def __init__(self, numbers: np.ndarray) -> None:
        super().__init__()
        self.numbers = numbers
        self.counted: list[float] = []
        self.listed: list[tuple[float, float]] = []

    def ends(self) -> tuple[float, float]:
        return float(self.numbers[0]), float(self.numbers[-1])

    def count_at_most(self, bound: float) -> int:
        self.counted.append(bound)
        return int(np.searchsorted(self.numbers, bound, side="right"))

    def between(self, low: float, high: float) -> np.ndarray:
        self.listed.append((low, high))
        listed: np.ndarray = np.flip(self.numbers[(self.numbers > low) & (self.numbers <= high)])
        return listed


@pytest.mark.parametrize("few", [0, 1, 5, 100])
@given(NUMBERS, st.data())
def test_it_is_the_number_at_that_place(few: int, drawn: list[float], data: st.DataObject) -> None:
    numbers = np.sort(drawn)
    places = data.draw(st.lists(st.integers(0, len(numbers) - 1), min_size=1, max_size=4))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(selection, "_FEW", few)
        patched.setattr(selection, "_BESIDE", max(1, few // 3))
        several = Sorted(numbers)
        assert [several.smallest(k) for k in places] == [numbers[k] for k in places]


def test_few_numbers_are_listed_and_many_are_counted_first() -> None:
    million = Sorted(np.arange(1_000_000.0))
    assert million.smallest(700_001) == 700_001
    ((low, high),) = million.listed
    assert high - low <= 10_000
    # The next search has its bounds already.
    once = len(million.counted)
    assert million.smallest(700_002) == 700_002
    assert len(million.counted) == once


def test_pairs_of_rows() -> None:
    rows, values = pairs_between(np.array([10, 11, 12, 13]), np.array([1, 3, 0]), np.array([3, 2, 1]))
    assert list(itertools.chain(rows)) == [0, 0, 2]
    assert list(values) == [11, 12, 10]
