from __future__ import annotations

import bisect

from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.selection import smallest


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.data())
def test_it_is_the_number_at_that_place(numbers: list[float], data: st.DataObject) -> None:
    numbers.sort()
    k = data.draw(st.integers(0, len(numbers) - 1))
    found = smallest(lambda bound: bisect.bisect_right(numbers, bound), k, numbers[0], numbers[-1])
    assert found == numbers[k]
