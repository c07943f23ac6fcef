from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.unpaired import cut, drift, ratio

VALUES = st.lists(st.floats(1e-3, 1e3), min_size=4, max_size=12)


def test_critical_values_of_the_published_tables() -> None:
    # Mann-Whitney, two-sided 5 %: (5, 5): 2, (7, 7): 8, (8, 10): 17, (20, 20): 127; none for (3, 3).
    assert [cut(*n) for n in ((5, 5), (7, 7), (8, 10), (20, 20), (3, 3))] == [2, 8, 17, 127, None]
    assert cut(10, 8) == cut(8, 10)


def test_the_approximation_joins_the_exact_distribution() -> None:
    exact, near = cut(40, 40), cut(41, 41)
    assert exact is not None
    assert near is not None
    assert 0 < near - exact < 45


def test_a_family_takes_wider_intervals() -> None:
    assert (cut(7, 7, 10) or 0) < (cut(7, 7) or 0)
    assert cut(4, 4, 10) is None


@given(VALUES, VALUES)
def test_swapping_inverts(one: list[float], other: list[float]) -> None:
    forth, back = ratio(one, other, drift=0.1), ratio(other, one, drift=0.1)
    assert forth is not None
    assert back is not None
    assert forth.estimate * back.estimate == pytest.approx(1)
    assert forth.low is not None
    assert back.high is not None
    assert forth.low * back.high == pytest.approx(1)
    assert forth.n == min(len(one), len(other))


def test_the_interval_is_that_of_the_differences() -> None:
    one, other = [math.exp(x) for x in (1, 2, 4, 8, 16)], [math.exp(x) for x in (0.5, 1.5, 3.5, 7.5, 15.5)]
    apart = sorted(a - b for a, b in itertools.product((1, 2, 4, 8, 16), (0.5, 1.5, 3.5, 7.5, 15.5)))
    found = ratio(one, other, drift=0.25)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert math.log(found.low) == pytest.approx(apart[2] - 0.25)
    assert math.log(found.high) == pytest.approx(apart[-3] + 0.25)


def test_what_has_no_logarithm_drops_out() -> None:
    assert ratio([0.0], [1.0], drift=0) is None
    found = ratio([2.0, math.nan], [1.0, -1.0], drift=0)
    assert found is not None
    assert (found.estimate, found.low, found.n) == (2.0, None, 1)


def test_drift_is_the_widest_move() -> None:
    assert drift([1.0, 1.1, 0.9]) == pytest.approx(math.log(1.1 / 0.9))
    assert drift([1.0]) is None
    assert drift([]) is None


def test_runs_at_different_speeds_of_the_machine_are_not_told_apart() -> None:
    """The same program; the machine is up to 20 % slower in one run, which the fixed computation shows: in
    how many of 1,000 pairs of runs a difference is claimed, with and without what it shows."""
    dice = random.Random(11)
    claimed = {True: 0, False: 0}
    for _ in range(1000):
        speeds = [dice.uniform(0, 0.2), dice.uniform(0, 0.2)]
        runs = [[math.exp(speed + dice.gauss(0, 0.02)) for _ in range(7)] for speed in speeds]
        references = [math.exp(speed + dice.gauss(0, 0.01)) for speed in speeds for _ in range(7)]
        for known in claimed:
            found = ratio(runs[0], runs[1], drift=(drift(references) or 0.0) if known else 0.0)
            assert found is not None
            assert found.low is not None
            assert found.high is not None
            claimed[known] += not found.low <= 1 <= found.high
    assert claimed[True] < 50
    assert claimed[False] > 500
