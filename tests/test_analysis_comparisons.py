"""Comparisons at one point: pairs, families, verdicts, ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ringside.analysis.comparisons import Ranking, compare, compared_pairs, rank, shown_pairs
from ringside.model.design import Experiment, Metric, Show
from ringside.model.results import Comparison, Interval, Verdict
from ringside.stats.interval import median_interval
from tests.analyses import HOP, NOISE, RATE, exactly, near, point, scaled

HERE = point(nodes=10)
# The p-value of seven pairs that all show the same direction.
SEVEN_ALIKE = 2 / 2**7


def by_block(values: Sequence[float]) -> dict[int, float]:
    return dict(enumerate(values, start=1))


def values(**medians: float) -> dict[str, dict[int, float]]:
    return {name: by_block(scaled(median)) for name, median in medians.items()}


# Differs from NOISE in either direction: indistinguishable.
MIXED = tuple(value * (1.01 if place % 2 else 0.99) for place, value in enumerate(NOISE))


def experiment(*ratios: tuple[str, str]) -> Experiment:
    return Experiment("e", "E", "ring", ("a", "b", "c"), {}, baseline="b", blocks=7, show=Show(ratios=ratios))


def test_without_ratios_of_its_own_an_experiment_compares_with_the_baseline() -> None:
    assert shown_pairs(experiment()) == (("a", "b"), ("c", "b"))
    assert compared_pairs(experiment()) == (("a", "b"), ("c", "b"))


def test_all_pairs_are_the_shown_ones_and_those_with_the_baseline() -> None:
    own = experiment(("c", "a"), ("c", "b"))
    assert shown_pairs(own) == (("c", "a"), ("c", "b"))
    assert compared_pairs(own) == (("c", "a"), ("c", "b"), ("a", "b"))


@pytest.mark.parametrize(
    ("metric", "double", "half"),
    [(HOP, Verdict.SLOWER, Verdict.FASTER), (RATE, Verdict.FASTER, Verdict.SLOWER)],
)
def test_the_direction_of_a_metric_decides_what_is_better(
    metric: Metric, double: Verdict, half: Verdict
) -> None:
    pairs = [("double", "base"), ("half", "base")]
    comparisons = compare(values(base=10, double=20, half=5), pairs, metric, HERE, sequential=False)
    assert comparisons == {
        ("double", "base"): Comparison(
            HERE, metric.name, "double", "base", exactly(2.0), double, SEVEN_ALIKE
        ),
        ("half", "base"): Comparison(HERE, metric.name, "half", "base", exactly(0.5), half, SEVEN_ALIKE),
    }


def test_a_family_holds_back_what_an_interval_excludes() -> None:
    """With seven blocks the smallest p is 1/64: four times that is above 5 %, three times below."""
    alike = {name: by_block(MIXED) for name in ("c", "d", "e")}
    at = {**values(base=1.0, slow=1.5), **alike}

    def slow(*others: str) -> Comparison:
        pairs = [(name, "base") for name in ("slow", *others)]
        return compare(at, pairs, HOP, HERE, sequential=False)["slow", "base"]

    three, four = slow("c", "d"), slow("c", "d", "e")
    assert (three.verdict, three.p) == (Verdict.SLOWER, near(3 * SEVEN_ALIKE))
    assert (four.verdict, four.p) == (Verdict.INDISTINGUISHABLE, near(4 * SEVEN_ALIKE))
    assert four.ratio.low == near(1.5)


def test_a_pair_without_a_common_block_has_no_comparison_and_is_not_of_the_family() -> None:
    at: dict[str, Mapping[int, float]] = {
        **values(base=1.0, slow=1.5),
        **{name: by_block(MIXED) for name in ("c", "d")},
        "late": {8: 1.0},
        "empty": {},
    }
    pairs = [(name, "base") for name in ("slow", "c", "d", "late", "empty", "unknown")]
    comparisons = compare(at, pairs, HOP, HERE, sequential=False)
    assert list(comparisons) == [("slow", "base"), ("c", "base"), ("d", "base")]
    assert compare(at, [("slow", "unknown")], HOP, HERE, sequential=False) == {}
    assert comparisons["slow", "base"].p == near(3 * SEVEN_ALIKE)


def test_fewer_than_six_common_blocks_give_no_verdict() -> None:
    at = values(base=1.0, slow=1.5)
    del at["slow"][2], at["base"][5]
    (comparison,) = compare(at, [("slow", "base")], HOP, HERE, sequential=False).values()
    assert comparison.verdict is Verdict.TOO_FEW_BLOCKS
    assert comparison.ratio == Interval(near(1.5), None, None, 5)


def test_a_sequential_run_has_wider_intervals_and_larger_p() -> None:
    at = {"base": by_block([1.0] * 10), "slow": by_block([1.1 + number / 50 for number in range(10)])}
    pair = ("slow", "base")
    plain = compare(at, [pair], HOP, HERE, sequential=False)[pair]
    sequential = compare(at, [pair], HOP, HERE, sequential=True)[pair]
    assert plain.p == near(2 / 2**10)
    assert sequential.p == near(2 / 2**10 * 5 / 3)
    assert sequential.ratio.estimate == plain.ratio.estimate
    assert sequential.ratio.low is not None
    assert plain.ratio.low is not None
    assert sequential.ratio.low < plain.ratio.low


def ranking(
    at: Mapping[str, Mapping[int, float]],
    metric: Metric = HOP,
    *,
    baseline: str = "base",
    sequential: bool = False,
) -> Ranking:
    medians = {
        name: median_interval(list(blocks.values())) if blocks else None for name, blocks in at.items()
    }
    pairs = [(name, baseline) for name in at if name != baseline]
    comparisons = compare(at, pairs, metric, HERE, sequential=sequential)
    return rank(medians, at, metric, comparisons, baseline, sequential=sequential)


def test_the_best_comes_first_whichever_way_is_better() -> None:
    at = {"none": dict[int, float](), **values(base=10, slow=20, fast=5)}
    assert ranking(at) == Ranking(
        ("fast", "base", "slow", "none"), {"fast": 1, "base": 2, "slow": 3}, blocks_needed=None
    )
    assert ranking(at, RATE) == Ranking(
        ("slow", "base", "fast", "none"), {"slow": 1, "base": 2, "fast": 3}, blocks_needed=None
    )


def test_what_cannot_be_distinguished_shares_a_rank() -> None:
    at = {**values(base=1.0, slow=1.5), "like": by_block(MIXED)}
    assert ranking(at).ranks == {"like": 1, "base": 1, "slow": 2}


def test_too_few_blocks_have_an_order_but_no_ranks() -> None:
    five = {name: dict(list(blocks.items())[:5]) for name, blocks in values(base=2, fast=1).items()}
    assert ranking(five) == Ranking(("fast", "base"), {})
    assert ranking({"base": {}, "other": {}}) == Ranking(("base", "other"), {})
    six = {name: dict(list(blocks.items())[:6]) for name, blocks in values(base=2, fast=1).items()}
    assert ranking(six).ranks == {"fast": 1, "base": 2}


def test_ranks_that_contradict_verdicts_say_from_how_many_blocks_on_they_would_not() -> None:
    """Six are slower than the baseline by verdict: six pairs of one direction are decided together. Among
    all 21 pairs, 15 of which show nothing, the same p-values decide nothing, so all share a rank."""
    alike = {
        f"like-{number}": {
            block: value * 1.5 * (1.001 if (block + number) % 2 else 0.999)
            for block, value in enumerate(NOISE, 1)
        }
        for number in range(6)
    }
    at = {**values(base=1.0), **alike}
    result = ranking(at)
    assert set(result.ranks.values()) == {1}
    # 21 comparisons: 21 · 2 / 2^n is at most 5 % from n = 10 on.
    assert result.blocks_needed == 10
    # Whoever is not tied with the baseline does not contradict a verdict.
    assert ranking({**values(base=1.0, slow=1.5, slower=2.5)}).blocks_needed is None
    assert ranking(at, baseline="like-0").blocks_needed is None


def test_sequential_ranks_need_more() -> None:
    """Two contenders and six blocks: p is 1/32, and times 5/3 it is above 5 %."""
    at = {name: dict(list(blocks.items())[:6]) for name, blocks in values(base=2, fast=1).items()}
    assert ranking(at, sequential=True).ranks == {"fast": 1, "base": 1}
