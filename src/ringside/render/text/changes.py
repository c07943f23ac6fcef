"""Tables of what changed: two runs, the second over the first, and many runs of one experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringside import units
from ringside.analysis.history import (
    CONFIRMED_BY,
    LEAST_EFFECT,
    MIN_RUNS,
    Change,
    ChangeCause,
    FigureHistory,
    History,
)
from ringside.analysis.run_diff import CellChange, ContenderChange, RunDiff
from ringside.model.results import Verdict
from ringside.render.text import cells
from ringside.render.text.cells import TableCell, TableData
from ringside.text import minute, one_line

_REFERENCES = {"computing": "in registers", "memory": "waiting for memory"}


def diff_table(diff: RunDiff) -> TableData:
    """A row for each cell and metric."""
    several = len({change.metric.name for change in diff.changes}) > 1
    metric_column = ("metric",) if several else ()
    return TableData(
        " over ".join(reversed(diff.names)),
        ("contender", "point", *metric_column, "before", "after", "after / before", "verdict"),
        tuple(_row(diff, change, with_metric=several) for change in diff.changes),
        subtitle="not paired: intervals hold together with 95 %, and allow for changes of the machine and "
        "between runs",
        notes=(*_machine(diff), *contender_changes(diff)),
    )


def contender_changes(diff: RunDiff) -> list[str]:
    """What is not the same about contenders in both runs: versions, sources."""
    sentences = []
    for change in diff.contender_changes:
        if change.before != change.after:
            sentences.append(_versions(change))
        if change.sources_changed:
            sentences.append(f"{change.contender}: its sources have changed.")
    return sentences


def _row(diff: RunDiff, change: CellChange, *, with_metric: bool) -> tuple[TableCell, ...]:
    kind = units.kind(change.verdict)
    return (
        cells.text(change.cell.contender),
        cells.text(diff.first.label(change.cell.point)),
        *((cells.text(change.metric.title),) if with_metric else ()),
        TableCell(units.metric_estimate(change.before, change.metric)),
        TableCell(units.metric_estimate(change.after, change.metric)),
        TableCell(units.ratio(change.ratio), kind),
        TableCell(units.verdict_word(change.verdict, change.metric), kind),
    )


def _versions(change: ContenderChange) -> str:
    before, after = (version or "not here" for version in (change.before, change.after))
    return one_line(f"{change.contender}: {before} before, {after} after.")


def _machine(diff: RunDiff) -> tuple[str, ...]:
    shifts = [f"{_REFERENCES.get(name, name)} {units.ratio(ratio)}" for name, ratio in diff.machine.items()]
    if not shifts:
        return ()
    return (
        f"The machine: reference computations took as long in the second run: {', '.join(shifts)} times.",
    )


_MAX_NAMED = 6


def change_table(history: History) -> TableData:
    """A row for each change of level, the latest first."""
    rows = tuple(_change_row(history, series, change) for series, change in history.changes)
    tested = [series for series in history.series if len(series.values) >= MIN_RUNS]
    least = units.percent(LEAST_EFFECT)
    rule = f"E-divisive at 1 %, {least} or more, confirmed by {CONFIRMED_BY} later runs"
    if not tested:
        runs = units.count(len(history.runs), "run")
        note = f"Changes of level are looked for from {MIN_RUNS} runs on; this history has {runs}."
    elif not rows:
        note = f"No level changed in {len(tested)} series: {rule}."
    else:
        cause = "What changed at the same run may be the cause, and need not be."
        note = f"{rule}, in {len(tested)} series. {cause}"
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


def cause_text(cause: ChangeCause) -> str:
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


def _change_row(history: History, series: FigureHistory, change: Change) -> tuple[TableCell, ...]:
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


def _differences(causes: Sequence[ChangeCause] | None) -> str:
    if causes is None:
        return "the first run"
    texts = sorted(map(cause_text, causes))
    more = f"; {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return "; ".join(texts[:_MAX_NAMED]) + more or "nothing that is recorded"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return one_line(str(value), 80) if value not in (None, "") else "none"
