from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.settling import rate_settled_at, settled_at

TIMES = [float(t) for t in range(11)]


def test_memory_that_grows_for_a_while() -> None:
    values = [1, 2, 4, 8, 9.9, 10, 10, 10.1, 10, 10, 10]
    assert settled_at(TIMES, values, end=10) == 4.0
    assert settled_at(TIMES, values, end=10, tolerance=0.5) == 3.0


def test_the_tolerance_is_a_share_of_the_final_value() -> None:
    assert settled_at(TIMES, [98.1] * 5 + [100.0] * 6, end=10) == 0.0
    assert settled_at(TIMES, [97.9] * 5 + [100.0] * 6, end=10) == 5.0
    assert settled_at(TIMES, [75.0] * 5 + [100.0] * 6, end=10, tolerance=0.25) == 0.0
    assert settled_at(TIMES, [-98.1] * 5 + [-100.0] * 6, end=10) == 0.0
    # Of a final value of 0 nothing may deviate.
    assert settled_at(TIMES, [0.001] * 5 + [0.0] * 6, end=10) == 5.0


def test_a_series_that_still_changes_has_not_settled() -> None:
    assert settled_at(TIMES, [1.1**t for t in range(11)], end=10) is None
    assert settled_at(TIMES, [5.0] * 10 + [9.0], end=10) is None


def test_a_step_in_the_last_tenth_is_too_late() -> None:
    times = [*TIMES[:10], 9.2, 9.4, 9.6, 9.8]
    # The median of the last tenth is the new value, which all of its values but the first have.
    assert settled_at(times, [1.0] * 10 + [2.0] * 4, end=10) is None
    # A step exactly where the last tenth begins is early enough.
    assert settled_at(times, [1.0] * 9 + [2.0] * 5, end=10) == 9.0
    # The tenth counts from the first time: here from 19.
    shifted = [time + 10 for time in times]
    assert settled_at(shifted, [1.0] * 9 + [2.0] * 5, end=20) == 19.0
    assert settled_at(shifted, [1.0] * 10 + [2.0] * 4, end=20) is None


def test_the_final_value_is_a_median() -> None:
    assert settled_at(TIMES, [10.0] * 9 + [10.0, 10.2], end=10) == 0.0
    assert settled_at([*TIMES, 10.5], [9.0] * 9 + [10.0, 10.1, 10.2], end=10) == 9.0


def test_a_value_holds_until_the_next() -> None:
    # Without values in the last tenth the last value is the final one.
    assert settled_at([0.0, 2.0], [1.0, 7.0], end=10) == 2.0
    assert settled_at([0.0], [1.0], end=10) == 0.0
    assert settled_at([], [], end=10) is None
    assert settled_at([5.0], [1.0], end=4) is None
    assert settled_at([5.0], [1.0], end=5) is None
    assert settled_at([5.0], [1.0], end=5.5) == 5.0
    with pytest.raises(ValueError, match=r"^1 times and 2 values$"):
        settled_at([1.0], [1.0, 2.0], end=3)


def test_a_rate_settles_where_its_twentieth_begins() -> None:
    # Two seconds at five a second, then one a second.
    totals = [min(t, 2) * 5 + max(0.0, t - 2) for t in TIMES]
    assert rate_settled_at(TIMES, totals, begin=0, end=10) == 2.0
    # Twentieths of eight seconds from 1: the second ends at 1.8, the third at 2.2.
    assert rate_settled_at(TIMES, totals, begin=1, end=9) == pytest.approx(2.2)
    assert rate_settled_at([0.0, 10.0], [0.0, 10.0], begin=0, end=10) == 0.0
    fine = [t / 4 for t in range(41)]
    assert rate_settled_at(fine, [t * t for t in fine], begin=0, end=10) is None
    assert rate_settled_at([1.0], [1.0], begin=0, end=10) is None
    assert rate_settled_at(TIMES, totals, begin=10, end=10) is None
    assert rate_settled_at(TIMES, totals, begin=10, end=9) is None


def test_rates_have_a_tolerance() -> None:
    totals = [1.015 * min(t, 5) + max(0.0, t - 5) for t in TIMES]
    assert rate_settled_at(TIMES, totals, begin=0, end=10) == 0.0
    assert rate_settled_at(TIMES, totals, begin=0, end=10, tolerance=0.01) == 5.0


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40), st.floats(0.001, 0.5))
def test_after_settling_all_values_lie_within_the_tolerance(values: list[float], tolerance: float) -> None:
    times = [float(t) for t in range(len(values))]
    settled = settled_at(times, values, end=float(len(values)), tolerance=tolerance)
    if settled is not None:
        rest = values[times.index(settled) :]
        assert max(rest) - min(rest) <= 2 * tolerance * max(rest) + 1e-9


def test_totals_between_times_grow_evenly() -> None:
    # Of the seconds from 0 to 10 only every fifth has a total.
    assert rate_settled_at([0.0, 5.0, 10.0], [0.0, 25.0, 30.0], begin=0, end=10) == 5.0
    assert rate_settled_at([0.0, 5.0, 10.0], [0.0, 25.0, 50.0], begin=0, end=10) == 0.0


def test_arrays_are_as_good_as_lists() -> None:
    values = [1.0, 5.0, *[2.0] * 9]
    assert settled_at(np.array(TIMES), np.array(values), end=10) == settled_at(TIMES, values, end=10) == 2.0
