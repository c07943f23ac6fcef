from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.bimodality import _otsu_split, bimodality

UNIMODAL: dict[str, Callable[[random.Random], float]] = {
    "normal": lambda dice: dice.gauss(0, 0.2),
    "flat": lambda dice: dice.uniform(0, 1),
    "long tail": lambda dice: dice.expovariate(3),
    "outliers": lambda dice: dice.gauss(0, 0.1) + (dice.random() < 0.03),
}


@pytest.mark.simulation
@pytest.mark.parametrize("shape", UNIMODAL)
def test_samples_with_one_mode_are_seldom_bimodal(shape: str) -> None:
    dice, draw = random.Random(2), UNIMODAL[shape]
    samples = [[math.exp(draw(dice)) for _ in range(60)] for _ in range(300)]
    assert sum(bimodality(sample) is not None for sample in samples) < 15


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_two_modes_are_detected(share: float) -> None:
    dice = random.Random(2)
    samples = [
        [math.exp(dice.gauss(0, 0.03) + 0.3 * (dice.random() < share)) for _ in range(80)] for _ in range(200)
    ]
    modes = [pair for sample in samples if (pair := bimodality(sample))]
    assert len(modes) > 190
    assert all(low == pytest.approx(1, rel=0.05) for low, _ in modes)
    assert all(high / low == pytest.approx(math.exp(0.3), rel=0.05) for low, high in modes)


def test_small_samples_and_equal_values_have_no_modes() -> None:
    assert bimodality([1.0, 2.0] * 20) == pytest.approx((1.0, 2.0))
    assert bimodality(([1.0, 2.0] * 20)[1:]) is None
    # Rounding makes differences of the groups' means, in some of these.
    for value in (1.0, 0.1, 0.3, 1.1, 7.0, 123.4):
        assert bimodality([value] * 100) is None


def test_the_unit_does_not_matter() -> None:
    for scale in (1e-9, 0.3, 1e6):
        for count in (3, 4):
            scaled = bimodality([scale * value for value in with_valley(count)])
            assert scaled == (pytest.approx((scale, scale * math.exp(3))) if count == 3 else None)


def test_values_without_a_logarithm_do_not_count() -> None:
    assert bimodality([0.0, -1.0, math.nan] * 50) is None
    assert bimodality([1.0, 2.0] * 19 + [0.0, -1.0, math.nan] * 50) is None
    assert bimodality([1.0, 2.0] * 20 + [0.0, -1.0, math.nan] * 50) == pytest.approx((1.0, 2.0))


def test_the_smaller_mode_holds_a_tenth() -> None:
    assert bimodality([1.0] * 36 + [2.0] * 4) == pytest.approx((1.0, 2.0))
    assert bimodality([1.0] * 4 + [2.0] * 36) == pytest.approx((1.0, 2.0))
    assert bimodality([1.0] * 37 + [2.0] * 3) is None
    assert bimodality([1.0] * 3 + [2.0] * 37) is None
    assert bimodality([1.0] * 55 + [2.0] * 6) is None


def with_valley(count: int, place: float = 1.5) -> list[float]:
    """Forty values, `count` of them at exp(place), the others at exp(0) and exp(3)."""
    below, above = 20 - count // 2, 20 - (count + 1) // 2
    return [math.exp(x) for x in [0.0] * below + [place] * count + [3.0] * above]


def test_the_valley_is_nearly_empty() -> None:
    # Its even share is a third of the forty, of which a quarter is 3.3.
    assert bimodality(with_valley(3)) == pytest.approx((1.0, math.exp(3)))
    assert bimodality(with_valley(4)) is None
    # A quarter of sixteen exactly, of 48.
    assert bimodality([*with_valley(4), *[1.0] * 4, *[math.exp(3)] * 4]) is not None
    # Outside of the middle third values belong to a mode; its ends do not count.
    for place in (0.9, 1.0, 2.0, 2.1):
        assert bimodality(with_valley(4, place)) is not None
    for place in (1.01, 1.99):
        assert bimodality(with_valley(4, place)) is None


def test_only_values_between_the_medians_count_for_the_even_share() -> None:
    # Forty of sixty: values beyond the medians make the even share smaller.
    logs = [-1.0] * 10 + [0.0] * 18 + [1.5] * 3 + [3.0] * 19 + [4.0] * 10
    assert bimodality([math.exp(x) for x in logs]) is not None
    logs = [-1.0] * 10 + [0.0] * 18 + [1.5] * 4 + [3.0] * 18 + [4.0] * 10
    assert bimodality([math.exp(x) for x in logs]) is None


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30))
def test_the_split_minimises_the_squares_within_groups(values: list[int]) -> None:
    ordered = sorted(map(float, values))

    def within(k: int) -> float:
        return sum((x - fmean(group)) ** 2 for group in (ordered[:k], ordered[k:]) for x in group)

    split = _otsu_split(ordered)
    assert 1 <= split < len(ordered)
    assert within(split) <= min(map(within, range(1, len(ordered)))) + 1e-6


def test_of_equal_splits_the_first_is_taken() -> None:
    assert _otsu_split([1.0, 2.0, 3.0]) == 1
