"""Pictures of what changed between runs. Their tables are in tests/golden/tables.txt, their sentences in
tests/golden/sentences.txt."""

import dataclasses
import random
from typing import Any

from ringside.analysis.history import HistoryRun, history
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import diff
from ringside.model.results import Interval
from ringside.probe.protocol import TrialOutcome
from ringside.render.plots.lines import history_chart
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


NOW = run_of(200.0).contenders
CHANGED = diff(
    run_of(200.0),
    later(
        run_of(200.0),
        contenders={
            "erlang": dataclasses.replace(NOW["erlang"], version="28", files={"x": "y"}),
            "go": dataclasses.replace(NOW["go"], version=None, files={"x": "y"}),
        },
    ),
)


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
