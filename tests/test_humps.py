from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from ringside.stats.humps import LEAST, two_humps

DICE = random.Random(2)
ONE: dict[str, Callable[[], float]] = {
    "normal": lambda: DICE.gauss(0, 0.2),
    "flat": lambda: DICE.uniform(0, 1),
    "long tail": lambda: DICE.expovariate(3),
    "spikes": lambda: DICE.gauss(0, 0.1) + (DICE.random() < 0.03),
}


@pytest.mark.parametrize("shape", ONE)
def test_one_hump_is_seldom_called_two(shape: str) -> None:
    found = [two_humps([math.exp(ONE[shape]()) for _ in range(60)]) for _ in range(300)]
    assert sum(one is not None for one in found) < 15


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_two_humps_are_found_where_they_are(share: float) -> None:
    found = [
        two_humps([math.exp(DICE.gauss(0, 0.03) + 0.3 * (DICE.random() < share)) for _ in range(80)])
        for _ in range(200)
    ]
    seen = [one for one in found if one]
    assert len(seen) > 180
    assert all(one[1] / one[0] == pytest.approx(math.exp(0.3), rel=0.05) for one in seen)


def test_too_few_values_and_equal_ones_have_none() -> None:
    assert two_humps([1.0, 2.0] * (LEAST // 2 - 1)) is None
    assert two_humps([1.0] * 100) is None
    assert two_humps([0.0, -1.0, math.nan] * 50) is None
    assert two_humps([1.0, 2.0] * 50) == pytest.approx((1.0, 2.0))
