"""What the cells of tables say."""

from __future__ import annotations

from ringside.render.text.cells import TableData


def texts(table: TableData) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def column(table: TableData, name: str) -> list[str]:
    place = table.columns.index(name)
    return [row[place].text for row in table.rows]
