"""The analysis of a whole run."""

from __future__ import annotations

import dataclasses

import pytest

from ringside.analysis.comparisons import Ranking
from ringside.analysis.run import RunAnalysis
from ringside.measure.runs.loop import blocks
from ringside.model.design import Cell, Point
from ringside.model.results import (
    Outcome,
    Trial,
    Verdict,
)
from ringside.probe.protocol import TrialOutcome
from tests.support.analyses import (
    HOP,
    RATE,
    Compared,
    Exact,
    analyse,
    analysis,
    exactly,
    near,
    planned,
    point,
    scaled,
    whole,
)

P, Q = point(nodes=10, mode="x"), point(nodes=20, mode="x")
HERE = Point(())


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
