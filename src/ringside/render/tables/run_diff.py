"""The table of two runs: the second over the first."""

from __future__ import annotations

from ringside import units
from ringside.analysis.run_diff import CellChange, ContenderChange, RunDiff
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells
from ringside.text import one_line

_REFERENCES = {"computing": "in registers", "memory": "waiting for memory"}


def table(diff: RunDiff) -> TableData:
    """A row for each cell and metric."""
    several = len({change.metric.name for change in diff.changes}) > 1
    metric_column = ("metric",) if several else ()
    return TableData(
        f"{diff.second.run.id} over {diff.first.run.id}",
        ("contender", "point", *metric_column, "before", "after", "after / before", "verdict"),
        tuple(_row(diff, change, with_metric=several) for change in diff.changes),
        subtitle="not paired: intervals hold together with 95 %, and allow for changes of the machine",
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
