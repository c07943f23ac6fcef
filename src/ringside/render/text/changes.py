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
from ringside.analysis.run_diff import RunDiff
from ringside.render.text import cells
from ringside.render.text.cells import Row, TableCell, TableData, table
from ringside.render.text.words import verdict_kind, verdict_word
from ringside.text import minute, one_line

_CHANGE_COLUMNS = (
    *("contender", "point", "since", "before", "after", "after / before", "p"),
    "what else changed there",
)
_MAX_NAMED = 6
_REFERENCES = {"computing": "in registers", "memory": "waiting for memory"}


def diff_table(diff: RunDiff) -> TableData:
    """A row for each cell and metric."""
    several = len({change.metric.name for change in diff.changes}) > 1
    shifts = [f"{_REFERENCES.get(name, name)} {units.ratio(ratio)}" for name, ratio in diff.machine.items()]
    times = " and ".join(shifts)
    machine = f"The machine: in the second run a reference computation took {times} times as long."
    columns = ("contender", "point", *(["metric"] if several else []))
    columns += ("before", "after", "after / before", "verdict")
    rows = []
    for change in diff.changes:
        metric, kind = change.metric, verdict_kind(change.verdict)
        row: list[TableCell | str] = [change.cell.contender, diff.first.label(change.cell.point)]
        row += [metric.title] if several else []
        row += [cells.estimate(level, metric.unit) for level in (change.before, change.after)]
        row += [TableCell(units.ratio(change.ratio), kind)]
        row += [TableCell(verdict_word(change.verdict, metric), kind)]
        rows.append(list(zip(columns, row, strict=True)))
    return table(
        " over ".join(reversed(diff.names)),
        rows,
        "not paired: intervals hold together with 95 %, and allow for changes of the machine and between "
        "runs",
        columns=columns,
        notes=(*([machine] if shifts else []), *contender_changes(diff)),
    )


def contender_changes(diff: RunDiff) -> list[str]:
    """What is not the same about contenders in both runs: versions, sources."""
    sentences = []
    for change in diff.contender_changes:
        if change.before != change.after:
            before, after = (version or "not here" for version in (change.before, change.after))
            sentences.append(one_line(f"{change.contender}: {before} before, {after} after."))
        if change.sources_changed:
            sentences.append(f"{change.contender}: its sources have changed.")
    return sentences


def change_table(history: History) -> TableData:
    """A row for each change of level, the latest first."""
    tested = [series for series in history.series if len(series.values) >= MIN_RUNS]
    rule = f"E-divisive at 1 %, {units.percent(LEAST_EFFECT)} or more, confirmed by {CONFIRMED_BY} later runs"
    if not tested:
        runs = units.count(len(history.runs), "run")
        note = f"Changes of level are looked for from {MIN_RUNS} runs on; this history has {runs}."
    elif not history.changes:
        note = f"No level changed in {len(tested)} series: {rule}."
    else:
        cause = "What changed at the same run may be the cause, and need not be."
        note = f"{rule}, in {len(tested)} series. {cause}"
    return table(
        f"Changes of the {history.metric.noun}",
        [_change_row(history, series, change) for series, change in history.changes],
        columns=_CHANGE_COLUMNS,
        notes=[note],
    )


def run_table(history: History) -> TableData:
    """A row for each run, the latest first: when, and what was different from the run before."""
    columns = ("run", "began (UTC)", "CPU", "ringside", "different from the run before")
    rows: list[Row] = []
    for index, run in reversed(list(enumerate(history.runs))):
        cpu = one_line(str(run.host.get("cpu_model") or "unknown CPU"))
        row = (run.id, minute(run.started_at), cpu, str(run.host.get("ringside") or ""))
        rows.append(list(zip(columns, (*row, _differences(history.since_before(index))), strict=True)))
    return table("Runs", rows, columns=columns)


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


def _change_row(history: History, series: FigureHistory, change: Change) -> Row:
    metric = history.metric
    is_better = (change.ratio < 1) == metric.smaller_is_better
    row: tuple[TableCell | str, ...] = (
        series.contender,
        history.label(series.point),
        change.run,
        *(cells.estimate(series.values[change.index + step], metric.unit) for step in (-1, 0)),
        TableCell(units.significant(change.ratio), "faster" if is_better else "slower"),
        TableCell(f"{change.p:.3f}"),
        "; ".join(map(cause_text, change.causes)) or "nothing that is recorded",
    )
    return list(zip(_CHANGE_COLUMNS, row, strict=True))


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
