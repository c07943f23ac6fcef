"""The analysis of a whole run."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.analysis.comparisons import Ranking
from ringside.analysis.run import RunAnalysis, needs_samples, without_repeated
from ringside.analysis.run import analyse as analyse_run
from ringside.errors import StoreError, UsageError
from ringside.model.design import Cell, Point, Show
from ringside.model.results import (
    Diagnostic,
    Interval,
    Obstacle,
    Outcome,
    Run,
    Span,
    Timeline,
    Trial,
    Verdict,
)
from ringside.model.results import Series as TimeSeries
from ringside.probe.protocol import EngineWarning, LatencySummary, LoadMessage, ProgramOutput, TrialOutcome
from ringside.stats.ratio import log_ratios, paired_ratio
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE
from ringside.stats.stepdown import adjusted_p_values
from ringside.store import Store
from ringside.workloads.base import ScalingLaw, Slope
from ringside.workloads.command import COMMAND
from ringside.workloads.target import TARGET
from tests import runs
from tests.analyses import (
    CPU,
    HOP,
    MEMORY,
    NOISE,
    RATE,
    Exact,
    Values,
    analyse,
    analysis,
    exactly,
    near,
    ok,
    planned,
    point,
    scaled,
)
from tests.runs import experiment, make_run

P, Q = point(nodes=10, mode="x"), point(nodes=20, mode="x")
HERE = Point(())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "s.sqlite")


def of_run(store: Store, run: Run) -> RunAnalysis:
    return analyse_run(run, store.trials(run, samples=needs_samples(run)))


class Compared(Exact):
    compared = (HOP.name, RATE.name)


@pytest.fixture
def small() -> RunAnalysis:
    """Three contenders at two points; every figure differs. Seven blocks, all in the same noise."""
    hops = {"erlang": 100.0, "go": 150.0, "limit": 8.0}
    rates = {"erlang": 70.0, "go": 50.0, "limit": 900.0}
    return analysis(
        {
            (name, place): {
                "hop_ns": scaled(hop * int(place["nodes"]) / 10),
                "rate": scaled(rates[name]),
                "memory_bytes": scaled(hop * 1000),
            }
            for name, hop in hops.items()
            for place in (P, Q)
        },
        measurement=Compared(),
        floor="limit",
        reports={"go": TrialOutcome("ok", reference_ns=10_000, memory_reference_ns=30_000)},
    )


def test_what_was_run(small: RunAnalysis) -> None:
    assert small.points == (P, Q)
    assert small.names == ("erlang", "go", "limit")
    assert small.floor == "limit"
    assert small.metrics == (HOP, RATE)
    assert small.headline is small.metrics[0]
    assert small.confirmatory == 1
    assert small.pairs == (("go", "erlang"), ("limit", "erlang"))
    assert (small.varying, small.fixed, small.swept) == (("nodes",), {"mode": "x"}, None)
    assert (small.blocks_done, small.trial_count, len(small.trials)) == (7, 42, 42)
    assert small.is_complete
    assert small.diagnostics == ()
    assert small.references_ns == {
        "computing": dict.fromkeys(range(1, 8), 10_000.0),
        "memory": dict.fromkeys(range(1, 8), 30_000.0),
    }
    assert list(small.cells) == [Cell(name, place) for place in (P, Q) for name in small.names]
    assert small.contenders["go"].title == "Go"
    assert (small.run.id, small.experiment.name, small.plan.experiment) == (
        "run-1",
        "example",
        small.experiment,
    )


def test_points_are_named_by_what_varies(small: RunAnalysis) -> None:
    assert [small.label(place) for place in small.points] == ["nodes=10", "nodes=20"]
    assert small.setting(Q.without("mode")) == "nodes=20"
    assert small.setting(Q.without("nodes")) == ""
    both = analysis({("go", point(nodes=nodes, mode=str(nodes))): {"hop_ns": scaled(1)} for nodes in (1, 2)})
    assert both.label(both.points[1]) == both.setting(both.points[1]) == "nodes=2 mode=2"
    single = analysis({("go", P): {"hop_ns": scaled(1)}})
    assert (single.label(P), single.varying, single.fixed) == (
        "nodes=10 mode=x",
        (),
        {"nodes": 10, "mode": "x"},
    )


def test_cells(small: RunAnalysis) -> None:
    cell = small.cell("go", Q)
    assert cell.cell == Cell("go", Q)
    assert cell.metrics["hop_ns"] == Interval(300.0, 291.0, 312.0, 7)
    assert cell.metrics["memory_bytes"].estimate == 150_000.0
    assert cell.by_block["hop_ns"] == dict(enumerate(scaled(300.0), start=1))
    assert cell.outcomes == {Outcome.OK: 7}


def test_comparisons_and_ranks_of_each_metric(small: RunAnalysis) -> None:
    """More is better of a rate. The floor is compared, but has no rank among the others."""
    for metric, go, limit in ((HOP, 1.5, 0.08), (RATE, 5 / 7, 90 / 7)):
        for place in (P, Q):
            slower = small.comparison(metric, "go", "erlang", place)
            faster = small.comparison(metric, "limit", "erlang", place)
            assert slower
            assert faster
            assert (slower.verdict, faster.verdict) == (Verdict.SLOWER, Verdict.FASTER)
            assert slower.ratio.estimate == near(go, rel=1e-5)
            assert faster.ratio.estimate == near(limit, rel=1e-5)
            assert (slower.metric, slower.point) == (metric.name, place)
            assert small.rankings[metric.name, place] == Ranking(
                ("erlang", "go", "limit"), {"erlang": (1, 1), "go": (2, 2)}
            )
    assert small.comparison(HOP, "go", "limit", P) is None
    assert [(each.metric, each.point, each.contender) for each in small.shown_comparisons()] == [
        (metric, place, name) for metric in ("hop_ns", "rate") for place in (P, Q) for name in ("go", "limit")
    ]


def test_ratios_over_the_floor(small: RunAnalysis) -> None:
    assert small.floor_ratios["hop_ns", Q] == {
        "erlang": exactly(12.5),
        "go": exactly(18.75),
    }
    assert small.floor_ratios["rate", P]["erlang"].estimate == near(7 / 90)
    without = analysis({("go", P): {"hop_ns": scaled(1)}})
    assert (without.floor, without.floor_ratios["hop_ns", P]) == (None, {})
    never = analysis({("go", P): {"hop_ns": scaled(1)}}, failed=[("limit", P)], floor="limit")
    assert (never.floor, never.floor_ratios["hop_ns", P]) == ("limit", {})


def test_how_far_behind_the_best_each_is(small: RunAnalysis) -> None:
    """Of a time how many times the best of the baseline's class; of a rate how many times the best is."""
    assert small.behind_best == {place: {"go": exactly(1.5), "limit": exactly(0.08)} for place in (P, Q)}
    rates = {("slow", P): 50.0, ("fast", P): 400.0, ("middle", P): 100.0}
    by_rate = analysis(
        {cell: {"rate": scaled(rate)} for cell, rate in rates.items()}, metrics=["rate"], failed=[("none", P)]
    )
    assert by_rate.behind_best == {P: {"middle": exactly(4.0), "slow": exactly(8.0)}}
    assert analysis({("go", P): {"hop_ns": scaled(1)}}).behind_best == {P: {}}


def test_contenders_are_ranked_inside_their_class() -> None:
    """The baseline's class stands first, and has the best; of a class of one there is nothing to rank."""
    hops = {"thin": 10.0, "plain": 100.0, "limit": 1.0, "thinner": 5.0, "other": 200.0}
    values = {(name, P): {"hop_ns": scaled(hop)} for name, hop in hops.items()}
    bare = {"thin": "bare", "thinner": "bare"}

    idiomatic = analysis(values, baseline="plain", floor="limit", kinds=bare)
    ranks = {"plain": (1, 1), "other": (2, 2), "thinner": (1, 1), "thin": (2, 2)}
    order = ("plain", "other", "thinner", "thin", "limit")
    assert idiomatic.rankings["hop_ns", P] == Ranking(order, ranks)
    assert idiomatic.behind_best[P]["thinner"] == exactly(0.05)

    by_thin = analysis(values, baseline="thin", floor="limit", kinds=bare)
    assert by_thin.rankings["hop_ns", P].order == ("thinner", "thin", "plain", "other", "limit")
    assert by_thin.behind_best[P]["thin"] == exactly(2.0)


def test_an_experiment_may_name_metrics_and_pairs() -> None:
    values = {(name, P): {"hop_ns": scaled(5), "memory_bytes": scaled(2)} for name in ("a", "b", "c")}
    chosen = analysis(values, metrics=["memory_bytes", "hop_ns"], ratios=[("c", "b")], baseline="b")
    assert chosen.metrics == (MEMORY, HOP)
    assert chosen.pairs == (("c", "b"),)
    assert [each.contender for each in chosen.shown_comparisons()] == ["c", "c"]
    assert chosen.comparison(HOP, "a", "b", P)


def noisy(metrics: Mapping[str, float], seed: str) -> dict[str, tuple[float, ...]]:
    """Seven blocks of each metric, with noise of its own of 20 %."""
    dice = random.Random(seed)
    return {name: tuple(value * dice.uniform(0.8, 1.2) for _ in NOISE) for name, value in metrics.items()}


class OneFamily(Compared):
    one_family = True


@pytest.mark.parametrize(("measurement", "confirmatory"), [(Compared(), 1), (OneFamily(), 2)])
def test_the_headline_at_all_points_is_one_family_and_other_metrics_have_their_own(
    measurement: Exact, confirmatory: int
) -> None:
    """Pairs of contenders that are not shown are of the family too."""
    values = {
        (name, place): noisy({"hop_ns": 100.0, "rate": 50.0}, f"{name} {place}")
        for name in ("a", "b", "c")
        for place in (P, Q)
    }
    result = analysis(values, measurement=measurement)
    assert result.confirmatory == confirmatory
    logs = {
        (metric, place, one, other): log_ratios(
            *(result.cell(name, place).by_block[metric] for name in (one, other))
        )
        for metric in ("hop_ns", "rate")
        for place in (P, Q)
        for one, other in (("b", "a"), ("c", "a"), ("c", "b"))
    }
    for metrics in (("hop_ns", "rate"),) if confirmatory == 2 else (("hop_ns",), ("rate",)):
        family = {key: each for key, each in logs.items() if key[0] in metrics}
        adjusted = adjusted_p_values(family, range(1, 8))
        for (metric, place, one, other), p in adjusted.items():
            if other == "a":
                comparison = result.comparison(result.measurement.metric(metric), one, "a", place)
                assert comparison
                assert comparison.p == p


def deciding(
    blocks: int, *, until_decided: bool = True, ended: bool = True, planned_blocks: int = 40
) -> RunAnalysis:
    """A run in which `far` is told apart at the first look, and dropped if need be; `open` differs by 3 %,
    and its noise is about as large."""
    ratios = (1.06, 0.99, 1.02, 1.07, 0.98, 1.05, 1.04, 1.03, 1.01, 1.055, 1.045, 1.025)
    trials = []
    for block, ratio in enumerate(ratios[:blocks], 1):
        trials.append(ok(block, "base", P, hop_ns=100.0, rate=7 + block / 9))
        trials.append(ok(block, "open", P, hop_ns=100 * ratio, rate=7.1 + block / 8))
        if block <= 7 or not until_decided:
            trials.append(ok(block, "far", P, hop_ns=200.0 + block, rate=9 + block / 5))
    run = planned(
        ["base", "far", "open"], [P], blocks=planned_blocks, ended=ended, until_decided=until_decided
    )
    return analyse(run, trials, Compared())


def test_a_run_that_ends_once_all_is_decided_takes_its_looks_again() -> None:
    """`far` is decided after seven blocks, and the others go on; the blocks without it are whole."""
    result = deciding(12)
    assert result.blocks_done == 12
    far, open_ = (result.comparison(HOP, name, "base", P) for name in ("far", "open"))
    assert far
    assert open_
    assert (far.verdict, far.p, far.ratio.n) == (Verdict.SLOWER, 1 / 64, 7)
    # At the third look p is above 0.5 %; the last one may claim 1.5 % instead.
    assert 0.005 < open_.p <= 0.015
    assert open_.verdict is Verdict.SLOWER
    # Its intervals are those of 97 %, in every metric.
    for metric in (HOP, RATE):
        comparison = result.comparison(metric, "open", "base", P)
        assert comparison
        base, open_blocks = (result.cell(name, P).by_block[metric.name] for name in ("base", "open"))
        assert comparison.ratio == paired_ratio(open_blocks, base, SEQUENTIAL_CONFIDENCE)


def test_what_an_unfinished_run_has_not_decided_is_unfinished() -> None:
    """After eight blocks one look has been taken, after seven. Other metrics wait for the end."""
    result = deciding(8, ended=False)
    assert result.blocks_done == 8
    comparisons = {f"{each.metric} {each.contender}": each for each in result.shown_comparisons()}
    assert comparisons["hop_ns far"].verdict is Verdict.SLOWER
    for name in ("hop_ns open", "rate far", "rate open"):
        comparison = comparisons[name]
        assert (comparison.verdict, comparison.obstacle) == (Verdict.INCONCLUSIVE, Obstacle.UNFINISHED), name
    over = deciding(8).comparison(HOP, "open", "base", P)
    assert over
    assert (over.verdict, over.obstacle) == (Verdict.INCONCLUSIVE, None)


def test_a_run_with_all_of_its_blocks_has_one_look() -> None:
    result = deciding(12, until_decided=False, planned_blocks=12)
    open_ = result.comparison(HOP, "open", "base", P)
    assert open_
    assert open_.verdict is Verdict.SLOWER
    base, blocks = (result.cell(name, P).by_block["hop_ns"] for name in ("base", "open"))
    assert open_.ratio == paired_ratio(blocks, base, 0.95)
    before = deciding(11, until_decided=False, planned_blocks=12, ended=False)
    assert {each.obstacle for each in before.shown_comparisons()} == {Obstacle.UNFINISHED}


def test_the_share_of_failures_of_a_cell(small: RunAnalysis) -> None:
    erlang: Values = (*scaled(2)[:5], None, None)
    result = analysis({("go", P): {"hop_ns": scaled(1)}, ("erlang", P): {"hop_ns": erlang}})
    assert result.failed_share(HOP, Cell("erlang", P)) == near(2 / 7)
    assert result.failed_share(HOP, Cell("go", P)) == 0
    comparison = result.comparison(HOP, "erlang", "go", P)
    assert comparison
    assert (comparison.verdict, comparison.obstacle) == (Verdict.INCONCLUSIVE, Obstacle.FAILED_BLOCKS)
    assert Diagnostic("failed-blocks", ("erlang / go",)) in result.diagnostics
    assert all(small.failed_share(HOP, cell) == 0 for cell in small.cells)


def test_a_run_until_intervals_are_narrow_widens_all_of_them() -> None:
    """Speed-ups, too."""
    blocks = 10
    ones = [100.0] * blocks
    spread = [110.0 + number for number in range(blocks)]
    places = {cores: point(cores=cores) for cores in (1, 2)}

    class Scaling(Exact):
        scaling_laws = (ScalingLaw("cores", HOP.name, kind="cores"),)

    def narrow(until: float | None) -> RunAnalysis:
        values = {
            ("base", places[1]): {"hop_ns": spread},
            ("base", places[2]): {"hop_ns": ones},
            ("limit", places[1]): {"hop_ns": ones},
            ("limit", places[2]): {"hop_ns": ones},
        }
        return analysis(values, measurement=Scaling(), until=until, floor="limit")

    numbered = [dict(enumerate(each)) for each in (spread, ones)]
    expected = paired_ratio(numbered[0], numbered[1], SEQUENTIAL_CONFIDENCE)
    assert expected
    plain, sequential = narrow(None), narrow(0.05)
    for run, same in ((plain, False), (sequential, True)):
        ratios = [
            run.cores_scaling[0].rows[0].speed_ups[2],
            run.floor_ratios["hop_ns", places[1]]["base"],
        ]
        for ratio in ratios:
            assert (ratio.low == near(expected.low)) is same
    first = sequential.comparison(HOP, "limit", "base", places[1])
    assert first
    assert first.p == 2 / 2**10
    assert first.ratio.high == near(1 / (expected.low or 0))


def test_a_run_until_intervals_are_narrow_may_claim_less() -> None:
    """Seven blocks, one of which disagrees by little: p is 2/64, which is more than 3 %."""
    fast = [50.0, 51.0, 49.0, 52.0, 48.0, 100.1, 53.0]
    values = {("base", P): {"hop_ns": [100.0] * 7}, ("fast", P): {"hop_ns": fast}}
    plain, narrow = (
        analysis(values, until=until).comparison(HOP, "fast", "base", P) for until in (None, 0.05)
    )
    assert plain
    assert narrow
    assert (plain.p, plain.verdict) == (2 / 64, Verdict.FASTER)
    assert (narrow.p, narrow.verdict) == (2 / 64, Verdict.INCONCLUSIVE)


# --- trials ----------------------------------------------------------------------------------------


def test_of_trials_that_were_carried_out_again_the_last_counts() -> None:
    run = planned(["go", "erlang"], [P])
    trials = [
        dataclasses.replace(ok(1, "go", P), outcome=Outcome.PROBE_FAILED, detail="no probe"),
        ok(1, "erlang", P, hop_ns=20),
        ok(1, "go", P, hop_ns=10),
        dataclasses.replace(ok(2, "go", P), outcome=Outcome.INTERRUPTED),
        dataclasses.replace(ok(2, "go", P), outcome=Outcome.INTERRUPTED),
        ok(2, "go", P, hop_ns=30),
        dataclasses.replace(ok(2, "erlang", P), outcome=Outcome.CRASHED, detail="exit status 1"),
    ]
    result = analyse(run, trials, Exact())
    assert result.trials == (trials[1], trials[2], trials[5], trials[6])
    assert result.trials == tuple(without_repeated(trials))
    go, erlang = result.cell("go", P), result.cell("erlang", P)
    assert (go.outcomes, go.by_block["hop_ns"], go.reason) == ({Outcome.OK: 2}, {1: 10.0, 2: 30.0}, "")
    assert erlang.outcomes == {Outcome.OK: 1, Outcome.CRASHED: 1}
    assert (result.trial_count, result.blocks_done) == (4, 2)


@pytest.mark.parametrize(
    ("last", "done"),
    [
        ([], 1),
        # The second block was cut off before, in and after its last trial.
        ([("go", Outcome.OK)], 1),
        ([("go", Outcome.OK), ("erlang", Outcome.INTERRUPTED)], 1),
        ([("go", Outcome.OK), ("erlang", Outcome.OK)], 2),
        # It has all its trials, whatever came of them.
        ([("go", Outcome.OK), ("erlang", Outcome.CRASHED)], 2),
        ([("go", Outcome.PROBE_FAILED), ("erlang", Outcome.TIMED_OUT)], 2),
    ],
)
def test_a_block_that_was_cut_off_is_not_done(last: Sequence[tuple[str, Outcome]], done: int) -> None:
    """A contender that was unavailable has no trial in any block."""
    run = planned(["go", "erlang", "gone"], [P], ended=False)
    missing = Trial(0, 0, Cell("gone", P), Outcome.UNAVAILABLE, "no compiler")
    first = [ok(1, name, P, hop_ns=1) for name in ("go", "erlang")]
    second = [dataclasses.replace(ok(2, name, P), outcome=outcome) for name, outcome in last]
    result = analyse(run, [missing, *first, *second], Exact())
    assert result.blocks_done == done
    assert result.trial_count == 2 + len(last)
    assert result.diagnostics[0] == Diagnostic("too-few-blocks", values={"blocks": done, "needed": 7})
    assert Diagnostic("unfinished", values={"run": "run-2"}) in result.diagnostics


def test_a_first_block_that_was_cut_off_is_not_done() -> None:
    run = planned(["go", "erlang"], [P, Q])
    assert analyse(run, [ok(1, "go", P, hop_ns=1)], Exact()).blocks_done == 0
    assert analyse(run, [], Exact()).blocks_done == 0
    missing = [
        Trial(0, 0, Cell(name, place), Outcome.UNAVAILABLE, "")
        for name in ("go", "erlang")
        for place in (P, Q)
    ]
    assert analyse(run, missing, Exact()).blocks_done == 0


def test_a_run_without_trials_has_no_figures() -> None:
    result = analyse(planned(["go", "erlang"], [P], ended=False), [], Exact())
    assert not result.is_complete
    assert result.cell("go", P).reason == "no trial yet"
    assert result.comparison(HOP, "erlang", "go", P) is None
    assert list(result.shown_comparisons()) == []
    assert result.rankings["hop_ns", P] == Ranking(("go", "erlang"), {})
    assert (result.timelines, result.spans, result.warm_ups, result.slopes) == ({}, {}, (), ())


class Pictures(Exact):
    """Each trial has a time line and a span, by its block."""

    def timeline_of(self, trial: Trial) -> Timeline | None:
        series = TimeSeries((0.0,), (1.0,))
        return Timeline(trial.block, (0.0, 1.0), {}, series, series, series)

    def spans_of(self, trial: Trial) -> tuple[Span, ...]:
        return (Span(trial.block, 0.0, 1.0),)


def test_the_trial_in_the_middle_is_shown_over_time() -> None:
    """The best is in the first block, the worst in the third."""
    hops = [1.0, 3.0, 9.0, 2.0, 4.0]
    result = analyse(
        planned(["go"], [P]),
        [ok(block, "go", P, hop_ns=hop) for block, hop in enumerate(hops, 1)],
        Pictures(),
    )
    assert [(cell, line.block) for cell, line in result.timelines.items()] == [(Cell("go", P), 2)]
    assert result.spans == {Cell("go", P): (Span(2, 0.0, 1.0),)}


# --- what a workload wants besides -----------------------------------------------------------------


class Batch(Exact):
    """Laws over cores and cases, and a breakdown."""

    scaling_laws = (
        ScalingLaw("cores", HOP.name, kind="cores"),
        ScalingLaw("cases", HOP.name),
        ScalingLaw("mode", HOP.name),
    )
    breakdown = (CPU.name, MEMORY.name)
    slopes = (Slope("per_case", "ns", "Per case", "", over="cases", metric=HOP.name),)

    def diagnosis(self, contender: str, point: Point, figures: Mapping[str, Interval]) -> str | None:
        return f"{contender} on {point['cores']}: {figures[HOP.name].estimate}" if contender == "go" else None


def batch(cores: Sequence[int], cases: Sequence[int], **options: Any) -> RunAnalysis:
    places = [point(cores=some, cases=many, mode="x") for some in cores for many in cases]
    values = {
        (name, place): {
            "hop_ns": scaled(per * int(place["cases"]) / int(place["cores"])),
            "cpu_s": scaled(per),
        }
        for name, per in (("go", 2.0), ("erlang", 4.0))
        for place in places
    }
    return analysis(values, measurement=Batch(), **options)


def test_where_the_time_went_is_shown_at_the_most_cores() -> None:
    rows = batch((1, 2, 4), (100, 200)).breakdown
    assert [(row.cell.contender, row.cell.point["cores"], row.cell.point["cases"]) for row in rows] == [
        (name, 4, cases) for cases in (100, 200) for name in ("go", "erlang")
    ]
    assert [row.diagnosis for row in rows] == ["go on 4: 50.0", None, "go on 4: 100.0", None]
    # What there is no figure of is left out.
    assert [{name: each.estimate for name, each in row.figures.items()} for row in rows[:2]] == [
        {"cpu_s": 2.0},
        {"cpu_s": 4.0},
    ]


def test_where_the_time_went_on_one_number_of_cores_and_in_failures() -> None:
    rows = batch((2,), (100, 200), failed=[("limit", point(cores=2, cases=100, mode="x"))]).breakdown
    assert len(rows) == 4
    assert analysis({("go", P): {"hop_ns": scaled(1)}}).breakdown == ()


def test_laws_apply_to_numbers_that_vary() -> None:
    both = batch((1, 2, 4), (100, 200))
    assert [(each.law.over, each.fixed["cases"]) for each in both.cores_scaling] == [
        ("cores", 100),
        ("cores", 200),
    ]
    assert [table.law.over for table in both.growth] == ["cases"]
    assert both.growth[0].exponents["go", both.growth[0].settings[0]].estimate == near(1.0)
    assert both.cores_scaling[0].rows[0].speed_ups[4].estimate == near(4.0)
    one = batch((1,), (100,))
    assert (one.cores_scaling, one.growth) == ((), ())
    named = analysis(
        {("go", point(cores=1, cases=1, mode=mode)): {"hop_ns": scaled(1)} for mode in ("x", "y")},
        measurement=Batch(),
    )
    assert (named.cores_scaling, named.growth) == ((), ())
    mixed = analysis(
        {("go", point(cores=1, cases=cases, mode="x")): {"hop_ns": scaled(1)} for cases in (1, "all")},
        measurement=Batch(),
    )
    assert mixed.growth == ()


def test_slopes() -> None:
    result = batch((1,), (100, 200))
    assert [(each.contender, each.fixed) for each in result.slopes] == [
        (name, point(cores=1, mode="x")) for name in ("go", "erlang")
    ]
    assert [each.value.estimate for each in result.slopes] == near([2.0, 4.0])


@pytest.mark.parametrize(
    ("cores", "cases", "sweep", "swept"),
    [
        ((1, 2), (100, 200), None, None),
        ((1, 2, 4), (100, 200), None, "cores"),
        ((1, 2, 4), (100, 200, 300, 400), None, "cases"),
        ((1, 2, 4), (100, 200), "cases", "cases"),
        # It cannot be swept where it has but one level.
        ((1, 2, 4), (100,), "cases", "cores"),
        ((1,), (100, 200), "cases", "cases"),
        ((1,), (100,), None, None),
    ],
)
def test_the_factor_that_is_swept(
    cores: Sequence[int], cases: Sequence[int], sweep: str | None, swept: str | None
) -> None:
    class Plain(Exact):
        pass

    places = [point(cores=some, cases=many) for some in cores for many in cases]
    run = planned(["go"], places, show=Show(sweep=sweep))
    assert analyse(run, [], Plain()).swept == swept


def test_texts_are_not_swept() -> None:
    places = [point(mode=mode) for mode in ("x", "y", "z", "a")]
    assert analyse(planned(["go"], places), [], Exact()).swept is None
    mixed = [point(workers=workers) for workers in (1, 2, "cores")]
    assert analyse(planned(["go"], mixed), [], Exact()).swept is None


# --- real workloads --------------------------------------------------------------------------------


def test_a_ring(store: Store) -> None:
    result = of_run(store, make_run(store, experiment()))
    hop = result.measurement.metric("hop_ns")
    assert result.metrics[0] == hop
    for place in result.points:
        go = result.comparison(hop, "go", "erlang", place)
        limit = result.comparison(hop, "limit", "erlang", place)
        assert go
        assert limit
        assert go.verdict is Verdict.SLOWER
        assert go.ratio.estimate == near(155 / 95, rel=0.2)
        assert limit.verdict is Verdict.FASTER
    assert result.is_complete
    assert result.diagnostics == ()
    assert result.floor == "limit"


def test_memory_per_unit_is_a_slope(store: Store) -> None:
    changed = experiment("ring-fixed-messages", contenders=("go", "limit"), baseline="go", blocks=3)
    result = of_run(store, make_run(store, changed))
    (go,) = (each for each in result.slopes if each.contender == "go")
    assert go.value.estimate == near(2750, rel=0.1)


def test_a_contender_with_failures_keeps_the_figures_of_its_other_blocks(store: Store) -> None:
    result = of_run(store, make_run(store, experiment(blocks=7), crashed={"go": 3}))
    cell = result.cell("go", result.points[0])
    assert cell.outcomes == {Outcome.CRASHED: 3, Outcome.OK: 4}
    assert cell.metrics["hop_ns"].n == 4
    assert cell.metrics["hop_ns"].low is None
    assert cell.reason == "crashed: exit status 1"
    assert cell.stderr == "Traceback:\nValueError: no\n"
    comparison = result.comparison(result.headline, "go", "erlang", result.points[0])
    assert comparison
    assert comparison.ratio.n == 4
    assert (comparison.verdict, comparison.obstacle) == (Verdict.INCONCLUSIVE, Obstacle.FAILED_BLOCKS)
    assert result.is_complete


def test_cells_without_figures_have_reasons(store: Store) -> None:
    result = of_run(store, make_run(store, experiment(blocks=7), crashed={"go": 7}, unavailable=("erlang",)))
    assert not result.is_complete
    assert result.cell("go", result.points[0]).outcomes == {Outcome.CRASHED: 7}
    erlang = result.cell("erlang", result.points[0])
    assert erlang.outcomes == {Outcome.UNAVAILABLE: 1}
    assert erlang.reason == "unavailable: erl: not found; apt-get install erlang"
    assert result.comparison(result.headline, "go", "erlang", result.points[0]) is None
    assert result.blocks_done == 7
    assert result.trial_count == 7 * 4 * 7


def test_too_few_blocks_and_a_run_that_was_cut_off(store: Store) -> None:
    run = make_run(store, experiment(), blocks=2, ended=False)
    result = of_run(store, run)
    assert result.diagnostics == (
        Diagnostic("too-few-blocks", values={"blocks": 2, "needed": 7}),
        Diagnostic("unfinished", values={"run": run.id}),
    )
    assert {each.obstacle for each in result.shown_comparisons()} == {Obstacle.TOO_FEW_BLOCKS}


def test_where_the_time_of_a_batch_went(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(runs.HOST, "cpus", 8)
    changed = experiment("batch-cores", factors={"cases": 5_000_000, "cores": (1, 8)}, blocks=2)
    rows = of_run(store, make_run(store, changed, noise=0.01)).breakdown
    assert len(rows) == 9
    assert {row.cell.point["cores"] for row in rows} == {8}
    (processes,) = (row for row in rows if row.cell.contender == "python-processes")
    assert processes.diagnosis
    assert processes.diagnosis.startswith(
        "python-processes: reading by one unit takes 85% of the wall time, writing 2%; its 8 cores are busy"
    )
    assert processes.figures["read_share"].estimate == near(0.85)


def test_growth_of_a_batch_has_a_power_for_each_factor(store: Store) -> None:
    result = of_run(store, make_run(store, experiment("batch-growth", blocks=7), noise=0.01))
    cases, size = result.growth
    assert (cases.law.over, size.law.over) == ("cases", "size")
    # 0.02 s of start-up beside 0.1 s and more of work.
    erlang = [power.estimate for (name, _), power in cases.exponents.items() if name == "erlang"]
    assert erlang
    assert all(0.8 < power <= 1.02 for power in erlang)
    # The size of cases does not matter in the made-up trials.
    assert all(abs(power.estimate) < 0.1 for power in size.exponents.values())


def test_spans_of_traced_jobs(store: Store) -> None:
    factors = {"jobs": 6, "kind": "cpu", "workers": "cores", "cores": (1, 2), "trace": 1}
    result = of_run(store, make_run(store, experiment("jobs-cpu", factors=factors, blocks=2)))
    spans = {cell.point["cores"]: spans for cell, spans in result.spans.items()}
    assert {cores: len({span.unit for span in each}) for cores, each in spans.items()} == {1: 1, 2: 2}
    assert all(len(each) == 6 for each in spans.values())


def test_warm_ups_of_a_ring(store: Store) -> None:
    pytest.importorskip("ruptures")
    factors = {"nodes": 100, "messages": 100, "repeats": 20}
    run = make_run(
        store, experiment(contenders=("erlang", "go"), baseline="erlang", factors=factors, blocks=2)
    )
    assert of_run(store, run).warm_ups == ()
    rng = random.Random(6)
    trials = [
        dataclasses.replace(
            trial, phases={"relay": tuple(round(1e6 * rng.uniform(0.99, 1.01)) for _ in range(20))}
        )
        for trial in store.trials(run)
    ]
    warm_ups = analyse_run(run, trials).warm_ups
    assert {each.cell.contender for each in warm_ups} == {"erlang", "go"}
    assert all(len(each.series) == 2 and each.steady == near(100, rel=0.01) for each in warm_ups)


def test_time_lines_need_samples(store: Store) -> None:
    feed = make_run(store, experiment("feed-quick", blocks=3))
    assert needs_samples(feed)
    assert not needs_samples(make_run(store, experiment(blocks=1)))
    result = of_run(store, feed)
    assert set(result.timelines) == set(result.cells)
    assert analyse_run(feed, store.trials(feed)).timelines == {}


def test_a_run_that_cannot_be_read() -> None:
    with pytest.raises(UsageError, match="no workload `exact`"):
        analyse_run(planned(["go"], [P]), [])
    run = planned(["go"], [P])
    with pytest.raises(StoreError, match="version 99"):
        analyse_run(dataclasses.replace(run, plan={**run.plan, "version": 99}), [])


# --- `vs` and `load --vs` --------------------------------------------------------------------------

SEVEN = [0.100, 0.101, 0.103, 0.099, 0.102, 0.098, 0.105]


def execution(
    block: int, name: str, wall_s: float, outcome: Outcome = Outcome.OK, detail: str = "", **report: Any
) -> Trial:
    """A command whose CPU time is nine tenths of its wall time."""
    facts = {
        "wall_ns": round(wall_s * 1e9),
        "cpu_user_ns": round(wall_s * 8e8),
        "cpu_system_ns": round(wall_s * 1e8),
        "peak_pss_bytes": 1_000_000,
        "output": ProgramOutput(sha256="x"),
        **report,
    }
    return Trial(block, 0, Cell(name, HERE), outcome, detail, report=TrialOutcome("ok", **facts))


def commands(walls_s: Mapping[str, Sequence[float]], **of_last: Any) -> RunAnalysis:
    """`vs` of commands with these times; `of_last` concerns the last of them."""
    names = tuple(walls_s)
    trials = [
        execution(block, name, wall_s, **(of_last if name == names[-1] else {}))
        for name, each in walls_s.items()
        for block, wall_s in enumerate(each, 1)
    ]
    return analyse_run(planned(names, [HERE], workload=COMMAND.name), trials)


def verdicts(result: RunAnalysis) -> dict[tuple[str, str], Verdict]:
    return {(each.contender, each.metric): each.verdict for each in result.shown_comparisons()}


def test_commands_are_compared_by_time_and_memory() -> None:
    result = commands({"A": SEVEN, "B": [value / 1.07 for value in SEVEN]})
    assert verdicts(result) == {
        ("B", "wall_s"): Verdict.FASTER,
        ("B", "cpu_s"): Verdict.FASTER,
        ("B", "peak_pss_bytes"): Verdict.INCONCLUSIVE,
    }
    comparison = result.comparison(result.headline, "B", "A", HERE)
    assert comparison
    assert comparison.ratio.estimate == near(1 / 1.07)
    cell = result.cell("A", HERE)
    assert {name: each.estimate for name, each in cell.metrics.items()} == near(
        {"wall_s": 0.101, "cpu_s": 0.0909, "user_s": 0.0808, "system_s": 0.0101, "peak_pss_bytes": 1e6}
    )
    assert result.diagnostics == (Diagnostic("same-values", ("B / A",)),)
    slower = commands({"A": SEVEN, "B": [value * 2 for value in SEVEN]})
    assert verdicts(slower)["B", "wall_s"] is Verdict.SLOWER
    assert verdicts(commands({"A": SEVEN, "B": SEVEN[::-1]}))["B", "wall_s"] is Verdict.EQUIVALENT


def test_few_executions_have_no_verdict() -> None:
    result = commands({"A": SEVEN[:3], "B": SEVEN[:3]})
    assert {each.obstacle for each in result.shown_comparisons()} == {Obstacle.TOO_FEW_BLOCKS}
    assert result.diagnostics == (Diagnostic("too-few-blocks", values={"blocks": 3, "needed": 7}),)


def test_commands_have_intervals_of_ranks() -> None:
    def ranks(result: RunAnalysis) -> Mapping[str, tuple[int, int]]:
        return result.rankings["wall_s", HERE].ranks

    assert ranks(commands({"A": SEVEN, "B": [value * 2 for value in SEVEN]})) == {"A": (1, 1), "B": (2, 2)}
    assert ranks(commands({"A": SEVEN, "B": SEVEN[::-1]})) == {"A": (1, 2), "B": (1, 2)}
    three = commands({"A": [value * 2 for value in SEVEN], "B": SEVEN, "C": SEVEN[::-1]})
    assert ranks(three) == {"B": (1, 2), "C": (1, 2), "A": (3, 3)}


def test_memory_that_was_not_observed_is_not_compared() -> None:
    result = commands({"A": SEVEN, "B": SEVEN}, peak_pss_bytes=None)
    assert "peak_pss_bytes" not in result.cell("B", HERE).metrics
    assert result.comparison(result.measurement.metric("peak_pss_bytes"), "B", "A", HERE) is None
    assert result.is_complete


def test_weak_points_of_commands() -> None:
    """Both commands are the same, which their comparisons say."""

    def codes(result: RunAnalysis) -> list[tuple[str, tuple[str, ...]]]:
        return [(each.code, each.subjects) for each in result.diagnostics if each.code != "same-values"]

    assert codes(commands({"A": SEVEN, "B": SEVEN}, output=ProgramOutput(sha256="y"))) == [
        ("unequal-output", ("B",))
    ]
    failed = commands({"A": SEVEN, "B": SEVEN}, detail="exit status 1")
    assert codes(failed) == [("failures", ("B",))]
    assert failed.diagnostics[-1].values == {"counts": {"B": 7}}
    short = [value / 100 for value in SEVEN]
    assert codes(commands({"A": short, "B": SEVEN})) == [("short", ("A",))]
    drifting = [execution(block, "A", 0.1, reference_ns=5_000_000 * block) for block in range(1, 7)]
    assert codes(analyse_run(planned(["A"], [HERE], workload=COMMAND.name), drifting)) == [("drift", ())]


def test_commands_on_chosen_cpus_share_no_cores() -> None:
    """`vs --cpus 0`: all of what it may use."""
    run = planned(["A"], [HERE], workload=COMMAND.name)
    run = dataclasses.replace(run, host={**run.host, "cpus_usable": [0]})
    trials = [dataclasses.replace(execution(block, "A", 0.1), cpus=(0,)) for block in range(1, 7)]
    assert analyse_run(run, trials).diagnostics == ()


def load(block: int, name: str, rate: float, p50_ms: int, *codes: str, **load_facts: Any) -> Trial:
    """A load with this rate and median latency; the p99 is three times the median."""
    latency = LatencySummary(count=100, p50_ns=p50_ms * 10**6, p99_ns=3 * p50_ms * 10**6)
    warnings = tuple(EngineWarning(code, f"text of {code}", "remedy") for code in codes)
    message = LoadMessage(
        **{
            "step": "measured",
            "name": "all",
            "requests": 100,
            "achieved_rate_per_s": rate,
            "histograms": {"latency": latency},
            "warnings": warnings,
            **load_facts,
        }
    )
    return Trial(block, 0, Cell(name, HERE), Outcome(message.outcome), message.detail, loads=(message,))


def targets(trials: Sequence[Trial], **show: Any) -> RunAnalysis:
    return analyse_run(planned(["old", "new"], [HERE], workload=TARGET.name, show=Show(**show)), trials)


def test_targets_are_compared_by_rate_and_latency() -> None:
    """The new one answers twice as many requests in twice the time."""
    trials = [
        load(block, name, (500 + block) * factor, (20 + block) * factor)
        for block in range(1, 8)
        for name, factor in (("old", 1), ("new", 2))
    ]
    result = targets(trials)
    assert verdicts(result) == {
        ("new", "rate"): Verdict.FASTER,
        ("new", "latency_p50"): Verdict.SLOWER,
        ("new", "latency_p99"): Verdict.SLOWER,
    }
    assert result.rankings["rate", HERE] == Ranking(("new", "old"), {"new": (1, 1), "old": (2, 2)})
    assert result.rankings["latency_p99", HERE] == Ranking(("old", "new"), {"old": (1, 1), "new": (2, 2)})
    assert {name: each.estimate for name, each in result.cell("old", HERE).metrics.items()} == {
        "rate": 504.0,
        "latency_p50": 24e6,
        "latency_p99": 72e6,
    }
    assert (result.diagnostics, result.blocks_done, result.trial_count) == ((), 7, 14)
    # An open loop has a rate of its own.
    open_loop = targets(trials, metrics=("latency_p50",))
    assert verdicts(open_loop) == {("new", "latency_p50"): Verdict.SLOWER}


def test_weak_points_of_targets() -> None:
    trials = [
        *(load(block, "old", 500, 20, "generator-bound", "short-run") for block in range(1, 7)),
        *(load(block, "new", 500, 20) for block in range(1, 6)),
        load(6, "new", 0, 1, outcome="load-failed", detail="refused", requests=0),
    ]
    held_back, failed, bound = targets(trials).diagnostics
    assert (held_back.code, held_back.subjects) == ("failed-blocks", ("new / old",))
    assert (failed.code, failed.subjects, failed.values) == ("load-failed", ("new",), {"runs": 1})
    assert (bound.code, bound.subjects, bound.values) == ("generator-bound", ("old",), {"runs": 6})
    assert targets(trials).cell("new", HERE).outcomes == {Outcome.OK: 5, Outcome.LOAD_FAILED: 1}
