from __future__ import annotations

import random
from typing import Any

from ringside.analysis.history import Cause, HistoryRun, history, of_analysis
from ringside.model.results import Interval
from ringside.render.history import change_table, history_chart, run_table
from tests.support.analyses import HOP, HOST, analysis, point, scaled

P, Q = point(nodes=10), point(nodes=20)


def runs(
    levels: list[float],
    *,
    versions: list[str] | None = None,
    hosts: list[dict[str, Any]] | None = None,
    references: list[float] | None = None,
    contents: list[str] | None = None,
) -> list[HistoryRun]:
    """A run each day: go with these levels and little noise, erlang at 100 ns."""
    draws = random.Random(1)

    def about(level: float) -> Interval:
        value = level * (1 + draws.gauss(0, 0.004))
        return Interval(value, value * 0.99, value * 1.01, 7)

    return [
        HistoryRun(
            id=f"run-{number:02}",
            started_at=f"2030-01-{number + 1:02}T10:00:00.000+00:00",
            host={**HOST, **(hosts[number] if hosts else {})},
            figures={("go", P): about(level), ("erlang", P): about(100.0)},
            versions={"go": versions[number] if versions else "1.22", "erlang": "27"},
            contents={"go": contents[number] if contents else "a", "erlang": "b"},
            references_ns={"computing": references[number]} if references else {},
        )
        for number, level in enumerate(levels)
    ]


LEVELS = [160.0] * 8 + [128.0] * 6


def causes(made: list[HistoryRun]) -> tuple[Cause, ...]:
    """Those of the one change there is, go's."""
    [(series, change)] = history("ring", "The ring", HOP, made).changes
    assert (series.contender, change.run, change.before) == ("go", "run-08", "run-07")
    assert 0.79 < change.ratio < 0.81
    return change.causes


def test_a_change_is_attributed_to_what_changed_at_the_same_run() -> None:
    assert causes(runs(LEVELS)) == ()
    versions = ["1.22"] * 8 + ["1.23"] * 6
    assert causes(runs(LEVELS, versions=versions)) == (Cause("version", "go", "1.22", "1.23"),)
    assert causes(runs(LEVELS, contents=["a"] * 8 + ["c"] * 6)) == (Cause("sources", "go"),)
    hosts = [{"kernel": "6.1"}] * 8 + [{"kernel": "6.12"}] * 6
    both = causes(runs(LEVELS, versions=versions, hosts=hosts))
    assert both == (Cause("version", "go", "1.22", "1.23"), Cause("machine", "kernel", "6.1", "6.12"))
    # Another version earlier is none of this change's.
    assert causes(runs(LEVELS, versions=["1.21"] * 3 + ["1.22"] * 11)) == ()


def test_a_machine_that_became_faster_by_as_much_is_a_cause() -> None:
    [cause] = causes(runs(LEVELS, references=[1000.0] * 8 + [820.0] * 6))
    assert (cause.kind, cause.name, cause.after) == ("speed", "computing", 0.82)
    assert causes(runs(LEVELS, references=[1000.0] * 8 + [960.0] * 6)) == ()
    assert causes(runs(LEVELS, references=[1000.0] * 8 + [1250.0] * 6)) == ()


def test_runs_are_ordered_by_their_beginnings() -> None:
    made = runs(LEVELS)
    assert history("ring", "The ring", HOP, made[::-1]) == history("ring", "The ring", HOP, made)


def test_the_tables_and_the_plot_say_it() -> None:
    made = history("ring", "The ring", HOP, runs(LEVELS, versions=["1.22"] * 8 + ["1.23"] * 6))
    table = change_table(made)
    [row] = table.rows
    texts = [cell.text for cell in row]
    assert texts[:3] == ["go", "nodes=10", "run-08"]
    assert texts[-1] == "go: 1.22 → 1.23"
    assert row[5].kind == "faster"
    assert [cell.text for cell in run_table(made).rows[5]][-1] == "go: 1.22 → 1.23"
    [panel] = history_chart(made).panels
    assert [mark["when"][:10] for mark in panel.spec["datasets"]["marks"]] == ["2030-01-09"]
    assert len(panel.spec["datasets"]["rows"]) == 28


def test_few_runs_say_how_many_there_must_be() -> None:
    made = history("ring", "The ring", HOP, runs(LEVELS[:3]))
    assert change_table(made).notes == (
        "Changes of level are looked for from 10 runs on; this history has 3 runs.",
    )
    assert (
        "No level changed in 2 series" in change_table(history("ring", "", HOP, runs([100.0] * 12))).notes[0]
    )


def test_what_is_kept_of_an_analysis() -> None:
    values = {(name, place): {"hop_ns": scaled(100.0)} for name in ("erlang", "go") for place in (P, Q)}
    kept = of_analysis(analysis(values))
    assert set(kept.figures) == {(name, place) for name in ("erlang", "go") for place in (P, Q)}
    assert kept.figures["go", P].estimate == 100.0
    assert kept.host["cpu_model"] == HOST["cpu_model"]
