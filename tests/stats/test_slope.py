from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.model.results import Interval
from ringside.stats.slope import slope, slope_over_blocks


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sets(st.integers(1, 10_000), min_size=2, max_size=9))
def test_slope_of_a_line(growth: float, base: float, xs: set[int]) -> None:
    assert slope({float(x): base + growth * x for x in xs}) == pytest.approx(growth, abs=1e-3, rel=1e-6)


def test_least_squares() -> None:
    # By hand: means 2 and 3; (-1·-2 + 0·-1 + 1·3) / 2.
    assert slope({1.0: 1.0, 2.0: 2.0, 3.0: 6.0}) == pytest.approx(2.5)


def test_slope_needs_two_levels_and_blocks_that_have_them() -> None:
    assert slope({1.0: 2.0}) is None
    assert slope_over_blocks({1: {1.0: 2.0}}) is None
    growth = slope_over_blocks({block: {1.0: 5.0, 3.0: 5.0 + 2 * block} for block in range(1, 8)})
    assert growth == Interval(4.0, 1.0, 7.0, 7)
    assert slope_over_blocks({1: {1.0: 2.0}, 2: {1.0: 2.0, 2.0: 5.0}}) == Interval(3.0, None, None, 1)
