"""Comparisons of contenders: pairs, families over points and metrics, verdicts, ranks."""

import dataclasses
import math
from collections.abc import Mapping

import pytest

from ringside.analysis.examination import Ranking, RunExamination, rank
from ringside.model.design import Cell, Experiment, Metric, Point, Show
from ringside.model.results import Comparison, Interval, Obstacle, Verdict
from ringside.stats.interval import median_interval
from ringside.stats.paired import paired_ratio
from tests.support.analyses import HOP, NOISE, RATE, OneFamily, by_block, exactly, near, point, scaled

HERE, THERE = point(nodes=10), point(nodes=20)
# The p-value of seven pairs that all show the same direction, in whatever family.
SEVEN_ALIKE = 1 / 64

# By metric, point and contender: the value in each block.
Values = Mapping[tuple[Metric, Point], Mapping[str, Mapping[int, float]]]


def values(**medians: float) -> dict[str, Mapping[int, float]]:
    return {name: by_block(scaled(median)) for name, median in medians.items()}


# Differs from NOISE by 8 or 9 % in either direction: neither different nor equivalent.
MIXED = by_block([value * (1.09 if place % 2 else 0.92) for place, value in enumerate(NOISE)])


def experiment(*ratios: tuple[str, str]) -> Experiment:
    return Experiment("e", "E", "ring", ("a", "b", "c"), {}, baseline="b", blocks=7, show=Show(ratios=ratios))


def family(
    everywhere: Values, *, decided: bool = False, margin: float = 0.05, held_back: str = ""
) -> RunExamination:
    """The family of these contenders after one look. `held_back`: one that failed too often."""
    names = dict.fromkeys(name for at in everywhere.values() for name in at)
    show = Show(metrics=tuple(dict.fromkeys(metric.name for metric, _ in everywhere)))
    result = RunExamination(
        dataclasses.replace(experiment(), blocks=8, until_decided=decided, margin=margin, show=show),
        OneFamily(),
        tuple(dict.fromkeys(place for _, place in everywhere)),
        [list(names)[::-1]],
    )
    for (metric, place), at in everywhere.items():
        for name, blocks in at.items():
            result.observations.values[Cell(name, place)][metric.name] = dict(blocks)
            attempted = set(range(99)) if name == held_back else set(blocks)
            result.observations.attempted[Cell(name, place)] = attempted
    result.blocks = 7
    result.conclude([], is_over=True)
    return result


def compared(of: RunExamination, a: str, b: str, metric: Metric = HOP, place: Point = HERE) -> Comparison:
    comparison = of.comparison(metric, place, a, b)
    assert comparison is not None
    return comparison


@pytest.mark.parametrize(
    ("metric", "double", "half"),
    [(HOP, Verdict.SLOWER, Verdict.FASTER), (RATE, Verdict.FASTER, Verdict.SLOWER)],
)
def test_a_metrics_direction_decides_what_is_better(metric: Metric, double: Verdict, half: Verdict) -> None:
    """In either order of the pair."""
    of = family({(metric, HERE): values(base=10, double=20, half=5)})
    for one, other, ratio, verdict in (
        ("double", "base", 2.0, double),
        ("base", "double", 0.5, half),
        ("half", "base", 0.5, half),
        ("half", "double", 0.25, half),
        ("double", "half", 4.0, double),
    ):
        assert compared(of, one, other, metric) == Comparison(
            HERE, metric.name, one, other, exactly(ratio), verdict, SEVEN_ALIKE
        )


def test_the_two_orders_of_a_pair_have_inverse_intervals() -> None:
    spread = by_block([11.0, 10.4, 9.7, 10.1, 9.1, 12.0, 10.9])
    at = {**values(base=10.0), "spread": spread}
    of = family({(HOP, HERE): at}, decided=True)
    forth, back = compared(of, "spread", "base"), compared(of, "base", "spread")
    assert forth.ratio == paired_ratio(spread, at["base"], 0.97)
    assert forth.ratio.low is not None
    assert forth.ratio.high is not None
    assert back.ratio == Interval(
        near(1 / forth.ratio.estimate), near(1 / forth.ratio.high), near(1 / forth.ratio.low), 7
    )
    assert (back.p, back.blocks_needed) == (forth.p, forth.blocks_needed)
    assert back.blocks_needed is not None
    plain = family({(HOP, HERE): at})
    assert compared(plain, "spread", "base").ratio == paired_ratio(spread, at["base"], 0.95) != forth.ratio


@pytest.mark.parametrize(("margin", "verdict"), [(0.05, Verdict.EQUIVALENT), (0.002, Verdict.INCONCLUSIVE)])
def test_equivalent_and_inconclusive(margin: float, verdict: Verdict) -> None:
    alike = by_block([value * (1.003 if place % 2 else 0.997) for place, value in enumerate(NOISE)])
    of = family({(HOP, HERE): {**values(base=1.0), "alike": alike, "late": {8: 1.0}}}, margin=margin)
    for pair in (("alike", "base"), ("base", "alike")):
        assert (compared(of, *pair).verdict, compared(of, *pair).obstacle) == (verdict, None)
    # Without a common block there is no comparison.
    assert of.comparison(HOP, HERE, "late", "base") is of.comparison(HOP, HERE, "x", "base") is None


def test_what_differs_beyond_doubt_is_not_equivalent_even_inside_the_margin() -> None:
    of = family({(HOP, HERE): values(base=100.0, slow=102.0)})
    assert compared(of, "slow", "base").verdict is Verdict.SLOWER


def test_an_obstacle_holds_back_any_verdict() -> None:
    at = {(HOP, HERE): {**values(base=1.0, slow=1.5), "mixed": MIXED, "same": by_block(NOISE)}}
    for name in ("slow", "mixed", "same"):
        free, held = compared(family(at), name, "base"), compared(family(at, held_back=name), name, "base")
        assert (held.verdict, held.obstacle, held.blocks_needed) == (
            Verdict.INCONCLUSIVE,
            Obstacle.FAILED_BLOCKS,
            None,
        )
        assert (held.ratio, held.p) == (free.ratio, free.p)


def ranking(at: Mapping[str, Mapping[int, float]], metric: Metric = HOP) -> Ranking:
    medians = {a: median_interval(list(blocks.values())) if blocks else None for a, blocks in at.items()}
    of = family({(metric, HERE): at})
    return rank(medians, metric, lambda one, other: of.comparison(metric, HERE, one, other))


def test_the_best_comes_first_whichever_way_is_better() -> None:
    at = {"none": dict[int, float](), **values(base=10, slow=20, fast=5)}
    assert ranking(at) == Ranking(
        ("fast", "base", "slow", "none"), {"fast": (1, 1), "base": (2, 2), "slow": (3, 3)}
    )
    assert ranking(at, RATE) == Ranking(
        ("slow", "base", "fast", "none"), {"slow": (1, 1), "base": (2, 2), "fast": (3, 3)}
    )


def test_what_is_not_told_apart_has_an_interval_of_ranks() -> None:
    at = {**values(base=1.0, slow=1.5), "like": MIXED}
    assert ranking(at).ranks == {"like": (1, 2), "base": (1, 2), "slow": (3, 3)}
    # `middle` differs from neither of the others, which differ from each other.
    logs = {"low": (0.0,) * 7, "middle": (0.1, -0.1, 0.2, 0.15, -0.05, 0.3, 0.1), "high": (0.12,) * 7}
    chain = {name: by_block([math.exp(log) for log in each]) for name, each in logs.items()}
    assert ranking(chain).ranks == {"low": (1, 2), "middle": (1, 3), "high": (2, 3)}


def test_contenders_that_share_no_block_have_no_ranks() -> None:
    assert ranking({"base": {}, "other": {}}) == Ranking(("base", "other"), {})
    assert ranking({"base": {1: 2.0}, "other": {2: 1.0}}) == Ranking(("other", "base"), {})
    # With too few blocks any rank is possible.
    five = {name: dict(list(blocks.items())[:5]) for name, blocks in values(base=2, fast=1).items()}
    assert ranking(five) == Ranking(("fast", "base"), {"fast": (1, 2), "base": (1, 2)})
