"""`ringside claims`: what runs say of the conclusions of the posts and of other sources."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ringside.analysis.run import analysis_of
from ringside.analysis.suite import judge_claims
from ringside.cli import context
from ringside.render.export import documents
from ringside.render.text import markdown, terminal
from ringside.render.text.contenders import claim_table


def claims(runs: Sequence[str], form: str | None = None, store: str | None = None) -> int:
    """Test all claims of the catalogue with these runs."""
    if runs:
        storage = context.open_store(store, create=False)
    else:
        storage = context.open_runs(store, "posts", "ringside run posts", lambda run: run.trials)
    catalogue = context.catalogue()
    sources = [catalogue.published(name) for name in catalogue.published_names()]
    examined = judge_claims(sources, [analysis_of(storage, run) for run in context.named_runs(storage, runs)])
    if form == "json":
        sys.stdout.write(documents.as_json(documents.claims_document(examined)))
    elif form == "markdown":
        sys.stdout.write(markdown.table_markdown(claim_table(examined)) + "\n")
    else:
        terminal.render(claim_table(examined), context.stdout_console())
    return 0
