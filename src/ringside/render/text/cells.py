"""Tables as data, and their cells: figures, ratios and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ringside import units
from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.model.results import Comparison, Interval, Outcome
from ringside.render.text.answers import stall_word


@dataclass(frozen=True, slots=True)
class TableCell:
    """One field of a table. `kind`: text, number, faster, slower, even, failed, quiet. `word`: the verdict,
    where colour alone would tell it. `bar`: the figure's share of the largest of its column, 0 to 1, which a
    terminal draws beside it."""

    text: str
    kind: str = "number"
    word: str = ""
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class TableData:
    """A table: its title, a line below the title, columns (the first holds names), rows, notes below.

    `narrow` lists the columns that a narrow screen can do without, the first to go first; `extra` those that
    a terminal shows only where everything is asked for.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    subtitle: str = ""
    notes: tuple[str, ...] = ()
    narrow: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


def brief(table: TableData) -> TableData:
    """The table without its extra columns."""
    kept = [index for index, column in enumerate(table.columns) if column not in table.extra]
    return replace(
        table,
        columns=tuple(table.columns[index] for index in kept),
        rows=tuple(tuple(row[index] for index in kept) for row in table.rows),
        extra=(),
    )


def column_kinds(table: TableData) -> Sequence[str]:
    """For each column `text` or `number`: how it is aligned."""
    kinds = []
    for index, _ in enumerate(table.columns):
        column = [row[index].kind for row in table.rows]
        # A failure stands among texts as one of them, and among numbers where a number would.
        text = "text" in column and set(column) <= {"text", "failed"}
        kinds.append("text" if text else "number")
    return kinds


ABSENT = TableCell("–", "quiet")


# Behind the names of contenders with implausible figures.
MARK = "(!)"


def name(analysis: RunAnalysis, contender: str) -> TableCell:
    """A contender's name in a table of figures, marked where they are implausible."""
    return text(f"{contender} {MARK}" if contender in analysis.implausible else contender)


def text(value: str) -> TableCell:
    return TableCell(value or "–", "text")


def figure(cell: CellAnalysis, metric: Metric, *, interval: bool = False) -> TableCell:
    """A metric of a cell; where the cell has no figures at all, how its trials ended; where the program did
    not report what it should have, that it is missing."""
    value = cell.metrics.get(metric.name)
    if value is not None:
        return TableCell(
            units.with_interval(value, metric.unit) if interval else units.metric_estimate(value, metric)
        )
    if metric.name in cell.missing:
        return TableCell("missing", "failed")
    failed = next((outcome for outcome in cell.outcomes if outcome is not Outcome.OK), None)
    return TableCell(str(failed), "failed") if failed and not cell.has_figures else ABSENT


def interval(value: Interval | None, unit: str) -> TableCell:
    return TableCell(units.with_interval(value, unit)) if value else ABSENT


def ratio(comparison: Comparison | None, metric: Metric, *, is_baseline: bool = False) -> TableCell:
    if is_baseline:
        return TableCell("1", "quiet")
    if comparison is None:
        return ABSENT
    word = verdict(comparison, metric)
    return TableCell(units.ratio(comparison.ratio), word.kind, word.text)


def verdict(comparison: Comparison | None, metric: Metric, *, is_baseline: bool = False) -> TableCell:
    if is_baseline:
        return TableCell("baseline", "quiet")
    if comparison is None:
        return ABSENT
    if comparison.stalls:
        return TableCell(stall_word(metric))
    return TableCell(units.verdict_word(comparison.verdict, metric), units.kind(comparison.verdict))
