from __future__ import annotations

import math
import random

import pytest

from ringside.model.results import Interval
from ringside.stats.ratio import paired
from ringside.stats.sequential import all_narrower_than, interim_looks


def test_interim_looks_are_a_geometric_sequence() -> None:
    assert interim_looks(20) == [10, 12, 14, 16, 18]
    assert interim_looks(100) == [10, 12, 14, 16, 18, 21, 24, 28, 32, 37, 43, 49, 56, 64, 74, 85, 98]
    assert interim_looks(12) == [10, 12]
    assert interim_looks(10) == [10]
    assert interim_looks(9) == []


def test_all_intervals_must_be_narrow() -> None:
    narrow, wide = Interval(1.0, 0.995, 1.005, 10), Interval(1.0, 0.98, 1.02, 10)
    assert all_narrower_than([narrow], 0.02)
    assert all_narrower_than([narrow, None], 0.02)
    assert not all_narrower_than([narrow, wide], 0.02)
    assert not all_narrower_than([Interval(1.0, None, None, 5)], 0.02)
    assert not all_narrower_than([Interval(1.0, None, 1.0, 5), narrow], 0.02)
    assert not all_narrower_than([Interval(1.0, 1.0, None, 5), narrow], 0.02)
    assert not all_narrower_than([None], 0.02)
    assert not all_narrower_than([], 0.02)


def test_widths_are_relative() -> None:
    assert all_narrower_than([Interval(2.0, 2.0, 2.03, 10)], 0.02)
    assert not all_narrower_than([Interval(0.5, 0.5, 0.515, 10)], 0.02)
    assert all_narrower_than([Interval(1.0, 1.0, 1.25, 10)], 0.25)


@pytest.mark.simulation
@pytest.mark.parametrize("sequential", [False, True])
def test_the_error_rate_of_stopping_when_the_interval_is_narrow(sequential: bool) -> None:
    """Two programs that do not differ, examined until the interval is narrower than 3 %: 1,500 times. With
    the intervals and p-values of a fixed number of blocks, more than 5 % end with a claim."""
    dice = random.Random(17)
    looks = interim_looks(100)
    wrong, stops = 0, []
    for _ in range(1500):
        a: dict[int, float] = {}
        b: dict[int, float] = {}
        for look in looks:
            for block in range(len(a), look):
                a[block] = math.exp(dice.gauss(0, 0.03))
                b[block] = math.exp(dice.gauss(0, 0.03))
            comparison = paired(a, b, sequential=sequential)
            assert comparison is not None
            if all_narrower_than([comparison.ratio], 0.03) or look == looks[-1]:
                wrong += comparison.p <= 0.05
                stops.append(look)
                break
    assert len(set(stops)) > 3
    assert (wrong / len(stops) < 0.05) == sequential
