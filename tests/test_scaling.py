"""The laws of scaling recover what was planted."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringside.stats.scaling import best_cores, exponent, scalability


def seconds(cores: int, one: float, contention: float, coherency: float) -> float:
    return (1 + contention * (cores - 1) + coherency * cores * (cores - 1)) / cores / one


def planted(
    one: float, contention: float, coherency: float, *, noise: float, blocks: int = 10, seed: int = 1
) -> dict[int, dict[int, float]]:
    rng = random.Random(seed)
    return {
        block: {
            cores: seconds(cores, one, contention, coherency) * math.exp(rng.gauss(0, noise))
            for cores in (1, 2, 4, 8, 16, 32)
        }
        for block in range(1, blocks + 1)
    }


@settings(max_examples=40, deadline=None)
@given(st.floats(0.001, 1000), st.floats(0, 0.5), st.floats(0, 0.01))
def test_parameters_without_noise_come_back(one: float, contention: float, coherency: float) -> None:
    found = scalability(planted(one, contention, coherency, noise=0, blocks=1))
    assert found is not None
    assert found.one == pytest.approx(one, rel=1e-6)
    assert found.contention.estimate == pytest.approx(contention, abs=1e-6)
    assert found.coherency.estimate == pytest.approx(coherency, abs=1e-7)
    assert found.contention.low is None
    assert found.speed_up(1) == 1
    assert found.speed_up(8) == pytest.approx(seconds(1, one, 0, 0) / seconds(8, one, contention, coherency))


def test_intervals_hold_the_planted_parameters_nearly_always() -> None:
    held = 0
    for seed in range(20):
        found = scalability(planted(10, 0.05, 0.002, noise=0.05, blocks=12, seed=seed))
        assert found is not None
        low, high = found.contention.low, found.contention.high
        assert low is not None
        assert high is not None
        best = best_cores(0.05, 0.002)
        held += low <= 0.05 <= high and (found.best.low or 0) <= best <= (found.best.high or math.inf)
    # 95 % of 20 is 19; percentiles of a small bootstrap are a little too narrow.
    assert held >= 14


def test_the_best_number_of_cores() -> None:
    assert best_cores(0, 0.01) == pytest.approx(10)
    assert best_cores(0.1, 0) == math.inf
    assert best_cores(1.5, 0.1) == 1
    assert best_cores(0.9, 0.5) == 1


def test_a_program_that_gains_nothing_is_all_contention() -> None:
    found = scalability({1: {1: 2.0, 2: 2.0, 4: 2.0, 8: 2.0}})
    assert found is not None
    assert found.contention.estimate == pytest.approx(1)
    assert found.speed_up(8) == pytest.approx(1)


def test_two_numbers_of_cores_are_too_few() -> None:
    assert scalability({1: {1: 2.0, 2: 1.0}}) is None
    assert scalability({}) is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_must_be_times(bad: float) -> None:
    with pytest.raises(ValueError, match="positive and finite"):
        scalability({1: {1: 1.0, 2: bad, 4: 1.0}})


@settings(max_examples=40, deadline=None)
@given(st.floats(0.1, 3), st.floats(0.001, 1000))
def test_exponents_come_back(power: float, scale: float) -> None:
    found = exponent({1: {float(x): scale * x**power for x in (10, 100, 1000)}})
    assert found is not None
    assert found.estimate == pytest.approx(power, abs=1e-9)


def test_exponents_have_intervals_from_blocks() -> None:
    rng = random.Random(3)
    blocks = {
        block: {float(x): x**1.1 * math.exp(rng.gauss(0, 0.05)) for x in (100, 1000, 10_000)}
        for block in range(1, 11)
    }
    found = exponent(blocks)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1.1 < found.high
    assert found.high - found.low < 0.1


def test_levels_and_values_of_zero_have_no_logarithm() -> None:
    assert exponent({1: {0.0: 1.0, 10.0: 2.0}}) is None
    assert exponent({1: {5.0: 0.0, 10.0: 2.0}}) is None
    assert exponent({}) is None
