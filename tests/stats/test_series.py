import itertools
import math
import random
from statistics import fmean, median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.series import (
    SIGNIFICANCE,
    SeriesKind,
    SteadyState,
    best_splits,
    level_changes,
    rate_settled_at,
    settled_at,
    steady_state,
)
from tests.support.analyses import near
from tests.support.errors import error_of


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
        ({0: 3.0, 1: 1.0}, SeriesKind.WARM, 1),
        ({0: 1.5, 8: 1.2, 14: 1.0}, SeriesKind.WARM, 14),
        ({0: 1.0, 20: 1.3}, SeriesKind.SLOWED, 20),
        ({0: 2.0, 4: 1.0, 20: 1.2}, SeriesKind.SLOWED, 20),
        # The steady state has a third of the series.
        ({0: 1.0, 26: 1.3}, SeriesKind.SLOWED, 26),
        ({0: 1.0, 28: 1.3}, SeriesKind.UNSTEADY, None),
        ({0: 1.0, 35: 1.3}, SeriesKind.UNSTEADY, None),
        ({0: 1.3, 26: 1.0}, SeriesKind.WARM, 26),
        ({0: 1.3, 28: 1.0}, SeriesKind.WARMING_UP, None),
    ],
)
def test_kinds_of_series(shape: dict[int, float], kind: SeriesKind, since: int | None, seed: int) -> None:
    """In any unit."""
    for unit in (1e-9, 1, 1e9):
        series = [unit * value for value in times(shape, 40, seed)]
        state = state_of(series)
        assert (state.kind, state.since, state.first) == (kind, since, series[0])
        if since is not None:
            assert state.level == near(median(series[since:]))


@given(st.floats(0.02, 0.3), st.integers(10, 120), st.integers(0, 2**32), st.sampled_from([0, 0.003]))
def test_a_series_that_falls_has_no_steady_state(fall: float, repeats: int, seed: int, noise: float) -> None:
    """And one that rises to its end; the level is that of the last third."""
    series = times({}, repeats, seed, noise)
    falling = [(1 - fall) ** place * each for place, each in enumerate(series)]
    for series, kind in ((falling, SeriesKind.WARMING_UP), (falling[::-1], SeriesKind.UNSTEADY)):
        state = state_of(series)
        assert (state.kind, state.since, state.first) == (kind, None, series[0])
        assert min(series[repeats // 2 :]) <= state.level <= max(series[repeats // 2 :])


def share(kinds: set[SeriesKind], **series: Any) -> float:
    states = [state_of(times(seed=seed, **series)).kind for seed in range(200)]
    return sum(kind in kinds for kind in states) / len(states)


@pytest.mark.parametrize("repeats", [10, 20, 50])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.1])
def test_few_series_without_a_trend_are_without_a_level(noise: float, repeats: int) -> None:
    """One kind of false alarm in twenty at most, by two standard errors."""
    none = {SeriesKind.WARMING_UP, SeriesKind.UNSTEADY}
    assert share(none, shape={}, n=repeats, noise=noise) <= 0.04
    for kind in (SeriesKind.WARM, SeriesKind.SLOWED):
        assert share({kind}, shape={}, n=repeats, noise=noise) <= 0.08


@pytest.mark.parametrize(("fall", "repeats", "least"), [(0.01, 20, 0.8), (0.02, 10, 0.9), (0.05, 10, 0.98)])
def test_falls_are_detected(fall: float, repeats: int, least: float) -> None:
    """A fall of so much for each repeat, in noise of 1 %."""
    shape = {place: (1 - fall) ** place for place in range(repeats)}
    assert share({SeriesKind.WARMING_UP}, shape=shape, n=repeats) >= least


def test_trends_that_are_too_small_to_matter() -> None:
    """2.5 % from one half to the other, without noise, and 3.5 %."""
    for change, kind in ((0.975, SeriesKind.STEADY), (0.965, SeriesKind.WARM)):
        assert state_of(times({0: 1.0, 10: change}, 20, 1, 0.0005)).kind is kind


def test_outliers_are_no_trend() -> None:
    series = times({0: 1.0}, 60, 4)
    for place in (7, 23, 55):
        series[place] *= 4
    assert state_of(series).kind is SeriesKind.STEADY


def test_what_was_slower_at_first_is_warm_once_its_last_quarter_is_no_faster() -> None:
    """Too noisy for a trend, but 5 % faster in the end."""
    noisy = [9.0, 9.0, 1.1, 1.3, 1.05, 1.2, 1.07, 1.25]
    assert state_of([*noisy, 1.1, 1.2]).kind is SeriesKind.WARM
    assert state_of([*noisy, 1.0, 0.98]).kind is SeriesKind.WARMING_UP


def test_of_long_series_parts_are_classified() -> None:
    """With 250 repeats the median of every third counts; the last part has two more."""
    series = times({0: 2.0, 60: 1.0}, 250, 3)
    state = state_of(series)
    assert (state.kind, state.since) == (SeriesKind.WARM, 60)
    assert state.level == near(1.0, rel=0.01)


def test_short_series_are_not_classified_and_wrong_times_are_refused() -> None:
    assert state_of([5.0] * 12) == SteadyState(SeriesKind.STEADY, 5.0, near(5.0), 0)
    assert steady_state([1.0] * 9) is None
    assert steady_state([1.0] * 10) is not None
    for bad in (0.0, -1.0, math.inf, math.nan):
        assert error_of(ValueError, steady_state, [1.0, bad] * 10) == "times must be positive and finite"


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
            [index], [statistic] = best_splits(np.array([[[abs(x - y) for y in values] for x in values]]))
            assert index == max(splits, key=splits.__getitem__)
            assert statistic == pytest.approx(splits[index])


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
            for unit in (1e-6, 1, 1e6):
                changes = level_changes([unit * value for value in values])
                assert [change.index for change in changes] == list(itertools.accumulate(counts))[:-1]
                assert all(change.p <= SIGNIFICANCE for change in changes)


@pytest.mark.parametrize(("before", "after"), [(3, 10), (10, 3), (4, 8), (5, 5)])
def test_p_is_a_share_of_permutations(before: int, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among all ways to place ones among zeros, two have all of them at an end. Four standard errors."""
    monkeypatch.setattr("ringside.stats.series._PERMUTATIONS", 9999)
    monkeypatch.setattr("ringside.stats.series.SIGNIFICANCE", 0.02)
    [change] = level_changes([0.0] * before + [1.0] * after)
    share = 2 / math.comb(before + after, after)
    assert change.index == before
    assert change.p == pytest.approx(share, abs=4 * math.sqrt(share / 9999))


def test_p_counts_the_series_itself_and_all_permutations() -> None:
    # None of 999 is as large: two of 155 million ways are.
    assert [change.p for change in level_changes([0.0] * 15 + [1.0] * 15)] == [1 / 1000]


def test_the_same_series_gives_the_same_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was drawn before, and however many permutations are made at a time."""
    values = [0.0] * 3 + [1.0] * 10
    expected = level_changes(values)
    assert 0.001 < expected[0].p < SIGNIFICANCE
    assert all(level_changes(values) == expected for _ in range(5))
    for batch in (1, 10_000, 13 * 13 * 998):
        monkeypatch.setattr("ringside.stats.series._BATCH", batch)
        assert level_changes(values) == expected


def test_a_p_of_the_level_is_significant(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.0] * 3 + [1.0] * 10
    [change] = level_changes(values)
    monkeypatch.setattr("ringside.stats.series.SIGNIFICANCE", change.p)
    assert level_changes(values) == (change,)
    monkeypatch.setattr("ringside.stats.series.SIGNIFICANCE", change.p - 1e-9)
    assert level_changes(values) == ()


def test_fewer_than_ten_values_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.stats.series.SIGNIFICANCE", 0.05)
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


def test_values_must_be_finite() -> None:
    assert error_of(ValueError, level_changes, [1.0] * 9 + [math.nan]) == "values must be finite"


@pytest.mark.soak
def test_few_series_without_a_change_show_one() -> None:
    """One in a hundred at most, but for the chance of this draw: of 150 less than 8 with 99.9 %."""
    draws = random.Random(3)
    shown = sum(bool(level_changes([draws.gauss(0, 1) for _ in range(16)])) for _ in range(150))
    assert shown < 8


TIMES = [float(t) for t in range(11)]
# Four more values in the last tenth, whose median is not the first of them.
LATE = [*TIMES[:10], 9.2, 9.4, 9.6, 9.8]


@pytest.mark.parametrize(
    ("times", "values", "end", "settled"),
    [
        (TIMES, [1, 2, 4, 8, 9.9, 10, 10, 10.1, 10, 10, 10], 10, 4.0),
        # With a final value of 0 nothing may deviate.
        (TIMES, [98.1] * 5 + [100.0] * 6, 10, 0.0),
        (TIMES, [97.9] * 5 + [100.0] * 6, 10, 5.0),
        (TIMES, [-98.1] * 5 + [-100.0] * 6, 10, 0.0),
        (TIMES, [0.001] * 5 + [0.0] * 6, 10, 5.0),
        (TIMES, [1.1**t for t in range(11)], 10, None),
        (TIMES, [5.0] * 10 + [9.0], 10, None),
        # A step in the last tenth, which counts from the first time, is too late; one where it begins is not.
        (LATE, [1.0] * 10 + [2.0] * 4, 10, None),
        (LATE, [1.0] * 9 + [2.0] * 5, 10, 9.0),
        ([time + 10 for time in LATE], [1.0] * 9 + [2.0] * 5, 20, 19.0),
        ([time + 10 for time in LATE], [1.0] * 10 + [2.0] * 4, 20, None),
        # The final value is a median.
        (TIMES, [10.0] * 9 + [10.0, 10.2], 10, 0.0),
        ([*TIMES, 10.5], [9.0] * 9 + [10.0, 10.1, 10.2], 10, 9.0),
        # A value holds until the next: the last is the final one.
        ([0.0, 2.0], [1.0, 7.0], 10, 2.0),
        ([], [], 10, None),
        ([5.0], [1.0], 4, None),
        ([5.0], [1.0], 5, None),
        ([5.0], [1.0], 5.5, 5.0),
    ],
)
def test_a_series_settled(times: list[float], values: list[float], end: float, settled: float | None) -> None:
    assert settled_at(times, values, end=end) == settled


def test_each_time_has_a_value() -> None:
    assert error_of(ValueError, settled_at, [1.0], [1.0, 2.0], end=3) == "1 times and 2 values"


# Two seconds at five a second, then one a second; a rate that grows; one 1.5 % larger for five seconds.
FALLING = [min(t, 2) * 5 + max(0.0, t - 2) for t in TIMES]
# Twice as fast for two seconds, on a host whose speed scatters by 5 %.
SCATTERED = np.cumsum([0.0, *((2 if t < 4 else 1) * random.Random(t).gauss(1, 0.05) for t in range(20))])
QUARTERS = [t / 4 for t in range(41)]
SLIGHT = [1.015 * min(t, 5) + max(0.0, t - 5) for t in TIMES]


@pytest.mark.parametrize(
    ("times", "totals", "begin", "end", "settled"),
    [
        (TIMES, FALLING, 0, 10, 2.0),
        # Twentieths of eight seconds from 1: the second ends at 1.8, the third at 2.2.
        (TIMES, FALLING, 1, 9, near(2.2)),
        (TIMES, FALLING, 10, 10, None),
        (TIMES, FALLING, 10, 9, None),
        (QUARTERS, [t * t for t in QUARTERS], 0, 10, None),
        ([1.0], [1.0], 0, 10, None),
        (TIMES, SLIGHT, 0, 10, 0.0),
        # Totals between times grow evenly.
        ([0.0, 5.0, 10.0], [0.0, 25.0, 30.0], 0, 10, 5.0),
        ([0.0, 5.0, 10.0], [0.0, 25.0, 50.0], 0, 10, 0.0),
        ([t / 2 for t in range(21)], SCATTERED, 0, 10, 2.0),
    ],
)
def test_when_a_rate_settled(
    times: list[float], totals: list[float], begin: float, end: float, settled: float | None
) -> None:
    assert rate_settled_at(times, totals, begin=begin, end=end) == settled


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40))
def test_after_settling_all_values_lie_within_2_percent(values: list[float]) -> None:
    times = [float(t) for t in range(len(values))]
    settled = settled_at(times, values, end=float(len(values)))
    if settled is not None:
        rest = values[times.index(settled) :]
        assert max(rest) - min(rest) <= 0.04 * max(rest) + 1e-9
