from __future__ import annotations

import random

from ringside.analysis.history import HistoryRun, history
from ringside.model.results import Interval
from ringside.render.plots.changes import history_chart
from ringside.render.text.changes import change_table, run_table
from tests.support.analyses import HOP, HOST, point

P = point(nodes=10)


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
