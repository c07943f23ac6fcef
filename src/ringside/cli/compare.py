"""`ringside compare`: two runs of one experiment; a gate for continuous integration."""

from __future__ import annotations

import sys

import click

from ringside.cli import params


@click.command()
@click.argument("one")
@click.argument("other")
@click.option("--metric", metavar="NAME", help="Only this metric [default: what the experiment compares].")
@click.option(
    "--fail-if",
    "gate",
    type=params.gate,
    metavar="slower:3%",
    help="Exit status 1 where OTHER is that much worse.",
)
@click.option("--json", "form", flag_value="json", help="One JSON document.")
@click.option("--markdown", "form", flag_value="markdown", help="Markdown.")
@params.store_option
def compare(
    one: str,
    other: str,
    *,
    metric: str | None = None,
    gate: float | None = None,
    form: str | None = None,
    store: str | None = None,
) -> int:
    """Compare two runs of one experiment, OTHER over ONE.

    They may be of two versions of a runtime, or of two branches. Runs at different times have no pairs:
    intervals are wider, by as much as the machine is known to have moved. Where both can run now, put them
    into one experiment instead. Exit status 1 where --fail-if applies.
    """
    from ringside.analysis.run_diff import diff
    from ringside.cli import context
    from ringside.measure.suites import single_run
    from ringside.render import documents, markdown, terminal
    from ringside.render.tables import run_diff

    storage = context.open_store(store, create=False)
    before, after = (context.analysis(storage, single_run(storage, name)) for name in (one, other))
    difference = diff(before, after, metric)
    if form == "json":
        sys.stdout.write(documents.as_json(documents.diff_document(difference)))
    elif form == "markdown":
        sys.stdout.write(markdown.render_diff(difference))
    else:
        console = context.out()
        terminal.render(run_diff.table(difference), console)
        terminal.diagnose(difference.diagnostics, console)
    if gate is None:
        return 0
    failed = difference.beyond(gate)
    for change in failed:
        print(
            f"ringside: {change.cell.contender} at {change.cell.point}: {change.metric.title} is "
            f"{change.worse_by:.1%} worse; --fail-if allows {gate:.2%}",
            file=sys.stderr,
        )
    if not failed and difference.drift is None:
        print("ringside: --fail-if cannot decide: there are no verdicts", file=sys.stderr)
        return 1
    return 1 if failed else 0
