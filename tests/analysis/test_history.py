"""Series of runs, their changes, and what else changed there."""

import dataclasses
from typing import Any

import pytest

from ringside.analysis.history import (
    MACHINE,
    Change,
    ChangeCause,
    FigureHistory,
    HistoryRun,
    differences,
    history,
    of_analysis,
)
from ringside.model.design import Point
from ringside.model.results import Interval
from ringside.store.plans import PlannedContender
from tests.render.text.test_changes import LEVELS, runs
from tests.support.analyses import HOP, HOST, analysis, near, point, scaled, with_figures

P, Q = point(nodes=10, cores=1), point(nodes=20, cores=1)


def a_run(number: int, **changes: Any) -> HistoryRun:
    blank = HistoryRun(f"run-{number:02}", f"2030-01-{number + 1:02}", HOST, {}, {}, {}, {})
    return dataclasses.replace(blank, **changes)


def figure(value: float) -> Interval:
    return Interval(value, value, value, 7)


# --- what differs between two runs ---


def test_versions_go_before_sources() -> None:
    before = a_run(1, versions={"go": "1", "c": "9", "d": "2"}, contents={"go": "a", "c": "x", "d": "y"})
    after = a_run(2, versions={"go": "2", "c": "9"}, contents={"go": "b", "c": "z"})
    assert differences(before, after, ["c", "go", "d"]) == [
        ChangeCause("sources", "c"),
        ChangeCause("version", "go", "1", "2"),
        ChangeCause("version", "d", "2", None),
    ]
    assert differences(before, after, ["go"]) == [ChangeCause("version", "go", "1", "2")]


def test_facts_of_the_machine_in_their_order() -> None:
    before = a_run(1, host=dict.fromkeys(MACHINE, "old") | {"load_average": 1})
    after = a_run(2, host={fact: "new" for fact in MACHINE if fact != "governor"} | {"load_average": 2})
    assert differences(before, after, []) == [
        ChangeCause("machine", fact, "old", None if fact == "governor" else "new") for fact in MACHINE
    ]


# --- series ---


def test_series_of_cells_that_several_runs_have() -> None:
    made = history(
        "ring",
        "The ring",
        HOP,
        [
            a_run(2, figures={("go", P): figure(3.0), ("c", P): figure(1.0)}),
            a_run(0, figures={("go", P): figure(1.0), ("go", Q): figure(5.0), ("d", P): figure(0.0)}),
            a_run(1, figures={("go", Q): figure(6.0), ("go", P): figure(0.0), ("d", P): figure(1.0)}),
        ],
    )
    assert (made.experiment, made.title, made.metric) == ("ring", "The ring", HOP)
    assert [run.id for run in made.runs] == ["run-00", "run-01", "run-02"]
    # A value of 0 has no logarithm, and is left out.
    assert [(each.contender, each.point, each.indices) for each in made.series] == [
        ("go", P, (0, 2)),
        ("go", Q, (0, 1)),
    ]
    assert [value.estimate for value in made.series[0].values] == [1.0, 3.0]
    assert (made.points, made.contenders) == ((P, Q), ("go",))
    assert made.changes == ()
    assert [made.label(place) for place in (P, Q)] == ["nodes=10", "nodes=20"]
    alone = history("ring", "", HOP, [a_run(n, figures={("go", P): figure(1.0)}) for n in range(2)])
    assert alone.label(P) == "nodes=10 cores=1"


def test_runs_that_began_at_one_time_are_ordered_by_their_ids() -> None:
    made = [a_run(n, started_at="2030") for n in (2, 0, 1)]
    assert [run.id for run in history("ring", "", HOP, made).runs] == ["run-00", "run-01", "run-02"]


def test_causes_are_what_changed_at_the_same_run() -> None:
    """Another version earlier, or of another contender, is none of this change's."""
    versions = ["1.21"] * 3 + ["1.22"] * 5 + ["1.23"] * 6
    made = [
        dataclasses.replace(run, host={**HOST, "kernel": "6.1" if number < 8 else "6.12"})
        for number, run in enumerate(runs(LEVELS, versions=versions))
    ]
    ((_, change),) = history("ring", "", HOP, made).changes
    assert change.causes == (
        ChangeCause("version", "go", "1.22", "1.23"),
        ChangeCause("machine", "kernel", "6.1", "6.12"),
    )


def test_what_differs_from_the_run_before() -> None:
    """For contenders that both have."""
    first = a_run(0, versions={"go": "1", "c": "1"}, contents={"go": "a", "c": "a"})
    second = a_run(1, versions={"go": "1", "d": "1"}, contents={"go": "b", "d": "a"})
    third = dataclasses.replace(second, id="run-02", started_at="2031", versions={"go": "1", "d": "2"})
    made = history("ring", "", HOP, [first, second, third, dataclasses.replace(third, id="run-03")])
    assert [made.since_before(number) for number in range(4)] == [
        None,
        [ChangeCause("sources", "go")],
        [ChangeCause("version", "d", "1", "2")],
        [],
    ]


def test_changes_are_those_of_all_series_the_latest_first() -> None:
    made = history("ring", "", HOP, runs(LEVELS))
    (series,) = [each for each in made.series if each.changes]
    early, late = (dataclasses.replace(series.changes[0], index=index) for index in (2, 5))
    shifted = dataclasses.replace(series, indices=tuple(range(9, 30)), changes=(early,))
    both = dataclasses.replace(made, series=(dataclasses.replace(series, changes=(early, late)), shifted))
    assert [series.indices[change.index] for series, change in both.changes] == [11, 5, 2]


# --- changes ---


def steps(*levels: tuple[float, int], references: list[float] | None = None) -> tuple[Change, ...]:
    """The changes of go's series with so many runs at each level."""
    values = [level for level, count in levels for _ in range(count)]
    made = history("ring", "", HOP, runs(values, references=references))
    (series,) = [each for each in made.series if each.contender == "go"]
    assert isinstance(series, FigureHistory)
    return series.changes


def test_each_change_compares_the_levels_beside_it() -> None:
    first, second = steps((100.0, 10), (200.0, 10), (50.0, 10))
    assert (first.index, first.run) == (10, "run-10")
    assert (second.index, second.run) == (20, "run-20")
    assert first.ratio == near(2.0, rel=0.01)
    assert second.ratio == near(0.25, rel=0.01)
    assert all(0 < change.p <= 0.01 for change in (first, second))
    assert (first.causes, second.causes) == ((), ())


@pytest.mark.parametrize(
    ("level", "references", "speed"),
    [
        # On the log scale less than half of the figure's change, which is a factor of 2.
        (200.0, [1000.0] * 10 + [1250.0] * 10, None),
        (200.0, [1000.0] * 10 + [1500.0] * 10, 1.5),
        (200.0, [1000.0] * 10 + [4000.0] * 10, 4.0),
        (200.0, [1000.0] * 10 + [500.0] * 10, None),
        # The medians of both levels count.
        (200.0, [1.0, *[1000.0] * 9, 2000.0, 1.0, *[2000.0] * 8], 2.0),
        # Below two percent, even where it is half of the figure's.
        (102.95, [1000.0] * 10 + [1015.0] * 10, None),
        (102.95, [1000.0] * 10 + [1025.0] * 10, 1.025),
        (200.0, [0.0] * 20, None),
    ],
)
def test_a_slower_machine_is_a_cause(level: float, references: list[float], speed: float | None) -> None:
    (change,) = steps((100.0, 10), (level, 10), references=references)
    assert change.causes == ((ChangeCause("speed", "computing", 1.0, speed),) if speed else ())


@pytest.mark.parametrize(
    ("lacking", "speed"),
    [
        # Only of the two runs at the change references are needed.
        (("run-03", "run-15"), 2.0),
        (("run-10",), None),
    ],
)
def test_references_that_one_side_lacks_say_nothing(lacking: tuple[str, ...], speed: float | None) -> None:
    made = [
        dataclasses.replace(run, references_ns={}) if run.id in lacking else run
        for run in runs([100.0] * 10 + [200.0] * 10, references=[1000.0] * 10 + [2000.0] * 10)
    ]
    ((_, change),) = history("ring", "", HOP, made).changes
    assert change.causes == ((ChangeCause("speed", "computing", 1.0, speed),) if speed else ())


def test_a_change_is_large_enough_and_confirmed_by_later_runs() -> None:
    assert steps((100.0, 10), (101.5, 10)) == ()
    assert [change.index for change in steps((100.0, 10), (103.0, 10))] == [10]
    # Three runs at a level are the fewest that show it, and two more confirm it.
    assert steps((100.0, 10), (200.0, 4)) == ()
    assert [change.index for change in steps((100.0, 10), (200.0, 5))] == [10]
    # A level that is too small is no edge of the levels beside it.
    (change,) = steps((100.0, 12), (200.0, 12), (201.0, 12))
    assert change.ratio == near(2.0, rel=0.01)


# --- what is kept of a run ---


def test_all_that_is_kept_of_an_analysis() -> None:
    place = Point((("nodes", 10),))
    contenders = {"go": PlannedContender("Go", version="1.22", content="abc"), "c": PlannedContender("C")}
    made = analysis(
        {("go", place): {"hop_ns": scaled(100.0)}, ("c", place): {"cpu_s": scaled(1.0)}},
        contenders=contenders,
    )
    made = with_figures(made, references_ns={"computing": {1: 3.0, 2: 5.0, 3: 4.0}, "memory": {}})
    kept = of_analysis(made)
    assert (kept.id, kept.started_at, kept.host) == (made.run.id, made.run.started_at, made.run.host)
    assert list(kept.figures) == [("go", place)]
    assert kept.figures["go", place] == made.cells[next(iter(made.cells))].metrics["hop_ns"]
    assert (kept.versions, kept.contents) == ({"go": "1.22", "c": ""}, {"go": "abc", "c": ""})
    assert kept.references_ns == {"computing": 4.0}
