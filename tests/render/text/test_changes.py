"""Texts and pictures of what changed between runs."""

from __future__ import annotations

import dataclasses
import random

import pytest

from ringside.analysis.history import HistoryRun, history
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import diff
from ringside.model.results import Interval
from ringside.probe.protocol import TrialOutcome
from ringside.render.plots.lines import history_chart
from ringside.render.text import changes
from ringside.render.text.changes import change_table, run_table
from tests.support.analyses import HOP, HOST, analysis, point, scaled, with_figures
from tests.support.tables import column, texts

P = point(nodes=10)


def run_of(
    go: float, reference_ns: int | None = 10_000_000, memory_reference_ns: int | None = None
) -> RunAnalysis:
    values = {(name, P): {"hop_ns": scaled(hop)} for name, hop in (("erlang", 100.0), ("go", go))}
    report = TrialOutcome("ok", reference_ns=reference_ns, memory_reference_ns=memory_reference_ns)
    return analysis(values, reports={"erlang": report, "go": report})


@pytest.mark.parametrize(
    ("first", "second", "verdict", "machine"),
    [
        (run_of(200.0), run_of(300.0), "slower", ["in registers 1.00 (1.00–1.00)"]),
        # Intervals are wider by the shifts of the machine, and 5 % lie within them.
        (
            run_of(200.0, 1000, 2000),
            run_of(200.0, 1100, 1600),
            "too close to call",
            ["in registers 1.10 (1.10–1.10) and waiting for memory 0.800 (0.800–0.800)"],
        ),
        (run_of(200.0, None), run_of(300.0), "no verdict possible", []),
    ],
)
def test_two_runs(first: RunAnalysis, second: RunAnalysis, verdict: str, machine: list[str]) -> None:
    both = diff(first, with_figures(second, run=dataclasses.replace(second.run, id="run-2")))
    (table,) = changes.diff_tables(both)
    none = "too close to call" if machine else "no verdict possible"
    assert (table.title, column(table, "verdict")) == ("nodes=10", [none, verdict])
    assert table.columns == ("contender", "after / before", "verdict", "before", "after")
    assert texts(table)[1][::3] == ["go", "200 ns"]
    assert [row[2].kind for row in table.rows] == ["number", verdict.replace(none, "number")]
    unchanged = f"No change is shown from run-1 to run-2 (2 {none})"
    slower = "From run-1 to run-2 go is slower in time per hop, 1.50 (1.43–1.58) times"
    assert changes.diff_answer(both).text == (slower if verdict == "slower" else unchanged)
    begin = "The machine: in the second run a reference computation took "
    assert table.notes == tuple(f"{begin}{ratios} times as long." for ratios in machine)


def test_what_changed_about_contenders() -> None:
    first, second = run_of(200.0), run_of(200.0)
    second = with_figures(second, run=dataclasses.replace(second.run, id="run-2"))
    changed = {
        "erlang": dataclasses.replace(second.contenders["erlang"], version="28", files={"x": "y"}),
        "go": dataclasses.replace(second.contenders["go"], version=None, files={"x": "y"}),
    }
    both_runs = diff(first, with_figures(second, contenders=changed))
    assert changes.contender_changes(both_runs) == [
        "erlang: 1.2.3 before, 28 after.",
        "erlang: its sources have changed.",
        "go: 1.2.3 before, not here after.",
        "go: its sources have changed.",
    ]
    assert changes.contender_changes(diff(first, second)) == []


def runs(
    levels: list[float], *, versions: list[str] | None = None, references: list[float] | None = None
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
            host=HOST,
            figures={("go", P): about(level), ("erlang", P): about(100.0)},
            versions={"go": versions[number] if versions else "1.22", "erlang": "27"},
            contents={"go": "a", "erlang": "b"},
            references_ns={"computing": references[number]} if references else {},
        )
        for number, level in enumerate(levels)
    ]


LEVELS = [160.0] * 8 + [128.0] * 6


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
