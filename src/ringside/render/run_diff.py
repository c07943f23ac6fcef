"""Two runs, the second over the first: a table, and a forest plot."""

from __future__ import annotations

from collections.abc import Sequence

from ringside import units
from ringside.analysis.run_diff import CellChange, ContenderChange, RunDiff
from ringside.render.plots.rows import RatioRow, ratios
from ringside.render.plots.spec import Chart, Json, Panel, by_contender, contender_colour, described, row_axis
from ringside.render.table import TableCell, TableData
from ringside.render.tables import cells
from ringside.text import one_line

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


# More rows or panels than these are in the table alone.
_MAX_ROWS, _MAX_PANELS = 60, 6


def diff_chart(diff: RunDiff) -> Chart:
    """A panel for each metric of which both runs have positive figures."""
    metrics = list(dict.fromkeys(change.metric for change in diff.changes))
    panels = []
    for metric in metrics:
        changes = [each for each in diff.changes if each.metric == metric and each.ratio.estimate > 0]
        if changes:
            panels.append(Panel(metric.title, _forest(diff, changes[:_MAX_ROWS])))
    caption = (
        "The figures of the second run over those of the first, with the interval of the ratio. Between the "
        f"dashed lines, {units.percent(diff.margin)} around 1, two are equivalent."
    )
    return described(Chart("Second over first", caption, tuple(panels[:_MAX_PANELS])))


def _forest(diff: RunDiff, changes: Sequence[CellChange]) -> Json:
    contenders = {_label(diff, each): each.cell.contender for each in changes}
    colours = by_contender(contenders, lambda label: contender_colour(contenders[label]))
    rows = [RatioRow(_label(diff, each), each.ratio, each.verdict, each.metric) for each in changes]
    y = row_axis(list(contenders), labelLimit=320)
    return ratios(rows, diff.margin, "times the first run", y, colours)


def _label(diff: RunDiff, change: CellChange) -> str:
    """The contender, and the point where there are several."""
    name = change.cell.contender
    return f"{name}, {diff.first.label(change.cell.point)}" if len(diff.first.points) > 1 else name
