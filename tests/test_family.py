from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.model.results import Interval
from ringside.stats.family import adjusted_p_values, blocks_needed, hochberg, ranks, tie_groups
from ringside.stats.ratio import PairedRatio, paired

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
BELOW_1, ABOVE_1 = Interval(0.8, 0.7, 0.9, 9), Interval(1.25, 1.1, 1.4, 9)


def test_hochberg_by_hand() -> None:
    # The largest is unchanged, the next counts twice, and so on; none exceeds the adjusted value of a larger.
    assert hochberg([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])
    assert hochberg([0.04, 0.04, 0.04]) == pytest.approx([0.04, 0.04, 0.04])
    assert hochberg([0.02, 0.5]) == pytest.approx([0.04, 0.5])
    assert hochberg([]) == []


@given(P_VALUES)
def test_adjusted_are_no_smaller_and_keep_their_order(p_values: list[float]) -> None:
    adjusted = hochberg(p_values)
    assert all(p <= larger <= 1 for p, larger in zip(p_values, adjusted, strict=True))
    by_p = sorted(zip(p_values, adjusted, strict=True))
    assert [larger for _, larger in by_p] == sorted(adjusted)
    assert adjusted[p_values.index(max(p_values))] == max(p_values)


@given(P_VALUES, st.randoms())
def test_order_does_not_matter(p_values: list[float], shuffler: random.Random) -> None:
    adjusted = dict(zip(p_values, hochberg(p_values), strict=True))
    mixed = list(p_values)
    shuffler.shuffle(mixed)
    assert dict(zip(mixed, hochberg(mixed), strict=True)) == adjusted


def test_a_family_is_adjusted_and_pairs_without_blocks_do_not_count() -> None:
    pairs = {
        "go": PairedRatio(BELOW_1, 0.04),
        "erlang": PairedRatio(BELOW_1, 0.01),
        "rust": None,
        "python": PairedRatio(ABOVE_1, 0.3),
    }
    assert adjusted_p_values(pairs) == pytest.approx({"go": 0.08, "erlang": 0.03, "python": 0.3})


def compare_all(p: float, ratio: Interval = BELOW_1) -> dict[str, int]:
    """The ranks of a, b and c when each pair has this ratio and p-value."""
    return ranks("abc", lambda better, worse: PairedRatio(ratio, p))


def test_ranks_need_p_values_adjusted_for_all_pairs() -> None:
    assert compare_all(0.04) == {"a": 1, "b": 2, "c": 3}
    # The interval of a and b excludes 1, and their own p is below 5 %; three comparisons hold it back.
    p_values = {"ab": 0.03, "ac": 0.9, "bc": 0.9}
    pairs = {pair: PairedRatio(BELOW_1, p) for pair, p in p_values.items()}
    assert ranks("abc", lambda better, worse: pairs[better + worse]) == {"a": 1, "b": 1, "c": 1}
    pairs["ab"] = PairedRatio(BELOW_1, 0.01)
    assert ranks("abc", lambda better, worse: pairs[better + worse]) == {"a": 1, "b": 2, "c": 2}


def test_ranks_of_metrics_where_more_is_better() -> None:
    def compare(better: str, worse: str) -> PairedRatio:
        return PairedRatio(ABOVE_1, 0.001)

    assert ranks("abc", compare, smaller_is_better=False) == {"a": 1, "b": 2, "c": 3}
    # Better by the order of their medians, worse by the pairs: no difference in the direction of the ranks.
    assert ranks("abc", compare, smaller_is_better=True) == {"a": 1, "b": 1, "c": 1}
    assert compare_all(0.001, ABOVE_1) == {"a": 1, "b": 1, "c": 1}


def test_names_without_a_common_block_share_a_rank() -> None:
    assert ranks("ab", lambda better, worse: None) == {"a": 1, "b": 1}
    assert ranks("", lambda better, worse: None) == {}


@pytest.mark.simulation
def test_the_family_wise_error_rate() -> None:
    """Seven contenders that do not differ from their baseline, ten blocks with drift and outliers: the share
    of 1,000 tables with a claim."""
    dice = random.Random(3)
    wrong = unadjusted = 0
    for _ in range(1000):
        drift = [dice.gauss(0, 0.3) for _ in range(10)]
        times = [
            {
                block: math.exp(moved + dice.gauss(0, 0.05) + (dice.random() < 0.1))
                for block, moved in enumerate(drift)
            }
            for _ in range(8)
        ]
        comparisons = [paired(contender, times[0]) for contender in times[1:]]
        p_values = [comparison.p for comparison in comparisons if comparison]
        wrong += min(hochberg(p_values)) <= 0.05
        unadjusted += min(p_values) <= 0.05
    assert 0.01 < wrong / 1000 < 0.05
    assert unadjusted / 1000 > 0.15


def test_blocks_needed() -> None:
    # 2 / 2^n at most 5 % over the number of comparisons.
    assert [blocks_needed(count) for count in (0, 1, 2, 3, 4, 7, 12, 28)] == [6, 6, 7, 7, 8, 9, 9, 11]


def test_tie_groups() -> None:
    value = {"a": 1.0, "b": 1.1, "c": 1.3, "d": 5.0}

    def differ(better: str, worse: str) -> bool:
        return value[worse] / value[better] > 1.2

    # c does not differ from b, but from a, the first of its group.
    assert tie_groups(list(value), differ) == [["a", "b"], ["c"], ["d"]]
    assert tie_groups([], differ) == []
