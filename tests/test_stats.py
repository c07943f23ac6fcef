from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.model.results import Interval, Verdict
from ringside.stats.interval import median_interval
from ringside.stats.ratio import paired_ratio, verdict
from ringside.stats.slope import slope, slope_over_blocks

VALUES = st.lists(st.floats(1e-6, 1e6), min_size=6, max_size=20)


def by_block(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values, start=1))


@given(VALUES)
def test_median_lies_in_its_interval(values: list[float]) -> None:
    found = median_interval(values)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.estimate <= found.high
    assert found.n == len(values)


def test_median_interval_by_the_tables_of_the_sign_test() -> None:
    # For n = 10 the 95 % interval runs from the 2nd to the 9th value (Conover, table A3).
    found = median_interval([float(value) for value in range(1, 11)])
    assert (found.low, found.high) == (2, 9)
    assert median_interval([1, 2, 3, 4, 5, 6]) == Interval(3.5, 1, 6, 6)


def test_below_six_values_there_is_no_interval() -> None:
    assert median_interval([3, 1, 2, 5, 4]) == Interval(3, None, None, 5)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_a_median_of_nothing_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        median_interval(values)


@given(VALUES, VALUES)
def test_swapping_the_contenders_inverts_the_ratio(one: list[float], other: list[float]) -> None:
    forth, back = paired_ratio(by_block(one), by_block(other)), paired_ratio(by_block(other), by_block(one))
    assert forth is not None
    assert back is not None
    assert forth.n == min(len(one), len(other))
    assert forth.estimate * back.estimate == pytest.approx(1)
    assert forth.low is not None
    assert back.high is not None
    assert forth.low * back.high == pytest.approx(1)


@given(VALUES, st.floats(0.01, 100), st.randoms())
def test_scale_and_order_do_not_matter(values: list[float], scale: float, shuffler: random.Random) -> None:
    numerator, denominator = by_block(values), by_block(values[::-1])
    plain = paired_ratio(numerator, denominator)
    scaled = paired_ratio({block: value * scale for block, value in numerator.items()}, denominator)
    order = list(numerator)
    shuffler.shuffle(order)
    shuffled = paired_ratio({block: numerator[block] for block in order}, denominator)
    assert plain is not None
    assert scaled is not None
    assert scaled.estimate == pytest.approx(plain.estimate * scale)
    assert shuffled == plain


def test_signed_rank_interval_by_the_published_tables() -> None:
    # Critical values of Wilcoxon's signed-rank test, two-sided 5 %: n = 6: 0, 7: 2, 8: 3, 10: 8, 20: 52.
    for n, cut in ((6, 0), (7, 2), (8, 3), (10, 8), (20, 52)):
        logs = [float(value) ** 1.5 for value in range(1, n + 1)]
        walsh = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
        found = paired_ratio(by_block([math.exp(x / 100) for x in logs]), by_block([1.0] * n))
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        assert math.log(found.low) * 100 == pytest.approx(walsh[cut])
        assert math.log(found.high) * 100 == pytest.approx(walsh[-1 - cut])


def test_one_wild_block_does_not_turn_a_verdict() -> None:
    # Twelve blocks: with ten, Wilcoxon's test itself does not reject beside one outlier of the other sign.
    slow = {block: 1.1 + block / 1000 for block in range(1, 13)}
    fast = dict.fromkeys(range(1, 13), 1.0) | {4: 50.0}
    found = paired_ratio(slow, fast)
    assert found is not None
    assert found.estimate == pytest.approx(1.1, rel=0.02)
    assert verdict(found) is Verdict.SLOWER


def test_blocks_without_a_partner_drop_and_the_count_says_so() -> None:
    found = paired_ratio({1: 2.0, 2: 2.0, 3: 2.0}, {2: 1.0, 3: 1.0, 4: 1.0})
    assert found == Interval(2.0, None, None, 2)
    assert paired_ratio({1: 1.0}, {2: 1.0}) is None


def test_zero_and_what_is_not_finite_drop_out() -> None:
    found = paired_ratio({1: 0.0, 2: math.nan, 3: 3.0}, {1: 1.0, 2: 1.0, 3: 1.0})
    assert found is not None
    assert found.n == 1
    assert paired_ratio({1: 1.0}, {1: 0.0}) is None


def test_the_interval_covers_the_true_ratio_as_often_as_it_says() -> None:
    """Noise with drift and outliers, seven blocks: 2,000 simulated comparisons, fixed seed."""
    generator = random.Random(20070918)
    covered = 0
    for _ in range(2000):
        one, other = {}, {}
        for block in range(7):
            drift = generator.gauss(0, 0.3)
            one[block] = 1.2 * math.exp(drift + generator.gauss(0, 0.05) + (generator.random() < 0.05))
            other[block] = math.exp(drift + generator.gauss(0, 0.05) + (generator.random() < 0.05))
        found = paired_ratio(one, other)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 1.2 <= found.high
    assert covered / 2000 > 0.94


@pytest.mark.parametrize(
    ("low", "high", "smaller", "expected"),
    [
        (0.8, 0.9, True, Verdict.FASTER),
        (1.1, 1.2, True, Verdict.SLOWER),
        (0.9, 1.1, True, Verdict.INDISTINGUISHABLE),
        (1.0, 1.1, True, Verdict.INDISTINGUISHABLE),
        (1.1, 1.2, False, Verdict.FASTER),
        (0.8, 0.9, False, Verdict.SLOWER),
        (None, None, True, Verdict.TOO_FEW_BLOCKS),
    ],
)
def test_verdicts(low: float | None, high: float | None, smaller: bool, expected: Verdict) -> None:
    assert verdict(Interval(1.0, low, high, 7), smaller_is_better=smaller) is expected


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sets(st.integers(1, 10_000), min_size=2, max_size=9))
def test_slope_of_a_line(growth: float, base: float, xs: set[int]) -> None:
    found = slope({float(x): base + growth * x for x in xs})
    assert found is not None
    assert found[0] == pytest.approx(growth, abs=1e-3, rel=1e-6)


def test_slope_needs_two_levels_and_blocks_that_have_them() -> None:
    assert slope({1.0: 2.0}) is None
    assert slope_over_blocks({1: {1.0: 2.0}}) is None
    found = slope_over_blocks({block: {1.0: 5.0, 3.0: 5.0 + 2 * block} for block in range(1, 8)})
    assert found == Interval(4.0, 1.0, 7.0, 7)
