"""Tables as data, and their cells: figures, ratios and verdicts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ringside import units
from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.model.results import Comparison, Interval, Obstacle
from ringside.render.text.words import KINDS, undecided, verdict_text


@dataclass(frozen=True, slots=True)
class TableCell:
    """One field of a table."""

    text: str
    # text, number, faster, slower, even, failed, quiet
    kind: str = "number"
    # The verdict, where colour alone would tell it.
    word: str = ""
    # The figure's share of the largest of its column, 0 to 1, which a terminal draws beside it.
    bar: float | None = None


@dataclass(frozen=True, slots=True)
class TableData:
    """A table: its title, columns (the first holds names), rows, a line below the title, notes below."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    subtitle: str = ""
    notes: tuple[str, ...] = ()
    # Columns that a narrow screen can do without, the first to go first.
    narrow: tuple[str, ...] = ()
    # Columns that a terminal shows only where everything is asked for.
    extra: tuple[str, ...] = ()


# A row as it is put together: a text or a cell for each column, by the column's title.
Row = list[tuple[str, TableCell | str]]


def table(title: str, rows: Iterable[Row], subtitle: str = "", **more: Iterable[str]) -> TableData:
    """A table from rows that have the same columns; an empty text is shown as `–`."""
    rows = list(rows)
    columns = [column for row in rows[:1] for column, _ in row]
    return plain_table(title, columns, [[cell or "–" for _, cell in row] for row in rows], subtitle, **more)


def plain_table(
    title: str,
    columns: Iterable[str],
    rows: Iterable[Iterable[TableCell | str]],
    subtitle: str = "",
    *,
    notes: Iterable[str] = (),
    narrow: Iterable[str] = (),
    extra: Iterable[str] = (),
) -> TableData:
    """A table from its columns and its rows of cells or texts."""
    cells = tuple(
        tuple(TableCell(cell, "text") if isinstance(cell, str) else cell for cell in row) for row in rows
    )
    return TableData(title, tuple(columns), cells, subtitle, tuple(notes), tuple(narrow), tuple(extra))


def brief(table: TableData) -> TableData:
    """The table without its extra columns."""
    kept = [index for index, column in enumerate(table.columns) if column not in table.extra]
    rows = tuple(tuple(row[index] for index in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[index] for index in kept), rows=rows, extra=())


def column_kinds(table: TableData) -> Sequence[str]:
    """For each column `text` or `number`: how it is aligned."""
    kinds = []
    for index, _ in enumerate(table.columns):
        column = {row[index].kind for row in table.rows}
        # A failure stands among texts as one of them, and among numbers where a number would.
        kinds.append("text" if "text" in column and "number" not in column else "number")
    return kinds


ABSENT = TableCell("–", "quiet")
# Behind the names of contenders with implausible figures.
MARK = "(!)"


def name(analysis: RunAnalysis, contender: str) -> str:
    """A contender's name in a table of figures, marked where they are implausible."""
    return f"{contender} {MARK}" if contender in analysis.implausible else contender


def figure(cell: CellAnalysis, metric: Metric, *, with_interval: bool = False) -> TableCell:
    """A metric of a cell; else `missing` if the program did not report it, or how its trials ended."""
    if value := cell.metrics.get(metric.name):
        return (interval if with_interval else estimate)(value, metric.unit)
    if cell.values(metric.name):
        return TableCell("?", "quiet")
    if metric.name in cell.missing:
        return TableCell("missing", "failed")
    failed = next(iter(cell.failures), "")
    return TableCell(str(failed), "failed") if failed and not cell.has_figures else ABSENT


def estimate(value: Interval | None, unit: str) -> TableCell:
    """An estimate without its interval."""
    return TableCell(units.quantity(value.estimate, unit)) if value else ABSENT


def interval(value: Interval | None, unit: str) -> TableCell:
    return TableCell(units.with_interval(value, unit)) if value else ABSENT


def ratio(comparison: Comparison | None, metric: Metric, *, is_baseline: bool = False) -> TableCell:
    if is_baseline:
        return TableCell("1", "quiet")
    if comparison is None:
        return ABSENT
    word = verdict(comparison, metric)
    return TableCell(units.ratio(comparison.ratio), word.kind, word.text)


def verdict(comparison: Comparison | None, metric: Metric, margin: float | None = None) -> TableCell:
    if comparison is None:
        return ABSENT
    if comparison.obstacle is Obstacle.WARMING_UP:
        return TableCell("warming up", "quiet")
    return TableCell(verdict_text(comparison, metric, margin), KINDS.get(comparison.verdict, "number"))


def distance(
    comparison: Comparison | None, metric: Metric, margin: float, *, is_least: bool = False
) -> TableCell:
    """How far a contender is from the baseline, in words: `2.5× slower (2.2–4.1)`, `too close to call`.
    `is_least`: the better of the two is still warming up, and will be further ahead."""
    word = verdict(comparison, metric, margin)
    if comparison is None or undecided(comparison):
        return replace(word, kind="text" if word.kind == "number" else word.kind)
    above_1 = comparison.ratio if comparison.ratio.estimate > 1 else comparison.ratio.inverse
    size, ends = units.excess(above_1)
    is_much = word.text == "more" and not units.is_small_excess(above_1)
    text = f"{'at least ' * is_least}{size.replace(' times', '×')} {'as much' if is_much else word.text}"
    return TableCell(f"{text} ({ends})" if ends else text, word.kind)
