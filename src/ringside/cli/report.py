"""`ringside report`: one page from one or more runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from ringside.analysis import summary
from ringside.cli import context
from ringside.errors import ReportError
from ringside.measure import suites as parts
from ringside.render.html import page as html
from ringside.render.plots import files as figures


def report(
    runs: Sequence[str], *, output: Path, figures_to: Path | None = None, store: str | None = None
) -> int:
    """Write the page, and its plots as files where a folder is named; nothing half-written is left of the
    page when that fails."""
    storage = context.open_store(store)
    pages = []
    named = [run for name in runs or ["latest"] for run in parts.together(storage, name)]
    for made in {run.id: run for run in named}.values():
        found = summary.of_run(storage, made)
        hashes = {
            digest for described in made.plan["contenders"].values() for digest in described["files"].values()
        }
        pages.append(html.Page(found, storage.sources(sorted(hashes))))
    write_whole(output, html.render(pages))
    if figures_to is not None:
        written = figures.write([page.summary for page in pages], figures_to)
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
