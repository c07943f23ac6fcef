import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, quantile_test
from scipy.stats import t as student

from ringside.model.results import Interval
from ringside.stats.interval import is_positive_finite, median_interval, order_statistic, t_quantile
from tests.support.analyses import near, whole


def test_critical_values_agree_with_scipy() -> None:
    for n in range(6, 300):
        low = median_interval([float(value) for value in range(n)]).low
        # The smallest k with P(X <= k) >= 2.5 %, which no value of the distribution hits exactly.
        assert low == binom.ppf(0.025, n, 0.5) - 1


@given(st.lists(st.integers(-1000, 1000), min_size=6, max_size=60, unique=True), st.integers(-1000, 1000))
def test_the_interval_is_that_of_scipys_quantile_test(values: list[int], bound: int) -> None:
    interval = whole(median_interval(values))
    ends = quantile_test(values, q=bound, p=0.5).confidence_interval(0.95)
    assert (interval.low, interval.high) == (ends.low, ends.high)
    # It holds what the sign test does not reject; values at the bound itself would count for neither side.
    half = bound + 0.5
    below = sum(value < half for value in values)
    rejected = binomtest(below, len(values)).pvalue <= 0.05
    assert rejected == (not interval.low <= half <= interval.high)


def test_below_six_values_there_is_no_interval() -> None:
    assert median_interval([3, 1, 2, 5, 4]) == Interval(3, None, None, 5)
    assert median_interval([2]) == Interval(2, None, None, 1)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_a_median_needs_finite_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^a median needs at least one value, and finite ones only$"):
        median_interval(values)


def test_positive_and_finite() -> None:
    assert is_positive_finite(1e-300)
    assert is_positive_finite(0.5)
    assert not any(is_positive_finite(value) for value in (0.0, -1.0, math.inf, -math.inf, math.nan))


def test_quantiles_of_students_t() -> None:
    for freedom in (1, 2, 3, 8, 31, 30_000):
        for level in (0.9, 0.975, 0.9995):
            rel = 1e-9 if freedom < 1000 else 4e-3
            assert t_quantile(level, freedom) == near(float(student.ppf(level, freedom)), rel=rel)


@given(st.lists(st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6), min_size=1, max_size=40), st.data())
def test_an_order_statistic_is_found_by_counting(values: list[float], data: st.DataObject) -> None:
    numbers = sorted(values)
    k = data.draw(st.integers(0, len(numbers) - 1))
    place = order_statistic(lambda bound: sum(each <= bound for each in numbers), k, numbers[0], numbers[-1])
    assert place == pytest.approx(numbers[k], rel=1e-12, abs=2e-15 * (numbers[-1] - numbers[0]))
