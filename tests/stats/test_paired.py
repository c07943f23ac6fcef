import itertools
import math
import random
import tracemalloc
from statistics import median

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from ringside.model.results import Interval
from ringside.stats import paired
from ringside.stats.paired import (
    critical_value,
    hodges_lehmann,
    log_ratios,
    paired_ratio,
    ratio_of_means,
)
from tests.support.analyses import by_block, whole

VALUES = st.lists(st.floats(1e-6, 1e6), min_size=6, max_size=20)


@given(VALUES, VALUES)
def test_swapping_the_contenders_inverts_the_ratio(a: list[float], b: list[float]) -> None:
    forth, back = whole(paired_ratio(by_block(a), by_block(b))), whole(paired_ratio(by_block(b), by_block(a)))
    assert forth.n == min(len(a), len(b))
    assert forth.estimate * back.estimate == pytest.approx(1)
    assert forth.low * back.high == pytest.approx(1)


def test_values_without_a_logarithm_are_left_out() -> None:
    """And blocks without a partner."""
    ratio = paired_ratio({1: 0.0, 2: math.nan, 3: 2.0, 4: 2.0, 5: 7.0}, dict.fromkeys((1, 2, 3, 4, 6), 1.0))
    assert ratio == Interval(2.0, None, None, 2)
    assert paired_ratio({1: 1.0}, {1: 0.0}) is paired_ratio({1: 1.0}, {2: 1.0}) is None
    logs = log_ratios({1: 1.0, 5: 1.0, 3: 8.0, 2: 4.0}, {3: 2.0, 2: 2.0, 1: math.inf, 4: 1.0})
    assert list(logs) == [2, 3]
    assert logs == pytest.approx({2: math.log(2), 3: math.log(4)})
    assert log_ratios({1: -1.0}, {1: 1.0}) == log_ratios({}, {1: 1.0}) == {}


def test_the_ratio_of_means_is_that_of_two_modes() -> None:
    """A has one in five values at seven times the others, B none; its interval holds the true ratio."""
    covered, dice = 0, random.Random(5)
    for _ in range(300):
        a = [dice.gauss(1, 0.1) * (7 if dice.random() < 0.2 else 1) for _ in range(20)]
        b = [dice.gauss(4.4, 0.4) for _ in range(20)]
        ratio = ratio_of_means(by_block(b), by_block(a))
        assert ratio.estimate == pytest.approx(sum(b) / sum(a))
        covered += whole(ratio).low <= 2 <= whole(ratio).high
    assert covered >= 270
    assert ratio_of_means(by_block(a[:5]), by_block(b)) is None


LOGS = st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=30)


def test_the_distribution_by_all_signs() -> None:
    n = 7
    sums = [sum(rank for rank, up in enumerate(ups, 1) if up) for ups in itertools.product((0, 1), repeat=n)]
    for c in range(n * (n + 1) // 2 + 1):
        share = sum(total <= c for total in sums) / 2**n
        assert critical_value(n, 1 - 2 * share) == c
        assert critical_value(n, 1 - 2 * share + 0.01 / 2**n) == (c - 1 if c else None)


def test_the_exact_distribution_is_used_up_to_60_values(monkeypatch: pytest.MonkeyPatch) -> None:
    confidences = (0.0, 0.5, 0.9, 0.95, 0.99, 1 - 2**-50)
    assert [critical_value(61, each) for each in confidences] == [945, 851, 716, 672, 586, None]
    with monkeypatch.context() as patched:
        patched.setattr(paired, "_MAX_EXACT", 61)
        critical_value.cache_clear()
        assert [critical_value(61, each) for each in confidences] == [945, 850, 715, 672, 589, 25]
    critical_value.cache_clear()
    assert critical_value(60, 1 - 2**-50) == 21
    assert critical_value(300) == 19_627


def test_critical_values_of_the_published_tables() -> None:
    # Two-sided 5 %.
    table = {5: None, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 20: 52, 50: 434}
    assert {n: critical_value(n) for n in table} == table
    # Two-sided 1 %.
    assert {n: critical_value(n, 0.99) for n in (7, 8, 10, 20)} == {7: None, 8: 0, 10: 3, 20: 37}
    # A tail of exactly the probability of W = 0.
    assert critical_value(6, 1 - 2 / 2**6) == 0


@given(
    st.lists(st.integers(-1000, 1000), min_size=6, max_size=25, unique=True),
    st.sampled_from([0.8, 0.9, 0.95, 0.97]),
)
def test_the_ends_are_where_scipy_begins_to_reject(values: list[int], confidence: float) -> None:
    """Averages are multiples of 1/2: a quarter below and above an end lie no others. Moved by such an amount,
    neither zeros nor ties of different signs remain."""
    tested = hodges_lehmann([float(value) for value in values], confidence)
    assume(tested.low is not None)
    interval = whole(tested)
    for by, rejected in (
        (interval.low - 0.25, True),
        (interval.low + 0.25, False),
        (interval.high - 0.25, False),
        (interval.high + 0.25, True),
    ):
        p = wilcoxon([value - by for value in values], method="exact").pvalue
        assert (p <= 1 - confidence + 1e-12) == rejected


@given(LOGS)
def test_the_estimate_is_the_median_of_all_averages(logs: list[float]) -> None:
    averages = [(a + b) / 2 for a, b in itertools.combinations_with_replacement(logs, 2)]
    assert hodges_lehmann(logs).estimate == pytest.approx(median(averages), abs=1e-12)


def test_below_six_values_there_is_no_interval() -> None:
    assert hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0], confidence=0.5) == Interval(3.0, None, None, 5)
    assert hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], confidence=0.5).low is not None
    assert hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == Interval(3.5, 1.0, 6.0, 6)
    # Without a critical value there is none either.
    assert hodges_lehmann([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], confidence=0.99).low is None


def test_stored_and_counted_averages_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(5)
    for n, centre in ((300, 0.02), (299, 0.0), (11, 0.1)):
        logs = [round(dice.gauss(centre, 0.1), 2) for _ in range(n)]
        stored = hodges_lehmann(logs)
        with monkeypatch.context() as patched:
            patched.setattr(paired, "_MAX_STORED", 10)
            counted = hodges_lehmann(logs)
        assert counted.estimate == pytest.approx(stored.estimate, abs=1e-12)
        assert counted.low == pytest.approx(stored.low, abs=1e-12)
        assert counted.high == pytest.approx(stored.high, abs=1e-12)


def test_averages_of_many_values_are_not_stored() -> None:
    """They would be half a gigabyte."""
    tracemalloc.start()
    assert hodges_lehmann([0.0, 1.0] * 5_000).estimate == 0.5
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 10_000_000


def test_no_values_and_values_that_are_not_finite() -> None:
    for values in ([], [1.0, float("nan")], [float("inf")]):
        with pytest.raises(ValueError, match=r"^an estimate needs at least one value, and finite ones only$"):
            hodges_lehmann(values)
