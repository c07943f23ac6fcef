"""Texts of the table of two runs."""

from __future__ import annotations

import dataclasses

from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import diff
from ringside.probe.protocol import TrialOutcome
from ringside.render.text import changes
from tests.support.analyses import analysis, point, scaled
from tests.support.tables import column, texts

P = point(nodes=10)


def run_of(
    go: float, reference_ns: int | None = 10_000_000, memory_reference_ns: int | None = None
) -> RunAnalysis:
    values = {(name, P): {"hop_ns": scaled(hop)} for name, hop in (("erlang", 100.0), ("go", go))}
    report = TrialOutcome("ok", reference_ns=reference_ns, memory_reference_ns=memory_reference_ns)
    return analysis(values, reports={"erlang": report, "go": report})


def test_two_runs() -> None:
    first, second = run_of(200.0), run_of(300.0)
    second = dataclasses.replace(second, run=dataclasses.replace(second.run, id="run-2"))
    table = changes.diff_table(diff(first, second))
    assert table.title == "run-2 over run-1"
    assert table.columns == ("contender", "point", "before", "after", "after / before", "verdict")
    assert texts(table)[1][:4] == ["go", "nodes=10", "200 ns", "300 ns"]
    assert texts(table)[1][4].startswith("1.50 (")
    assert column(table, "verdict") == ["inconclusive", "slower"]
    assert [row[-1].kind for row in table.rows] == ["number", "slower"]
    assert table.notes == (
        "The machine: reference computations took as long in the second run: in registers 1.00 (1.00–1.00) "
        "times.",
    )


def test_both_reference_computations_of_two_runs() -> None:
    first = run_of(200.0, 1000, 2000)
    table = changes.diff_table(diff(first, run_of(200.0, 1100, 1600)))
    assert table.notes == (
        "The machine: reference computations took as long in the second run: in registers 1.10 (1.10–1.10), "
        "waiting for memory 0.800 (0.800–0.800) times.",
    )
    # Intervals are wider by the shifts of the machine, and 5 % lie within them.
    assert column(table, "verdict") == ["inconclusive", "inconclusive"]


def test_two_runs_without_a_reference_have_no_verdict() -> None:
    table = changes.diff_table(diff(run_of(200.0, None), run_of(300.0)))
    assert texts(table)[1][4:] == ["1.50", "inconclusive"]
    assert not table.notes


def test_what_changed_about_contenders() -> None:
    first, second = run_of(200.0), run_of(200.0)
    changed = {
        "erlang": dataclasses.replace(second.contenders["erlang"], version="28", files={"x": "y"}),
        "go": dataclasses.replace(second.contenders["go"], version=None),
    }
    both_runs = diff(first, dataclasses.replace(second, contenders=changed))
    assert changes.contender_changes(both_runs) == [
        "erlang: 1.2.3 before, 28 after.",
        "erlang: its sources have changed.",
        "go: 1.2.3 before, not here after.",
    ]
