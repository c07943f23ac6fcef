from __future__ import annotations

import itertools
import math
import random
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from ringside.stats.energy import SIGNIFICANCE, _best_splits, level_changes


def energy(left: list[float], right: list[float]) -> float:
    """The weighted energy distance by its definition (Matteson and James, equation 5)."""
    m, n = len(left), len(right)
    across = fmean(abs(x - y) for x in left for y in right)
    inside = [fmean(abs(x - y) for x, y in itertools.combinations(side, 2)) for side in (left, right)]
    return m * n / (m + n) * (2 * across - sum(inside))


def test_the_best_split_is_that_of_the_definition() -> None:
    draws = random.Random(1)
    for n in (6, 7, 12):
        random_values = [draws.gauss(0, 1) for _ in range(n)]
        for values in (random_values, [0.0] * (n - 2) + [9.0] * 2, [9.0] * 2 + [0.0] * (n - 2)):
            splits = {k: energy(values[:k], values[k:]) for k in range(3, n - 2)}
            [index], [statistic] = _best_splits(np.array([[[abs(x - y) for y in values] for x in values]]))
            assert index == max(splits, key=splits.__getitem__)
            assert statistic == pytest.approx(splits[index])


def test_levels_are_separated_at_their_first_values() -> None:
    draws = random.Random(2)
    levels = [(0.0, 12), (0.2, 10), (0.05, 14)]
    values = [level + draws.gauss(0, 0.01) for level, count in levels for _ in range(count)]
    assert [change.index for change in level_changes(values)] == [12, 22]
    assert all(change.p <= SIGNIFICANCE for change in level_changes(values))
    # In any unit.
    for unit in (1e-6, 1e6):
        assert [change.index for change in level_changes([unit * value for value in values])] == [12, 22]


def test_segments_on_both_sides_of_a_change_are_searched() -> None:
    """Whether the first change is that in the middle or the last one, and however short or even the last
    segment is."""
    draws = random.Random(4)
    for levels, counts in (
        ((0, 1, 9, 10), (12, 12, 12, 12)),
        ((0, 1, 9), (12, 12, 12)),
        ((0, 1, 9), (12, 12, 5)),
    ):
        for noise in (0.0, 0.01):
            values = [
                level + draws.gauss(0, noise)
                for level, count in zip(levels, counts, strict=True)
                for _ in range(count)
            ]
            changes = level_changes(values)
            assert [change.index for change in changes] == list(itertools.accumulate(counts))[:-1]


@pytest.mark.parametrize(("before", "after"), [(3, 10), (10, 3), (4, 8), (5, 5)])
def test_p_is_the_share_of_permutations_that_are_as_large(
    before: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all ways to place ones among zeros, two have all of them at an end. Four standard errors."""
    monkeypatch.setattr("ringside.stats.energy._PERMUTATIONS", 9999)
    monkeypatch.setattr("ringside.stats.energy.SIGNIFICANCE", 0.02)
    [change] = level_changes([0.0] * before + [1.0] * after)
    share = 2 / math.comb(before + after, after)
    assert change.index == before
    assert change.p == pytest.approx(share, abs=4 * math.sqrt(share / 9999))


def test_p_counts_the_series_itself_and_all_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    # None of 999 is as large: two of 155 million ways are.
    assert [change.p for change in level_changes([0.0] * 15 + [1.0] * 15)] == [1 / 1000]
    made = []

    def counting(distances: np.ndarray) -> Any:
        made.append(len(distances))
        return _best_splits(distances)

    monkeypatch.setattr("ringside.stats.energy._best_splits", counting)
    for batch in (1_000_000, 13 * 13 * 10, 1):
        made.clear()
        monkeypatch.setattr("ringside.stats.energy._BATCH", batch)
        level_changes([0.0] * 3 + [1.0] * 10)
        # The series itself and its permutations; then ten even values.
        assert sum(made) == 1 + 999 + 1
        assert max(made) == min(999, max(1, batch // (13 * 13)))


def test_the_same_series_gives_the_same_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was drawn before, and however many permutations are made at a time."""
    values = [0.0] * 3 + [1.0] * 10
    expected = level_changes(values)
    assert 0.001 < expected[0].p < SIGNIFICANCE
    assert all(level_changes(values) == expected for _ in range(5))
    for batch in (1, 10_000, 13 * 13 * 998):
        monkeypatch.setattr("ringside.stats.energy._BATCH", batch)
        assert level_changes(values) == expected


def test_a_p_of_the_level_is_significant(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.0] * 3 + [1.0] * 10
    [change] = level_changes(values)
    monkeypatch.setattr("ringside.stats.energy.SIGNIFICANCE", change.p)
    assert level_changes(values) == (change,)
    monkeypatch.setattr("ringside.stats.energy.SIGNIFICANCE", change.p - 1e-9)
    assert level_changes(values) == ()


def test_fewer_than_ten_values_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.stats.energy.SIGNIFICANCE", 0.05)
    assert level_changes([0.0] * 4 + [1.0] * 5) == ()
    assert [change.index for change in level_changes([0.0] * 5 + [1.0] * 5)] == [5]
    # Nor segments.
    values = [0.0] * 40 + [9.0] * 4 + [9.1] * 5
    assert [change.index for change in level_changes(values)] == [40]
    assert [change.index for change in level_changes([*values, 9.1])] == [40, 44]


def test_a_change_of_one_value_is_none() -> None:
    values = [0.0, 0.01, -0.01, 0.005, 0.0, 3.0, -0.005, 0.01, 0.0, -0.01, 0.002, 0.004]
    assert level_changes(values) == ()


def test_short_and_constant_series_have_no_change() -> None:
    assert level_changes([]) == ()
    assert level_changes([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0]) == ()
    assert level_changes([2.0] * 40) == ()
    [change] = level_changes([0.0] * 6 + [1.0] * 6)
    # Two of the 924 ways to split twelve values into sixes are as extreme.
    assert change.index == 6
    assert change.p == pytest.approx(2 / 924, abs=0.005)


def test_values_must_be_finite() -> None:
    with pytest.raises(ValueError, match=r"^values must be finite$"):
        level_changes([1.0] * 9 + [math.nan])


@pytest.mark.simulation
def test_few_series_without_a_change_show_one() -> None:
    """One in a hundred at most, but for the chance of this draw: of 150 less than 8 with 99.9 %."""
    draws = random.Random(3)
    shown = sum(bool(level_changes([draws.gauss(0, 1) for _ in range(16)])) for _ in range(150))
    assert shown < 8
