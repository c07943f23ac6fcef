import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from ringside.analysis.figures import check_coherent
from ringside.analysis.plausibility import CODES, beyond_floor, implausible
from ringside.analysis.scaling import Growth
from ringside.errors import StoreError
from ringside.model.design import Cell, Level, Metric, NoFloor, Point, Unit
from ringside.model.results import Diagnostic, Interval, Outcome, Run, Trial
from ringside.probe.protocol import LatencySummary, LoadMessage
from ringside.render.text.tables import point_table
from ringside.store.plans import read_plan
from ringside.workloads.base import Slope
from ringside.workloads.command import COMMAND
from ringside.workloads.ring.workload import RING
from tests.support import points
from tests.support.analyses import CPU, HOP, MEMORY, RATE, Exact, Planted, analyse, ok, planned, point
from tests.support.errors import error_of

RUN = Run("run-1", "x", "2030", None, 1, {}, {})


def changed(**levels: Level | None) -> Point:
    """A point of the ring with other levels for some factors, without those that are None, unchecked."""
    merged = {**points.point(RING).as_dict(), **levels}
    return Point(tuple((name, level) for name, level in merged.items() if level is not None))


def check(point: Point, *trials: Trial) -> None:
    check_coherent(RUN, RING, [points.point(RING), point], [Cell("go", point)], trials)


def test_points_of_any_machine() -> None:
    """More than is possible here: another machine may have more room."""
    check(changed(nodes=10**9, cores=4096, mode="token"))


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("nodes", None),
        ("nodes", -1),
        ("nodes", "3"),
        ("cores", 0),
        ("cores", "all"),
        ("mode", "sideways"),
        ("mode", 3),
        ("trace", 7),
        ("trace", "1"),
    ],
)
def test_points_that_no_run_has(name: str, level: Level | None) -> None:
    message = f"run run-1 cannot be read: a point has no usable {name}"
    assert error_of(StoreError, check, changed(**{name: level})) == message


def test_trials_of_cells_that_the_run_does_not_have() -> None:
    here, there = changed(), changed(nodes=7)
    mine = Trial(1, 0, Cell("go", here), Outcome.OK, "")
    check(here, mine)
    for cell in (Cell("erlang", here), Cell("go", there)):
        assert error_of(StoreError, check, here, mine, Trial(1, 0, cell, Outcome.OK, "")) == (
            "run run-1 cannot be read: it has a trial of a cell that is not in its plan"
        )


def test_points_of_commands_are_free() -> None:
    point = Point((("n", "anything"),))
    check_coherent(RUN, COMMAND, [point], [Cell("A", point)], [])
    with pytest.raises(StoreError, match="a cell that is not in its plan"):
        check_coherent(RUN, COMMAND, [point], [], [Trial(1, 0, Cell("A", point), Outcome.OK, "")])


HERE, THERE = point(nodes=10), point(nodes=1000)


PER_NODE = Slope("per_node", "B", "Per node", "", over="nodes", metric="memory_bytes")


class Grown(Exact):
    slopes = (PER_NODE,)


def test_all_that_no_honest_program_can_have_is_said_of_a_run() -> None:
    """`perl` is faster than the floor and than a CPU, its units take no memory, and it answers unasked."""
    unasked = LoadMessage(step="s", name="all", errors={"unsolicited": 3})
    trials = [
        dataclasses.replace(
            ok(block, name, place, hop_ns=hop, memory_bytes=1e6 + per_node * int(place["nodes"])),
            loads=(unasked,) if name == "perl" else (),
        )
        for block in range(1, 8)
        for name, hop, per_node in (("go", 200.0, 300), ("limit", 100.0, 300), ("perl", 0.01, 0))
        for place in (HERE, THERE)
    ]
    run = analyse(planned(["go", "limit", "perl"], [HERE, THERE], kinds={"limit": "floor"}), trials, Grown())
    flagged = [(each.code, each.subjects) for each in run.diagnostics if each.code in CODES]
    assert flagged == [(code, ("perl",)) for code in CODES]
    assert run.implausible == {"perl"}
    table = point_table(run, HERE)
    assert {row[0].text for row in table.rows} == {"go", "limit", "perl (!)"}
    assert table.notes == ("(!) has figures that no honest program can have: see the warnings.",)


# --- exact values, over several points, cells, slopes and loads ------------------------------------


def planted(
    *metrics: Metric,
    ratios: Mapping[tuple[Metric, Point], Mapping[str, Interval]] | None = None,
    floor: str | None = "limit",
    figures: Mapping[tuple[str, Point], Mapping[str, float]] | None = None,
    trials: Sequence[Trial] = (),
) -> Planted:
    """A run with these ratios over the floor, and these figures without noise."""
    cells = {
        cell: {metric: dict.fromkeys(range(1, 8), value) for metric, value in its.items()}
        for cell, its in (figures or {}).items()
    }
    points = tuple(dict.fromkeys(place for _, place in ratios or figures or {}))
    over_floor: dict[tuple[str, Point], Mapping[str, Interval]] = {
        (metric.name, place): {} for metric in metrics for place in points
    }
    over_floor |= {(metric.name, place): each for (metric, place), each in (ratios or {}).items()}
    experiment = read_plan(planned(["go"], [HERE], margin=0.25)).experiment
    return Planted(
        cells,
        metrics=metrics,
        points=points,
        floor=floor,
        floor_ratios=over_floor,
        trials=trials,
        experiment=experiment,
    )


def diagnostics(
    headline: Metric = CPU,
    *,
    ratios: Mapping[Point, Mapping[str, Interval]] | None = None,
    slopes: Sequence[Growth[Slope]] = (),
    **options: Any,
) -> list[Diagnostic]:
    of_headline = {(headline, place): each for place, each in (ratios or {}).items()}
    return list(implausible(planted(headline, ratios=of_headline, **options), slopes))


def below(estimate: float, high: float | None = None) -> Interval:
    return Interval(estimate, estimate / 2 if high else None, high, 7)


def test_the_largest_factor_over_the_floor_is_reported() -> None:
    """Beyond the margin are intervals that end below 1 / 1.25."""
    ratios = {
        HERE: {"few": below(0.01), "perl": below(0.25, 0.79), "go": below(0.5, 0.8), "lua": below(0.5, 0.7)},
        THERE: {"perl": below(0.2, 0.78), "go": below(0.4, 0.81), "lua": below(0.625, 0.75)},
    }
    assert diagnostics(ratios=ratios) == [
        Diagnostic(
            "faster-than-floor", ("perl", "lua"), {"floor": "limit", "times": {"perl": 5.0, "lua": 2.0}}
        )
    ]
    assert diagnostics(MEMORY, ratios=ratios) == []


def test_every_metric_is_compared_with_the_floor() -> None:
    """Except for a headline that is a time: `implausible` covers that."""
    late = dataclasses.replace(MEMORY, name="late", no_floor=NoFloor("one timer wheel"))
    ratios = {(m, HERE): {"perl": below(0.25, 0.79), "go": below(0.5, 0.9)} for m in (CPU, MEMORY, late)}
    warnings = list(beyond_floor(planted(CPU, MEMORY, late, ratios=ratios)))
    assert [(each.code, each.subjects) for each in warnings] == [("beyond-floor", ("perl",))] * 2
    assert [each.values["reason"] for each in warnings] == [
        "limit is written for the time of the whole work, not for this",
        "one timer wheel",
    ]
    assert warnings[0].values["times"] == {"perl": 4.0}
    assert not list(beyond_floor(planted(CPU, late, ratios=ratios, floor=None)))
    # A time that is no headline: the floor should be one, and the sentence does not end without a reason.
    (warning,) = beyond_floor(planted(CPU, RATE, ratios={(RATE, HERE): {"perl": Interval(2.0, 1.5, 3.0, 7)}}))
    assert warning.values["reason"] == "limit is meant to be the floor of this, and can be better"


def test_a_metric_can_have_a_floor_on_one_core_only() -> None:
    """There `implausible` speaks of a headline, elsewhere only what the floor is not."""
    dealt = dataclasses.replace(CPU, no_floor=NoFloor("it deals", from_cores=2))
    one, two = changed(cores=1), changed(cores=2)
    ratios = {one: {"perl": below(0.25, 0.5)}, two: {"go": below(0.5, 0.7)}}
    (diagnostic,) = diagnostics(dealt, ratios=ratios)
    assert (diagnostic.code, diagnostic.subjects) == ("faster-than-floor", ("perl",))
    (warning,) = beyond_floor(planted(dealt, ratios={(dealt, each): ratios[each] for each in (one, two)}))
    assert (warning.subjects, warning.values["reason"]) == (("go",), "it deals")
    assert not list(beyond_floor(planted(dealt, ratios={(dealt, one): ratios[one]})))


def test_of_a_rate_more_is_faster_than_the_floor() -> None:
    ratios = {
        HERE: {"few": Interval(90.0, None, None, 3), "perl": Interval(3.0, 1.3, 9.0, 7)},
        THERE: {"perl": Interval(2.0, 1.26, 4.0, 7), "go": Interval(5.0, 1.25, 9.0, 7)},
    }
    times = {"floor": "limit", "times": {"perl": 3.0}}
    assert diagnostics(RATE, ratios=ratios) == [Diagnostic("faster-than-floor", ("perl",), times)]


def test_the_smallest_time_below_a_cycle_is_reported() -> None:
    figures = {
        ("none", HERE): {"rate": 0.1},
        ("perl", HERE): {"hop_ns": 0.12},
        ("go", HERE): {"hop_ns": 0.125},
        ("lua", HERE): {"hop_ns": 0.07},
        ("perl", THERE): {"hop_ns": 0.05},
        ("lua", THERE): {"hop_ns": 0.12},
    }
    values = {"amounts": {"perl": 0.05, "lua": 0.07}, "noun": "time per hop"}
    assert diagnostics(HOP, figures=figures) == [Diagnostic("below-a-cycle", ("perl", "lua"), values)]
    # It says nothing about another unit.
    assert diagnostics(dataclasses.replace(HOP, unit="s"), figures=figures) == []


def slope(name: str, growth: Interval, unit: Unit = "B", *, is_own: bool = True) -> Growth[Slope]:
    law = msgspec.structs.replace(PER_NODE, unit=unit, is_own=is_own)
    return Growth(law, {(name, Point(())): growth})


def test_the_smallest_growth_of_memory_is_reported() -> None:
    slopes = [
        slope("time", below(1.0, 2.0), unit="ns"),
        slope("few", below(1.0)),
        slope("kernel", below(0.0, 0.0), is_own=False),
        slope("perl", below(5.0, 7.9)),
        slope("go", below(5.0, 8.0)),
        slope("perl", below(4.0, 6.0)),
        slope("lua", below(3.0, 5.0)),
        slope("lua", below(3.5, 7.0)),
        slope("c", below(3000.0, 4095.0)),
        slope("rust", below(3000.0, 4096.0)),
        slope("java", below(3000.0, 4000.0)),
    ]
    figures = {
        ("perl", HERE): {"memory_bytes": 1.0},
        **{(name, HERE): {"peak_threads": 10.0} for name in ("c", "rust", "java")},
        **{(name, THERE): {"peak_threads": 1000.0} for name in ("c", "rust")},
        # Threads for some of its nodes only.
        ("java", THERE): {"peak_threads": 999.0},
    }
    amounts = {"perl": 4.0, "lua": 3.0, "c": 3000.0}
    assert diagnostics(slopes=slopes, figures=figures) == [
        Diagnostic("too-little-memory", ("perl", "lua", "c"), {"memory": amounts})
    ]


def test_answers_that_nobody_asked_for_are_counted_over_all_loads() -> None:
    def load(least_ns: int | None, **errors: int) -> LoadMessage:
        latency = {} if least_ns is None else {"latency": LatencySummary(count=9, min_ns=least_ns)}
        return LoadMessage(step="s", name="all", errors=errors, histograms=latency)

    def trial(name: str, *loads: LoadMessage, outcome: Outcome = Outcome.OK) -> Trial:
        return dataclasses.replace(ok(1, name, HERE), loads=loads, outcome=outcome)

    trials = [
        trial("perl", load(1, unsolicited=100), outcome=Outcome.CRASHED),
        trial("perl", load(999, unsolicited=2), load(None, unsolicited=4)),
        trial("go", load(1000), load(None, timeout=8)),
        trial("perl", load(5000, unsolicited=16)),
        trial("lua", load(500)),
    ]
    counts = {"perl": 23, "lua": 1}
    assert diagnostics(trials=trials) == [Diagnostic("answered-unasked", ("perl", "lua"), {"counts": counts})]
