"""The analysis of whole runs: of experiments, commands and targets, and what is drawn of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ringside.analysis.examination import Ranking
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.errors import StoreError, UsageError
from ringside.model.design import Cell, Point
from ringside.model.results import Interval, Timeline, TimeSeries, Trial, Verdict
from ringside.probe.protocol import Span, TrialOutcome
from ringside.store import Store
from ringside.workloads.base import ScalingLaw, Slope
from tests.support.analyses import (
    CPU,
    HOP,
    MEMORY,
    RATE,
    Compared,
    Exact,
    analyse,
    analysis,
    exactly,
    medians,
    near,
    ok,
    planned,
    point,
    scaled,
)
from tests.support.runs import experiment, make_run

P, Q = point(nodes=10, mode="x"), point(nodes=20, mode="x")


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
    assert len(small.examination.confirmatory) == 1
    assert small.pairs == (("go", "erlang"), ("limit", "erlang"))
    assert (small.varying, small.swept) == (("nodes",), None)
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
    assert (single.label(P), single.varying) == ("nodes=10 mode=x", ())


def test_comparisons_and_ranks_of_each_metric(small: RunAnalysis) -> None:
    """More is better of a rate. The floor is compared, but has no rank among the others."""
    for metric, go, limit in ((HOP, 1.5, 0.08), (RATE, 5 / 7, 90 / 7)):
        for place in (P, Q):
            slower = small.comparison(metric, "go", "erlang", place)
            faster = small.comparison(metric, "limit", "erlang", place)
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
    assert small.floor_ratios["hop_ns", Q] == {"erlang": exactly(12.5), "go": exactly(18.75)}
    assert small.floor_ratios["rate", P]["erlang"].estimate == near(7 / 90)
    without = analysis({("go", P): {"hop_ns": scaled(1)}})
    assert (without.floor, without.floor_ratios["hop_ns", P]) == (None, {})
    never = analysis({("go", P): {"hop_ns": scaled(1)}}, failed=[("limit", P)], floor="limit")
    assert (never.floor, never.floor_ratios["hop_ns", P]) == ("limit", {})


def test_how_far_behind_the_best_each_is(small: RunAnalysis) -> None:
    """For a time: how many times the best of the baseline's class; for a rate: how many times the best is."""
    for place in (P, Q):
        assert [small.times_worse(name, place) for name in small.names] == [1, near(1.5), near(0.08)]
    rates = medians(P, metric="rate", slow=50.0, fast=400.0, middle=100.0)
    by_rate = analysis(rates, metrics=["rate"], failed=[("none", P)])
    expected = {"fast": 1, "middle": near(4.0), "slow": near(8.0), "none": None}
    assert {name: by_rate.times_worse(name, P) for name in expected} == expected
    # The best median has the worse pairs: no multiple of the best is below 1.
    mostly = [8.0] * 3 + [10.0] * 2 + [9.1] * 2
    even = analysis({("steady", P): {"hop_ns": [9.0] * 7}, ("mostly", P): {"hop_ns": mostly}})
    assert (even.times_worse("steady", P), even.times_worse("mostly", P)) == (1, 1)


def test_a_run_without_trials_has_no_figures() -> None:
    result = analyse(planned(["go", "erlang"], [P], ended=False), [], Exact())
    assert not result.is_complete
    assert result.cell("go", P).reason == "no trial yet"
    assert result.comparison(HOP, "erlang", "go", P) is None
    assert list(result.shown_comparisons()) == []
    assert result.rankings["hop_ns", P] == Ranking(("go", "erlang"), {})
    assert (result.timelines, result.spans, result.warm_ups, result.slopes) == ({}, {}, (), ())


class Pictures(Exact):
    """Each trial has a time line, by its block."""

    def timeline_of(self, trial: Trial) -> Timeline | None:
        series = TimeSeries((0.0,), (1.0,))
        return Timeline(trial.block, (0.0, 1.0), {}, series, series, series)


def test_the_trial_in_the_middle_is_shown_over_time() -> None:
    """The best is in the first block, the worst in the third."""
    hops = [1.0, 3.0, 9.0, 2.0, 4.0]
    trials = [ok(block, "go", P, hop_ns=hop) for block, hop in enumerate(hops, 1)]
    traced = [dataclasses.replace(trial, spans=(Span(trial.block, 0, 1),)) for trial in trials]
    result = analyse(planned(["go"], [P]), traced, Pictures())
    assert [(cell, line.block) for cell, line in result.timelines.items()] == [(Cell("go", P), 2)]
    assert result.spans == {Cell("go", P): (Span(2, 0, 1),)}


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


def test_laws_apply_to_numbers_that_vary() -> None:
    both = batch((1, 2, 4), (100, 200))
    assert [(each.law.over, each.fixed["cases"]) for each in both.cores_scaling] == [
        ("cores", 100),
        ("cores", 200),
    ]
    assert [table.law.over for table in both.growth] == ["cases"]
    assert all(power.estimate == near(1.0) for power in both.growth[0].values.values())
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


# --- Where the time of programs went ---


def test_where_the_time_went_is_shown_at_the_most_cores() -> None:
    rows = batch((1, 2, 4), (100, 200)).breakdown
    assert [(cell.contender, cell.point["cores"], cell.point["cases"]) for cell in rows] == [
        (name, 4, cases) for cases in (100, 200) for name in ("go", "erlang")
    ]
    assert [*rows.values()] == ["go on 4: 50.0", None, "go on 4: 100.0", None]
    failed = batch((2,), (100, 200), failed=[("limit", point(cores=2, cases=100, mode="x"))])
    assert len(failed.breakdown) == 4
    assert analysis({("go", P): {"hop_ns": scaled(1)}}).breakdown == {}


# --- Runs of the bundled workloads, from a store ---


def test_spans_of_traced_jobs(store: Store) -> None:
    factors = {"jobs": 6, "kind": "cpu", "workers": "cores", "cores": (1, 2), "trace": 1}
    result = analysis_of(store, make_run(store, experiment("jobs-cpu", factors=factors, blocks=2)))
    spans = {cell.point["cores"]: spans for cell, spans in result.spans.items()}
    assert {cores: len({span.unit for span in each}) for cores, each in spans.items()} == {1: 1, 2: 2}
    assert all(len(each) == 6 for each in spans.values())


def test_time_lines_need_samples(store: Store) -> None:
    feed = make_run(store, experiment("feed-quick", blocks=3))
    result = analysis_of(store, feed)
    assert set(result.timelines) == set(result.cells)
    assert RunAnalysis(feed, store.trials(feed)).timelines == {}


def test_a_run_that_cannot_be_read() -> None:
    with pytest.raises(UsageError, match="no workload `exact`"):
        RunAnalysis(planned(["go"], [P]), [])
    run = planned(["go"], [P])
    with pytest.raises(StoreError, match="Expected `object`, got `int`"):
        RunAnalysis(dataclasses.replace(run, plan={**run.plan, "experiment": 99}), [])
