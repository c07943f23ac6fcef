"""`ringside compare`: runs of one workload, two or several per side; a gate for continuous integration."""

import sys
from collections.abc import Sequence

from ringside import units
from ringside.analysis import hyperfine
from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.analysis.run_diff import diff
from ringside.cli import context, gates
from ringside.errors import UsageError
from ringside.render.export import documents
from ringside.render.export.formats import hyperfine_json
from ringside.render.text import changes, markdown, terminal
from ringside.store import record
from ringside.store.database import single_run


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
    cells = [(each.cell.contender, str(each.cell.point), each) for each in difference.changes]
    judged = [(f"{name} at {point}" if point else name, each.metric, each) for name, point, each in cells]
    return gates.status(fail_if, judged)


def _sides(store: str | None, sides: Sequence[str]) -> list[list[RunAnalysis]]:
    """The runs of each side. With a file of hyperfine anywhere, all others are as hyperfine has them."""
    names = [[name.strip() for name in side.split(",")] for side in sides]
    for side, own in zip(sides, names, strict=True):
        if not all(own):
            raise UsageError(f"`{side}`: write several runs as A1,A2,A3")
    if any(name.endswith(hyperfine.SUFFIX) for own in names for name in own):
        return hyperfine.sides(*(dict(_times(store, name) for name in own) for own in names))
    return [[_run(store, name) for name in own] for own in names]


def _times(store: str | None, name: str) -> tuple[str, bytes | None]:
    """The name of a run with its times as hyperfine has them; None: in the file of that name."""
    if name.endswith(hyperfine.SUFFIX):
        return name, None
    run = _run(store, name)
    return run.run.id, hyperfine_json(run).encode()


def _run(store: str | None, name: str) -> RunAnalysis:
    """A run of the store, or that of a record, where the name is a file's."""
    is_record = name.endswith(record.SUFFIX)
    storage = context.open_store(name if is_record else store, create=False)
    return analysis_of(storage, single_run(storage, "latest" if is_record else name))
