"""`ringside claims`: what runs say of the conclusions of the posts and of other sources."""

import sys
from collections.abc import Sequence

from ringside.analysis.run import analysis_of
from ringside.analysis.suite import judge_claims
from ringside.cli import context
from ringside.errors import UsageError
from ringside.render.export import documents
from ringside.render.text import markdown, terminal
from ringside.render.text.contenders import claim_table
from ringside.store.database import RunSummary
from ringside.workloads.command import COMMAND
from ringside.workloads.target import TARGET


def claims(runs: Sequence[str], form: str | None = None, store: str | None = None) -> int:
    """Test all claims of the catalogue with these runs, or with the latest run of an experiment."""
    if runs:
        storage = context.open_store(store, create=False)
    else:
        storage = context.open_runs(store, "posts", "ringside run posts", _is_experiment)
        latest = next(filter(_is_experiment, reversed(storage.summaries())), None)
        if latest is None:
            raise UsageError(f"{storage.where} has no run of an experiment: `ringside run posts` makes some")
        runs = [latest.suite or latest.id]
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


def _is_experiment(run: RunSummary) -> bool:
    """Whether it has figures of contenders. No claim is about comparisons of commands or servers."""
    return run.trials > 0 and run.workload not in (COMMAND.name, TARGET.name)
