"""A run's tables as Markdown, to paste into an issue or a post."""

from __future__ import annotations

import re

from ringside.analysis.summary import Summary
from ringside.render.table import TableData, column_kinds
from ringside.render.tables import tables
from ringside.render.terminal import heading, machine
from ringside.text import one_line


def render(summary: Summary) -> str:
    """The whole run."""
    parts = [
        f"# {escape(summary.experiment.title)}",
        escape(heading(summary)),
        escape(machine(summary.run.host)),
    ]
    parts += [table_markdown(table) for table in tables(summary)]
    parts += [f"**Warning:** {escape(one.sentences())}" for one in summary.warnings]
    return "\n\n".join(parts) + "\n"


def table_markdown(table: TableData) -> str:
    """One table with its title and notes."""
    ends = ["---:" if kind == "number" else "---" for kind in column_kinds(table)]
    lines = [f"## {escape(table.title)}", ""]
    if table.subtitle:
        lines += [f"*{escape(table.subtitle)}*", ""]
    lines.append("| " + " | ".join(escape(column) for column in table.columns) + " |")
    lines.append("|" + "|".join(ends) + "|")
    lines += ["| " + " | ".join(escape(entry.text) for entry in row) + " |" for row in table.rows]
    for note in table.notes:
        lines += ["", escape(note)]
    return "\n".join(lines)


def escape(text: str) -> str:
    """Text with nothing in it that Markdown or HTML would act on."""
    harmless = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", harmless)
