"""`ringside compare`: runs of one workload, two or several a side; a gate for continuous integration."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ringside import units
from ringside.cli import params
from ringside.cli.options import option, takes


@click.command()
@click.argument("one")
@click.argument("other")
@takes()
def compare(
    one: str,
    other: str,
    *,
    metric: str | None = option("--metric NAME", "Only this metric [default: what the experiment compares]."),
    fail_if: Sequence[tuple[str, float]] = option(
        "--fail-if slower:3%",
        "Exit status 1 where OTHER has this verdict by at least this much.",
        params.gate,
        multiple=True,
    ),
    margin: float | None = option(
        "--margin 5%", f"{params.MARGIN_HELP} [default: that of OTHER's experiment].", units.margin
    ),
    form: str | None = params.FORM,
    store: str | None = params.STORE,
) -> int:
    """Compare two runs of one workload, OTHER over ONE; or several a side, as A1,A2,A3 B1,B2.

    It is for two versions of a runtime, or two branches. Runs at different times have no pairs: intervals are
    wider, by as much as reference computations show that the machine may have changed. From three runs on,
    they show by how much runs differ; of one a side 1 % is assumed. If both versions can run now, put them
    into one experiment instead. Exit status 1 where --fail-if applies.
    """
    from ringside.analysis.run import analysis_of
    from ringside.analysis.run_diff import diff
    from ringside.cli import context, gates
    from ringside.render.export import documents
    from ringside.render.text import changes, markdown, terminal
    from ringside.store.runs import runs_of_side

    storage = context.open_store(store, create=False)
    before, after = (
        [analysis_of(storage, run) for run in runs_of_side(storage, names)] for names in (one, other)
    )
    difference = diff(before, after, metric, margin)
    if form == "json":
        sys.stdout.write(documents.as_json(documents.diff_document(difference)))
    elif form == "markdown":
        sys.stdout.write(markdown.render_diff(difference))
    else:
        console = context.stdout_console()
        terminal.say(changes.diff_answer(difference), console)
        console.print()
        for table in changes.diff_tables(difference):
            terminal.render(table, console)
        terminal.diagnose(difference.diagnostics, console)
    return gates.status(
        fail_if,
        [
            (" at ".join(filter(None, (each.cell.contender, str(each.cell.point)))), each.metric, each)
            for each in difference.changes
        ],
    )
