from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.percentiles import MIN_BEYOND, Histogram, is_supported, supported_levels


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.floats(0, 1))
def test_a_percentile_is_that_of_the_sorted_values(values: list[int], level: float) -> None:
    """The smallest value that so many are no larger than, as numpy's `inverted_cdf` has it."""
    rank = max(1, math.ceil(level * len(values) - 1e-9 * len(values)))
    histogram = Histogram((value, 1) for value in values)
    assert histogram.percentile(level) == sorted(values)[rank - 1]
    assert histogram.total == len(values)


@given(st.lists(st.lists(st.integers(1, 50), min_size=1), min_size=1, max_size=5), st.floats(0, 1))
def test_merged_percentiles_lie_between_those_of_the_parts(parts: list[list[int]], level: float) -> None:
    each = [Histogram((value, 1) for value in part) for part in parts]
    merged = Histogram.merged(each)
    assert merged.total == sum(map(len, parts))
    percentiles = [histogram.percentile(level) for histogram in each]
    assert min(percentiles) <= merged.percentile(level) <= max(percentiles)


def test_counts_of_one_value_are_added_and_empty_ones_are_left_out() -> None:
    histogram = Histogram([(7, 2), (3, 0), (7, 1), (5, 1)])
    assert (histogram.total, histogram.percentile(0), histogram.percentile(0.3), histogram.percentile(1)) == (
        *(4, 5, 7, 7),
    )
    with pytest.raises(ValueError, match="empty"):
        Histogram([(3, 0)]).percentile(0.5)


@pytest.mark.parametrize(
    ("level", "total", "supported"),
    [(0.5, 19, False), (0.5, 20, True), (0.9, 100, True), (0.9, 99, False), (0.999, 10_000, True)],
)
def test_ten_values_must_lie_beyond(level: float, total: int, supported: bool) -> None:
    assert is_supported(level, total) is supported


@given(st.integers(0, 10**8))
def test_levels_of_a_curve(total: int) -> None:
    levels = supported_levels(total)
    assert list(levels) == sorted(set(levels))
    assert bool(levels) is (total >= 2 * MIN_BEYOND)
    if levels:
        assert levels[0] == 0
        assert levels[-1] == pytest.approx(1 - MIN_BEYOND / total)
        assert all(is_supported(level, total) for level in levels)
        assert 0.5 in levels


def test_levels_are_even_where_each_nine_more_is_as_far() -> None:
    levels = supported_levels(100_000)
    assert {0.9, 0.99, 0.999} < set(levels)
    assert len([level for level in levels if 0.99 <= level < 0.999]) == 10
