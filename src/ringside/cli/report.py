"""`ringside report`: one page from one or more runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ringside.cli import params
from ringside.errors import ReportError


@click.command()
@click.argument("runs", nargs=-1)
@click.option("-o", "--output", type=params.FILE, default=Path("report.html"), show_default=True)
@click.option(
    "--figures", "figures_to", type=params.FILE, metavar="DIR", help="Also write each plot as SVG and PNG."
)
@params.store_option
def report(
    runs: Sequence[str], *, output: Path, figures_to: Path | None = None, store: str | None = None
) -> int:
    """Write one self-contained HTML page of RUNS (default: latest)."""
    from ringside.cli import context
    from ringside.measure.suites import runs_of
    from ringside.render.html.page import Page, render
    from ringside.render.plots import files

    storage = context.open_store(store, create=False)
    named = {run.id: run for name in runs or ["latest"] for run in runs_of(storage, name)}
    pages = []
    for run in named.values():
        analysis = context.analysis(storage, run)
        hashes = {digest for contender in analysis.contenders.values() for digest in contender.files.values()}
        pages.append(Page(analysis, storage.sources(sorted(hashes))))
    write_whole(output, render(pages))
    if figures_to is not None:
        written = files.write([page.analysis for page in pages], figures_to)
        print(f"{figures_to}: {len(written)} files", file=sys.stderr)
    print(f"{output} ({output.stat().st_size / 1e6:.1f} MB)", file=sys.stderr)
    return 0


def write_whole(path: Path, text: str) -> None:
    """Write a file, or leave what was there."""
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ReportError(f"{path} cannot be written: {error.strerror}; choose another with -o") from error
