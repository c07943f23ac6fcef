"""Executions of commands, described, and how they change with a parameter."""

import dataclasses
import math
import random
from collections.abc import Sequence
from typing import ClassVar

import pytest

from ringside.analysis.distributions import PercentileCurve, WarmUp, load_totals, over_points
from ringside.model.design import Cell, Point
from ringside.model.results import Obstacle, Outcome, Trial, Verdict
from ringside.probe.protocol import LatencySummary, LoadMessage
from ringside.render.text.answers import answer_text
from ringside.render.text.cells import figure
from ringside.render.text.tables import first_table
from ringside.stats.samples import ValueCounts, describe
from ringside.stats.series import SeriesKind
from ringside.workloads.base import Distribution
from tests.support import analyses

P, Q, R = analyses.point(n=1), analyses.point(n=2), analyses.point(n=4)


def test_cells_with_figures_are_described() -> None:
    values = {"hop_ns": (1.0, 3.0, None, 8.0), "cpu_s": (2.0, 4.0), "rate": (None, None)}
    made = analyses.analysis({("A", P): values, ("B", P): {"cpu_s": analyses.scaled(3.0)}})
    assert made.descriptions == {Cell("A", P): describe((1.0, 3.0, 8.0))}
    assert made.description(Cell("A", P), "cpu_s") == describe((2.0, 4.0))
    assert made.description(Cell("A", P), "rate") is None


def test_each_point_over_the_first_of_the_same_command() -> None:
    made = analyses.analysis(
        {
            ("A", P): {analyses.HOP.name: analyses.scaled(100.0), analyses.CPU.name: analyses.scaled(1.0)},
            ("A", Q): {analyses.HOP.name: analyses.scaled(150.0)},
            ("A", R): {analyses.HOP.name: analyses.scaled(400.0)},
            ("B", P): {analyses.HOP.name: analyses.scaled(10.0)},
            ("B", Q): {analyses.HOP.name: analyses.scaled(5.0)},
            # Without figures there is no ratio.
            ("B", R): {analyses.CPU.name: analyses.scaled(5.0)},
            ("C", P): {analyses.CPU.name: analyses.scaled(5.0)},
            ("C", Q): {analyses.HOP.name: analyses.scaled(5.0)},
        },
        failed=[("C", R)],
    )
    over_first = [each for name in "ABC" for each in over_points(made, name, P, [Q, R])]
    assert [(each.point, each.ratio) for each in over_first] == [
        (Q, analyses.exactly(1.5)),
        (R, analyses.exactly(4.0)),
        (Q, analyses.exactly(0.5)),
    ]


# --- Percentile curves of requests, from the histograms of trials ---


ONE_CLIENT = analyses.point(clients=1)


class Service(analyses.Exact):
    distributions = (
        Distribution("Latency", "how long requests took", "Latency", "measured"),
        Distribution("Alone", "how long they took alone", "Latency", "alone", "short"),
        Distribution("Lateness", "how late messages came", "Lateness", "measured", histogram="lateness"),
    )


def histogram_load(
    counts: str, *, step: str = "measured", name: str = "all", histogram: str = "latency"
) -> LoadMessage:
    numbers = list(map(int, counts.split()))
    return LoadMessage(
        step=step,
        name=name,
        histograms={histogram: LatencySummary(count=sum(numbers[1::2]))},
        counts={histogram: counts},
    )


def loaded_trial(block: int, *loads: LoadMessage, outcome: Outcome = Outcome.OK) -> Trial:
    return dataclasses.replace(analyses.ok(block, "go", ONE_CLIENT, hop_ns=1.0), loads=loads, outcome=outcome)


def curves(*trials: Trial) -> tuple[PercentileCurve, ...]:
    return analyses.analyse(analyses.planned(["go"], [ONE_CLIENT]), list(trials), Service()).percentiles


def by_level(curve: PercentileCurve) -> dict[float, tuple[float, float | None, float | None]]:
    return {each.level: (each.value_ns, each.low_ns, each.high_ns) for each in curve.percentiles}


def test_requests_of_all_trials_together() -> None:
    (curve,) = curves(
        loaded_trial(1, histogram_load("100 90 200 10")),
        loaded_trial(2, histogram_load("150 95 900 5")),
        loaded_trial(3, histogram_load("5 100000"), outcome=Outcome.WRONG_EVIDENCE),
    )
    assert (curve.distribution.title, curve.cell.contender) == ("Latency", "go")
    assert curve.requests == 200
    levels = by_level(curve)
    assert levels[0.0] == (100, 100, 150)
    # 90 are up to 100, 185 up to 150: the 100th is 150.
    assert levels[0.5] == (150, 100, 150)
    assert levels[0.9] == (150, 100, 150)
    # Ten of 200 requests are beyond 95 %, but only five of the 100 of a trial.
    assert levels[0.95] == (200, None, None)
    assert max(levels) == pytest.approx(0.95)


def test_steps_loads_and_histograms_are_those_of_the_distribution() -> None:
    alone = histogram_load("7 40", step="alone", name="short")
    other = histogram_load("9 40", step="alone", name="long")
    late = histogram_load("3 40", histogram="lateness")
    titles = {
        curve.distribution.title: by_level(curve)[0.5][0]
        for curve in curves(loaded_trial(1, other, alone, late))
    }
    assert titles == {"Alone": 7, "Lateness": 3}


class HighPercentile(analyses.Exact):
    percentiles: ClassVar = {analyses.HOP.name: ("measured", "all", "latency", 0.99)}


def requests(block: int, name: str, count: int, slower: float = 1.0) -> Trial:
    """A trial with so many requests, and the percentile of its own."""
    dice = random.Random(f"{block} {name} {count}")
    times = [round(1e6 * slower * dice.lognormvariate(0, 0.5)) for _ in range(count)]
    counts = " ".join(f"{value} {times.count(value)}" for value in sorted(set(times)))
    own = ValueCounts.read(counts).percentile(0.99)
    return dataclasses.replace(
        analyses.ok(block, name, ONE_CLIENT, hop_ns=own), loads=(histogram_load(counts),)
    )


@pytest.mark.parametrize(
    ("few", "many", "slower", "verdict"),
    [
        # Each block's own would be 9 % low with a hundred requests.
        (200, 2000, 1.0, Verdict.INCONCLUSIVE),
        (200, 2000, 2.0, Verdict.SLOWER),
        (2000, 2000, 2.0, Verdict.SLOWER),
        (100, 2000, 2.0, Verdict.INCONCLUSIVE),
    ],
)
def test_high_percentiles_need_requests(few: int, many: int, slower: float, verdict: Verdict) -> None:
    trials = [requests(block, "A", few) for block in range(1, 8)]
    trials += [requests(block, "B", many, slower) for block in range(1, 8)]
    made = analyses.analyse(analyses.planned(["A", "B"], [ONE_CLIENT]), trials, HighPercentile())
    comparison = made.comparison(analyses.HOP, "B", "A", ONE_CLIENT)
    assert comparison.verdict is verdict
    figures = made.cells[Cell("A", ONE_CLIENT)].metrics
    if few == 100:
        # Seven of 700 requests are beyond it.
        assert comparison.obstacle is Obstacle.TOO_FEW_REQUESTS
        assert analyses.HOP.name not in figures
        assert figure(made.cells[Cell("A", ONE_CLIENT)], analyses.HOP).text == "?"
    else:
        assert figures[analyses.HOP.name].estimate == pytest.approx(1e6 * math.exp(0.5 * 2.326), rel=0.15)
        assert (comparison.ratio.low or 0) <= slower <= (comparison.ratio.high or 0)


def test_why_a_percentile_has_no_figure() -> None:
    trials = [requests(block, name, 100) for block in range(1, 8) for name in "AB"]
    made = analyses.analyse(analyses.planned(["A", "B"], [ONE_CLIENT]), trials, HighPercentile())
    assert answer_text(made).endswith(": fewer than ten requests lie beyond it.")
    assert "fewer than ten" in first_table(made, ONE_CLIENT).rows[0][-1].text


def test_a_ratio_of_percentiles_that_ends_at_1_is_inside_the_margin() -> None:
    """All requests may have taken the same time, whatever the blocks' own figures."""
    loads = (histogram_load("1000 150"),)
    trials = [
        dataclasses.replace(analyses.ok(block, name, ONE_CLIENT, hop_ns=1.0 + block % rest), loads=loads)
        for block in range(1, 8)
        for name, rest in (("A", 2), ("B", 3))
    ]
    made = analyses.analyse(analyses.planned(["A", "B"], [ONE_CLIENT]), trials, HighPercentile())
    comparison = made.comparison(analyses.HOP, "B", "A", ONE_CLIENT)
    assert (comparison.ratio.low, comparison.ratio.high, comparison.verdict) == (1, 1, Verdict.EQUIVALENT)


@pytest.mark.parametrize("counts", ["", "100 19", "100 0 200 0"])
def test_too_few_requests_make_no_curve(counts: str) -> None:
    assert curves(loaded_trial(1, histogram_load(counts))) == ()


# --- Repeats inside one process ---


CELL = Cell("go", Point(()))


def repeated_trial(*repeats: float, block: int = 1, outcome: Outcome = Outcome.OK) -> Trial:
    """A trial whose repeats are these."""
    return Trial(block, 0, CELL, outcome, "", phases={"relay": tuple(map(round, repeats))})


def analysed(*trials: Trial) -> WarmUp:
    blocks = [dataclasses.replace(trial, block=block) for block, trial in enumerate(trials, 1)]
    (result,) = analyses.analyse(analyses.planned(["go"], [CELL.point]), blocks, analyses.Repeated()).warm_ups
    return result


def noisy(levels: Sequence[float], seed: int) -> list[float]:
    rng = random.Random(seed)
    return [level * math.exp(rng.gauss(0, 0.005)) for level in levels]


def test_first_and_steady_figures() -> None:
    """Five times as long for the first 2, 3 and 5 of twenty repeats."""
    trials = [
        repeated_trial(*noisy([1e6 * factor] * cold + [2e5 * factor] * (20 - cold), cold), block=block)
        for block, (cold, factor) in enumerate(((2, 1.0), (3, 1.1), (5, 1.3)), 1)
    ]
    result = analysed(*trials)
    assert result.cell == CELL
    assert result.first == analyses.near(1.1e6, rel=0.02)
    assert result.steady == analyses.near(2.2e5, rel=0.01)
    assert result.since == 4
    assert result.kinds == {SeriesKind.WARM: 3}
    assert result.first_over_steady == analyses.near(5, rel=0.03)
    assert result.is_long_enough
    assert [len(series) for series in result.series] == [20, 20, 20]


def test_kinds_are_counted() -> None:
    steady, again, never = (noisy([5e5] * 20, 1), noisy([6e5] * 20, 2), noisy([5e5] * 17 + [9e5] * 3, 3))
    without = analysed(repeated_trial(*never))
    assert (without.steady, without.since, without.first_over_steady) == (None, None, None)
    result = analysed(*(repeated_trial(*series) for series in (steady, again, never)))
    assert result.kinds == {SeriesKind.STEADY: 2, SeriesKind.UNSTEADY: 1}
    # From the two that have a steady state; half a repeat is rounded.
    assert (result.steady, result.since) == (analyses.near(5.5e5, rel=0.01), 1)


def test_medians_are_of_each_repeat_over_trials() -> None:
    result = analysed(repeated_trial(30, 20, 10), repeated_trial(60, 50, 40, 7), repeated_trial(90, 10, 80))
    assert result.series == ((30, 20, 10), (60, 50, 40, 7), (90, 10, 80))
    assert result.medians == (60, 20, 40, 7)
    assert result.first == 60


def test_too_few_repeats_are_not_classified() -> None:
    short, long = repeated_trial(*[100.0] * 9), repeated_trial(*[100.0] * 10)
    result = analysed(short)
    assert (result.kinds, result.steady, result.is_long_enough) == ({}, None, False)
    assert not analysed(short, long).is_long_enough
    assert analysed(long).is_long_enough


def test_a_reported_time_of_0_is_not_classified() -> None:
    """The clock of a program may be coarse."""
    result = analysed(repeated_trial(*[0.0] * 20), repeated_trial(*[100.0] * 20))
    assert result.kinds == {SeriesKind.STEADY: 1}
    assert (result.first, result.steady) == (50.0, analyses.near(100.0))


def test_failures_and_work_that_was_done_once_have_no_warm_up() -> None:
    failed = repeated_trial(70, 80, outcome=Outcome.CRASHED)
    for trial, measurement in (
        (repeated_trial(1.0), analyses.Repeated()),
        (failed, analyses.Repeated()),
        (repeated_trial(1.0, 2.0), analyses.Exact()),
    ):
        assert analyses.analyse(analyses.planned(["go"], [CELL.point]), [trial], measurement).warm_ups == ()
    result = analysed(failed, repeated_trial(1.0), repeated_trial(5.0, 4.0))
    assert result.series == ((5.0, 4.0),)


# --- What the loads at each contender counted ---


def counted_trial(block: int, name: str, *loads: LoadMessage) -> Trial:
    return Trial(block, 0, Cell(name, Point(())), Outcome.OK, "", loads=loads)


def counted_load(answered: int, messages: int, unfinished: int, **errors: int) -> LoadMessage:
    return LoadMessage(
        step="measured",
        name="all",
        requests=answered,
        messages=messages,
        unfinished=unfinished,
        errors=errors,
        late_requests=10_000,
    )


def test_loads_are_added_up_and_warm_ups_are_not() -> None:
    trials = [
        counted_trial(0, "old", counted_load(1, 2, 3, timeout=4)),
        counted_trial(0, "new", counted_load(1, 2, 3, timeout=4)),
        counted_trial(1, "new", counted_load(10, 20, 30, timeout=40, reset=50)),
        counted_trial(1, "old", counted_load(100, 200, 300), counted_load(7, 8, 9, reset=6)),
        counted_trial(2, "old", counted_load(1000, 2000, 3000, timeout=1)),
        counted_trial(2, "silent"),
    ]
    totals = load_totals(analyses.Planted({}, trials=trials))
    assert totals == {
        "old": {"answered": 1107, "messages": 2208, "unfinished": 3309, "errors": 7},
        "new": {"answered": 10, "messages": 20, "unfinished": 30, "errors": 90},
        "silent": {},
    }
    assert list(totals) == ["old", "new", "silent"]
