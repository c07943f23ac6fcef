"""`ringside export`: a run in another tool's format."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ringside.cli import EXIT_FAILED, params, streams
from ringside.cli.options import option, takes
from ringside.errors import UsageError

_FORMATS = (
    *("hyperfine", "pyperf", "bencher", "github-action-benchmark"),
    *("github-action-benchmark-bigger", "parquet", "record"),
)


@click.command()
@click.argument("run", default="latest")
@takes()
def export(
    run: str,
    *,
    form: str = option("--format", "", click.Choice(_FORMATS), required=True),
    output: Path | None = option("-o, --output PATH", "A file instead of stdout.", params.FILE),
    store: str | None = params.STORE,
) -> int:
    """Export RUN (default: latest).

    The formats are those of other tools, except `record`: one file FILE.json.xz with all that the store has
    of a run, or of a suite. --store reads such a file in place of a store. `ringside show` has --csv and
    --json. Exit status 1 where cells have no figures."""
    from ringside.analysis.run import analysis_of
    from ringside.cli import context
    from ringside.render.export.formats import TEXT_FORMATS, left_out, write_parquet
    from ringside.store import record
    from ringside.store.database import runs_of, single_run

    storage = context.open_store(store, create=False)
    if form == "record":
        if output is None or not output.name.endswith(record.SUFFIX):
            raise UsageError(f"a record is a compressed file: name it with -o run{record.SUFFIX}")
        record.write(storage, runs_of(storage, run), output)
        return 0
    analysis = analysis_of(storage, single_run(storage, run))
    if form == "parquet":
        if output is None:
            raise UsageError("Parquet is a binary format: name a file with -o run.parquet")
        write_parquet(analysis, output)
    else:
        text = TEXT_FORMATS[form](analysis)
        if note := left_out(analysis, form):
            streams.say(note)
        if output is None:
            sys.stdout.write(text)
        else:
            streams.write_whole(output, text)
    return 0 if analysis.is_complete else EXIT_FAILED
