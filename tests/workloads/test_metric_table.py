"""Tables of metrics: what a row can be, and what it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringside.model.design import Metric, NoFloor
from ringside.workloads.metric_table import SHARED, metric_tables

HEAD = """\
# Metrics

| name | unit | title | better | phrase | no floor | explanation |
|---|---|---|---|---|---|---|
"""


def tables(folder: Path, text: str) -> tuple[tuple[Metric, ...], ...]:
    (folder / "metrics.md").write_text(text, encoding="utf-8")
    return metric_tables(str(folder / "workload.py"))


def test_rows(tmp_path: Path) -> None:
    first, second = tables(
        tmp_path,
        HEAD
        + "| a_s | s | A | less | time of a |  | what a is |\n| cpu_s |  |  |  |  |  |  |\n\nAnd:\n\n"
        + HEAD.partition("\n\n")[2]
        + "| b |  | B | more |  | from 2 cores: no reason | b |\n| c | B | C | less |  | none | c |\n",
    )
    assert first == (Metric("a_s", "s", "A", "what a is", phrase="time of a"), SHARED["cpu_s"])
    assert second == (
        Metric("b", "", "B", "b", smaller_is_better=False, no_floor=NoFloor("no reason", 2)),
        Metric("c", "B", "C", "c", no_floor=NoFloor("none")),
    )


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("| a | s | A | less | a |  |", "a row of metrics has 7 cells, not 6"),
        ("| a | s | A | fewer | a |  | a |", "the metric a is better with less or more, not with 'fewer'"),
        ("| a | ms | A | less | a |  | a |", "the metric a has the unit 'ms'"),
    ],
)
def test_rows_that_cannot_be_read(tmp_path: Path, row: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        tables(tmp_path, f"{HEAD}{row}\n")
