from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.model.results import Interval
from ringside.stats.ratio import log_ratios, paired_ratio
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE
from tests.support.analyses import near

VALUES = st.lists(st.floats(1e-6, 1e6), min_size=6, max_size=20)


def by_block(values: list[float]) -> dict[int, float]:
    return dict(enumerate(values, start=1))


@given(VALUES, VALUES)
def test_swapping_the_contenders_inverts_the_ratio(a: list[float], b: list[float]) -> None:
    forth, back = paired_ratio(by_block(a), by_block(b)), paired_ratio(by_block(b), by_block(a))
    assert forth is not None
    assert back is not None
    assert forth.n == min(len(a), len(b))
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


def test_intervals_by_the_published_tables_of_the_signed_rank_test() -> None:
    # Critical values of Wilcoxon's signed-rank test, two-sided 5 %: n = 6: 0, 7: 2, 8: 3, 10: 8, 20: 52.
    for n, critical in ((6, 0), (7, 2), (8, 3), (10, 8), (20, 52)):
        logs = [float(value) ** 1.5 for value in range(1, n + 1)]
        walsh = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
        ratio = paired_ratio(by_block([math.exp(x / 100) for x in logs]), by_block([1.0] * n))
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        assert math.log(ratio.low) * 100 == pytest.approx(walsh[critical])
        assert math.log(ratio.high) * 100 == pytest.approx(walsh[-1 - critical])


def test_more_confidence_widens_the_interval() -> None:
    logs = [value**1.5 / 100 for value in range(1, 11)]
    walsh = sorted((a + b) / 2 for i, a in enumerate(logs) for b in logs[i:])
    numerator, denominator = by_block([math.exp(x) for x in logs]), by_block([1.0] * 10)
    plain = paired_ratio(numerator, denominator)
    sequential = paired_ratio(numerator, denominator, SEQUENTIAL_CONFIDENCE)
    assert plain is not None
    assert sequential is not None
    # P(W <= 8) = 25/1024 <= 2.5 %; P(W <= 6) = 14/1024 <= 1.5 %, P(W <= 7) = 19/1024.
    assert plain.low == pytest.approx(math.exp(walsh[8]))
    assert sequential.low == pytest.approx(math.exp(walsh[6]))
    assert sequential.high == pytest.approx(math.exp(walsh[-7]))
    assert sequential.estimate == plain.estimate


def test_equal_values_have_a_ratio_of_1() -> None:
    assert paired_ratio(by_block([3.0] * 7), by_block([3.0] * 7)) == Interval(1, 1, 1, 7)


def test_an_outlier_changes_little() -> None:
    # Twelve blocks: with ten, Wilcoxon's test itself does not reject beside one outlier of the other sign.
    slow = {block: 1.1 + block / 1000 for block in range(1, 13)}
    fast = dict.fromkeys(range(1, 13), 1.0) | {4: 50.0}
    ratio = paired_ratio(slow, fast)
    assert ratio is not None
    assert ratio.low is not None
    assert ratio.estimate == pytest.approx(1.1, rel=0.02)
    assert ratio.low > 1


def test_skewed_log_ratios_have_a_pseudo_median() -> None:
    """Of 0, 0, 0, 1 and 4 the median is 0, the mean 1; of the fifteen means of two the eighth is 0.5."""
    logs = [0.0, 4.0, 0.0, 1.0, 0.0]
    ratio = paired_ratio(by_block([math.exp(x) for x in logs]), by_block([1.0] * 5))
    assert ratio == Interval(near(math.exp(0.5)), None, None, 5)


def test_blocks_without_a_partner_are_left_out() -> None:
    ratio = paired_ratio({1: 2.0, 2: 2.0, 3: 2.0}, {2: 1.0, 3: 1.0, 4: 1.0})
    assert ratio == Interval(2.0, None, None, 2)
    assert paired_ratio({1: 1.0}, {2: 1.0}) is None


def test_values_without_a_logarithm_are_left_out() -> None:
    ratio = paired_ratio({1: 0.0, 2: math.nan, 3: 3.0}, {1: 1.0, 2: 1.0, 3: 1.0})
    assert ratio is not None
    assert ratio.n == 1
    assert paired_ratio({1: 1.0}, {1: 0.0}) is None
    logs = log_ratios({1: 1.0, 5: 1.0, 3: 8.0, 2: 4.0}, {3: 2.0, 2: 2.0, 1: math.inf, 4: 1.0})
    assert list(logs) == [2, 3]
    assert logs == pytest.approx({2: math.log(2), 3: math.log(4)})
    assert log_ratios({1: -1.0}, {1: 1.0}) == log_ratios({}, {1: 1.0}) == {}


@pytest.mark.simulation
def test_the_interval_covers_the_true_ratio() -> None:
    """Noise with drift and outliers, seven blocks: 2,000 simulated comparisons, fixed seed."""
    generator = random.Random(20070918)
    covered = 0
    for _ in range(2000):
        a, b = {}, {}
        for block in range(7):
            drift = generator.gauss(0, 0.3)
            a[block] = 1.2 * math.exp(drift + generator.gauss(0, 0.05) + (generator.random() < 0.05))
            b[block] = math.exp(drift + generator.gauss(0, 0.05) + (generator.random() < 0.05))
        ratio = paired_ratio(a, b)
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        covered += ratio.low <= 1.2 <= ratio.high
    # The test is exact: of seven pairs 3 in 64 intervals miss.
    assert 0.94 < covered / 2000 < 0.965
