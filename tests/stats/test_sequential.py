from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE
from ringside.stats.paired import paired_ratio
from ringside.stats.sequential import (
    SEQUENTIAL_CONFIDENCE,
    Look,
    all_narrower_than,
    is_overstated,
    last_look,
    planned_looks,
    width_looks,
)
from tests.support.analyses import near, whole


def test_looks_are_a_geometric_sequence() -> None:
    assert [look.blocks for look in planned_looks(100)] == [7, 9, 12, 16, 21, 28, 37, 49, 65, 86]
    assert [look.blocks for look in planned_looks(12)] == [7, 9, 12]
    assert [look.blocks for look in planned_looks(11)] == [7, 9]
    assert planned_looks(6) == []


def test_levels_by_hand() -> None:
    levels = [look.level for look in planned_looks(300)]
    early = [0.02 + 0.00275 * k for k in range(10)]
    assert levels == pytest.approx([*early, *(early[-1] + k * 0.00525 / 33 for k in (1, 2, 3, 4))])
    # Seven blocks have a p-value that the first look accepts.
    assert 1 / 64 <= levels[0] < 2 / 64
    for blocks in (0, 7, 30):
        assert last_look(blocks) == Look(blocks, near(0.05))


@given(st.integers(0, 2000))
def test_a_look_does_not_depend_on_how_long_the_run_may_become(most: int) -> None:
    assert planned_looks(most) == [look for look in planned_looks(5000) if look.blocks <= most]


def test_each_look_may_claim_what_is_beyond_doubt() -> None:
    """Up to a million blocks each look adds more than one of 8,192 sign vectors, and all together less than
    5 %."""
    levels = [look.level for look in planned_looks(1_000_000)]
    assert all(later - earlier > 1 / 8192 for earlier, later in itertools.pairwise(levels))
    assert levels[-1] < 1 - CONFIDENCE


def test_width_looks_are_a_geometric_sequence() -> None:
    assert width_looks(20) == [10, 12, 14, 16, 18]
    assert width_looks(100) == [10, 12, 14, 16, 18, 21, 24, 28, 32, 37, 43, 49, 56, 64, 74, 85, 98]
    assert width_looks(12) == [10, 12]
    assert width_looks(10) == [10]
    assert width_looks(9) == []


NARROW, WIDE, OPEN = (Interval(1.0, 0.995, high, 10) for high in (1.005, 1.02, None))


@pytest.mark.parametrize(
    ("intervals", "goal", "is_narrow"),
    [
        ([NARROW], 0.02, True),
        ([NARROW, None], 0.02, True),
        ([NARROW, WIDE], 0.02, False),
        ([OPEN, NARROW], 0.02, False),
        ([Interval(1.0, None, 1.0, 5), NARROW], 0.02, False),
        ([None], 0.02, False),
        ([], 0.02, False),
        # Widths are relative.
        ([Interval(2.0, 2.0, 2.03, 10)], 0.02, True),
        ([Interval(0.5, 0.5, 0.515, 10)], 0.02, False),
        ([Interval(1.0, 1.0, 1.25, 10)], 0.25, True),
    ],
)
def test_all_intervals_must_be_narrow(
    intervals: list[Interval | None], goal: float, *, is_narrow: bool
) -> None:
    assert all_narrower_than(intervals, goal) is is_narrow


@pytest.mark.soak
@pytest.mark.parametrize(("confidence", "holds"), [(CONFIDENCE, False), (SEQUENTIAL_CONFIDENCE, True)])
def test_the_error_rate_of_stopping_when_the_interval_is_narrow(confidence: float, holds: bool) -> None:
    """Two programs that do not differ, examined until the interval is narrower than 3 %: 1,500 times. With
    the intervals of a fixed number of blocks, more than 5 % exclude 1 in the end."""
    dice = random.Random(17)
    looks = width_looks(100)
    wrong, stops = 0, []
    for _ in range(1500):
        a: dict[int, float] = {}
        b: dict[int, float] = {}
        for look in looks:
            for block in range(len(a), look):
                a[block] = math.exp(dice.gauss(0, 0.03))
                b[block] = math.exp(dice.gauss(0, 0.03))
            tested = paired_ratio(a, b, confidence)
            ratio = whole(tested)
            if all_narrower_than([tested], 0.03) or look == looks[-1]:
                wrong += not ratio.low <= 1 <= ratio.high
                stops.append(look)
                break
    assert len(set(stops)) > 3
    assert (wrong / len(stops) < 0.05) == holds


@pytest.mark.parametrize(
    ("low", "estimate", "high", "expected"),
    [
        (1.01, 1.04, 1.07, True),
        (1.025, 1.04, 1.055, False),
        # Far from 1, however wide.
        (1.06, 1.30, 1.60, False),
        (1.04, 1.30, 1.60, True),
    ],
)
def test_small_ratios_with_wide_intervals_are_overstated(
    low: float, estimate: float, high: float, *, expected: bool
) -> None:
    assert is_overstated(Interval(estimate, low, high, 7)) is expected
    assert is_overstated(Interval(1 / estimate, 1 / high, 1 / low, 7)) is expected
    assert not is_overstated(Interval(estimate, None, None, 5))
