from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.family import adjusted, blocks_needed, groups
from ringside.stats.ratio import paired

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_hochberg_by_hand() -> None:
    # The largest stands by itself, the one before counts twice, and so on; none is above a larger one's.
    assert adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert adjusted([0.04, 0.04, 0.04]) == pytest.approx([0.04, 0.04, 0.04])
    assert adjusted([0.02, 0.5]) == pytest.approx([0.04, 0.5])
    assert adjusted([]) == []


@given(P_VALUES)
def test_adjusted_are_no_smaller_and_keep_their_order(p_values: list[float]) -> None:
    found = adjusted(p_values)
    assert all(p <= fair <= 1 for p, fair in zip(p_values, found, strict=True))
    by_p = sorted(zip(p_values, found, strict=True))
    assert [fair for _, fair in by_p] == sorted(found)
    assert found[p_values.index(max(p_values))] == max(p_values)


@given(P_VALUES, st.randoms())
def test_order_does_not_matter(p_values: list[float], shuffler: random.Random) -> None:
    fair = dict(zip(p_values, adjusted(p_values), strict=True))
    mixed = list(p_values)
    shuffler.shuffle(mixed)
    assert dict(zip(mixed, adjusted(mixed), strict=True)) == fair


def test_a_whole_table_errs_no_more_often_than_one_comparison() -> None:
    """Seven contenders that do not differ from their baseline, seven blocks with drift and spikes: in how
    many of 1,500 tables anyone is told apart. One by one it would be three of ten."""
    dice = random.Random(3)
    tables = wrong = alone = 0
    for _ in range(1500):
        drift = [dice.gauss(0, 0.3) for _ in range(7)]
        times = [
            {
                block: math.exp(moved + dice.gauss(0, 0.05) + (dice.random() < 0.1))
                for block, moved in enumerate(drift)
            }
            for _ in range(8)
        ]
        found = [paired(one, times[0]) for one in times[1:]]
        p_values = [one.p for one in found if one]
        tables += 1
        wrong += min(adjusted(p_values)) <= 0.05
        alone += min(p_values) <= 0.05
    assert wrong / tables < 0.05
    assert alone / tables > 0.1


def test_blocks_that_are_needed() -> None:
    # 2 / 2^n below 5 % over the number of comparisons.
    assert [blocks_needed(count) for count in (0, 1, 2, 3, 4, 7, 12, 28)] == [6, 6, 7, 7, 8, 9, 9, 11]


def test_groups_of_ties() -> None:
    value = {"a": 1.0, "b": 1.1, "c": 1.3, "d": 5.0}

    def differ(one: str, other: str) -> bool:
        return value[other] / value[one] > 1.2

    assert groups(list(value), differ) == [["a", "b"], ["c"], ["d"]]
    assert groups([], differ) == []
