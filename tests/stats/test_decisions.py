import itertools
import math
import random
import warnings
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test, wilcoxon
from statsmodels.stats.weightstats import DescrStatsW

from ringside.model.results import Interval
from ringside.stats import decisions, paired
from ringside.stats.decisions import CLEAR_RATIO, ComparisonTests, Decision, has_no_resolution, rank_intervals
from ringside.stats.sequential import Look, planned_looks
from tests.support.analyses import by_block, whole
from tests.support.p_values import adjusted_p_values

# Relative to their centre, in no order; none is the opposite of another.
SPREAD = (0.001, -0.013, 0.021, -0.029, 0.012, 0.004, -0.006)
SEVEN = Look(7, 0.05)


def about(centre: float, scale: float = 1.0) -> dict[int, float]:
    return by_block([centre + scale * each for each in SPREAD])


def decided(
    log_ratios: Mapping[str, Mapping[int, float]],
    *looks: Look,
    margin: float = 0.05,
    confidence: float = 0.95,
) -> dict[str, Decision]:
    family: ComparisonTests[str] = ComparisonTests(margin)
    for look in looks or (SEVEN,):
        family.examine(log_ratios, look)
    return {pair: family.decision(pair, values, confidence) for pair, values in log_ratios.items()}


def test_the_four_decisions() -> None:
    log_ratios = {"above": about(0.3), "below": about(-0.2), "even": about(0.001), "open": about(0.02, 3)}
    decisions = decided(log_ratios)
    assert [decision.direction for decision in decisions.values()] == [1, -1, 0, 0]
    assert [decision.equivalent for decision in decisions.values()] == [False, False, True, False]
    assert [decision.blocks_needed is None for decision in decisions.values()] == [True, True, True, False]
    adjusted = adjusted_p_values(log_ratios, range(1, 8))
    assert {pair: decision.p for pair, decision in decisions.items()} == adjusted


def test_a_small_difference_is_one_and_equivalent_too() -> None:
    (decision,) = decided({"a": about(0.03, 0.5)}).values()
    assert (decision.direction, decision.equivalent) == (1, True)
    (decision,) = decided({"a": about(0.045, 0.5)}).values()
    assert (decision.direction, decision.equivalent) == (1, False)


@pytest.mark.parametrize(("margin", "equivalent"), [(0.0, False), (0.017, False), (0.018, True), (0.5, True)])
def test_equivalence_needs_a_margin_beyond_the_interval(margin: float, equivalent: bool) -> None:
    """For seven values the ends of 95 % are the third of 28 averages from either side: -1.75 % and 1.25 %."""
    (decision,) = decided({"a": about(0.0)}, margin=margin).values()
    assert decision.direction == 0
    assert decision.equivalent is equivalent


def test_equivalence_is_shown_at_a_look_and_by_the_last_interval() -> None:
    """At a look with a small level the interval of both one-sided tests is wider than the final one."""
    values, small, large = about(0.0), Look(7, 0.02), Look(7, 0.05)
    half = whole(paired.hodges_lehmann(list(values.values()), 0.9))
    wide = whole(paired.hodges_lehmann(list(values.values()), 0.96))
    assert half.high < wide.high
    margin = math.expm1((half.high + wide.high) / 2)
    assert not decided({"a": values}, small, margin=margin, confidence=0.9)["a"].equivalent
    assert decided({"a": values}, large, margin=margin, confidence=0.9)["a"].equivalent
    # At 2 % the ends are the second of the 28 averages from either side, and the lower one is -2.1 %; at 3 %
    # it would be the third, -1.75 %.
    margin = math.expm1(0.019)
    assert not decided({"a": values}, small, margin=margin, confidence=0.9)["a"].equivalent
    assert decided({"a": values}, Look(7, 0.03), margin=margin, confidence=0.9)["a"].equivalent
    # Shown, but the interval of all blocks is wider than the margin by now.
    margin = math.expm1((half.high + wide.high) / 2)
    assert not decided({"a": values}, large, margin=margin, confidence=0.97)["a"].equivalent


def test_both_sides_of_the_margin_count() -> None:
    for centre in (0.04, -0.04):
        (decision,) = decided({"a": about(centre)}).values()
        assert not decision.equivalent
    # 1 / 1.05 is as far from 1 as 1.05 is: on the log scale.
    bound = math.log(1.05)
    for sign in (1, -1):
        inside = by_block([sign * (bound - 1e-6) + each for each in (-2e-7, -1e-7, 0, 1e-7, 2e-7, 3e-7)])
        outside = by_block([sign * (bound + 1e-6) + each for each in (-2e-7, -1e-7, 0, 1e-7, 2e-7, 3e-7)])
        assert decided({"a": inside}, Look(6, 0.05))["a"].equivalent
        assert not decided({"a": outside}, Look(6, 0.05))["a"].equivalent
        # The margin itself is not inside.
        at_margin = dict.fromkeys(range(1, 7), sign * math.log1p(0.05))
        assert not decided({"a": at_margin}, Look(6, 0.05))["a"].equivalent


def test_equivalence_agrees_with_two_one_sided_tests_of_statsmodels() -> None:
    """By t-tests, which for normal values have about the power of signed ranks: at the margin at which their
    p-value is far from 5 % on either side."""
    dice = random.Random(3)
    values = by_block([dice.gauss(0.004, 0.02) for _ in range(20)])
    statistics = DescrStatsW(list(values.values()))
    for margin, shown in ((0.006, False), (0.025, True)):
        bound = math.log1p(margin)
        p = statistics.ttost_mean(-bound, bound)[0]
        assert (p < 0.01) if shown else (p > 0.1)
        assert decided({"a": values}, Look(20, 0.05), margin=margin)["a"].equivalent is shown


def test_fewer_than_six_blocks_are_not_decided() -> None:
    (decision,) = decided({"a": dict.fromkeys(range(1, 6), 0.5)}, Look(5, 1.0)).values()
    assert decision == Decision(Interval(math.exp(0.5), None, None, 5), 1 / 16, 0, equivalent=False)


def test_the_same_values_in_all_blocks_are_not_decided() -> None:
    same = dict.fromkeys(range(1, 8), 0.0)
    (decision,) = decided({"a": same}).values()
    assert decision == Decision(Interval(1.0, 1.0, 1.0, 7), 1.0, 0, equivalent=False)
    # One block that differs shows that the clock can tell.
    assert decided({"a": same | {4: 1e-3}})["a"].equivalent
    assert has_no_resolution({1: 0.0, 2: -1e-15})
    assert not has_no_resolution({1: 0.0, 2: -1e-9})
    assert not has_no_resolution({1: 0.0, 2: 1e-12})


def test_a_pair_without_values_or_looks() -> None:
    family: ComparisonTests[str] = ComparisonTests(0.05)
    far = about(0.5)
    assert (family.decision("far", far).direction, family.decision("far", far).p) == (0, 1)
    family.examine({"none": {}, "far": far}, SEVEN)
    assert family.decision("far", far).direction == 1
    with pytest.raises(ValueError, match="at least one value"):
        family.decision("none", {})


def test_later_blocks_than_the_looks_do_not_count_for_it() -> None:
    """All eight agree. Looks use seven of them; the ratio is that of all."""
    far = about(0.5) | {8: 0.9}
    (decision,) = decided({"a": far}).values()
    assert (decision.p, decision.ratio.n, decision.direction) == (1 / 64, 8, 1)
    assert decided({"a": far}, Look(8, 0.05))["a"].p == 1 / 128
    assert decided({"a": far}, Look(5, 0.05))["a"].p == 1 / 16


@pytest.mark.parametrize("level", [1 / 64, 0.0156])
def test_a_difference_needs_a_p_of_the_level_at_most(level: float) -> None:
    assert decided({"a": about(0.5)}, Look(7, level))["a"].direction == (1 if level == 1 / 64 else 0)


def test_a_difference_needs_an_interval_that_excludes_1() -> None:
    """One large value makes the sum of the step-down test small; one that fell after the look turns back the
    interval."""
    turned = about(0.02, 0.1) | {block: -0.02 - block / 1000 for block in range(8, 22)}
    family: ComparisonTests[str] = ComparisonTests(0.0)
    family.examine({"a": turned}, SEVEN)
    first_seven = {block: value for block, value in turned.items() if block <= 7}
    assert family.decision("a", first_seven).direction == 1
    later = family.decision("a", first_seven | {8: -0.5, 9: -0.6, 10: -0.55})
    assert later.direction == 0
    assert not later.equivalent
    # An interval of which 1 is an end, which is the least or the largest of six values, holds it.
    for sign in (1, -1):
        family = ComparisonTests(0.0)
        family.examine({"a": about(sign * 0.5)}, SEVEN)
        ends_at_0 = by_block([sign * each / 10 for each in range(6)])
        assert family.decision("a", ends_at_0).ratio.low == (1 if sign > 0 else pytest.approx(math.exp(-0.5)))
        assert family.decision("a", ends_at_0).direction == 0
        assert family.decision("a", {at: each + sign for at, each in ends_at_0.items()}).direction == sign
    family = ComparisonTests(0.0)
    family.examine({"a": turned}, SEVEN)
    # An interval that excludes 1 on the other side decides the direction.
    assert family.decision("a", turned).direction == -1


def test_pairs_that_differ_leave_later_looks() -> None:
    """Beside `even`, which reaches the statistic of `near` in some sign vectors but not that of `far`, `near`
    is not decided as long as it shares the level."""
    far = dict.fromkeys(range(1, 8), 0.3)
    near = by_block([0.10, 0.11, 0.02, 0.10, 0.09, 0.02, 0.10])
    even = by_block([0.10, 0.10, -0.10, 0.10, -0.10, 0.11, 0.10])
    log_ratios = {"far": far, "near": near, "even": even}
    adjusted = adjusted_p_values(log_ratios, range(1, 8))
    assert adjusted["far"] == 1 / 64 < adjusted["near"] < adjusted["even"]
    family: ComparisonTests[str] = ComparisonTests(0.0)
    family.examine(log_ratios, Look(7, 1 / 64))
    assert family.decision("far", far).direction == 1
    assert family.decision("near", near).direction == 0
    # Values of `far` that would be no claim change nothing about it.
    family.examine(log_ratios | {"far": near}, Look(7, 1 / 64))
    assert family.decision("far", far).p == 1 / 64
    assert family.decision("far", far).direction == 1
    # The vector in which `even` agrees was spent on it at the first look, so that a pair that would be alone
    # by now has two; `even` itself, once it has left, gives it back.
    without = {block: 0.9 * value for block, value in near.items()}
    family.examine({"near": without}, Look(7, 1 / 64))
    assert family.decision("near", near).p == 1 / 64
    assert family.decision("near", near).direction == 1


# Amounts that are no ties; their sums neither.
AMOUNTS = st.lists(st.integers(1, 400), min_size=9, max_size=9, unique=True)


@pytest.mark.soak
@settings(deadline=None, max_examples=8)
@given(
    st.lists(AMOUNTS, min_size=1, max_size=3), st.lists(st.sampled_from([-1, 1]), min_size=27, max_size=27)
)
def test_all_looks_claim_as_often_as_the_last_may(amounts: list[list[int]], signs: list[int]) -> None:
    """Of all sign vectors of nine blocks, at most the level of the last look leads to a claim at any look:
    exactly the error rate where nothing differs. With the same level at each look alone there are more."""
    looks = (Look(6, 0.04), Look(7, 0.05), Look(8, 0.06), Look(9, 0.07))
    claims = alone = 0
    for vector in itertools.product((-1, 1), repeat=8):
        flipped = {
            pair: {
                block: each * signs[9 * pair + block - 1] * (1, *vector)[block - 1] / 1000
                for block, each in enumerate(values, 1)
            }
            for pair, values in enumerate(amounts)
        }
        family: ComparisonTests[int] = ComparisonTests(0.0)
        for look in looks:
            family.examine(flipped, look)
        claims += any(family.decision(pair, values).p <= 0.07 for pair, values in flipped.items())
        alone += any(
            min(adjusted_p_values(flipped, range(1, look.blocks + 1)).values()) <= 0.07 for look in looks
        )
    assert claims <= 0.07 * 256 < alone


@given(st.integers(2, 40), st.integers(1, 20))
def test_sign_vectors_of_few_blocks_are_the_beginnings_of_more(count: int, fewer: int) -> None:
    """All of few, each as often."""
    more, few = decisions.sign_vectors(count), decisions.sign_vectors(min(fewer, count))
    assert (more[:, : few.shape[1]] == np.tile(few, (len(more) // len(few), 1))).all()
    assert len(few) == 2 ** (min(few.shape[1], 14) - 1)
    assert (more[0] == 1).all()
    assert (more[:, 0] == 1).all()


def test_what_is_beyond_doubt_is_decided_at_any_planned_look() -> None:
    """Also after so many blocks that a look's share of the error rate is hardly more than one sign vector:
    even noise has spent all that earlier looks could, and then a ratio of 1.5 shows."""
    dice = random.Random(5)
    values = by_block([dice.gauss(0, 0.3) for _ in range(900)])
    family: ComparisonTests[str] = ComparisonTests(0.0)
    *earlier, last = planned_looks(1200)
    for look in earlier:
        family.examine({"a": values}, look)
    assert family.decision("a", values).direction == 0
    clear = {block: 0.4 + block / 1e5 for block in range(1, 1201)}
    family.examine({"a": clear}, last)
    assert family.decision("a", clear).direction == 1


def test_what_later_blocks_contradict_is_named() -> None:
    even, far = about(0.0), about(0.3)
    later = {block: 0.4 + block / 1000 for block in range(8, 22)}
    family: ComparisonTests[str] = ComparisonTests(0.05)
    family.examine({"even": even, "far": far}, Look(7, 0.05))
    assert family.decision("even", even).equivalent
    wide = family.decision("even", even | {8: 0.3, 9: -0.3, 10: 0.3})
    assert (wide.direction, wide.equivalent, wide.contradicted) == (0, False, "equivalent")
    # A difference at a later look counts, and does not hide what was said before.
    family.examine({"even": even | later}, Look(21, 0.05))
    turned = family.decision("even", even | later)
    assert (turned.direction, turned.equivalent, turned.contradicted) == (1, False, "equivalent")
    # As long as the interval lies inside the margin, the first verdict holds.
    assert family.decision("even", about(0.01, 0.1)).equivalent
    assert family.decision("even", about(0.01, 0.1)).direction == 0
    back = family.decision("far", far | {block: -value for block, value in later.items()})
    assert (back.direction, back.contradicted) == (-1, None)
    none = family.decision("far", {**far, 8: -0.4, 9: -0.5})
    assert (none.direction, none.contradicted) == (0, "different")


def test_blocks_needed_by_the_width() -> None:
    """The interval is to become so narrow that it excludes 1, or lies inside the margin, whichever is
    sooner; its width shrinks with the root of the number of blocks."""
    values = by_block([0.03 + 0.01 * each for each in (-9, -7, -4, 0, 5, 6, 9, 1, -2, 3)])
    summary = whole(paired.hodges_lehmann(list(values.values())))
    half, bound = (summary.high - summary.low) / 2, math.log(1.05)
    assert bound - summary.estimate < summary.estimate < half
    look = Look(10, 0.05)
    (decision,) = decided({"a": values}, look).values()
    assert decision.blocks_needed == math.ceil(10 * (half / summary.estimate) ** 2)
    near_1 = {block: value - 0.02 for block, value in values.items()}
    estimate = summary.estimate - 0.02
    (decision,) = decided({"a": near_1}, look).values()
    assert decision.blocks_needed == math.ceil(10 * (half / (bound - estimate)) ** 2)
    # With no margin only a difference can be shown.
    (decision,) = decided({"a": near_1}, look, margin=0.0).values()
    assert decision.blocks_needed == math.ceil(10 * (half / abs(estimate)) ** 2)


def test_blocks_needed_are_more_than_there_are_and_not_out_of_sight() -> None:
    # The interval excludes 1 already; the level of the look does not let it count.
    (decision,) = decided({"a": about(0.5)}, Look(7, 0.001)).values()
    assert not decision.direction
    assert decision.blocks_needed is None
    even = by_block([0.1, -0.1, 0.2, -0.2, 0.3, -0.3])
    assert decided({"a": even}, Look(6, 0.05), margin=0.0)["a"].blocks_needed is None
    # Half of the width is 0.3, and the estimate what is added.
    for needed in (99_999, 100_000, 100_001):
        added = 0.3 / math.sqrt((needed - 0.5) / 6)
        values = {block: value + added for block, value in even.items()}
        blocks_needed = decided({"a": values}, Look(6, 0.05), margin=0.0)["a"].blocks_needed
        assert blocks_needed == (needed if needed <= 100_000 else None)
    far_off = {block: value + 1e-4 for block, value in even.items()}
    assert decided({"a": far_off}, Look(6, 0.05), margin=0.0)["a"].blocks_needed is None


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(-40, 40), min_size=9, max_size=9), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.02, 0.05, 0.3]),
)
def test_decisions_are_consistent_with_their_intervals(values: list[list[int]], margin: float) -> None:
    """And turn round with their pairs."""
    log_ratios = {f"p{i}": by_block([value / 200 for value in each]) for i, each in enumerate(values)}
    looks = (Look(7, 0.02), Look(9, 0.03))
    decisions = decided(log_ratios, *looks, margin=margin, confidence=0.97)
    turned = {pair: {block: -value for block, value in each.items()} for pair, each in log_ratios.items()}
    opposite = decided(turned, *looks, margin=margin, confidence=0.97)
    for pair, decision in decisions.items():
        low, high = decision.ratio.low, decision.ratio.high
        assert low is not None
        assert high is not None
        if decision.direction:
            assert decision.direction == (1 if low > 1 else -1)
            assert low > 1 or high < 1
        if decision.equivalent:
            assert 1 / (1 + margin) < low <= high < 1 + margin
        if decision.direction or decision.equivalent or has_no_resolution(log_ratios[pair]):
            assert decision.blocks_needed is None
        elif decision.blocks_needed is not None:
            assert decision.blocks_needed > decision.ratio.n
        assert opposite[pair].direction == -decision.direction
        assert opposite[pair].equivalent == decision.equivalent
        assert opposite[pair].p == decision.p
        assert opposite[pair].ratio.estimate == pytest.approx(1 / decision.ratio.estimate)


# By pair and block: the logarithm of a ratio.
LogRatios = Mapping[str, Mapping[int, float]]


def statistic(values: Sequence[float]) -> float:
    values = [value for value in values if value]
    if not values:
        return 0.0
    agree = len({value > 0 for value in values}) == 1
    if agree and median(map(abs, values)) >= math.log(1.5):
        least, count = min(map(abs, values)), len(values)
        return math.sqrt(count) + (math.sqrt(count + 1) - math.sqrt(count)) * least / (1 + least)
    return abs(sum(values)) / math.sqrt(sum(value**2 for value in values))


def by_definition(log_ratios: LogRatios, blocks: Sequence[int]) -> dict[str, float]:
    """All sign vectors, one hypothesis (or several that tie) rejected after the other."""
    observed = {pair: statistic(list(each.values())) for pair, each in log_ratios.items()}
    signs = [dict(zip(blocks, each, strict=True)) for each in itertools.product((-1, 1), repeat=len(blocks))]
    flipped = [
        {
            pair: statistic([sign[block] * value for block, value in each.items()])
            for pair, each in log_ratios.items()
        }
        for sign in signs
    ]
    remaining, adjusted, largest_p = set(log_ratios), dict[str, float](), 0.0
    while remaining:
        top = max(observed[pair] for pair in remaining)
        tied = {pair for pair in remaining if observed[pair] >= top - 1e-9}
        reached = sum(max(each[pair] for pair in remaining) >= top - 1e-9 for each in flipped)
        largest_p = max(largest_p, reached / len(flipped))
        adjusted |= dict.fromkeys(tied, largest_p)
        remaining -= tied
    return adjusted


# Multiples of 1/8, so that sums are exact and statistics tie as they should; up to a ratio of 4.5.
EIGHTHS = st.integers(-12, 12).map(lambda number: number / 8)


@st.composite
def families(draw: st.DrawFn, max_blocks: int = 7) -> tuple[dict[str, dict[int, float]], int]:
    """Log ratios by pair and block, some of them missing or 0, and the number of blocks."""
    count = draw(st.integers(1, max_blocks))
    pairs = draw(st.integers(1, 5))
    present = st.dictionaries(st.integers(1, count), EIGHTHS, max_size=count)
    return {f"pair {number}": draw(present) for number in range(pairs)}, count


# √3 + (√4 - √3)/3 is 1.8214, of three blocks of 0.5; those of `other`, which is not clear, 1.8257 and 1.8209.
FAR = dict.fromkeys((1, 2, 3), 0.5)


@settings(deadline=None)
@given(families())
@example(({"far": FAR, "other": dict(enumerate((0.9, 0.1, 0.2, 0.5, 0.3), 1))}, 5))
@example(({"far": FAR, "other": dict(enumerate((0.2, 0.3, 1.0, 0.4, 0.2), 1))}, 5))
def test_p_values_are_those_of_the_definition(family: tuple[dict[str, dict[int, float]], int]) -> None:
    log_ratios, count = family
    blocks = range(1, count + 1)
    assert adjusted_p_values(log_ratios, blocks) == pytest.approx(by_definition(log_ratios, blocks))


@settings(deadline=None)
@given(families(max_blocks=10), st.randoms())
def test_names_order_and_directions_do_not_matter(
    family: tuple[dict[str, dict[int, float]], int], shuffler: random.Random
) -> None:
    log_ratios, count = family
    blocks = list(range(1, count + 1))
    plain = adjusted_p_values(log_ratios, blocks)
    names = list(log_ratios)
    shuffler.shuffle(names)
    turned = {
        f"{name}, renamed": {
            block: -value if name < "pair 3" else value for block, value in log_ratios[name].items()
        }
        for name in names
    }
    shuffler.shuffle(blocks)
    renamed = adjusted_p_values(turned, blocks)
    assert renamed == {f"{name}, renamed": plain[name] for name in names}


@given(st.integers(2, 10), st.data())
@settings(deadline=None, max_examples=40)
def test_a_single_pair_has_the_p_of_known_tests(count: int, data: st.DataObject) -> None:
    """Up to seven blocks of a permutation test of the sum, beyond of Wilcoxon's; where no sign vector is
    clear."""
    amounts = data.draw(st.lists(st.integers(1, 25), min_size=count, max_size=count, unique=True))
    values = [each * data.draw(st.sampled_from([-1, 1])) / 64 for each in amounts]
    if count <= 7:
        test = permutation_test((values,), np.sum, permutation_type="samples", n_resamples=2**count)
    else:
        test = wilcoxon(values, mode="exact")
    p_values = adjusted_p_values({"pair": dict(enumerate(values, 1))}, range(1, count + 1))
    assert p_values["pair"] == pytest.approx(test.pvalue)


@pytest.mark.parametrize("seed", range(5))
def test_a_clear_ratio_is_decided_beside_noisy_even_pairs(seed: int) -> None:
    """Ratios from 1.5 to 60 in the blocks, so that Σ d / sqrt(Σ d²) is far from its largest."""
    dice = random.Random(seed)
    far = dict(enumerate((0.41, 0.42, 0.5, 4.1, 0.45, 0.6, 0.43), 1))
    noisy = {f"even {number}": {block: dice.gauss(0, 0.1) for block in far} for number in range(40)}
    p_values = adjusted_p_values({**noisy, "far": far}, range(1, 8))
    assert p_values["far"] == 1 / 64
    # One block that disagrees, or a median below 1.5, and it is one among many.
    for changed in (far | {4: -4.1}, {block: value / 1.2 for block, value in far.items()}):
        assert adjusted_p_values({**noisy, "far": changed}, range(1, 8))["far"] > 0.05


def test_the_clear_ratio_is_one_and_a_half() -> None:
    """If all amounts of `even` have one sign, it has a larger statistic than `far`, but for the rule."""
    assert CLEAR_RATIO == 1.5
    even = dict(enumerate((0.1, -0.2, 0.1, -0.2, 0.1, -0.2, 0.4), 1))
    for ratio, p in ((1.5001, 1 / 64), (1.5, 1 / 64), (1.4999, 2 / 64)):
        far = dict.fromkeys(range(1, 8), float(np.log(ratio))) | {1: 1.6}
        assert adjusted_p_values({"far": far, "even": even}, range(1, 8))["far"] == p


def test_differences_of_0_and_no_values() -> None:
    assert adjusted_p_values({}, range(1, 8)) == {}
    assert adjusted_p_values({"a": {1: 0.5}}, []) == {}
    values = {"same": dict.fromkeys(range(1, 8), 0.0), "none": {}, "far": dict.fromkeys(range(1, 8), 0.1)}
    with warnings.catch_warnings(action="error"):
        assert adjusted_p_values(values, range(1, 8)) == {"same": 1.0, "none": 1.0, "far": 1 / 64}


def test_up_to_14_blocks_all_signs_are_tried_and_then_random_ones() -> None:
    for blocks, p in ((12, 2.0**-11), (14, 2.0**-13), (15, 2.0**-13), (40, 2.0**-13)):
        far = {"a": dict.fromkeys(range(blocks), 0.1)}
        # Never 0.
        assert adjusted_p_values(far, range(blocks)) == {"a": pytest.approx(p, abs=3e-4 * (blocks == 15))}
    # The same each time.
    mixed = {"a": {block: 0.1 - 0.03 * (block % 7) for block in range(40)}}
    p_values = []
    for _ in range(2):
        decisions.sign_vectors.cache_clear()
        p_values.append(adjusted_p_values(mixed, range(40))["a"])
    assert 0.1 < p_values[0] < 0.9
    assert len(set(p_values)) == 1


@pytest.mark.parametrize("blocks", [15, 40, 256, 257, 1000])
def test_random_signs_estimate_the_p_of_all(blocks: int) -> None:
    """Beyond 256 blocks neighbours share a sign, from which p differs little."""
    dice = random.Random(blocks)
    noise = [dice.gauss(0, 0.05) for _ in range(blocks)]
    for z in (0.0, 1.5, 3.0):
        values = [z * 0.05 / math.sqrt(blocks) + each for each in noise]
        expected = wilcoxon(values).pvalue
        p = adjusted_p_values({"a": dict(enumerate(values))}, range(blocks))["a"]
        error = math.sqrt(expected * (1 - expected) / 8192)
        assert p == pytest.approx(expected, abs=4 * error + 3e-3 + (0.2 * expected if blocks > 256 else 0))


@pytest.mark.parametrize(("blocks", "groups"), [(256, 256), (257, 257), (512, 384), (513, 385), (1025, 513)])
def test_beyond_256_blocks_groups_share_a_sign(blocks: int, groups: int) -> None:
    """Twos up to 512, fours up to 1,024, and so on; those of fewer blocks are the beginnings."""
    starts = decisions.group_starts(blocks)
    assert len(starts) == groups
    assert starts == sorted(set(starts))
    assert starts[-1] < blocks
    assert starts == [start for start in decisions.group_starts(5000) if start < blocks]


def test_groups_keep_the_direction_of_blocks() -> None:
    """Neighbours that cancel each other show nothing, however many there are."""
    values = {block: 0.3 if block % 2 else -0.3 for block in range(512)}
    assert adjusted_p_values({"a": values}, range(512)) == {"a": 1.0}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=7), st.data())
def test_rank_intervals_contain_the_rank(levels: list[int], data: st.DataObject) -> None:
    """Whatever part of the true differences is shown; equal levels share their ranks."""
    names = [f"c{number}" for number in range(len(levels))]
    level = dict(zip(names, levels, strict=True))
    true = [pair for pair in itertools.permutations(names, 2) if level[pair[0]] < level[pair[1]]]
    shown = data.draw(st.sets(st.sampled_from(true))) if true else set()
    intervals = rank_intervals(names, dict.fromkeys(shown, True))
    for name, (first, last) in intervals.items():
        better = sum(other < level[name] for other in levels)
        not_worse = sum(other <= level[name] for other in levels)
        assert 1 <= first <= better + 1 <= not_worse <= last <= len(names)
    complete = rank_intervals(names, dict.fromkeys(true, True))
    for name, (first, last) in complete.items():
        assert last - first + 1 == levels.count(level[name])
