from __future__ import annotations

import math
import random

import pytest

from ringside.stats.steadiness import Kind, steadiness

pytest.importorskip("ruptures")


def times(shape: dict[int, float], n: int, seed: int, noise: float = 0.01) -> list[float]:
    """`shape`: the level from each place on."""
    dice, level, found = random.Random(seed), 1.0, []
    for i in range(n):
        level = shape.get(i, level)
        found.append(level * math.exp(dice.gauss(0, noise)))
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("shape", "kind", "since"),
    [
        ({0: 1.0}, Kind.STEADY, 0),
        ({0: 3.0, 1: 1.0}, Kind.WARMING_UP, None),
        ({0: 1.5, 8: 1.2, 14: 1.0}, Kind.WARMING_UP, 14),
        ({0: 1.0, 20: 1.3}, Kind.SLOWING, 20),
        ({0: 2.0, 4: 1.0, 20: 1.2}, Kind.SLOWING, 20),
        ({0: 1.0, 35: 1.3}, Kind.NO_STEADY_STATE, None),
    ],
)
def test_what_a_series_does(shape: dict[int, float], kind: Kind, since: int | None, seed: int) -> None:
    series = times(shape, 40, seed)
    found = steadiness(series)
    assert found is not None
    assert found.kind is kind
    assert found.first == series[0]
    if since is not None:
        assert found.since == since
    if kind is Kind.NO_STEADY_STATE:
        assert (found.steady, found.since) == (None, None)
    else:
        last = list(shape.values())[-1]
        assert found.steady == pytest.approx(last, rel=0.02)


def test_outliers_are_no_levels() -> None:
    series = times({0: 1.0}, 60, 4)
    for place in (7, 23, 55):
        series[place] *= 4
    found = steadiness(series)
    assert found is not None
    assert found.kind is Kind.STEADY


def test_scale_does_not_matter_and_equal_times_are_steady() -> None:
    series = times({0: 2.0, 5: 1.0}, 30, 9)
    one, other = steadiness(series), steadiness([value * 1e9 for value in series])
    assert one is not None
    assert other is not None
    assert (one.kind, one.since) == (other.kind, other.since)
    flat = steadiness([5.0] * 12)
    assert flat is not None
    assert flat.steady == pytest.approx(5.0)
    assert (flat.kind, flat.since) == (Kind.STEADY, 0)


def test_few_repeats_say_nothing_and_wrong_ones_are_refused() -> None:
    assert steadiness([1.0] * 9) is None
    with pytest.raises(ValueError, match="positive"):
        steadiness([1.0, 0.0] * 10)
