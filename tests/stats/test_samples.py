import math
import random
from collections.abc import Callable
from statistics import fmean

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringside.stats.samples import (
    MIN_BEYOND,
    ValueCounts,
    between_groups,
    bimodality,
    describe,
    is_supported,
    otsu_split,
    supported_levels,
)


@given(st.lists(st.floats(1e-3, 1e3), min_size=2, max_size=60))
def test_mean_deviation_and_range_agree_with_numpy(values: list[float]) -> None:
    description = describe(values)
    assert description.n == len(values)
    assert description.mean == pytest.approx(np.mean(values))
    assert description.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    assert (description.least, description.most) == (min(values), max(values))
    assert description.median == pytest.approx(np.median(values))


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=60))
def test_every_value_is_in_one_bin_or_an_outlier(values: list[float]) -> None:
    description = describe(values)
    inner = [value for value in values if value not in description.outliers]
    assert sum(each.count for each in description.bins) == len(inner)
    assert len(description.outliers) == len(values) - len(inner)
    assert (description.bins[0].low, description.bins[-1].high) == pytest.approx((min(inner), max(inner)))
    for one, other in zip(description.bins, description.bins[1:], strict=False):
        assert one.high == pytest.approx(other.low)


def test_bins_count_what_lies_in_them() -> None:
    description = describe([1.0, 1.1, 1.2, 2.0, 2.4, 3.0, 3.1, 3.9, 5.0])
    # Three, as the root of nine; the last one has its upper end.
    assert [each.count for each in description.bins] == [4, 3, 2]
    assert [each.low for each in description.bins] == pytest.approx([1.0, 7 / 3, 11 / 3])
    assert len(describe([float(value) for value in range(1000)]).bins) == 12
    one = describe([2.5])
    assert (one.mean, one.deviation, one.bins[0].count, len(one.bins)) == (2.5, None, 1, 1)
    # In any unit.
    for unit in (1e-9, 1e9):
        scaled = describe([unit * value for value in (1.0, 1.1, 1.2, 2.0, 2.4, 3.0, 3.1, 3.9, 5.0)])
        assert [each.count for each in scaled.bins] == [4, 3, 2]


ONE_TO_NINE = [float(value) for value in range(1, 10)]


@pytest.mark.parametrize(
    ("values", "outliers"),
    [
        # The quartiles of 1 … 9 with a larger value are 3.25 and 7.75, so the upper fence is 21.25; with a
        # smaller one 2.25 and 6.75, and the lower fence is -11.25. The fences are not beyond themselves.
        ([*ONE_TO_NINE, 30.0], (30.0,)),
        ([*ONE_TO_NINE, 21.25], ()),
        ([*ONE_TO_NINE, -12.0], (-12.0,)),
        ([*ONE_TO_NINE, -11.25], ()),
        # Five values have quartiles: here the second and the fourth.
        ([1.0, 1.01, 1.02, 1.03, 9.0], (9.0,)),
        # A second mode is none, and where all are the same nothing can be far.
        ([1.0, 1.01, 1.02, 1.03, 9.0, 9.01], ()),
        ([1.0] * 9 + [9.0], ()),
        ([1.0, 1.0, 1.1, 99.0], ()),
    ],
)
def test_what_is_far_out(values: list[float], outliers: tuple[float, ...]) -> None:
    assert describe(values).outliers == outliers


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_only_finite_values_can_be_described(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^a description needs at least one value, and finite ones only$"):
        describe(values)


@pytest.mark.parametrize(
    ("sample", "modes"),
    [
        ([1.0, 2.0, 1.01, 2.01, 0.99, 2.02, 1.02], (math.sqrt(1.0 * 1.01), 2.01)),
        ([1.0, 2.0, 1.01, 2.01, 0.99, 2.02], None),
        # With seven values the smaller mode has three; with twenty, a fifth; with forty, a tenth.
        ([1.0] * 5 + [2.0] * 2, None),
        ([1.0] * 16 + [2.0] * 4, (1.0, 2.0)),
        ([2.0] * 4 + [1.0] * 17, None),
        ([1.0] * 36 + [2.0] * 4, (1.0, 2.0)),
        ([1.0] * 4 + [2.0] * 36, (1.0, 2.0)),
        ([1.0] * 37 + [2.0] * 3, None),
        ([1.0] * 3 + [2.0] * 37, None),
        ([1.0] * 55 + [2.0] * 6, None),
    ],
)
def test_the_smaller_mode_is_a_share_of_all(sample: list[float], modes: tuple[float, float] | None) -> None:
    assert bimodality(sample) == (modes and pytest.approx(modes))


def test_equal_values_have_no_modes() -> None:
    # Rounding makes differences of the groups' means, in some of these.
    for value in (1.0, 0.1, 0.3, 1.1, 7.0, 123.4):
        for count in (7, 30, 40, 100):
            assert bimodality([value] * count) is None


@pytest.mark.parametrize(("n", "threshold"), [(7, 0.97), (10, 0.95), (12, 0.95), (30, 0.87), (39, 0.87)])
def test_the_split_must_explain_enough(n: int, threshold: float) -> None:
    """Two groups about -1 and 1, half of whose values are `spread` above and half below."""

    def group(level: float, size: int, spread: float) -> list[float]:
        return [level] * (size % 2) + [level - spread, level + spread] * (size // 2)

    def sample(spread: float) -> list[float]:
        return [math.exp(x) for x in (*group(-1, n - n // 2, spread), *group(1, n // 2, spread))]

    def explained(spread: float) -> float:
        logs = sorted(math.log(value) for value in sample(spread))
        lower = [x for x in logs if x < 0]
        within = sum((x - fmean(group)) ** 2 for group in (lower, logs[len(lower) :]) for x in group)
        return 1 - within / sum((x - fmean(logs)) ** 2 for x in logs)

    spreads = [step / 2000 for step in range(1, 1000)]
    detected = [bimodality(sample(spread)) is not None for spread in spreads]
    assert detected == [explained(spread) > threshold for spread in spreads]
    assert True in detected
    assert False in detected


@pytest.mark.soak
@pytest.mark.parametrize("n", [7, 10, 14, 20, 30, 39, 60])
@pytest.mark.parametrize(
    "draw",
    [
        lambda dice: dice.gauss(0, 1),
        lambda dice: dice.random(),
        lambda dice: dice.expovariate(1),
        lambda dice: math.exp(dice.gauss(0, 0.5)),
        lambda dice: min(300.0, dice.paretovariate(1.5)),
        lambda dice: dice.gauss(0, 1) / math.sqrt(dice.gammavariate(1.5, 2 / 3)),
        lambda dice: dice.gauss(0, 0.1) + (dice.random() < 0.03),
    ],
    ids=["normal", "flat", "exponential", "lognormal", "Pareto", "Student", "outliers"],
)
def test_values_with_one_mode_are_seldom_bimodal(draw: Callable[[random.Random], float], n: int) -> None:
    """1 % of flat samples, and three standard errors, of 2,000; of samples beyond forty 5 %."""
    dice = random.Random(n)
    samples = [[math.exp(draw(dice) / 10) for _ in range(n)] for _ in range(2000)]
    assert sum(bimodality(sample) is not None for sample in samples) <= (20 + 14 if n < 40 else 100)


def test_values_without_a_logarithm_do_not_count() -> None:
    none = [0.0, -1.0, math.nan, math.inf]
    assert bimodality(none * 50) is None
    assert bimodality([1.0, 2.0] * 3 + none * 50) is None
    assert bimodality([1.0, 2.0] * 4 + none * 50) == pytest.approx((1.0, 2.0))


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30))
def test_the_split_minimises_the_squares_within_groups(values: list[int]) -> None:
    ordered = sorted(map(float, values))

    def within(k: int) -> float:
        return sum((x - fmean(group)) ** 2 for group in (ordered[:k], ordered[k:]) for x in group)

    split = otsu_split(ordered)
    assert 1 <= split < len(ordered)
    assert within(split) <= min(map(within, range(1, len(ordered)))) + 1e-6


@pytest.mark.parametrize(
    ("groups", "deviation"),
    [
        # Variances 12.5 of the means and 2 and 8 of two values each.
        ([[0, 2], [4, 8]], math.sqrt(10)),
        ([[1, 1], [3, 3, 3]], math.sqrt(2)),
        # Their scatter explains it.
        ([[0, 4], [1, 5]], 0),
        # Single values do not count.
        ([[1], [2, 2]], None),
        ([], None),
    ],
)
def test_the_deviation_between_groups(groups: list[list[float]], deviation: float | None) -> None:
    assert between_groups(groups) == (deviation and pytest.approx(deviation))


# 0.14 * 10,000 is a little more than 1,400 in floating point.
@example([1] * 1_400 + [2] * 8_600, 0.14)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.floats(0, 1))
def test_a_percentile_is_that_of_the_sorted_values(values: list[int], level: float) -> None:
    """The smallest value that so many are no larger than, as numpy's `inverted_cdf` has it."""
    rank = max(1, math.ceil(level * len(values) - 1e-9 * len(values)))
    histogram = ValueCounts((value, 1) for value in values)
    assert histogram.percentile(level) == sorted(values)[rank - 1]
    assert histogram.total == len(values)


@given(st.lists(st.lists(st.integers(1, 50), min_size=1), min_size=1, max_size=5), st.floats(0, 1))
def test_merged_percentiles_lie_between_those_of_the_parts(parts: list[list[int]], level: float) -> None:
    each = [ValueCounts((value, 1) for value in part) for part in parts]
    merged = ValueCounts.merged(each)
    assert merged.total == sum(map(len, parts))
    percentiles = [histogram.percentile(level) for histogram in each]
    assert min(percentiles) <= merged.percentile(level) <= max(percentiles)


def test_counts_of_one_value_are_added_and_empty_ones_are_left_out() -> None:
    histogram = ValueCounts([(7, 2), (3, 0), (7, 1), (5, 1)])
    assert (histogram.total, histogram.percentile(0), histogram.percentile(0.3), histogram.percentile(1)) == (
        *(4, 5, 7, 7),
    )
    with pytest.raises(ValueError, match="empty"):
        ValueCounts([(3, 0)]).percentile(0.5)


@pytest.mark.parametrize(
    ("level", "total", "supported"),
    [(0.5, 19, False), (0.5, 20, True), (0.9, 100, True), (0.9, 99, False), (0.999, 10_000, True)],
)
def test_ten_values_must_lie_beyond(level: float, total: int, supported: bool) -> None:
    assert is_supported(level, total) is supported


@given(st.integers(0, 10**8))
def test_levels_of_a_curve(total: int) -> None:
    levels = supported_levels(total)
    assert list(levels) == sorted(set(levels))
    assert bool(levels) is (total >= 2 * MIN_BEYOND)
    if levels:
        assert levels[0] == 0
        assert levels[-1] == pytest.approx(1 - MIN_BEYOND / total)
        assert all(is_supported(level, total) for level in levels)
        assert 0.5 in levels


def test_levels_are_even_where_each_nine_more_is_as_far() -> None:
    levels = supported_levels(100_000)
    assert {0.9, 0.99, 0.999} < set(levels)
    assert len([level for level in levels if 0.99 <= level < 0.999]) == 10
