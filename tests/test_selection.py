from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats import selection
from ringside.stats.selection import pairs_between, smallest

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

    k = data.draw(st.integers(0, len(numbers) - 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(selection, "_FEW", few)
        assert smallest(count_at_most, between, k, numbers[0], numbers[-1]) == numbers[k]


def test_few_numbers_are_listed_once_and_many_are_halved_first() -> None:
    listed = []

    def between(low: float, high: float) -> np.ndarray:
        listed.append((low, high))
        return np.arange(int(low) + 1, int(high) + 1)

    # A million integers, from 0.
    found = smallest(lambda bound: int(bound) + 1, between, 700_001, -1.0, 999_999.0)
    assert found == 700_001
    ((low, high),) = listed
    assert high - low <= 10_000


def test_pairs_of_rows() -> None:
    rows, values = pairs_between(np.array([10, 11, 12, 13]), np.array([1, 3, 0]), np.array([3, 2, 1]))
    assert list(itertools.chain(rows)) == [0, 0, 2]
    assert list(values) == [11, 12, 10]
