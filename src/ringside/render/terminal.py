"""Tables on a terminal, by rich. Text from contenders is shown as text: control characters and markup in
it do nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside.analysis.overview import overview, suite_diagnostics
from ringside.analysis.run import RunAnalysis
from ringside.model.results import Diagnostic
from ringside.render import answers, diagnostics
from ringside.render.heading import heading, machine
from ringside.render.sentences import Sentence
from ringside.render.table import TableCell, TableData, column_kinds
from ringside.render.tables import part_tables, tables
from ringside.render.tables.contenders import contender_table
from ringside.render.tables.overview import table as overview_table
from ringside.text import one_line

_STYLES = {"faster": "green", "slower": "red", "even": "yellow", "failed": "bold red", "quiet": "dim"}


def show(analysis: RunAnalysis, console: Console) -> None:
    """Print a run: what it was, its tables, its diagnostics."""
    console.print(Text(one_line(analysis.experiment.title), style="bold"))
    console.print(Text(one_line(heading(analysis))))
    console.print(Text(machine(analysis.run.host)), style="dim")
    for table in tables(analysis):
        console.print()
        render(table, console)
    _answer(analysis, console)
    diagnose(analysis.diagnostics, console)


def show_part(analysis: RunAnalysis, console: Console) -> None:
    """Print a run that is a part of a suite, without what `show_rest` says once of all parts."""
    console.print(Text(one_line(analysis.experiment.title), style="bold"))
    console.print(Text(one_line(heading(analysis))))
    for table in part_tables(analysis):
        console.print()
        render(table, console)
    _answer(analysis, console)
    own, _ = suite_diagnostics([analysis])
    diagnose(own[0], console)
    console.print()
    console.rule()


def show_overview(analyses: Sequence[RunAnalysis], console: Console) -> None:
    """Print how the contenders of a suite compare in each of its problems, and the answer of each."""
    of = overview(analyses)
    console.print()
    render(overview_table(of), console)
    console.print()
    for column in of.columns:
        answer = one_line(answers.text(column.analysis), most=1000)
        console.print(Text.assemble((f"{one_line(column.label)}: ", "bold"), answer))


def show_rest(analyses: Sequence[RunAnalysis], console: Console) -> None:
    """Print what holds for all parts of a suite: contenders, machine, notes."""
    console.print()
    render(contender_table(*analyses), console)
    console.print()
    console.print(Text(machine(analyses[-1].run.host)), style="dim")
    _, common = suite_diagnostics(analyses)
    diagnose(common, console)


def _answer(analysis: RunAnalysis, console: Console) -> None:
    console.print()
    console.print(Text(one_line(answers.text(analysis), most=1000), style="bold"))


def diagnose(weak_points: Iterable[Diagnostic], console: Console) -> None:
    """Print diagnostics, each a paragraph."""
    warn(map(diagnostics.sentences, weak_points), console)


def warn(texts: Iterable[str], console: Console) -> None:
    """Print warnings, each a paragraph."""
    for text in texts:
        console.print()
        console.print(Text.assemble(("Warning: ", "yellow"), one_line(text, most=1000)))


def say(sentence: Sentence, console: Console) -> None:
    """Print a sentence in the colour of its verdict."""
    style = f"bold {_STYLES[sentence.kind]}" if sentence.kind in ("faster", "slower", "even") else ""
    console.print(Text(one_line(sentence.text), style=style))


def render(table: TableData, console: Console) -> None:
    """Print one table. Where the screen is too narrow, columns that can be done without go first; where
    that is not enough, each row is printed as a small list of its own."""
    kept = list(range(len(table.columns)))
    for dropped in (None, *table.narrow):
        if dropped is not None and dropped in table.columns:
            kept.remove(table.columns.index(dropped))
        grid = _grid(table, kept)
        # What it needs at least is measured without the screen's limit, which would cap the answer.
        needed = console.measure(grid, options=console.options.update(max_width=10_000)).minimum
        if needed <= console.width:
            _print_title(table, console)
            console.print(grid)
            break
    else:
        _print_as_lists(table, console)
    for note in table.notes:
        console.print(Text(one_line(note)), style="dim")


def _print_title(table: TableData, console: Console) -> None:
    if table.title:
        console.print(Text(one_line(table.title), style="bold"))
    if table.subtitle:
        console.print(Text(one_line(table.subtitle)), style="dim")


def _grid(table: TableData, kept: Sequence[int]) -> Table:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    kinds = column_kinds(table)
    columns = [one_line(column) for column in table.columns]
    for index in kept:
        is_number = kinds[index] == "number"
        is_whole = is_number or index == 0
        texts = [columns[index], *(one_line(row[index].text) for row in table.rows)]
        grid.add_column(
            Text(columns[index]),
            justify="right" if is_number else "left",
            no_wrap=is_whole,
            overflow="fold",
            # Rich would cut what may not wrap, and break words, before it reported that it needs more room.
            min_width=max(
                cell_len(part) for text in texts for part in ([text] if is_whole else text.split())
            ),
        )
    for row in table.rows:
        grid.add_row(*(_text(row[index]) for index in kept))
    return grid


def _print_as_lists(table: TableData, console: Console) -> None:
    _print_title(table, console)
    for row in table.rows:
        console.print(_text(row[0]))
        for column, cell in zip(table.columns[1:], row[1:], strict=True):
            if cell.text:
                console.print(Text.assemble(f"  {one_line(column)}: ", _text(cell)))


def _text(cell: TableCell) -> Text:
    return Text(one_line(cell.text), style=_STYLES.get(cell.kind, ""))
