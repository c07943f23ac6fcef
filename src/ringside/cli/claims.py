"""`ringside claims`: what runs say of the conclusions of the posts and of other sources."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ringside.cli import params
from ringside.cli.options import takes


@click.command()
@click.argument("runs", nargs=-1)
@takes()
def claims(runs: Sequence[str], *, form: str | None = params.FORM, store: str | None = params.STORE) -> int:
    """Test the claims of the posts, and of other sources, with RUNS (default: latest).

    A claim is confirmed, refuted, holds under other conditions, is too close to call, cannot be tested as it
    was, or is not tested here; an answer comes from an interval, never from an estimate."""
    from ringside.analysis.run import analysis_of
    from ringside.analysis.suite import judge_claims
    from ringside.cli import context
    from ringside.render.export import documents
    from ringside.render.text import markdown, terminal
    from ringside.render.text.contenders import claim_table

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
