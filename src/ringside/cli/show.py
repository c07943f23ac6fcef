"""`ringside show`: the tables of a run, or of a suite's runs, that are in the store."""

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ringside import units
from ringside.analysis import hyperfine
from ringside.analysis.answers import FirstPlace
from ringside.analysis.run import analysis_of
from ringside.analysis.suite import analyse_suite
from ringside.cli import EXIT_FAILED, context
from ringside.errors import UsageError
from ringside.model.results import Run
from ringside.render.export import documents, formats
from ringside.render.text import markdown, paired, terminal
from ringside.render.text.command import NAMED_STORE, with_store
from ringside.store import Store, record
from ringside.store.database import runs_of, suite_of


def show(
    run: str,
    everything: bool,
    form: str | None = None,
    time_unit: units.TimeUnit | None = None,
    store: str | None = None,
) -> int:
    """Show a run, or a file of hyperfine."""
    if run.endswith(record.SUFFIX):
        run, store = "latest", run
    if run.endswith(hyperfine.SUFFIX):
        if form:
            raise UsageError(f"{run} is no run: leave out --{form}")
        how = "times of hyperfine: no pairs, so no ratios"
        with units.time_unit(time_unit):
            analysis = hyperfine.sides({run: None})[0][0]
            paired.show(analysis, how, context.stdout_console(), everything=everything)
        return 0
    if run == "latest":
        # Any run: one whose builds failed has no trial, but users want to see the reason.
        storage = context.open_runs(store, "today", "ringside run today", lambda run: True)
    else:
        storage = context.open_store(store, create=False)
    runs = runs_of(storage, run)
    with units.time_unit(time_unit):
        status = present(storage, runs, suite_of(runs, run), form=form or "text", everything=everything)
    # Figures that come with Ringside may be incomplete: that is no failure.
    return status if store or os.environ.get("RINGSIDE_STORE") or not NAMED_STORE.get() else 0


def present(
    storage: Store,
    runs: Sequence[Run],
    suite: str | None,
    *,
    form: str,
    report_to: Path | None = None,
    with_parts: bool = True,
    everything: bool = False,
) -> int:
    """Print a run, or a suite. `report_to`: where the report will be; `with_parts`: also the parts of a
    suite, which were not printed before; `everything`: all tables and columns."""
    # Nearly everything lives until the end: looking for garbage takes a tenth of the time.
    gc.disable()
    analyses = [analysis_of(storage, run) for run in runs]
    if form == "json":
        each = [documents.document(analysis) for analysis in analyses]
        whole = {"format": documents.FORMAT, "suite": suite, "runs": each} if suite else each[0]
        sys.stdout.write(documents.as_json(whole))
    elif form == "text":
        console = context.stdout_console()
        suite_analysis = analyse_suite(analyses) if suite else None
        has_sessions = suite_analysis is not None and bool(suite_analysis.sessions)
        printed: set[str] | None = set() if suite else None
        for number, analysis in enumerate(analyses if with_parts and not has_sessions else ()):
            if number:
                console.print()
            terminal.show(analysis, console, printed, everything=everything)
        # The overview comes last: it is still visible on the screen.
        if suite_analysis and has_sessions:
            terminal.show_sessions(suite_analysis, console)
        elif suite_analysis:
            terminal.show_overview(suite_analysis, console, everything=everything)
        name = suite or runs[0].id
        hints = [] if everything else [f"all tables: {with_store('show', name, '--all')}"]
        hints += [] if report_to else [f"page: {with_store('report', name)} (writes report.html)"]
        # Whole lines: a command that is cut in two cannot be pasted.
        console.print(*hints, sep="\n", style="dim", soft_wrap=True)
    elif form == "markdown":
        sys.stdout.write(markdown.render(analyse_suite(analyses) if suite else analyses[0]))
    else:
        # Runs of a suite have other factors each: a table for each, an empty line between.
        sys.stdout.write("\n".join(formats.as_csv(analysis) for analysis in analyses))
    has_answers = (analysis.conclusion.here.first_place is not FirstPlace.NOTHING for analysis in analyses)
    is_complete = all(analysis.is_complete for analysis in analyses) and all(has_answers)
    return 0 if is_complete else EXIT_FAILED
