"""`ringside show`: the tables of a run that is in the store."""

from __future__ import annotations

import sys

from ringside.report import document, markdown, summary, terminal
from ringside.verbs import context


def show(run: str, *, form: str, store: str | None = None) -> int:
    """Print a run as `text`, `markdown`, `csv` or `json`; exit status 1 where cells have no figures."""
    storage = context.open_store(store)
    made = storage.run(run)
    found = summary.summarise(made, storage.trials(made))
    if form == "text":
        terminal.show(found, context.out())
    else:
        render = {"markdown": markdown.render, "csv": document.as_csv, "json": document.as_json}[form]
        sys.stdout.write(render(found))
    return 0 if found.complete() else 1
