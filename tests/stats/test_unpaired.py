import itertools
import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from ringside.model.results import Interval
from ringside.stats import unpaired
from ringside.stats.unpaired import critical_value, drift, log_shift, ratio, shift
from tests.support.analyses import near, whole

VALUES = st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=12)


def test_critical_values_of_the_published_tables() -> None:
    # Mann-Whitney, two-sided 5 %: (5, 5): 2, (7, 7): 8, (8, 10): 17, (20, 20): 127; none for (3, 3).
    pairs = ((5, 5), (7, 7), (8, 10), (20, 20), (3, 3), (4, 4), (2, 8))
    assert [critical_value(*pair) for pair in pairs] == [2, 8, 17, 127, None, 0, 0]
    assert critical_value(10, 8) == critical_value(8, 10)


def test_the_distribution_by_all_orders() -> None:
    for n, m in ((1, 1), (2, 2), (2, 3), (4, 3)):
        places = itertools.combinations(range(n + m), n)
        # By how many places those of the first sample exceed the lowest ones.
        statistics = [sum(each) - n * (n - 1) // 2 for each in places]
        orders = len(statistics)
        for c in range(n * m + 1):
            share = sum(u <= c for u in statistics) / orders
            assert critical_value(n, m, 1 - 2 * share) == c
            assert critical_value(n, m, 1 - 2 * share + 0.01 / orders) == (c - 1 if c else None)


def test_the_approximation_agrees_with_the_exact_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    # These are the exact values. Without the continuity correction, or with its sign reversed, some of them
    # would be 1 larger.
    pairs = ((41, 41), (41, 45), (45, 50), (50, 50))
    assert [critical_value(*pair) for pair in pairs] == [628, 695, 861, 965]
    with monkeypatch.context() as patched:
        patched.setattr(unpaired, "_MAX_EXACT", 41)
        critical_value.cache_clear()
        assert critical_value(41, 41) == 628
    critical_value.cache_clear()
    # Up to 40 on each side it is not used: it would be 118.
    assert (critical_value(40, 10), critical_value(10, 40)) == (119, 119)
    assert critical_value(41, 1) is None
    # (41 · 1)/2 - 1.645 sqrt(41 · 43/12) - 1/2 is 0.06.
    assert critical_value(41, 1, 0.9) == 0


def test_a_family_takes_wider_intervals() -> None:
    assert (critical_value(7, 7), critical_value(7, 7, 0.995)) == (8, 3)
    assert critical_value(4, 4, 0.995) is None
    assert (critical_value(41, 41), critical_value(41, 41, 0.995)) == (628, 537)
    values = [[math.exp(x**1.5 / 10) for x in range(start, start + 7)] for start in (3, 1)]
    alone, of_ten = (ratio(values[0], values[1], family=family) for family in (1, 10))
    ratios = sorted(a / b for a, b in itertools.product(*values))
    assert alone == Interval(near(ratios[24]), near(ratios[8]), near(ratios[-9]), 7)
    assert of_ten == Interval(near(ratios[24]), near(ratios[3]), near(ratios[-4]), 7)


def test_a_shift_by_hand() -> None:
    """Twenty differences; of four and five values the first and the last of them are the ends."""
    one, other = [10.0, 13.0, 19.0, 40.0], [1.0, 2.0, 4.0, 8.0, 16.0]
    differences = sorted(a - b for a, b in itertools.product(one, other))
    middle = (differences[9] + differences[10]) / 2
    assert critical_value(4, 5) == 1
    assert shift(one, other) == Interval(middle, differences[1], differences[-2], 4)
    assert shift(one, other, 0.5) == Interval(middle, differences[6], differences[-7], 4)
    assert shift([5.0], [1.0, 2.0, 4.0]) == Interval(3.0, None, None, 1)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=9), st.integers(1, 9), st.integers(-30, 30))
def test_a_shift_moves_with_the_values(values: list[int], size: int, by: int) -> None:
    one, other = [float(value) for value in values], [float(value) for value in range(0, 3 * size, 3)]
    plain, moved = shift(one, other), shift([value + by for value in one], other)
    assert moved.estimate == plain.estimate + by
    assert (plain.low is None) == (moved.low is None) == (critical_value(len(one), len(other)) is None)
    if plain.low is not None and plain.high is not None:
        assert (moved.low, moved.high) == (plain.low + by, plain.high + by)
        assert plain.low <= plain.estimate <= plain.high
    turned = shift(other, one)
    assert turned.estimate == -plain.estimate
    assert turned.low == (None if plain.high is None else -plain.high)


def test_a_shift_of_logarithms_leaves_out_values_without_one() -> None:
    assert log_shift([0.0], [1.0]) is None
    assert log_shift([1.0], [math.inf]) is None
    assert log_shift([], [1.0]) is None
    assert log_shift([2.0, math.nan, 0.0], [1.0, -1.0]) == Interval(near(math.log(2)), None, None, 1)
    logs, other_logs = [3.0, 5.0, 6.0, 9.0, 17.0], [1.0, 2.0, 4.0, 8.0, 16.0]
    ones, others = [math.exp(x) for x in logs], [math.exp(x) for x in other_logs]
    plain, wide = shift(logs, other_logs), shift(logs, other_logs, 0.99)
    assert wide.low != plain.low
    assert log_shift(ones, others) == Interval(near(plain.estimate), near(plain.low), near(plain.high), 5)
    assert log_shift(ones, others, 0.99) == Interval(near(wide.estimate), near(wide.low), near(wide.high), 5)


MACHINE = Interval(0.1, -0.02, 0.21, 7)


@given(
    st.lists(st.integers(-1000, 1000), min_size=7, max_size=20, unique=True),
    st.integers(3, 16),
    st.sampled_from([0.51, 0.81, 0.91, 0.95, 0.99]),
)
def test_a_shift_ends_where_scipy_begins_to_reject(values: list[int], size: int, confidence: float) -> None:
    """Moved by a little less than the lower end, the two samples do not differ any more."""
    one, other = [float(value) for value in values[:size]], [value + 0.25 for value in values[size:]]
    assume(len(other) >= 3)
    tested = shift(one, other, confidence)
    assume(tested.low is not None)
    interval = whole(tested)
    for by, rejected in ((interval.low - 0.1, True), (interval.low + 0.1, False)):
        p = mannwhitneyu([value - by for value in one], other, method="exact").pvalue
        assert (p <= 1 - confidence + 1e-12) == rejected


@pytest.mark.parametrize(
    ("machine", "below", "above"),
    [
        ([], 0.0, 0.0),
        # The machine's slowdown may explain the whole change of the program, or none of it.
        ([Interval(0.2, 0.1, 0.3, 7)], 0.3, 0.0),
        ([Interval(-0.2, -0.3, -0.1, 7)], 0.0, 0.3),
        ([MACHINE], 0.21, 0.02),
        ([MACHINE, Interval(0.0, -0.01, 0.4, 7)], 0.4, 0.02),
        ([Interval(0.3, 0.25, 0.35, 7), Interval(-0.3, -0.45, -0.15, 7)], 0.35, 0.45),
    ],
)
def test_the_machines_shift_widens_the_interval(machine: list[Interval], below: float, above: float) -> None:
    a, b = [math.exp(x) for x in (3, 5, 6, 9, 17)], [math.exp(x) for x in (1, 2, 4, 8, 16)]
    plain, widened = whole(ratio(a, b)), ratio(a, b, machine)
    assert widened == Interval(
        plain.estimate, near(plain.low * math.exp(-below)), near(plain.high * math.exp(above)), 5
    )


def test_a_shift_without_an_interval_leaves_none() -> None:
    a, b = [math.exp(x) for x in (3, 5, 6, 9, 17)], [math.exp(x) for x in (1, 2, 4, 8, 16)]
    plain = ratio(a, b)
    for unknown in (Interval(0.1, None, None, 3), Interval(0.1, None, 0.2, 3), Interval(0.1, 0.0, None, 3)):
        assert ratio(a, b, [MACHINE, unknown]) == Interval(plain.estimate, None, None, 5)


def test_drift_is_the_distance_of_the_deciles() -> None:
    assert drift([1.0, 1.1, 0.9]) == pytest.approx(0.8 * math.log(1.1 / 0.9))
    assert drift([1.02**n for n in range(11)]) == pytest.approx(8 * math.log(1.02))
    assert drift([0.0, 2.0, 1.0, math.nan]) == pytest.approx(0.8 * math.log(2))
    # One block among many is none.
    assert drift([1.0] * 30 + [2.0]) == 0
    assert drift([1.0]) is None
    assert drift([]) is None


@given(VALUES, VALUES)
def test_differences_that_are_counted_are_those_that_are_stored(one: list[float], other: list[float]) -> None:
    stored = shift(one, other)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(unpaired, "_MAX_STORED", 0)
        counted = shift(one, other)
    ends = [(each.estimate, each.low, each.high) for each in (counted, stored)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)


@pytest.mark.parametrize("seed", range(9))
def test_many_equal_values_whose_difference_is_rounded(seed: int) -> None:
    dice = random.Random(seed)
    one, other = dice.uniform(-5, 5), dice.uniform(-5, 5)
    found = shift([one] * 400, [other] * 400)
    assert [found.estimate, found.low, found.high] == pytest.approx([one - other] * 3, rel=0, abs=1e-14)


def test_what_runs_are_taken_to_differ_by_is_added_as_a_variance() -> None:
    one, other = [100.0 + n for n in range(9)], [110.0 + n for n in range(9)]
    narrow, wide = (ratio(other, one, between=between) for between in (0.0, 0.01))
    assert narrow.low
    assert wide.low
    by_blocks, in_all = (math.log(each.estimate / (each.low or 0)) for each in (narrow, wide))
    assert in_all == near(math.hypot(by_blocks, 1.96 * math.sqrt(2) * 0.01), rel=1e-4)
