"""What `vs` and `load --vs` show of commands and of servers: the verdicts as sentences first, then the
figures, as text, Markdown and JSON.

The title of a contender is the command or the target as it was written, its name the letter or word that
stands for it in sentences."""

from __future__ import annotations

import dataclasses

from rich.console import Console
from rich.text import Text

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Point
from ringside.render.text import diagnostics, executions, markdown, terminal
from ringside.render.text.answers import Sentence
from ringside.render.text.cells import TableCell, TableData
from ringside.render.text.sentences import pair_sentence
from ringside.render.text.tables import point_table
from ringside.text import one_line

_MAX_TEXT = 200


def show(
    analysis: RunAnalysis, how: str, console: Console, order: str = "auto", *, everything: bool = False
) -> None:
    """Print verdicts, what each name stands for, `how` it was measured, figures, diagnostics. `order`: of the
    rows: `auto` (the best first), `command`, `mean-time`. `everything`: all columns."""
    sentences = verdicts(analysis, order)
    for sentence in sentences:
        terminal.say(sentence, console)
    if sentences:
        console.print()
    for name, contender in analysis.contenders.items():
        console.print(Text(f"{one_line(name)} = {one_line(contender.title, _MAX_TEXT)}"))
    console.print(Text(how), style="dim")
    console.print()
    if is_alone(analysis):
        executions.show_alone(analysis, console)
    else:
        terminal.render(table(analysis, order), console, everything=everything)
    terminal.diagnose(analysis.diagnostics, console)


def is_alone(analysis: RunAnalysis) -> bool:
    """Whether one command was executed at one point, so that nothing is compared."""
    return len(analysis.cells) == 1


def as_markdown(analysis: RunAnalysis, how: str, order: str = "auto") -> str:
    """Verdicts as a list, the figures, what each name stands for."""
    lines = [f"- {markdown.escape(sentence.text)}" for sentence in verdicts(analysis, order)]
    lines += [*([""] if lines else []), markdown.table_markdown(table(analysis, order)), ""]
    lines += [
        f"- {markdown.escape(name)}: {markdown.escape(contender.title)}"
        for name, contender in analysis.contenders.items()
    ]
    lines += ["", markdown.escape(how), ""]
    lines += [f"- Warning: {markdown.escape(diagnostics.sentences(each))}" for each in analysis.diagnostics]
    return "\n".join(lines).rstrip() + "\n"


def verdicts(analysis: RunAnalysis, order: str = "auto") -> list[Sentence]:
    """Of servers a sentence for each compared metric; of commands the headline of each, the best first, point
    by point."""
    return [
        dataclasses.replace(sentence, text=f"{analysis.label(point)}: {sentence.text}")
        if point.levels
        else sentence
        for point in analysis.points
        for metric in (analysis.metrics if _is_load(analysis) else (analysis.headline,))
        for sentence in (
            pair_sentence(analysis, metric, *pair, point) for pair in _in_order(analysis, point, order)
        )
    ]


def _in_order(analysis: RunAnalysis, point: Point, order: str) -> list[tuple[str, str]]:
    if order == "command":
        return list(analysis.pairs)
    best_first = analysis.rankings[analysis.headline.name, point].order
    return sorted(analysis.pairs, key=lambda pair: best_first.index(pair[0]))


def table(analysis: RunAnalysis, order: str = "auto") -> TableData:
    """The medians of all contenders, the best first; of servers with what their loads counted, of commands
    with mean, deviation and range, over their parameters where they have any."""
    if len(analysis.points) > 1 or analysis.points[0].levels:
        return executions.scan_table(analysis, order)
    # Targets, and commands without parameters, are measured at one point.
    figures = point_table(analysis, analysis.points[0])
    if order != "auto":
        names = [cell.contender for cell in executions.in_order(analysis, order)]
        rows = sorted(figures.rows, key=lambda row: names.index(row[0].text) if row[0].text in names else 99)
        figures = dataclasses.replace(figures, rows=tuple(rows))
    noun = analysis.headline.noun
    figures = dataclasses.replace(
        figures,
        title="Medians over blocks",
        subtitle=f"{noun} with its 95 % interval; ratios are of the {noun}, from pairs inside blocks",
        columns=("", *figures.columns[1:]),
    )
    figures = _with_counts(analysis, figures)
    others = [column for column in reversed(figures.columns[3:]) if column not in ("verdict", "rank")]
    # Sentences have the verdicts already; without them a row says little.
    figures = dataclasses.replace(figures, narrow=(*others, "rank", "verdict"), extra=())
    return figures if _is_load(analysis) else executions.with_spread(analysis, figures)


def _with_counts(analysis: RunAnalysis, figures: TableData) -> TableData:
    """The table with columns for what the loads counted; as it is where there was no load."""
    if not _is_load(analysis):
        return figures
    totals = analysis.load_totals
    counts = ["answered", "messages", "unfinished", "errors"]
    if not any(each.messages for each in totals.values()):
        counts.remove("messages")
    rows = []
    for row in figures.rows:
        numbers = [getattr(totals[row[0].text], count) for count in counts]
        kinds = [
            "failed" if count == "errors" and n else "number"
            for count, n in zip(counts, numbers, strict=True)
        ]
        rows.append((*row, *(TableCell(f"{n:,}", kind) for n, kind in zip(numbers, kinds, strict=True))))
    return dataclasses.replace(figures, columns=(*figures.columns, *counts), rows=tuple(rows))


def _is_load(analysis: RunAnalysis) -> bool:
    """Whether servers were measured, not commands."""
    return any(trial.loads for trial in analysis.trials)
