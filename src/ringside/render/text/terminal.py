"""Tables on a terminal, by rich. Text from contenders is shown as text: control characters and markup in
it do nothing."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside import units
from ringside.analysis.families import QuestionAnswer
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import SuiteAnalysis
from ringside.model.results import Diagnostic
from ringside.render.text import diagnostics, families
from ringside.render.text.answers import answer_text
from ringside.render.text.cells import TableCell, TableData, brief, column_kinds
from ringside.render.text.contenders import contender_table, overview_table
from ringside.render.text.tables import answer_table, tables
from ringside.render.text.words import Sentence, heading, machine
from ringside.text import one_line

# Narrower screens have lists in place of tables.
_MIN_SPLIT_WIDTH = 60
_BAR_CELLS = 8
_STYLES = {"faster": "green", "slower": "red", "even": "yellow", "failed": "bold red", "quiet": "dim"}


def show(analysis: RunAnalysis, console: Console, *, everything: bool = False, is_part: bool = False) -> None:
    """Print a run: what it was, and what stands around its figures; at the end, where a screen stays, the
    answer and the table that it comes from. `everything`: all tables and columns. `is_part`: of a suite,
    without what `show_rest` prints once for all parts."""
    console.print(Text(one_line(analysis.experiment.title), style="bold"))
    console.print(Text(one_line(heading(analysis))))
    if not is_part:
        console.print(Text(machine(analysis.run.host)), style="dim")
    last = answer_table(analysis)
    for table in tables(analysis, everything=everything, is_part=is_part):
        if table != last:
            console.print()
            render(table, console, everything=everything)
    diagnose(analysis.own_diagnostics if is_part else analysis.diagnostics, console)
    console.print()
    console.print(Text(one_line(answer_text(analysis), most=1000), style="bold"))
    console.print()
    render(last, console, everything=everything)
    if is_part:
        console.print()
        console.rule()


def show_overview(suite: SuiteAnalysis, console: Console) -> None:
    """Print the answer of each problem of a suite, and how the contenders compare in all of them."""
    console.print()
    for column in suite.overview.columns:
        answer = one_line(answer_text(column.analysis), most=1000)
        console.print(Text.assemble((f"{one_line(column.label)}: ", "bold"), answer))
    console.print()
    render(overview_table(suite.overview), console)


def show_rest(suite: SuiteAnalysis, console: Console, *, everything: bool = False) -> None:
    """Print what holds for all parts of a suite: contenders, machine, notes."""
    console.print()
    render(contender_table(*suite.runs), console, everything=everything)
    console.print()
    console.print(Text(machine(suite.runs[-1].run.host)), style="dim")
    diagnose(suite.machine_diagnostics, console)


def show_questions(answers: Sequence[QuestionAnswer], console: Console) -> None:
    """Print questions with what is known of each, family by family."""
    for number, answer in enumerate(answers):
        if number:
            console.print()
            console.rule()
        console.print(Text(one_line(answer.question.text), style="bold"))
        for part in answer.parts:
            if part.standing is None:
                continue
            console.print()
            for sentence in families.sentences(part.standing):
                say(sentence, console)
            console.print()
            render(families.table(part.standing, part.figure.words), console)
        if not answer.is_measured:
            console.print("There is no run that answers it.")
        for text in families.conditions(answer.question):
            console.print(Text(one_line(text, most=1000), style="dim"))
    if programs := families.programs_table(answers):
        console.print()
        render(programs, console)
    if scope := families.scope(answers):
        console.print()
        console.print(Text(scope, style="dim"))


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


def render(table: TableData, console: Console, *, everything: bool = False) -> None:
    """Print one table, without its extra columns unless `everything` is asked for. Where the screen is too
    narrow, columns that can be done without go first, but for the last of these bars; where that is not
    enough, the last columns follow in tables of their own, and on the narrowest screens each row is printed
    as a small list."""
    # What was asked for is not dropped: it follows in tables of its own.
    table = replace(table, narrow=()) if everything else brief(table)
    barred = frozenset(index for row in table.rows for index, cell in enumerate(row) if cell.bar is not None)
    if len(table.rows) < 2 or console.options.ascii_only:
        barred = frozenset()
    grids = _one_grid(table, console, barred) or _several_grids(table, console, barred)
    if table.title:
        console.print(Text(one_line(table.title), style="bold"))
    if table.subtitle:
        console.print(Text(one_line(table.subtitle)), style="dim")
    for number, grid in enumerate(grids):
        if number:
            console.print()
        console.print(grid)
    for row in [] if grids else table.rows:
        console.print(_text(row[0]))
        for column, cell in zip(table.columns[1:], row[1:], strict=True):
            if cell.text:
                console.print(Text.assemble(f"  {one_line(column)}: ", _text(cell)))
    for note in table.notes:
        console.print(Text(one_line(note)), style="dim")


def _one_grid(table: TableData, console: Console, barred: frozenset[int]) -> list[Table]:
    """The table with as many columns as fit, empty where those that must be there do not."""
    for bars in (barred, frozenset[int]()) if barred else (barred,):
        kept = list(range(len(table.columns)))
        for dropped in (None, *(table.narrow[:-1] if bars else table.narrow)):
            if dropped in table.columns:
                kept.remove(table.columns.index(dropped))
            grid = _grid(table, kept, bars)
            if _fits(grid, console):
                return [grid]
    return []


def _several_grids(table: TableData, console: Console, barred: frozenset[int]) -> list[Table]:
    """The columns that must be there in several tables, each with the names; empty where even two columns do
    not fit."""
    if console.width < _MIN_SPLIT_WIDTH:
        return []
    grids: list[Table] = []
    group = [0]
    for index in (index for index, name in enumerate(table.columns) if index and name not in table.narrow):
        grid = _grid(table, [*group, index], barred)
        if _fits(grid, console) and len(group) > 1:
            grids[-1] = grid
        else:
            group = [0]
            grids.append(_grid(table, [0, index], barred))
            if not _fits(grids[-1], console):
                return []
        group.append(index)
    return grids


def _fits(grid: Table, console: Console) -> bool:
    # What it needs at least is measured without the screen's limit, which would cap the answer.
    options = console.options.update(max_width=10_000)
    return console.measure(grid, options=options).minimum <= console.width


def _grid(table: TableData, kept: Sequence[int], barred: frozenset[int]) -> Table:
    """These columns of the table, with bars beside those of `barred`."""
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    kinds = column_kinds(table)
    for index in kept:
        is_number = kinds[index] == "number"
        is_whole = is_number or index == 0
        title = one_line(table.columns[index])
        texts = [title, *(one_line(row[index].text) for row in table.rows)]
        # Rich would cut what may not wrap, and break words, before it reported that it needs more room.
        parts = texts if is_whole else [part for text in texts for part in text.split()]
        grid.add_column(
            Text(title),
            justify="right" if is_number else "left",
            no_wrap=is_whole,
            overflow="fold",
            min_width=max(map(cell_len, parts), default=0),
        )
        if index in barred:
            grid.add_column("", no_wrap=True, min_width=_BAR_CELLS)
    for row in table.rows:
        texts_of_row = []
        for cell, index in ((row[index], index) for index in kept):
            texts_of_row.append(_text(cell))
            if index in barred:
                # A figure of 0 has a bar too: an empty field would be one without a figure.
                share = None if cell.bar is None else max(cell.bar, sys.float_info.min)
                texts_of_row.append(Text("" if share is None else bar(share, _BAR_CELLS), style="dim"))
        grid.add_row(*texts_of_row)
    return grid


def _text(cell: TableCell) -> Text:
    return Text(one_line(cell.text), style=_STYLES.get(cell.kind, ""))


# Bars, in eighths of a character; bands of latency on a logarithmic scale with round edges.
_EIGHTHS = " ▏▎▍▌▋▊▉"
# Steps within ten: the finest that gives few enough bands is taken.
_STEPS = ((1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.3, 8.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
SHADES = " ░▒▓█"


def bar(share: float, width: int) -> str:
    """A bar of up to `width` characters; any share above 0 shows (rich.bar.Bar rounds it down to nothing)."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def band_edges(low_ns: float, high_ns: float, max_bands: int, *, fine: bool = True) -> list[float]:
    """Upper edges in nanoseconds of up to `max_bands` bands that hold all values from low to high."""
    low_ns, high_ns = max(1.0, low_ns), max(1.0, low_ns, high_ns)
    for steps in _STEPS if fine else _STEPS[1:]:
        first, last = math.floor(math.log10(low_ns)) - 1, math.ceil(math.log10(high_ns)) + 1
        # Powers of ten with a negative exponent are not exact, and edges are not below 1 ns.
        series = [step * 10**power for power in range(max(0, first), last + 1) for step in steps]
        upper_edges = series[bisect_left(series, low_ns) : bisect_left(series, high_ns) + 1]
        if len(upper_edges) <= max_bands:
            return upper_edges
    # Twelve decades do not fit: a band holds several.
    every = math.ceil(len(upper_edges) / max_bands)
    return list(reversed(upper_edges[::-1][::every]))


def band_counts(pairs: Iterable[tuple[float, int]], upper_edges: list[float]) -> list[int]:
    """How many of (value, count) pairs lie in each band; the last one has those above, too."""
    counts = [0] * len(upper_edges)
    for value, count in pairs:
        counts[min(bisect_left(upper_edges, value), len(counts) - 1)] += count
    return counts


def band_label(edge_ns: float) -> str:
    """An edge as text: `20 µs`, `1.25 ms`."""
    factor, name = units.scale(edge_ns, "ns")
    return f"{edge_ns / factor:g} {name}"


def shade(count: int, highest: int) -> int:
    """How dark a count is drawn, from 0 (nothing) to 4 (the highest count), on a logarithmic scale, so that a
    few slow replies among many fast ones can be seen."""
    if count <= 0 or highest <= 0:
        return 0
    return min(4, max(1, math.ceil(4 * math.log1p(count) / math.log1p(highest))))
