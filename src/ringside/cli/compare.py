"""`ringside compare`: runs of one workload, two or several a side; a gate for continuous integration."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ringside import units
from ringside.cli import params
from ringside.cli.options import option, takes

if TYPE_CHECKING:
    from ringside.analysis.run import RunAnalysis


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
        "--margin 5%",
        "Ratios closer to 1 than this count as equal [default: that of OTHER's experiment].",
        units.margin,
    ),
    time_unit: units.TimeUnit | None = params.TIME_UNIT,
    form: str | None = params.FORM,
    store: str | None = params.STORE,
) -> int:
    """Compare two runs of one workload, OTHER over ONE; or several a side, as A1,A2,A3 B1,B2.

    It is for two versions of a runtime, or two branches. Runs at different times have no pairs: intervals are
    wider, by as much as reference computations show that the machine may have changed. From three runs on,
    they show by how much runs differ; of one a side 1 % is assumed. If both versions can run now, put them
    into one experiment instead. JSON files of hyperfine are compared with each other, and with runs of `vs`.
    Exit status 1 where --fail-if applies."""
    from ringside.analysis.run_diff import diff
    from ringside.cli import context, gates
    from ringside.render.export import documents
    from ringside.render.text import changes, markdown, terminal

    before, after = _sides(store, (one, other))
    difference = diff(before, after, metric, margin)
    with units.time_unit(time_unit):
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


def _sides(store: str | None, names: Sequence[str]) -> list[list[RunAnalysis]]:
    """The runs of each side. With a file of hyperfine, those of the other side are as hyperfine has them."""
    from ringside.analysis import hyperfine
    from ringside.analysis.run import analysis_of
    from ringside.cli import context
    from ringside.render.export.formats import hyperfine_json
    from ringside.store.database import runs_of_side

    files = [dict.fromkeys(side.split(",") if side.endswith(hyperfine.SUFFIX) else ()) for side in names]
    storage = None if all(files) else context.open_store(store, create=False)
    runs = [
        [analysis_of(storage, run) for run in runs_of_side(storage, side)] if storage and not file else []
        for side, file in zip(names, files, strict=True)
    ]
    texts = [{each.run.id: hyperfine_json(each).encode() for each in side} for side in runs if any(files)]
    return hyperfine.sides(*(file or texts[n] for n, file in enumerate(files))) if texts else runs
