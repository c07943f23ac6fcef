"""`ringside show`: the tables of a run, or of a suite's runs, that are in the store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ringside.cli import EXIT_FAILED, params
from ringside.cli.options import flag, takes

if TYPE_CHECKING:
    from ringside.model.results import Run
    from ringside.store import Store


@click.command()
@click.argument("run", default="latest")
@takes()
def show(
    run: str,
    *,
    form: str | None = params.FORM_OR_CSV,
    everything: bool = flag("--all", "All tables, with all of their columns."),
    store: str | None = params.STORE,
) -> int:
    """Show RUN's tables (default: latest).

    Exit status 1 where cells have no figures.
    """
    from ringside.cli import context
    from ringside.store.runs import runs_of, suite_of

    if run == "latest":
        storage = context.open_runs(store, "today", "ringside run today")
    else:
        storage = context.open_store(store, create=False)
    runs = runs_of(storage, run)
    return present(storage, runs, suite_of(runs, run), form=form or "text", hint=False, everything=everything)


def present(
    storage: Store,
    runs: Sequence[Run],
    suite: str | None,
    *,
    form: str,
    hint: bool = True,
    with_parts: bool = True,
    everything: bool = False,
) -> int:
    """Print a run, or those of the suite with that id; `hint`: how to make a report of them. `with_parts`:
    the parts of a suite as well, where they were not printed before. `everything`: all tables and columns of
    the text."""
    from ringside.analysis.answers import FirstPlace
    from ringside.analysis.run import analysis_of
    from ringside.analysis.suite import analyse_suite
    from ringside.cli import context
    from ringside.render.export import documents, formats
    from ringside.render.text import markdown, terminal
    from ringside.render.text.command import with_store

    context.leave_garbage()
    analyses = [analysis_of(storage, run) for run in runs]
    if form == "json":
        each = [documents.document(analysis) for analysis in analyses]
        whole = {"format": documents.FORMAT, "suite": suite, "runs": each} if suite else each[0]
        sys.stdout.write(documents.as_json(whole))
    elif form == "text":
        console = context.stdout_console()
        if suite is None:
            terminal.show(analyses[0], console, everything=everything)
        else:
            parts = analyse_suite(analyses)
            for analysis in analyses if with_parts else ():
                console.print()
                terminal.show(analysis, console, everything=everything, is_part=True)
            # The overview last: it is what a screen still shows.
            terminal.show_rest(parts, console, everything=everything)
            terminal.show_overview(parts, console)
        name = suite or runs[0].id
        if not everything:
            console.print(f"All tables and columns: {with_store('show', name, '--all')}", style="dim")
        if hint:
            command = with_store("report", name)
            print(f"\nFor an HTML report: {command} (writes report.html)", file=sys.stderr)
    elif form == "markdown":
        text = markdown.render_suite(analyse_suite(analyses)) if suite else markdown.render(analyses[0])
        sys.stdout.write(text)
    else:
        # Runs of a suite have other factors each: a table for each, an empty line between.
        sys.stdout.write("\n".join(formats.as_csv(analysis) for analysis in analyses))
    has_answers = (analysis.conclusion.here.first_place is not FirstPlace.NOTHING for analysis in analyses)
    is_complete = all(analysis.is_complete for analysis in analyses) and all(has_answers)
    return 0 if is_complete else EXIT_FAILED
