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


@pytest.mark.parametrize("few", [0, 1, 5, 100])
@given(NUMBERS, st.data())
def test_it_is_the_number_at_that_place(few: int, drawn: list[float], data: st.DataObject) -> None:
    numbers = np.sort(drawn)

    def count_at_most(bound: float) -> int:
        return int(np.searchsorted(numbers, bound, side="right"))

    def between(low: float, high: float) -> np.ndarray:
        listed: np.ndarray = np.flip(numbers[count_at_most(low) : count_at_most(high)])
        return listed

    places = data.draw(st.lists(st.integers(0, len(numbers) - 1), min_size=1, max_size=4))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(selection, "_FEW", few)
        patched.setattr(selection, "_BESIDE", max(1, few // 3))
        several = OrderStatistic(count_at_most, between, numbers[0], numbers[-1])
        assert [several.smallest(k) for k in places] == [numbers[k] for k in places]


def test_few_numbers_are_listed_and_many_are_counted_first() -> None:
    listed, counted = [], []

    def between(low: float, high: float) -> np.ndarray:
        listed.append((low, high))
        return np.arange(int(low) + 1, int(high) + 1)

    def count_at_most(bound: float) -> int:
        counted.append(bound)
        return int(bound) + 1

    million = OrderStatistic(count_at_most, between, 0.0, 999_999.0)
    assert million.smallest(700_001) == 700_001
    ((low, high),) = listed
    assert high - low <= 10_000
    # The next search has its bounds already.
    once = len(counted)
    assert million.smallest(700_002) == 700_002
    assert len(counted) == once


def test_pairs_of_rows() -> None:
    rows, values = pairs_between(np.array([10, 11, 12, 13]), np.array([1, 3, 0]), np.array([3, 2, 1]))
    assert list(itertools.chain(rows)) == [0, 0, 2]
    assert list(values) == [11, 12, 10]
