"""A run's tables as Markdown, to paste into an issue or a post."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2

from ringside.analysis.families import QuestionAnswer
from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import RunDiff
from ringside.analysis.suite import SuiteAnalysis
from ringside.model.results import Diagnostic
from ringside.render.text import changes, diagnostics, families
from ringside.render.text.answers import answer_text
from ringside.render.text.cells import TableData, column_kinds
from ringside.render.text.contenders import contender_table, overview_table
from ringside.render.text.tables import tables
from ringside.render.text.words import heading, machine
from ringside.text import one_line

_FOLDER = Path(__file__).parent


def render(shown: RunAnalysis | SuiteAnalysis) -> str:
    """A whole run; or the runs of a suite: the overview, each part, and once what holds for all."""
    suite = shown if isinstance(shown, SuiteAnalysis) else None
    return rendered(_FOLDER / "run.md.j2", suite=suite, runs=suite.runs if suite else [shown])


def render_diff(diff: RunDiff) -> str:
    """Two runs of one workload."""
    answer, shown = changes.diff_answer(diff), map(table_markdown, changes.diff_tables(diff))
    return "\n\n".join([f"{escape(answer.text)}.", *shown, *map(warning, diff.diagnostics)]) + "\n"


def render_questions(answers: Sequence[QuestionAnswer]) -> str:
    """Questions with their answers, family by family."""
    return rendered(_FOLDER / "questions.md.j2", answers=answers)


def templates_in(*folders: Path, **own: Any) -> jinja2.Environment:
    """The environment of templates, in which an unknown name is an error."""
    loader, undefined = jinja2.FileSystemLoader(folders), jinja2.StrictUndefined
    return jinja2.Environment(loader=loader, undefined=undefined, trim_blocks=True, lstrip_blocks=True, **own)


def rendered(template: Path, **values: Any) -> str:
    """Markdown by a template, in which lines that are empty more than once are one."""
    markdown = templates_in(template.parent)
    markdown.filters |= {"machine": machine, "table": table_markdown, "text": escape, "warning": warning}
    markdown.globals |= {"diagnostics": diagnostics, "families": families}
    functions = (answer_text, changes.session_table, contender_table, heading, overview_table, tables)
    markdown.globals |= {function.__name__: function for function in functions}
    text = markdown.get_template(template.name).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def table_markdown(table: TableData, level: int = 2) -> str:
    """One table with its title, a heading of that level, and notes."""
    ends = ["---:" if kind == "number" else "---" for kind in column_kinds(table)]
    lines = [f"{'#' * level} {escape(table.title)}", ""] if table.title else []
    if table.subtitle:
        lines += [f"*{escape(table.subtitle)}*", ""]
    lines.append("| " + " | ".join(map(escape, table.columns)) + " |")
    lines.append("|" + "|".join(ends) + "|")
    lines += ["| " + " | ".join(escape(cell.text) for cell in row) + " |" for row in table.rows]
    for note in table.notes:
        lines += ["", escape(note)]
    return "\n".join(lines)


def escape(text: str) -> str:
    """Text with nothing in it that Markdown or HTML would act on."""
    harmless = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", harmless)


def warning(weak_point: Diagnostic) -> str:
    """A diagnostic as a paragraph."""
    return f"**Warning:** {escape(diagnostics.sentences(weak_point))}"
