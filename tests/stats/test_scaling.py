import math
import random
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ringside.model.results import Interval
from ringside.stats import scaling
from ringside.stats.scaling import (
    Fit,
    Scalability,
    exponent,
    non_negative_least_squares,
    scalability,
    slope_over_blocks,
)


def seconds(cores: int, single: float, contention: float, coherency: float) -> float:
    return (1 + contention * (cores - 1) + coherency * cores * (cores - 1)) / cores / single


def planted(
    single: float, contention: float, coherency: float, *, noise: float, blocks: int = 10, seed: int = 1
) -> dict[int, dict[int, float]]:
    rng = random.Random(seed)
    return {
        block: {
            cores: seconds(cores, single, contention, coherency) * math.exp(rng.gauss(0, noise))
            for cores in (1, 2, 4, 8, 16, 32)
        }
        for block in range(1, blocks + 1)
    }


def law_of(blocks: Mapping[int, Mapping[int, float]]) -> Scalability:
    law = scalability(blocks)
    assert law is not None
    return law


@settings(max_examples=40, deadline=None)
@given(st.floats(0.001, 1000), st.floats(0, 0.5), st.floats(0, 0.01))
def test_parameters_without_noise_are_recovered(single: float, contention: float, coherency: float) -> None:
    law = law_of(planted(single, contention, coherency, noise=0, blocks=1))
    assert law.contention.estimate == pytest.approx(contention, abs=1e-6)
    assert law.coherency.estimate == pytest.approx(coherency, abs=1e-7)
    assert (law.contention.low, law.contention.high, law.contention.n) == (None, None, 1)
    assert law.levels == (1, 2, 4, 8, 16, 32)
    assert law.speed_up(1) == 1
    assert law.speed_up(8) == pytest.approx(
        seconds(1, single, 0, 0) / seconds(8, single, contention, coherency)
    )


def test_the_medians_over_blocks_are_fitted() -> None:
    blocks = planted(2, 0.1, 0.001, noise=0, blocks=5)
    blocks[2] = dict.fromkeys(blocks[2], 100.0)
    blocks[4] = dict.fromkeys(blocks[4], 0.001)
    law = law_of(blocks)
    assert law.contention.estimate == pytest.approx(0.1)


def test_errors_count_as_ratios() -> None:
    blocks = {1: {1: 1.0, 2: 0.6, 4: 0.4, 8: 0.3, 16: 0.28}}
    law = law_of(blocks)
    # The weighted least squares by numpy, unconstrained, since no parameter is negative here.
    p = np.array([1.0, 2, 4, 8, 16])
    inverse = p * np.array(list(blocks[1].values()))
    design = np.stack([np.ones(5), p - 1, p * (p - 1)], axis=1)
    a, b, c = np.linalg.lstsq(design / inverse[:, None], np.ones(5))[0]
    assert (b > 0, c > 0) == (True, True)
    assert law.contention.estimate == pytest.approx(b / a)
    assert law.coherency.estimate == pytest.approx(c / a)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(*[st.floats(-10, 10, allow_subnormal=False)] * 3), min_size=3, max_size=8, unique=True
    ),
    st.randoms(use_true_random=False),
)
def test_least_squares_with_no_negative_parameter(rows: list[tuple[float, ...]], dice: random.Random) -> None:
    """The conditions of Karush, Kuhn and Tucker, which only the minimum fulfils."""
    design = np.array(rows)
    assume(np.linalg.cond(design) < 1e4)
    target = np.array([dice.uniform(-10, 10) for _ in rows])
    x = non_negative_least_squares(design, target)
    slope = design.T @ (design @ x - target)
    assert (x >= 0).all()
    assert (slope >= -1e-6).all()
    assert x * slope == pytest.approx(np.zeros(3), abs=1e-5)


@pytest.mark.soak
def test_intervals_cover_the_planted_parameters() -> None:
    contention = best = 0
    for seed in range(20):
        law = law_of(planted(10, 0.05, 0.002, noise=0.05, blocks=12, seed=seed))
        assert law.contention.n == 12
        contention += covers(law.contention, 0.05)
        best += covers(law.best, Fit(0.05, 0.002).best_cores)
    # Percentiles of a bootstrap of twelve blocks are a little too narrow.
    assert contention >= 18
    assert best >= 18


def covers(interval: Interval, value: float) -> bool:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low <= value <= interval.high


def test_intervals_are_the_middle_95_percent_of_the_resampled_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ten of 400 lie outside at each end.
    fits = [Fit(0.001 * i, 0.01 / (1 + i)) for i in range(400)]
    monkeypatch.setattr(scaling, "_resampled_fits", lambda blocks: random.Random(1).sample(fits, 400))
    law = law_of(planted(10, 0.2, 0.0005, noise=0, blocks=6))
    assert law.contention.estimate == pytest.approx(0.2)
    assert (law.contention.low, law.contention.high) == pytest.approx((0.01, 0.389))
    assert (law.coherency.low, law.coherency.high) == pytest.approx((0.01 / 390, 0.01 / 11))
    # By the same fits: √((1 − σ)/κ).
    best = sorted(fit.best_cores for fit in fits)
    assert (law.best.low, law.best.high) == pytest.approx((best[10], best[389]))
    # The estimate always lies in its interval.
    law = law_of(planted(10, 0.45, 0.001, noise=0, blocks=6))
    assert law.contention.high == law.contention.estimate == pytest.approx(0.45)
    law = law_of(planted(10, 0.001, 0.05, noise=0, blocks=6))
    assert law.contention.low == law.contention.estimate == pytest.approx(0.001)


def test_intervals_need_six_blocks() -> None:
    for blocks in (5, 6):
        law = law_of(planted(10, 0.05, 0.002, noise=0.05, blocks=blocks))
        for interval in (law.contention, law.coherency, law.best):
            assert (interval.low is None, interval.high is None) == (blocks == 5, blocks == 5)
            assert interval.n == blocks


def test_resamples_without_enough_numbers_of_cores_are_left_out() -> None:
    """32 and 16 cores only in one of six blocks: resamples without it, 33 % of them, have no fit."""
    complete = planted(10, 0.05, 0.002, noise=0.01, blocks=6)
    blocks = {
        block: levels if block == 1 else {cores: levels[cores] for cores in (1, 2)}
        for block, levels in complete.items()
    }
    law = law_of(blocks)
    assert law.contention.low is not None
    assert law.levels == (1, 2, 4, 8, 16, 32)
    assert scalability(blocks) == law


@pytest.mark.parametrize(
    ("contention", "coherency", "best"),
    [(0, 0.01, 10), (0.1, 0, math.inf), (1.5, 0.1, 1), (1, 0, 1), (1.5, 0, 1), (0.9, 0.5, 1), (0.2, 0.05, 4)],
)
def test_the_best_number_of_cores(contention: float, coherency: float, best: float) -> None:
    assert Fit(contention, coherency).best_cores == pytest.approx(best)


def test_two_numbers_of_cores_are_too_few() -> None:
    assert scalability({1: {1: 2.0, 2: 1.0}}) is None
    assert scalability({}) is None
    assert scalability({1: {1: 4.0, 2: 2.0, 4: 1.0}}) is not None
    # The values of all blocks together count.
    assert scalability({1: {1: 4.0, 2: 2.0}, 2: {4: 1.0}}) is not None


def test_times_without_any_work_of_one_core_have_no_law() -> None:
    # P/X grows from 0: there is no throughput of one core.
    assert scalability({1: {2: 0.5, 4: 30.0, 8: 4000.0}}) is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_must_be_positive_and_finite(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^times must be positive and finite$"):
        scalability({1: {1: 1.0, 2: bad, 4: 1.0}})


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 3), st.floats(0.001, 1000))
def test_exponents_are_recovered(power: float, scale: float) -> None:
    growth = exponent({1: {float(x): scale * x**power for x in (10, 100, 1000)}})
    assert growth.estimate == pytest.approx(power, abs=1e-9)


def test_levels_and_values_that_are_not_positive_are_left_out() -> None:
    without: list[Mapping[int, Mapping[float, float]]] = [
        {1: {0.0: 1.0, 10.0: 2.0}},
        {1: {5.0: 0.0, 10.0: 2.0}},
        {1: {-5.0: 1.0, 10.0: 2.0}},
        {},
    ]
    assert [exponent(blocks) for blocks in without] == [None] * 4
    growth = exponent({1: {0.0: 1.0, 0.5: 1.0, 1.0: 2.0, 2.0: -1.0}})
    assert growth.estimate == pytest.approx(1)


def test_slopes_of_blocks() -> None:
    # By hand: means 2 and 3; (-1·-2 + 0·-1 + 1·3) / 2.
    assert slope_over_blocks({1: {1.0: 1.0, 2.0: 2.0, 3.0: 6.0}}) == Interval(2.5, None, None, 1)
    assert slope_over_blocks({1: {1.0: 2.0}}) is None
    growth = slope_over_blocks({block: {1.0: 5.0, 3.0: 5.0 + 2 * block} for block in range(1, 8)})
    assert growth == Interval(4.0, 1.0, 7.0, 7)
    assert slope_over_blocks({1: {1.0: 2.0}, 2: {1.0: 2.0, 2.0: 5.0}}) == Interval(3.0, None, None, 1)
