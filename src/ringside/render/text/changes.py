"""Tables of what changed: two runs, the second over the first, and many runs of one experiment."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ringside import units
from ringside.analysis.history import CONFIRMED_BY, LEAST_EFFECT, MIN_RUNS, ChangeCause, History
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import RunDiff
from ringside.analysis.suite import SessionRatio
from ringside.model.design import Point
from ringside.model.results import Verdict
from ringside.render.text import cells
from ringside.render.text.cells import Row, TableCell, TableData, plain_table, table
from ringside.render.text.words import KINDS, MAX_NAMED, Sentence, undecided, verdict_text, where
from ringside.text import minute, one_line

_MAX_NAMED = 6
_REFERENCES = {"computing": "for work in registers", "memory": "for waits for memory"}


def diff_answer(diff: RunDiff) -> Sentence:
    """The result of the comparison in one sentence: each change, or that none is shown."""
    one, other = diff.names
    changed = [each for each in diff.changes if each.verdict in (Verdict.FASTER, Verdict.SLOWER)]
    if not changed:
        counts = Counter(undecided(change, diff.margin) for change in diff.changes)
        details = ", ".join(f"{count} {word}" for word, count in counts.items())
        return Sentence(one_line(f"No change is shown from {one} to {other} ({details})"))
    parts = []
    for each in changed[:MAX_NAMED]:
        who, word = each.cell.contender, verdict_text(each, each.metric)
        at, noun = where(diff.first, each.cell.point), each.metric.noun
        parts.append(f"{who} is {word}{at} in {noun}, {units.ratio(each.ratio)} times")
    if len(changed) > MAX_NAMED:
        parts.append(units.count(len(changed) - MAX_NAMED, "more change"))
    kind = KINDS[changed[0].verdict] if len({each.verdict for each in changed}) == 1 else "even"
    return Sentence(one_line(f"From {one} to {other} {'; '.join(parts)}"), kind)


def diff_tables(diff: RunDiff) -> list[TableData]:
    """A table for each point, with a row for each contender and metric."""
    took = diff.machine.items()
    shifts = [f"{units.ratio(ratio)} times as long {_REFERENCES[name]}" for name, ratio in took]
    machine = f"The machine: in the second run a reference computation took {' and '.join(shifts)}."
    several = len({change.metric.name for change in diff.changes}) > 1
    by_point: dict[Point, list[Row]] = {}
    for change in diff.changes:
        metric, kind = change.metric, KINDS.get(change.verdict, "number")
        row: Row = [("contender", change.cell.contender), *([("metric", metric.title)] if several else [])]
        row.append(("after / before", TableCell(units.ratio(change.ratio), kind)))
        row.append(("verdict", TableCell(verdict_text(change, metric, diff.margin), kind)))
        row.append(("before", cells.estimate(change.before, metric.unit)))
        row.append(("after", cells.estimate(change.after, metric.unit)))
        by_point.setdefault(change.cell.point, []).append(row)
    is_known = all(each.code != "no-reference" for each in diff.diagnostics)
    of_machine = "changes of the machine and" if is_known else "changes"
    how = f"not paired: intervals hold together with 95 %, and allow for {of_machine} between runs"
    notes = (*([machine] if shifts else []), *contender_changes(diff))
    # A note for all points stands at the first and below the last.
    last = len(by_point) - 1
    return [
        table(diff.first.label(point), rows, "" if number else how, notes=notes if number == last else ())
        for number, (point, rows) in enumerate(by_point.items())
    ]


def contender_changes(diff: RunDiff) -> list[str]:
    """Differences of the contenders that are in both runs: versions, sources."""
    sentences = []
    for name, old in diff.first.contenders.items():
        new = diff.seconds[-1].contenders.get(name)
        if new and old.version != new.version:
            before, after = (each.version or "not here" for each in (old, new))
            sentences.append(one_line(f"{name}: {before} before, {after} after."))
        if new and old.files != new.files:
            sentences.append(f"{name}: its sources have changed.")
    return sentences


def session_table(first: RunAnalysis, ratios: Sequence[SessionRatio]) -> TableData:
    """The pairs over the sessions of an experiment, and how far the sessions differ."""
    rows: list[Row] = []
    for metric, over, each, deviation in ratios:
        low, high = (units.significant(end(each)) for end in (min, max))
        pair = f"{over.contender} over {over.baseline}{where(first, over.point)}"
        row: Row = [("pair", pair), ("metric", metric.title), ("ratio", cells.ratio(over, metric))]
        row.append(("verdict", cells.verdict(over, metric, first.experiment.margin)))
        row.append(("sessions", TableCell(f"{low}–{high}")))
        rows.append([*row, ("differ by", TableCell(f"{units.significant(100 * deviation, 2)} %"))])
    how = "intervals are Student's, of the sessions' ratios; those of a metric hold together with 95 %"
    return table(f"Over {len(ratios[0].ratios)} sessions", rows, how)


def change_table(history: History) -> TableData:
    """A row for each change of level, the latest first."""
    tested = [series for series in history.series if len(series.values) >= MIN_RUNS]
    rule = f"E-divisive at 1 %, {units.percent(LEAST_EFFECT)} or more, confirmed by {CONFIRMED_BY} later runs"
    if not tested:
        runs = units.count(len(history.runs), "run")
        note = f"A search for changes of level needs {MIN_RUNS} runs; this history has {runs}."
    elif not history.changes:
        note = f"No level changed in {len(tested)} series: {rule}."
    else:
        cause = "What changed at the same run may be the cause, but need not be."
        note = f"{rule}, in {len(tested)} series. {cause}"
    metric = history.metric
    rows: list[Sequence[TableCell | str]] = []
    for series, change in history.changes:
        is_better = (change.ratio < 1) == metric.smaller_is_better
        levels = [cells.estimate(series.values[change.index + step], metric.unit) for step in (-1, 0)]
        ratio = TableCell(units.significant(change.ratio), "faster" if is_better else "slower")
        causes = "; ".join(map(cause_text, change.causes)) or "nothing that is recorded"
        where_and_when = (series.contender, history.label(series.point), change.run)
        rows.append((*where_and_when, *levels, ratio, TableCell(f"{change.p:.3f}"), causes))
    columns = ("contender", "point", "since", "before", "after", "after / before", "p")
    title = f"Changes of the {metric.noun}"
    return plain_table(title, (*columns, "what else changed there"), rows, notes=[note])


def run_table(history: History) -> TableData:
    """A row for each run, the latest first: its time, and its differences from the run before."""
    columns = ("run", "began (UTC)", "CPU", "ringside", "different from the run before")
    rows = []
    for index, run in reversed(list(enumerate(history.runs))):
        cpu = one_line(str(run.host.get("cpu_model") or "unknown CPU"))
        causes = history.since_before(index)
        texts = sorted(map(cause_text, causes or ()))
        more = f"; {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
        known = "; ".join(texts[:_MAX_NAMED]) + more or "nothing that is recorded"
        row = (run.id, minute(run.started_at), cpu, str(run.host.get("ringside") or "–"))
        rows.append((*row, "the first run" if causes is None else known))
    return plain_table("Runs", columns, rows)


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


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return one_line(str(value), 80) if value not in (None, "") else "none"
