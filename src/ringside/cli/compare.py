"""`ringside compare`: two runs of one experiment; a gate for continuous integration."""

from __future__ import annotations

import json
import sys

from ringside.analysis import across, summary
from ringside.catalogue.loader import share
from ringside.cli import context
from ringside.errors import UsageError
from ringside.measure import suites as parts
from ringside.render import markdown, terminal


def compare(
    one: str,
    other: str,
    *,
    metric: str | None = None,
    gate: str | None = None,
    form: str | None = None,
    store: str | None = None,
) -> int:
    """Show the second run over the first. Exit status 0; 1 where the gate found a cell that is worse."""
    limit = _limit(gate) if gate else None
    storage = context.open_store(store)
    before, after = (summary.of_run(storage, parts.single(storage, name)) for name in (one, other))
    compared = across.across(before, after, metric)
    if form == "json":
        sys.stdout.write(json.dumps(across.document(compared), indent=2, allow_nan=False) + "\n")
    elif form == "markdown":
        lines = [markdown.table_markdown(across.table(compared))]
        lines += [f"**Warning:** {markdown.escape(warned.sentences())}" for warned in compared.warnings]
        sys.stdout.write("\n\n".join(lines) + "\n")
    else:
        console = context.out()
        terminal.render(across.table(compared), console)
        terminal.warn((warned.sentences() for warned in compared.warnings), console)
    if limit is None:
        return 0
    failed = across.beyond(compared, limit)
    for moved in failed:
        print(
            f"ringside: {moved.cell.contender} at {moved.cell.point}: {moved.metric.title} is "
            f"{moved.worse_by:.1%} worse, which is past {gate}",
            file=sys.stderr,
        )
    if not failed and compared.drift is None:
        print("ringside: the gate says nothing: there are no verdicts", file=sys.stderr)
        return 1
    return 1 if failed else 0


def _limit(gate: str) -> float:
    """`slower:3%` as 0.03. Raises UsageError."""
    word, colon, size = gate.partition(":")
    if word != "slower" or not colon:
        raise UsageError(f"--fail-if {gate}: write it as slower:3%")
    try:
        return 0.0 if size.strip() in ("0", "0%") else share(size)
    except ValueError as error:
        raise UsageError(f"--fail-if: {error}") from None
