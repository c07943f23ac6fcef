"""Texts and pictures of what changed between runs."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from ringside.analysis.history import HistoryRun, history
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import diff
from ringside.model.results import Interval
from ringside.probe.protocol import TrialOutcome
from ringside.render.plots.lines import history_chart
from ringside.render.text import changes
from tests.support.analyses import HOP, HOST, analysis, point, scaled, with_figures

P = point(nodes=10)


def run_of(
    go: float, reference_ns: int | None = 10_000_000, memory_reference_ns: int | None = None
) -> RunAnalysis:
    values = {(name, P): {"hop_ns": scaled(hop)} for name, hop in (("erlang", 100.0), ("go", go))}
    report = TrialOutcome("ok", reference_ns=reference_ns, memory_reference_ns=memory_reference_ns)
    return analysis(values, reports={"erlang": report, "go": report})


def later(run: RunAnalysis, **figures: Any) -> RunAnalysis:
    return with_figures(run, run=dataclasses.replace(run.run, id="run-2"), **figures)


COMPARED = [
    diff(run_of(200.0), later(run_of(300.0))),
    # Intervals are wider by the shifts of the machine, and 5 % lie within them.
    diff(run_of(200.0, 1000, 2000), later(run_of(200.0, 1100, 1600))),
    diff(run_of(200.0, None), later(run_of(300.0))),
]


def test_two_runs_in_a_sentence() -> None:
    """Their tables are in tests/golden/tables.txt, as those of a history."""
    assert [changes.diff_answer(both).text for both in COMPARED] == [
        "From run-1 to run-2 go is slower in time per hop, 1.50 (1.43–1.58) times",
        "No change is shown from run-1 to run-2 (2 too close to call)",
        "No change is shown from run-1 to run-2 (2 no verdict possible)",
    ]


def test_what_changed_about_contenders() -> None:
    now = run_of(200.0).contenders
    changed = {
        "erlang": dataclasses.replace(now["erlang"], version="28", files={"x": "y"}),
        "go": dataclasses.replace(now["go"], version=None, files={"x": "y"}),
    }
    both = diff(run_of(200.0), later(run_of(200.0), contenders=changed))
    assert changes.contender_changes(both) == [
        "erlang: 1.2.3 before, 28 after.",
        "erlang: its sources have changed.",
        "go: 1.2.3 before, not here after.",
        "go: its sources have changed.",
    ]
    assert changes.contender_changes(diff(run_of(200.0), later(run_of(200.0)))) == []


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


HISTORIES = [
    history("ring", "The ring", HOP, runs(LEVELS, versions=["1.22"] * 8 + ["1.23"] * 6)),
    history("ring", "The ring", HOP, runs(LEVELS[:3])),
    history("ring", "", HOP, runs([100.0] * 12)),
]


def test_the_plot_marks_the_change() -> None:
    [panel] = history_chart(HISTORIES[0]).panels
    assert [mark["when"][:10] for mark in panel.spec["datasets"]["marks"]] == ["2030-01-09"]
    assert len(panel.spec["datasets"]["rows"]) == 28
