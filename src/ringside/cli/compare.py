"""`ringside compare`: runs of one workload, two or several per side; a gate for continuous integration."""

import sys
from collections.abc import Sequence

from ringside import units
from ringside.analysis import hyperfine
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.run_diff import diff
from ringside.cli import context, gates
from ringside.render.export import documents
from ringside.render.export.formats import hyperfine_json
from ringside.render.text import changes, markdown, terminal
from ringside.store import record
from ringside.store.database import runs_of_side, single_run


def compare(
    one: str,
    other: str,
    fail_if: Sequence[tuple[str, float]],
    metric: str | None = None,
    margin: float | None = None,
    time_unit: units.TimeUnit | None = None,
    form: str | None = None,
    store: str | None = None,
) -> int:
    """Compare two runs, or the runs of two sides, and judge them by the gates of `fail_if`."""
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
    files = [dict.fromkeys(_files(side) if side.endswith(hyperfine.SUFFIX) else ()) for side in names]
    runs = [[] if file else _side(store, side) for side, file in zip(names, files, strict=True)]
    texts = [{each.run.id: hyperfine_json(each).encode() for each in side} for side in runs if any(files)]
    return hyperfine.sides(*(file or texts[n] for n, file in enumerate(files))) if texts else runs


def _side(store: str | None, name: str) -> list[RunAnalysis]:
    """The runs of one side: of the store, or those of records, where the names are files."""
    if not name.endswith(record.SUFFIX):
        storage = context.open_store(store, create=False)
        return [analysis_of(storage, run) for run in runs_of_side(storage, name)]
    records = [context.open_store(file, create=False) for file in _files(name)]
    return [analysis_of(each, single_run(each, "latest")) for each in records]


def _files(side: str) -> list[str]:
    return [file.strip() for file in side.split(",")]
