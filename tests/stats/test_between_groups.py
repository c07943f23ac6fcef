"""The spread between groups beyond that inside them."""

from __future__ import annotations

import math
import random
from statistics import fmean

import pytest

from ringside.stats.between_groups import between_groups


def test_groups_without_scatter_have_the_deviation_of_their_means() -> None:
    assert between_groups([[1, 1], [3, 3, 3]]) == pytest.approx(math.sqrt(2))


def test_what_scatter_explains_is_no_spread() -> None:
    assert between_groups([[0, 4], [1, 5]]) == 0


def test_single_values_do_not_count() -> None:
    assert between_groups([[1], [2, 2]]) is None
    assert between_groups([]) is None


def test_its_square_is_about_the_variance_that_groups_were_drawn_with() -> None:
    rng = random.Random(22)
    squares = []
    for _ in range(400):
        centres = [rng.gauss(0, 0.3) for _ in range(6)]
        found = between_groups([[rng.gauss(centre, 0.2) for _ in range(5)] for centre in centres])
        assert found is not None
        squares.append(found**2)
    assert fmean(squares) == pytest.approx(0.09, rel=0.1)
