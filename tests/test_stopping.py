from __future__ import annotations

import itertools
import math
import random

from ringside.model.results import Interval
from ringside.stats.ratio import paired
from ringside.stats.stopping import FIRST_LOOK, looks, narrow_enough


def test_looks_come_ever_more_seldom() -> None:
    found = looks(100)
    assert found[0] == FIRST_LOOK
    steps = [after - before for before, after in itertools.pairwise(found)]
    assert steps == sorted(steps)
    assert steps[0] >= 1
    assert found[-1] <= 100
    assert looks(9) == []


def test_all_intervals_must_be_narrow() -> None:
    narrow, wide = Interval(1.0, 0.995, 1.005, 10), Interval(1.0, 0.98, 1.02, 10)
    assert narrow_enough([narrow], 0.02)
    assert narrow_enough([narrow, None], 0.02)
    assert not narrow_enough([narrow, wide], 0.02)
    assert not narrow_enough([Interval(1.0, None, None, 5)], 0.02)
    assert not narrow_enough([None], 0.02)
    assert not narrow_enough([], 0.02)


def test_looking_until_it_is_narrow_claims_no_more_differences() -> None:
    """Two programs that do not differ, looked at until the interval is narrower than 6 %: 1,500 times."""
    dice = random.Random(17)
    wrong, stops = 0, []
    for _ in range(1500):
        one: dict[int, float] = {}
        other: dict[int, float] = {}
        made = 0
        for look in looks(60):
            for block in range(made, look):
                one[block] = math.exp(dice.gauss(0, 0.03))
                other[block] = math.exp(dice.gauss(0, 0.03))
            made = look
            found = paired(one, other, peeked=True)
            assert found is not None
            if narrow_enough([found.ratio], 0.06) or look == looks(60)[-1]:
                wrong += found.p <= 0.05
                stops.append(made)
                break
    assert wrong / len(stops) < 0.05
    assert len(set(stops)) > 3
