"""What a family decides about its pairs, look by look."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.weightstats import DescrStatsW

from ringside.model.results import Interval
from ringside.stats import signed_rank, stepdown
from ringside.stats.decisions import Decision, Family, has_no_resolution
from ringside.stats.sequential import Look

# Relative to their centre, in no order; none is the opposite of another.
SPREAD = (0.001, -0.013, 0.021, -0.029, 0.012, 0.004, -0.006)
SEVEN = Look(7, 0.05)


def by_block(values: Sequence[float]) -> dict[int, float]:
    return dict(enumerate(values, start=1))


def about(centre: float, scale: float = 1.0) -> dict[int, float]:
    return by_block([centre + scale * each for each in SPREAD])


def decided(
    log_ratios: Mapping[str, Mapping[int, float]],
    *looks: Look,
    margin: float = 0.05,
    confidence: float = 0.95,
) -> dict[str, Decision]:
    family: Family[str] = Family(margin)
    for look in looks or (SEVEN,):
        family.examine(log_ratios, look)
    return {pair: family.decision(pair, values, confidence) for pair, values in log_ratios.items()}


def test_the_four_decisions() -> None:
    log_ratios = {"above": about(0.3), "below": about(-0.2), "even": about(0.001), "open": about(0.02, 3)}
    decisions = decided(log_ratios)
    assert [decision.direction for decision in decisions.values()] == [1, -1, 0, 0]
    assert [decision.equivalent for decision in decisions.values()] == [False, False, True, False]
    assert [decision.is_decided for decision in decisions.values()] == [True, True, True, False]
    assert [decision.blocks_needed is None for decision in decisions.values()] == [True, True, True, False]
    adjusted = stepdown.adjusted_p_values(log_ratios, range(1, 8))
    assert {pair: decision.p for pair, decision in decisions.items()} == adjusted


def test_the_ratio_is_that_of_the_signed_rank_test() -> None:
    values = about(0.3, 2)
    expected = signed_rank.hodges_lehmann(list(values.values()), 0.9)
    assert expected.low is not None
    assert expected.high is not None
    (decision,) = decided({"a": values}, confidence=0.9).values()
    assert decision.ratio == Interval(
        math.exp(expected.estimate), math.exp(expected.low), math.exp(expected.high), 7
    )
    wide = signed_rank.hodges_lehmann(list(values.values()), 0.97)
    assert wide.low is not None
    assert wide.low < expected.low
    assert decided({"a": values}, confidence=0.97)["a"].ratio.low == pytest.approx(math.exp(wide.low))


def test_a_small_difference_is_one_and_equivalent_too() -> None:
    (decision,) = decided({"a": about(0.03, 0.5)}).values()
    assert (decision.direction, decision.equivalent) == (1, True)
    (decision,) = decided({"a": about(0.045, 0.5)}).values()
    assert (decision.direction, decision.equivalent) == (1, False)


@pytest.mark.parametrize(("margin", "equivalent"), [(0.0, False), (0.017, False), (0.018, True), (0.5, True)])
def test_equivalence_needs_a_margin_beyond_the_interval(margin: float, equivalent: bool) -> None:
    """Of seven values the ends of 95 % are the third of 28 averages from either side: -1.75 % and 1.25 %."""
    (decision,) = decided({"a": about(0.0)}, margin=margin).values()
    assert decision.direction == 0
    assert decision.equivalent is equivalent


def test_with_a_margin_of_0_nothing_is_equivalent() -> None:
    tiny = about(0.0, 1e-9)
    assert not decided({"a": tiny}, margin=0.0)["a"].equivalent
    assert decided({"a": tiny}, margin=0.001)["a"].equivalent


def test_equivalence_is_shown_at_a_look_and_by_the_last_interval() -> None:
    """At a look with a small level the interval of both one-sided tests is wider than the final one."""
    values, small, large = about(0.0), Look(7, 0.02), Look(7, 0.05)
    half = signed_rank.hodges_lehmann(list(values.values()), 0.9)
    wide = signed_rank.hodges_lehmann(list(values.values()), 0.96)
    assert wide.high is not None
    assert half.high is not None
    assert half.high < wide.high
    margin = math.expm1((half.high + wide.high) / 2)
    assert not decided({"a": values}, small, margin=margin, confidence=0.9)["a"].equivalent
    assert decided({"a": values}, large, margin=margin, confidence=0.9)["a"].equivalent
    # At 2 % the ends are the second of the 28 averages from either side, and the lower one is -2.1 %; at 3 %
    # it would be the third, -1.75 %.
    margin = math.expm1(0.019)
    assert not decided({"a": values}, small, margin=margin, confidence=0.9)["a"].equivalent
    assert decided({"a": values}, Look(7, 0.03), margin=margin, confidence=0.9)["a"].equivalent
    margin = math.expm1((half.high + wide.high) / 2)
    # Shown, but the interval of all blocks is wider than the margin by now.
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
    five = {"a": dict.fromkeys(range(1, 6), 0.5)}
    (decision,) = decided(five, Look(5, 1.0)).values()
    assert decision == Decision(Interval(math.exp(0.5), None, None, 5), 1 / 16, 0, equivalent=False)
    six = {"a": {block: 0.5 + block / 1000 for block in range(1, 7)}}
    (decision,) = decided(six, Look(6, 0.05)).values()
    assert (decision.p, decision.direction) == (1 / 32, 1)


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
    family: Family[str] = Family(0.05)
    far = about(0.5)
    assert family.decision("far", far).direction == 0
    assert family.decision("far", far).p == 1
    family.examine({"none": {}, "far": far}, SEVEN)
    assert family.decision("far", far).direction == 1
    with pytest.raises(ValueError, match="at least one value"):
        family.decision("none", {})


def test_later_blocks_than_the_looks_do_not_count_for_it() -> None:
    """All eight agree, of which seven are looked at; the ratio is that of all."""
    far = about(0.5) | {8: 0.9}
    (decision,) = decided({"a": far}).values()
    assert (decision.p, decision.ratio.n, decision.direction) == (1 / 64, 8, 1)
    assert decided({"a": far}, Look(8, 0.05))["a"].p == 1 / 128
    # All signs are tried up to 13 blocks, and random ones beyond: neither has a block too many.
    many = by_block([0.5 + block / 1000 for block in range(20)])
    assert decided({"a": many}, Look(13, 0.05))["a"].p == 2.0**-12
    mixed = {"a": by_block([0.05 - 0.02 * (block % 5) for block in range(20)])}
    p_values = stepdown.adjusted_p_values(mixed, range(1, 21))
    assert decided(mixed, Look(20, 0.05))["a"].p == p_values["a"]
    early = {"a": about(0.5)}
    assert decided(early, Look(5, 0.05))["a"].p == 1 / 16


@pytest.mark.parametrize("level", [1 / 64, 0.0156])
def test_a_difference_needs_a_p_of_the_level_at_most(level: float) -> None:
    assert decided({"a": about(0.5)}, Look(7, level))["a"].direction == (1 if level == 1 / 64 else 0)


def test_a_difference_needs_an_interval_that_excludes_1() -> None:
    """One large value makes the sum of the step-down test small; one that fell after the look turns back the
    interval."""
    turned = about(0.02, 0.1) | {block: -0.02 - block / 1000 for block in range(8, 22)}
    family: Family[str] = Family(0.0)
    family.examine({"a": turned}, SEVEN)
    first_seven = {block: value for block, value in turned.items() if block <= 7}
    assert family.decision("a", first_seven).direction == 1
    later = family.decision("a", first_seven | {8: -0.5, 9: -0.6, 10: -0.55})
    assert later.direction == 0
    assert not later.is_decided
    # An interval of which 1 is an end, which is the least or the largest of six values, holds it.
    for sign in (1, -1):
        family = Family(0.0)
        family.examine({"a": about(sign * 0.5)}, SEVEN)
        ends_at_0 = by_block([sign * each / 10 for each in range(6)])
        assert family.decision("a", ends_at_0).ratio.low == (1 if sign > 0 else pytest.approx(math.exp(-0.5)))
        assert family.decision("a", ends_at_0).direction == 0
        assert (
            family.decision("a", {block: each + sign for block, each in ends_at_0.items()}).direction == sign
        )
    family = Family(0.0)
    family.examine({"a": turned}, SEVEN)
    # What excludes 1 on the other side has the direction of the interval.
    assert family.decision("a", turned).direction == -1


def test_pairs_that_differ_leave_later_looks() -> None:
    """Beside `even`, which reaches the statistic of `near` in some sign vectors but not that of `far`, `near`
    is not decided as long as it shares the level."""
    far = dict.fromkeys(range(1, 8), 0.3)
    near = by_block([0.10, 0.11, 0.02, 0.10, 0.09, 0.02, 0.10])
    even = by_block([0.10, 0.10, -0.10, 0.10, -0.10, 0.11, 0.10])
    log_ratios = {"far": far, "near": near, "even": even}
    adjusted = stepdown.adjusted_p_values(log_ratios, range(1, 8))
    assert adjusted["far"] == 1 / 64 < adjusted["near"] < adjusted["even"]
    family: Family[str] = Family(0.0)
    family.examine(log_ratios, Look(7, 1 / 64))
    assert family.decision("far", far).direction == 1
    assert family.decision("near", near).direction == 0
    # Values of `far` that would be no claim change nothing about it, nor about the others.
    family.examine(log_ratios | {"far": near, "even": far}, Look(7, 1 / 64))
    assert family.decision("far", far).p == 1 / 64
    assert family.decision("far", far).direction == 1
    rest = stepdown.adjusted_p_values({"near": near, "even": far}, range(1, 8))
    assert family.decision("near", near).p == rest["near"] == 1 / 64
    assert family.decision("near", near).direction == 1


def test_blocks_needed_by_the_width() -> None:
    """The interval is to become so narrow that it excludes 1, or lies inside the margin, whichever is
    sooner; its width shrinks with the root of the number of blocks."""
    values = by_block([0.03 + 0.01 * each for each in (-9, -7, -4, 0, 5, 6, 9, 1, -2, 3)])
    summary = signed_rank.hodges_lehmann(list(values.values()))
    assert summary.low is not None
    assert summary.high is not None
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
    assert not decision.is_decided
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
        if decision.is_decided or has_no_resolution(log_ratios[pair]):
            assert decision.blocks_needed is None
        elif decision.blocks_needed is not None:
            assert decision.blocks_needed > decision.ratio.n
        assert opposite[pair].direction == -decision.direction
        assert opposite[pair].equivalent == decision.equivalent
        assert opposite[pair].p == decision.p
        assert opposite[pair].ratio.estimate == pytest.approx(1 / decision.ratio.estimate)


@pytest.mark.simulation
def test_the_rate_of_false_equivalence() -> None:
    """Two programs whose ratio is exactly the margin: at most 5 % are called equivalent, at 7, 12 and 30
    blocks; and with a ratio of 1 and enough blocks nearly all are."""
    dice = random.Random(31)
    for blocks in (7, 12, 30):
        look = Look(blocks, 0.05)
        at_margin = [by_block([dice.gauss(math.log(1.05), 0.02) for _ in range(blocks)]) for _ in range(600)]
        false = sum(decided({"a": values}, look)["a"].equivalent for values in at_margin)
        assert false <= 30 + 16
    even = [by_block([dice.gauss(0, 0.02) for _ in range(30)]) for _ in range(200)]
    assert sum(decided({"a": values}, Look(30, 0.05))["a"].equivalent for values in even) > 190
