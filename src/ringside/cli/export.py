"""`ringside export`: a run in another tool's format."""

from pathlib import Path

from ringside.analysis.run import analysis_of
from ringside.cli import EXIT_FAILED, context, streams
from ringside.errors import UsageError
from ringside.render.export.formats import TEXT_FORMATS, left_out, write_parquet
from ringside.store import record
from ringside.store.database import runs_of, single_run


def export(run: str, form: str, output: Path | None = None, store: str | None = None) -> int:
    """Export a run in a format, to a file or stdout."""
    storage = context.open_store(store, create=False)
    if form == "record":
        if output is None or not output.name.endswith(record.SUFFIX):
            raise UsageError(f"a record is a compressed file: name it with -o run{record.SUFFIX}")
        record.write(storage, runs_of(storage, run), output)
        return 0
    analysis = analysis_of(storage, single_run(storage, run))
    if form == "parquet":
        if output in (None, Path("-")):
            raise UsageError("Parquet is a binary format: name a file with -o run.parquet")
        write_parquet(analysis, output)
    else:
        text = TEXT_FORMATS[form](analysis)
        if note := left_out(analysis, form):
            streams.say(note)
        streams.write_output("-o", output or Path("-"), text)
    return 0 if analysis.is_complete else EXIT_FAILED
