"""Tables on a terminal, by rich. Control characters and markup in texts of contenders do nothing."""

import itertools
import math
import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter

from rich.box import SIMPLE_HEAD, Box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside import units
from ringside.analysis.families import QuestionAnswer
from ringside.analysis.run import RunAnalysis
from ringside.analysis.suite import SuiteAnalysis
from ringside.model.design import grouped
from ringside.model.results import Diagnostic
from ringside.render.text import changes, diagnostics, families
from ringside.render.text.answers import MOST_SENTENCES, answer_text, answers, point_answer
from ringside.render.text.cells import TableCell, TableData, brief, column_kinds
from ringside.render.text.contenders import contender_table, overview_table
from ringside.render.text.tables import POINT_TABLES, first_table, tables
from ringside.render.text.words import Sentence, heading, machine, part_name, point_heading, took
from ringside.text import capitalised, one_line
from ringside.workloads.base import Workload

# Narrower screens have lists in place of tables.
_MIN_SPLIT_WIDTH = 60
_BAR_CELLS = 8
# Texts of this many characters are not worth a second line.
_WHOLE = 22
# For a suite, whatever its points; the other warnings are only named.
_MOST_WARNINGS = 6
_STYLES = {"faster": "green", "slower": "red", "even": "yellow", "failed": "bold red", "quiet": "dim"}


def show(
    analysis: RunAnalysis, console: Console, printed: set[str] | None = None, *, everything: bool = False
) -> None:
    """Print a run's answer: a table and sentences for each point, or for all points if there are many.
    `printed`: sentences of other parts of a suite; None for a single run, which gets its warnings.
    `everything`: `show_all`."""
    if everything:
        return show_all(analysis, console, is_part=printed is not None)
    said: set[str] = set() if printed is None else printed
    is_one_table = len(analysis.points) > POINT_TABLES
    for number, standing in enumerate(analysis.conclusion.standings[: 1 if is_one_table else None]):
        point = standing.point
        if number:
            console.print()
        title = analysis.measurement.title if is_one_table else point_heading(analysis, point)
        line = Text(one_line(title), style="bold")
        if not number:
            right = took(analysis, is_part=printed is not None)
            gap = console.width - cell_len(line.plain) - cell_len(right)
            line.append(f"{' ' * gap if gap > 1 else '; '}{right}", style="not bold dim")
        console.print(line)
        if analysis.trial_count or analysis.is_over:
            render(first_table(analysis, None if is_one_table else point), console, box=None)
        of_point = point_answer(analysis, standing, below_table=True)
        sentences = answers(analysis)[:MOST_SENTENCES] if is_one_table else of_point
        new = [each for each in sentences if each.text not in said]
        said.update(each.text for each in new)
        if new:
            console.print(Text(one_line(answer_text(analysis, new), most=1000)))
    if not isinstance(analysis.measurement, Workload):
        name_commands(analysis, console)
    if printed is None:
        show_warnings([analysis], console)


def name_commands(analysis: RunAnalysis, console: Console) -> None:
    """Print which command, or which server, each name stands for."""
    for name, contender in analysis.contenders.items():
        at = f" at {one_line(contender.version, 40)}" if contender.version else ""
        if name != contender.title:
            console.print(Text(f"{one_line(name)} = {one_line(contender.title, 200)}{at}"))


def show_all(analysis: RunAnalysis, console: Console, *, is_part: bool = False) -> None:
    """Print all of a run: what it was, its answer, all tables and columns, warnings with remedies."""
    console.print(Text(one_line(analysis.experiment.title), style="bold"))
    console.print(Text(one_line(heading(analysis))))
    if not is_part:
        console.print(Text(machine(analysis.run.host)), style="dim")
    console.print()
    console.print(Text(one_line(answer_text(analysis), most=1000), style="bold"))
    for table in tables(analysis, is_part=is_part):
        console.print()
        render(table, console, everything=True)
    diagnose(analysis.own_diagnostics if is_part else analysis.diagnostics, console)
    if is_part:
        console.print()
        console.rule()


def show_sessions(suite: SuiteAnalysis, console: Console) -> None:
    """Print the joint results of each experiment's sessions, and their warnings."""
    for first, ratios in suite.sessions:
        render(changes.session_table(first, ratios), console, everything=True)
        name_commands(first, console)
    show_warnings(suite.runs, console, but="one-session")


def show_overview(suite: SuiteAnalysis, console: Console, *, everything: bool = False) -> None:
    """Print the overview of a suite; `everything`: with contenders, machine and notes, without warnings."""
    console.print()
    if everything:
        render(contender_table(*suite.runs), console, everything=True)
        console.print()
        console.print(Text(machine(suite.runs[-1].run.host)), style="dim")
        diagnose(suite.machine_diagnostics, console)
        console.print()
    overview = overview_table(suite.overview)
    render(overview if everything else replace(overview, notes=()), console, box=None)
    if not everything:
        show_warnings(suite.runs, console)


def show_warnings(runs: Sequence[RunAnalysis], console: Console, but: str = "") -> None:
    """Print the warnings of runs, without the code `but`, each once: two a point, the others by name."""
    told = ((each, part_name(run)) for run in runs for each in run.diagnostics if each.code != but)
    by_code = grouped((each.code, (diagnostics.words(each)[0], part)) for each, part in told)
    most = min(_MOST_WARNINGS, 2 * sum(len(run.points) for run in runs))
    for code, texts in [*by_code.items()][:most]:
        (text, parts), *others = grouped(texts).items()
        also = [name for _, names in others for name in names if name not in parts]
        where = f"{', '.join(dict.fromkeys(parts))}: " if len(runs) > 1 else ""
        more = f"; also {', '.join(dict.fromkeys(also))}" if also else ""
        warning = Text.assemble(("warning: ", "yellow"), one_line(f"{where}{text}{more} [{code}]", most=1000))
        console.print(warning)
    if left := [*by_code][most:]:
        console.print(Text(f"also: {', '.join(left)} (see --all)", style="dim"))


def show_questions(answers: Sequence[QuestionAnswer], console: Console) -> None:
    """Print questions with their answers, family by family."""
    for number, answer in enumerate(answers):
        if number:
            console.print()
            console.rule()
        console.print(Text(one_line(answer.question.text), style="bold"))
        for part in answer.parts:
            if part.standing is None:
                continue
            console.print()
            console.print(Text(one_line(capitalised(part.figure.words)), style="bold"))
            for sentence in families.sentences(part.standing):
                say(sentence, console)
            render(families.table(part.standing), console)
        if not answer.is_measured:
            console.print("No run answers it.")
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


def render(
    table: TableData, console: Console, *, everything: bool = False, box: Box | None = SIMPLE_HEAD
) -> None:
    """Print one table, with its extra columns if `everything` is asked for. On a narrow screen, optional
    columns go first (before the bars, but for the last one), then columns follow in further tables, and at
    last rows become lists."""
    # Columns that the user asked for are not dropped: they follow in tables of their own.
    table = replace(table, narrow=()) if everything else brief(table)
    barred = {index for row in table.rows for index, cell in enumerate(row) if cell.bar is not None}
    if len(table.rows) < 2 or console.options.ascii_only:
        barred = set()
    grids = _grids(table, console, barred, box)
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
                name = f"{one_line(column)}: " if column.strip() else ""
                console.print(Text.assemble(f"  {name}", _text(cell)))
    for note in table.notes:
        console.print(Text(one_line(note)), style="dim")


def _grids(table: TableData, console: Console, barred: Collection[int], box: Box | None) -> list[Table]:
    """The table with as many columns as fit. If those that must be there do not, several tables of them, each
    with the names; empty if not even two columns fit."""
    for bars in (barred, ()) if barred else (barred,):
        kept = list(range(len(table.columns)))
        for dropped in (None, *(table.narrow[:-1] if bars else table.narrow)):
            if dropped in table.columns:
                kept.remove(table.columns.index(dropped))
            if grid := _grid(table, kept, console, bars, box):
                return [grid]
    needed = [index for index, name in enumerate(table.columns) if index and name not in table.narrow]
    grids: list[Table] = []
    group = [0]
    for index in needed if console.width >= _MIN_SPLIT_WIDTH else ():
        if grids and (wider := _grid(table, [*group, index], console, barred, box)):
            group.append(index)
            grids[-1] = wider
        elif alone := _grid(table, [0, index], console, barred, box):
            group = [0, index]
            grids.append(alone)
        else:
            return []
    return grids


def _grid(
    table: TableData, kept: Sequence[int], console: Console, barred: Collection[int], box: Box | None
) -> Table | None:
    """These columns of the table, with bars beside those of `barred`, as wide as the screen if they need it;
    None if it has no room for them."""
    grid = Table(box=box, pad_edge=False, show_edge=False, header_style="bold" if box else "dim")
    kinds = column_kinds(table)
    for index in kept:
        is_number = kinds[index] == "number"
        is_whole = is_number or index == 0
        title = one_line(table.columns[index])
        texts = [title, *(one_line(row[index].text) for row in table.rows)]
        # Words, and texts that may not wrap, are not broken.
        parts = ([text] if is_whole or len(text) <= _WHOLE else text.split() for text in texts)
        grid.add_column(
            Text(title),
            justify="right" if is_number else "left",
            no_wrap=is_whole,
            overflow="fold",
            min_width=max(map(cell_len, itertools.chain(*parts)), default=0),
            max_width=max(map(cell_len, texts)),
        )
        if index in barred:
            grid.add_column("", no_wrap=True, min_width=_BAR_CELLS, max_width=_BAR_CELLS)
    for row in table.rows:
        texts_of_row = []
        for cell, index in ((row[index], index) for index in kept):
            texts_of_row.append(_text(cell))
            if index in barred:
                # A figure of 0 has a bar too: an empty field would be one without a figure.
                share = None if cell.bar is None else max(cell.bar, sys.float_info.min)
                texts_of_row.append(Text("" if share is None else bar(share, _BAR_CELLS), style="dim"))
        grid.add_row(*texts_of_row)
    # The least width is measured without the screen's limit, which would cap it.
    options = console.options.update(max_width=10_000)
    spare = console.width - console.measure(grid, options=options).minimum
    if spare < 0:
        return None
    # Rich would take room from columns that have none to spare, and cut their words.
    wanted = [((column.max_width or 0) - (column.min_width or 0), column) for column in grid.columns]
    for number, (most, column) in enumerate(sorted(wanted, key=itemgetter(0))):
        more = min(most, spare // (len(wanted) - number))
        column.width = (column.min_width or 0) + more
        spare -= more
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
    eighths = max(int(share > 0), round(share * width * 8))
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
    """How dark a count is drawn, 0 to 4 (the highest), on a log scale that shows a few slow replies too."""
    is_seen = count > 0 and highest > 0
    return min(4, max(1, math.ceil(4 * math.log1p(count) / math.log1p(highest)))) if is_seen else 0
