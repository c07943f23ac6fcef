"""The tables of many runs of one experiment: where levels changed, and what was different from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringside import units
from ringside.analysis.history import MIN_RUNS, Cause, Change, History, Series
from ringside.model.results import Verdict
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells
from ringside.text import minute, one_line

_MAX_NAMED = 6


def change_table(history: History) -> TableData:
    """A row for each change of level, the latest first."""
    rows = tuple(_change_row(history, series, change) for series, change in history.changes)
    tested = [series for series in history.series if len(series.values) >= MIN_RUNS]
    if not tested:
        runs = units.count(len(history.runs), "run")
        note = f"Changes of level are looked for from {MIN_RUNS} runs on; this history has {runs}."
    elif not rows:
        note = f"No level changed in {len(tested)} series: E-divisive, 1 % for each."
    else:
        note = (
            f"E-divisive in {len(tested)} series, each with a chance of 1 % to show a change where there is "
            "none. What changed at the same run may be the cause, and need not be."
        )
    columns = (
        "contender",
        "point",
        "since",
        "before",
        "after",
        "after / before",
        "p",
        "what else changed there",
    )
    return TableData(f"Changes of the {history.metric.noun}", columns, rows, notes=(note,))


def run_table(history: History) -> TableData:
    """A row for each run, the latest first: when, and what was different from the run before."""
    rows = []
    for index, run in reversed(list(enumerate(history.runs))):
        rows.append(
            (
                cells.text(run.id),
                cells.text(minute(run.started_at)),
                cells.text(one_line(str(run.host.get("cpu_model") or "unknown CPU"))),
                cells.text(str(run.host.get("ringside") or "")),
                cells.text(_differences(history.since_before(index))),
            )
        )
    columns = ("run", "began (UTC)", "CPU", "ringside", "different from the run before")
    return TableData("Runs", columns, tuple(rows))


def cause_text(cause: Cause) -> str:
    """`go: 1.22 → 1.23`, `kernel: 6.1 → 6.12`, `the machine computes in 1.10 times the time`."""
    if cause.kind == "version":
        return f"{cause.name}: {_value(cause.before)} → {_value(cause.after)}"
    if cause.kind == "sources":
        return f"{cause.name}: its sources"
    if cause.kind == "speed":
        times = units.significant(cause.after)
        return f"the machine: its reference computation ({cause.name}) took {times} times as long"
    return f"the machine: {cause.name.replace('_', ' ')} {_value(cause.before)} → {_value(cause.after)}"


def attribution(change: Change) -> str:
    """What else changed at a change of level, in words."""
    return "; ".join(map(cause_text, change.causes)) or "nothing that is recorded"


def _change_row(history: History, series: Series, change: Change) -> tuple[TableCell, ...]:
    metric = history.metric
    is_better = (change.ratio < 1) == metric.smaller_is_better
    kind = units.kind(Verdict.FASTER if is_better else Verdict.SLOWER)
    before, after = (series.values[change.index + step] for step in (-1, 0))
    return (
        cells.text(series.contender),
        cells.text(history.label(series.point)),
        cells.text(change.run),
        TableCell(units.metric_estimate(before, metric)),
        TableCell(units.metric_estimate(after, metric)),
        TableCell(units.significant(change.ratio), kind),
        TableCell(f"{change.p:.3f}"),
        cells.text(attribution(change)),
    )


def _differences(causes: Sequence[Cause] | None) -> str:
    if causes is None:
        return "the first run"
    texts = sorted(map(cause_text, causes))
    more = f"; {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return "; ".join(texts[:_MAX_NAMED]) + more or "nothing that is recorded"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return one_line(str(value), 80) if value not in (None, "") else "none"
