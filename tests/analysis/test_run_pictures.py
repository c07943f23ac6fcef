"""What is drawn of a run: time lines, laws, slopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Point
from ringside.model.results import Interval, Span, Timeline, Trial
from ringside.model.results import Series as TimeSeries
from ringside.workloads.base import ScalingLaw, Slope
from tests.support.analyses import (
    CPU,
    HOP,
    MEMORY,
    Exact,
    analyse,
    analysis,
    near,
    ok,
    planned,
    point,
    scaled,
)

P, Q = point(nodes=10, mode="x"), point(nodes=20, mode="x")
HERE = Point(())


class Pictures(Exact):
    """Each trial has a time line and a span, by its block."""

    def timeline_of(self, trial: Trial) -> Timeline | None:
        series = TimeSeries((0.0,), (1.0,))
        return Timeline(trial.block, (0.0, 1.0), {}, series, series, series)

    def spans_of(self, trial: Trial) -> tuple[Span, ...]:
        return (Span(trial.block, 0, 1),)


def test_the_trial_in_the_middle_is_shown_over_time() -> None:
    """The best is in the first block, the worst in the third."""
    hops = [1.0, 3.0, 9.0, 2.0, 4.0]
    result = analyse(
        planned(["go"], [P]),
        [ok(block, "go", P, hop_ns=hop) for block, hop in enumerate(hops, 1)],
        Pictures(),
    )
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


# --- Where the time of programs went ---


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
