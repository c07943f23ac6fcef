"""`ringside show`: the tables of a run, or of a suite's runs, that are in the store."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ringside.analysis import summary
from ringside.analysis.summary import Summary
from ringside.cli import context
from ringside.measure import suites as parts
from ringside.render import documents as document
from ringside.render import markdown, terminal
from ringside.store import Run, Store


def show(run: str, *, form: str, store: str | None = None) -> int:
    """Print a run as `text`, `markdown`, `csv` or `json`; exit status 1 where cells have no figures."""
    storage = context.open_store(store)
    runs = parts.together(storage, run)
    # A part that is named by its own id is shown by itself.
    suite = None if run == runs[0].id else parts.suite_of(runs[0]).get("id")
    return present(storage, runs, suite, form=form, hint=False)


def present(storage: Store, runs: Sequence[Run], suite: str | None, *, form: str, hint: bool = True) -> int:
    """Print a run, or those of the suite with that id; `hint` says how a page is made of them."""
    found = [summary.of_run(storage, run) for run in runs]
    if form == "text":
        _print(found)
        if hint:
            print(f"\nringside report {suite or runs[0].id} makes a page of it", file=sys.stderr)
    elif form == "json":
        sys.stdout.write(document.as_suite_json(suite, found) if suite else document.as_json(found[0]))
    else:
        # Runs of a suite have other factors each: a CSV table for each, an empty line between.
        render = document.as_csv if form == "csv" else markdown.render
        sys.stdout.write("\n".join(render(one) for one in found))
    return 0 if all(one.complete() for one in found) else 1


def _print(found: Sequence[Summary]) -> None:
    console = context.out()
    for number, one in enumerate(found):
        if number:
            console.print()
            console.rule()
        terminal.show(one, console)
