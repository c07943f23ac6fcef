"""A table as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


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
