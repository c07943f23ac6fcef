"""Tables on a terminal, by rich. Text from contenders is shown as text: control characters and markup in
it do nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringside.analysis.summary import Summary
from ringside.render.table import Entry, TableData, column_kinds
from ringside.render.tables import tables
from ringside.text import one_line

_STYLES = {"faster": "green", "slower": "red", "even": "yellow", "failed": "bold red", "quiet": "dim"}


def show(summary: Summary, console: Console) -> None:
    """Print a run: what it was, its tables, its warnings."""
    experiment, host = summary.experiment, summary.run.host
    console.print(Text(one_line(experiment.title), style="bold"))
    console.print(Text(one_line(heading(summary))))
    console.print(Text(machine(host)), style="dim")
    for table in tables(summary):
        console.print()
        render(table, console)
    warn((warned.sentences() for warned in summary.warnings), console)


def warn(texts: Iterable[str], console: Console) -> None:
    """Print warnings, each a paragraph."""
    for text in texts:
        console.print()
        console.print(Text.assemble(("Warning: ", "yellow"), one_line(text, most=1000)))


def heading(summary: Summary) -> str:
    """The run in one line: id, blocks, trials, fixed factors."""
    fixed = " ".join(f"{factor}={level}" for factor, level in summary.fixed().items())
    done, planned = summary.blocks_done, summary.experiment.blocks
    whole = done == planned or summary.experiment.until is not None
    blocks = f"{done} block{'s' * (done != 1)}" if whole else f"{done} of {planned} blocks"
    parts = [f"run {summary.run.id}", blocks, f"{summary.trials} trials", fixed]
    return ", ".join(part for part in parts if part)


def machine(host: dict[str, object] | object) -> str:
    """The machine in one line."""
    facts = host if isinstance(host, dict) else {}
    memory = facts.get("memory_bytes")
    parts = [
        one_line(str(facts.get("cpu_model", "unknown CPU"))),
        f"{facts.get('cpus', '?')} CPUs",
        f"{memory / 2**30:.0f} GiB" if isinstance(memory, int) else "",
        f"Linux {facts.get('kernel', '?')}",
        f"virtual ({facts['hypervisor']})" if facts.get("hypervisor") else "",
    ]
    return ", ".join(part for part in parts if part)


def render(table: TableData, console: Console) -> None:
    """Print one table. Where the screen is too narrow, columns that can be done without go first; where
    that is not enough, each row is printed as a small list of its own."""
    kept = list(range(len(table.columns)))
    for dropped in (None, *table.narrow):
        if dropped is not None and dropped in table.columns:
            kept.remove(table.columns.index(dropped))
        drawn = _draw(table, kept)
        # What it needs at least is asked for without the screen's limit, which would cap the answer.
        needed = console.measure(drawn, options=console.options.update(max_width=10_000)).minimum
        if needed <= console.width:
            console.print(Text(one_line(table.title), style="bold"))
            if table.subtitle:
                console.print(Text(one_line(table.subtitle)), style="dim")
            console.print(drawn)
            break
    else:
        _print_as_lists(table, console)
    for note in table.notes:
        console.print(Text(one_line(note)), style="dim")


def _draw(table: TableData, kept: Sequence[int]) -> Table:
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    kinds = column_kinds(table)
    for index in kept:
        number = kinds[index] == "number"
        whole = number or index == 0
        texts = [table.columns[index], *(one_line(row[index].text) for row in table.rows)]
        drawn.add_column(
            Text(table.columns[index]),
            justify="right" if number else "left",
            no_wrap=whole,
            overflow="fold",
            # Rich would cut what may not wrap, and break words, before it said that it needs more room.
            min_width=max(cell_len(part) for text in texts for part in ([text] if whole else text.split())),
        )
    for row in table.rows:
        drawn.add_row(*(_text(row[index]) for index in kept))
    return drawn


def _print_as_lists(table: TableData, console: Console) -> None:
    console.print(Text(one_line(table.title), style="bold"))
    if table.subtitle:
        console.print(Text(one_line(table.subtitle)), style="dim")
    for row in table.rows:
        console.print(_text(row[0]))
        for column, entry in zip(table.columns[1:], row[1:], strict=True):
            console.print(Text.assemble(f"  {column}: ", _text(entry)))


def _text(entry: Entry) -> Text:
    return Text(one_line(entry.text), style=_STYLES.get(entry.kind, ""))
