from __future__ import annotations

import itertools
import math
import random
from statistics import fmean

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
        values = [draws.gauss(0, 1) for _ in range(n)]
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
    # The same series gives the same places, whatever was drawn before.
    assert level_changes(values) == level_changes(values)


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
    with pytest.raises(ValueError, match="finite"):
        level_changes([1.0] * 9 + [math.nan])


@pytest.mark.simulation
def test_few_series_without_a_change_show_one() -> None:
    """One in a hundred at most, but for the chance of this draw: of 150 less than 8 with 99.9 %."""
    draws = random.Random(3)
    shown = sum(bool(level_changes([draws.gauss(0, 1) for _ in range(16)])) for _ in range(150))
    assert shown < 8
