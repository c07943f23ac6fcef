from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.description import describe


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=60))
def test_mean_deviation_and_range_agree_with_numpy(values: list[float]) -> None:
    description = describe(values)
    assert description.n == len(values)
    assert description.mean == pytest.approx(np.mean(values))
    assert description.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert (description.least, description.most) == (min(values), max(values))
    assert description.median == pytest.approx(np.median(values))


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60))
def test_every_value_is_in_one_bin_or_an_outlier(values: list[float]) -> None:
    description = describe(values)
    inner = [value for value in values if value not in description.outliers]
    assert sum(each.count for each in description.bins) == len(inner)
    assert len(description.outliers) == len(values) - len(inner)
    assert (description.bins[0].low, description.bins[-1].high) == pytest.approx((min(inner), max(inner)))
    for one, other in zip(description.bins, description.bins[1:], strict=False):
        assert one.high == pytest.approx(other.low)


def test_bins_count_what_lies_in_them() -> None:
    description = describe([1.0, 1.1, 1.2, 2.0, 2.4, 3.0, 3.1, 3.9, 5.0])
    # Three, as the root of nine; the last one has its upper end.
    assert [each.count for each in description.bins] == [4, 3, 2]
    assert [each.low for each in description.bins] == pytest.approx([1.0, 7 / 3, 11 / 3])
    assert len(describe([float(value) for value in range(1000)]).bins) == 12
    # In any unit.
    for unit in (1e-9, 1e9):
        scaled = describe([unit * value for value in (1.0, 1.1, 1.2, 2.0, 2.4, 3.0, 3.1, 3.9, 5.0)])
        assert [each.count for each in scaled.bins] == [4, 3, 2]


def test_what_is_far_out() -> None:
    """The quartiles of 1 … 9 with a larger value are 3.25 and 7.75, so the upper fence is 21.25; with a
    smaller one 2.25 and 6.75, and the lower fence is -11.25."""
    values = [float(value) for value in range(1, 10)]
    assert describe([*values, 30.0]).outliers == (30.0,)
    assert describe([*values, 21.0]).outliers == ()
    assert describe([*values, -12.0]).outliers == (-12.0,)
    assert describe([*values, -11.0]).outliers == ()
    # The fences themselves are not beyond them.
    assert describe([*values, 21.25]).outliers == ()
    assert describe([*values, -11.25]).outliers == ()
    # Five values have quartiles: here the second and the fourth.
    assert describe([1.0, 1.01, 1.02, 1.03, 9.0]).outliers == (9.0,)
    # A second mode is none, and where all are the same nothing can be far.
    assert describe([1.0, 1.01, 1.02, 1.03, 9.0, 9.01]).outliers == ()
    assert describe([1.0] * 9 + [9.0]).outliers == ()
    assert describe([1.0, 1.0, 1.1, 99.0]).outliers == ()


def test_one_value() -> None:
    description = describe([2.5])
    assert (description.mean, description.deviation, description.outliers) == (2.5, None, ())
    (only,) = description.bins
    assert (only.low, only.high, only.count) == (2.5, 2.5, 1)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_only_finite_values_can_be_described(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^a description needs at least one value, and finite ones only$"):
        describe(values)
