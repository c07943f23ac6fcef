from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.changepoints import (
    SeriesKind,
    SteadyState,
    _noise,
    _segments,
    _without_outliers,
    optimal_segments,
    steady_state,
)


def times(shape: dict[int, float], n: int, seed: int, noise: float = 0.01) -> list[float]:
    """`shape`: the level from each place on."""
    dice, level, series = random.Random(seed), 1.0, []
    for i in range(n):
        level = shape.get(i, level)
        series.append(level * math.exp(dice.gauss(0, noise)))
    return series


def state_of(series: list[float]) -> SteadyState:
    state = steady_state(series)
    assert state is not None
    return state


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("shape", "kind", "since"),
    [
        ({0: 1.0}, SeriesKind.STEADY, 0),
        ({0: 3.0, 1: 1.0}, SeriesKind.WARMING_UP, None),
        ({0: 1.5, 8: 1.2, 14: 1.0}, SeriesKind.WARMING_UP, 14),
        ({0: 1.0, 20: 1.3}, SeriesKind.SLOWING, 20),
        ({0: 2.0, 4: 1.0, 20: 1.2}, SeriesKind.SLOWING, 20),
        ({0: 1.0, 30: 1.3}, SeriesKind.SLOWING, 30),
        ({0: 1.0, 31: 1.3}, SeriesKind.NO_STEADY_STATE, None),
        ({0: 1.0, 35: 1.3}, SeriesKind.NO_STEADY_STATE, None),
    ],
)
def test_kinds_of_series(shape: dict[int, float], kind: SeriesKind, since: int | None, seed: int) -> None:
    series = times(shape, 40, seed)
    state = state_of(series)
    assert state.kind is kind
    assert state.first == series[0]
    if since is not None:
        assert state.since == since
    if kind is SeriesKind.NO_STEADY_STATE:
        assert (state.steady, state.since) == (None, None)
    else:
        last = list(shape.values())[-1]
        assert state.steady == pytest.approx(last, rel=0.02)


def test_the_steady_time_is_the_median_of_the_last_segment() -> None:
    series = times({0: 2.0, 10: 1.0}, 41, 3)
    assert state_of(series).since == 10
    assert state_of(series).steady == pytest.approx(sorted(series[10:])[15])


def test_steps_that_are_too_small_to_matter() -> None:
    # 1.7 % is detected where noise is small, and then merged; 2.3 % is not merged.
    small, large = (state_of(times({0: level, 15: 1.0}, 40, 1, 0.0005)) for level in (1.017, 1.023))
    assert (small.kind, small.since) == (SeriesKind.STEADY, 0)
    assert (large.kind, large.since) == (SeriesKind.WARMING_UP, 15)
    # In any unit.
    for unit in (1e-9, 1e9):
        series = [unit * value for value in times({0: 1.017, 15: 1.0}, 40, 1, 0.0005)]
        assert (state_of(series).kind, state_of(series).since) == (SeriesKind.STEADY, 0)
    # Of several steps the small one only.
    logs = [math.log(value) for value in times({0: 1.5, 10: 1.01, 20: 1.0, 30: 1.3}, 40, 1, 0.0005)]
    assert _segments(logs) == [0, 10, 30, 40]
    # A return to the same level after a detour: the middle segment is what differs.
    detour = state_of(times({0: 1.0, 10: 1.2, 20: 1.0}, 40, 1))
    assert (detour.kind, detour.since) == (SeriesKind.WARMING_UP, 20)
    detour = state_of(times({0: 1.0, 10: 0.8, 20: 1.0}, 40, 1))
    assert (detour.kind, detour.since) == (SeriesKind.SLOWING, 20)


@pytest.mark.simulation
def test_changes_of_two_deviations_are_detected() -> None:
    series = (times({0: math.exp(0.2), 15: 1.0}, 40, seed, 0.1) for seed in range(30))
    assert sum(state_of(each).kind is SeriesKind.WARMING_UP for each in series) >= 24


@pytest.mark.simulation
def test_changes_need_a_signal_above_the_noise() -> None:
    """Series without a change: seldom anything but steady, as the penalty was chosen."""
    kinds = [state_of(times({0: 1.0}, 25, seed, 0.1)).kind for seed in range(60)]
    assert sum(kind is SeriesKind.STEADY for kind in kinds) >= 57


def test_outliers_make_no_segments() -> None:
    series = times({0: 1.0}, 60, 4)
    for place in (7, 23, 55):
        series[place] *= 4
    assert state_of(series).kind is SeriesKind.STEADY


def test_noise_is_the_standard_deviation_about_the_levels() -> None:
    dice = random.Random(8)
    values = [dice.gauss(0, 0.5) + 3 * (i > 2000) for i in range(4000)]
    assert _noise(values) == pytest.approx(0.5, rel=0.03)
    # Most steps are 0: the median of the others, over the quartile of a normal distribution and √2.
    steps_of_0 = [0, 0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 9, 9, 9]
    assert _noise(steps_of_0) == pytest.approx(3 / (0.67449 * 1.41421), rel=1e-5)
    assert _noise([1.0, 1.0, 1.0]) == 0


def test_outliers_are_clipped_to_three_deviations_from_their_neighbours() -> None:
    values = [0.0, 1.0] * 10
    values[9] = -50.0
    values[14] = 50.0
    limit = 3 / (0.67449 * 1.41421)
    clipped = _without_outliers(values)
    assert clipped[9] == pytest.approx(0 - limit, rel=1e-5)
    assert clipped[14] == pytest.approx(1 - 0 + limit, rel=1e-5)
    assert [x for i, x in enumerate(clipped) if i not in (9, 14)] == [
        x for i, x in enumerate(values) if i not in (9, 14)
    ]
    # The first stays, the last does not; the median is of two neighbours on each side.
    ends = [50.0, *[0.0, 1.0] * 9, 50.0]
    assert _without_outliers(ends)[0] == 50
    assert _without_outliers(ends)[-1] == pytest.approx(1 + limit, rel=1e-5)
    assert ends[-1] == 50
    # All steps but those of the outlier are 1; the second and the last but one have one neighbour on a side.
    for place, centre in ((10, 11), (1, 2.5), (2, 3), (18, 18)):
        slope = [float(value) for value in range(20)]
        slope[place] = 100.0
        assert _without_outliers(slope)[place] == pytest.approx(centre + limit, rel=1e-5)


def test_scale_does_not_matter_and_equal_times_are_steady() -> None:
    series = times({0: 2.0, 5: 1.0}, 30, 9)
    small, large = state_of(series), state_of([value * 1e9 for value in series])
    assert (small.kind, small.since) == (large.kind, large.since)
    flat = state_of([5.0] * 12)
    assert flat.steady == pytest.approx(5.0)
    assert (flat.kind, flat.since) == (SeriesKind.STEADY, 0)


def test_short_series_are_not_classified_and_wrong_times_are_refused() -> None:
    assert steady_state([1.0] * 9) is None
    assert steady_state([1.0] * 10) is not None
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"^times must be positive and finite$"):
            steady_state([1.0, bad] * 10)


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=11), st.sampled_from([0.5, 5.0, 50.0, 500.0]))
def test_segments_are_the_best_of_all(values: list[int], penalty: float) -> None:
    n = len(values)

    def cost(edges: tuple[int, ...]) -> float:
        parts = [values[begin:end] for begin, end in itertools.pairwise(edges)]
        return sum(sum((x - sum(part) / len(part)) ** 2 for x in part) + penalty for part in parts)

    ways = ((0, *inner, n) for k in range(n // 2) for inner in itertools.combinations(range(2, n - 1), k))
    possible = [way for way in ways if all(end - begin >= 2 for begin, end in itertools.pairwise(way))]
    edges = tuple(optimal_segments(np.array(values, dtype=float), penalty))
    assert edges in possible
    assert cost(edges) == pytest.approx(min(map(cost, possible)))
