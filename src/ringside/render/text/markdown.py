"""A run's tables as Markdown, to paste into an issue or a post."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def render(analysis: RunAnalysis) -> str:
    """The whole run."""
    return "\n\n".join(_run(analysis, is_part=False)) + "\n"


def render_suite(suite: SuiteAnalysis) -> str:
    """The runs of a suite: the overview, each part, and once what holds for all."""
    parts = [table_markdown(overview_table(suite.overview))]
    for analysis in suite.runs:
        parts += _run(analysis, is_part=True)
    parts += [table_markdown(contender_table(*suite.runs)), escape(machine(suite.runs[-1].run.host))]
    return "\n\n".join([*parts, *map(warning, suite.machine_diagnostics)]) + "\n"


def _run(analysis: RunAnalysis, *, is_part: bool) -> list[str]:
    return [
        f"# {escape(analysis.experiment.title)}",
        escape(heading(analysis)),
        *([] if is_part else [escape(machine(analysis.run.host))]),
        f"**{escape(answer_text(analysis))}**",
        *map(table_markdown, tables(analysis, is_part=is_part)),
        *map(warning, analysis.own_diagnostics if is_part else analysis.diagnostics),
    ]


def render_diff(diff: RunDiff) -> str:
    """Two runs of one workload."""
    answer, shown = changes.diff_answer(diff), map(table_markdown, changes.diff_tables(diff))
    return "\n\n".join([f"{escape(answer.text)}.", *shown, *map(warning, diff.diagnostics)]) + "\n"


def render_questions(answers: Sequence[QuestionAnswer]) -> str:
    """Questions with what is known of each, family by family."""
    parts = []
    for answer in answers:
        parts.append(f"## {escape(answer.question.text)}")
        for part in answer.parts:
            if part.standing:
                sentences = families.sentences(part.standing)
                parts += [" ".join(f"{escape(each.text)}." for each in sentences)] if sentences else []
                parts.append(table_markdown(families.table(part.standing, part.figure.words), 3))
        if not answer.is_measured:
            parts.append("There is no run that answers it.")
        parts += map(escape, families.conditions(answer.question))
    if programs := families.programs_table(answers):
        parts.append(table_markdown(programs))
    parts += [escape(scope)] if (scope := families.scope(answers)) else []
    return "\n\n".join(parts) + "\n"


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
