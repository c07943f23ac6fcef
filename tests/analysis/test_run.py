"""The analysis of a whole run."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping, Sequence

import pytest

from ringside.analysis.comparisons import Ranking
from ringside.analysis.run import RunAnalysis
from ringside.measure.loop import blocks
from ringside.model.catalogue import ContenderClass
from ringside.model.design import Cell, Point
from ringside.model.results import (
    Diagnostic,
    Obstacle,
    Outcome,
    Trial,
    Verdict,
    counted,
)
from ringside.probe.protocol import TrialOutcome
from ringside.stats.paired import log_ratios, paired_ratio
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE
from ringside.workloads.base import ScalingLaw
from tests.support.analyses import (
    HOP,
    MEMORY,
    NOISE,
    RATE,
    Exact,
    analyse,
    analysis,
    exactly,
    near,
    ok,
    planned,
    point,
    scaled,
    whole,
)
from tests.support.p_values import adjusted_p_values

P, Q = point(nodes=10, mode="x"), point(nodes=20, mode="x")
HERE = Point(())


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
    bare: dict[str, ContenderClass] = {"thin": "bare", "thinner": "bare"}

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
    """Pairs that are not shown are of another one, for ranks."""
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
        for one, other in (("b", "a"), ("c", "a"))
    }
    for metrics in (("hop_ns", "rate"),) if confirmatory == 2 else (("hop_ns",), ("rate",)):
        family = {key: each for key, each in logs.items() if key[0] in metrics}
        adjusted = adjusted_p_values(family, range(1, 8))
        for (metric, place, one, other), p in adjusted.items():
            comparison = result.comparison(result.measurement.metric(metric), one, other, place)
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
    # Of the third look, which is the last one planned.
    assert 0.0225 < open_.p <= 0.025
    assert open_.verdict is Verdict.SLOWER
    # Its intervals are those of 97 %, in every metric.
    for metric in (HOP, RATE):
        comparison = result.comparison(metric, "open", "base", P)
        assert comparison
        base, open_blocks = (result.cell(name, P).by_block[metric.name] for name in ("base", "open"))
        assert comparison.ratio == paired_ratio(open_blocks, base, SEQUENTIAL_CONFIDENCE)


def test_what_an_unfinished_run_has_not_decided_is_unfinished() -> None:
    """After eight blocks one look has been taken, after seven, at other metrics too."""
    result = deciding(8, ended=False)
    assert result.blocks_done == 8
    comparisons = {f"{each.metric} {each.contender}": each for each in result.shown_comparisons()}
    assert comparisons["hop_ns far"].verdict is Verdict.SLOWER
    assert comparisons["rate far"].verdict is Verdict.FASTER
    open_ = comparisons["hop_ns open"]
    assert (open_.verdict, open_.obstacle) == (Verdict.INCONCLUSIVE, Obstacle.UNFINISHED)
    over = deciding(8).comparison(HOP, "open", "base", P)
    assert over
    assert (over.verdict, over.obstacle) == (Verdict.INCONCLUSIVE, None)


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
    assert result.trials == tuple(counted(trials))
    go, erlang = result.cell("go", P), result.cell("erlang", P)
    assert (go.outcomes, go.by_block["hop_ns"], go.reason) == ({Outcome.OK: 2}, {1: 10.0, 2: 30.0}, "")
    assert erlang.outcomes == {Outcome.OK: 1, Outcome.CRASHED: 1}
    assert (result.trial_count, result.blocks_done) == (4, 2)


def test_an_interruption_does_not_take_the_place_of_a_trial_that_counts() -> None:
    """As a Ctrl-C at the wrong moment once left it: the resume does not carry it out again."""
    whole = ok(1, "go", P, hop_ns=10)
    assert counted([whole, dataclasses.replace(whole, outcome=Outcome.INTERRUPTED)]) == [whole]


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
    assert result.diagnostics[0] == Diagnostic(
        "too-few-blocks", values={"blocks": done, "needed": 7, "option": "--blocks"}
    )
    assert Diagnostic("unfinished", values={"run": "run-2"}) in result.diagnostics


def test_a_run_without_trials_has_no_figures() -> None:
    result = analyse(planned(["go", "erlang"], [P], ended=False), [], Exact())
    assert not result.is_complete
    assert result.cell("go", P).reason == "no trial yet"
    assert result.comparison(HOP, "erlang", "go", P) is None
    assert list(result.shown_comparisons()) == []
    assert result.rankings["hop_ns", P] == Ranking(("go", "erlang"), {})
    assert (result.timelines, result.spans, result.warm_ups, result.slopes) == ({}, {}, (), ())


def test_a_program_beside_itself() -> None:
    """The last cell of a block is the first of the next: with figures that grow by 1 % from trial to trial,
    every other pair turned around, the ratio is nearly 1; six pairs of seven blocks have an interval."""
    made = analysis({("a", P): {"hop_ns": scaled(1.0)}, ("b", P): {"hop_ns": scaled(1.0)}})
    assert made.control is None
    order = [cell for block in blocks((P,), ("a", "b"), 7, 1) for cell in block.cells]
    trials = [
        Trial(1 + n // 2, n % 2, cell, Outcome.OK, "", phases={"hop_ns": (round(1e9 * 1.01**n),)})
        for n, cell in enumerate(order)
    ]
    control = whole(analyse(made.run, trials, made.measurement).control)
    assert (control.estimate, control.low, control.high, control.n) == (
        near(1.0),
        near(1 / 1.01),
        near(1.01),
        6,
    )
    # Six blocks have five pairs, another order none.
    assert analyse(made.run, trials[:12], made.measurement).control is None
    other = [dataclasses.replace(trial, position=int(trial.cell.contender == "b")) for trial in trials]
    assert analyse(made.run, other, made.measurement).control is None
    # In earlier versions a cell followed itself by chance.
    before = dataclasses.replace(made.run, plan={**made.run.plan, "version": 3})
    assert analyse(before, trials, made.measurement).control is None
