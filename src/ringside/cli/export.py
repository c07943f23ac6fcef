"""`ringside export`: a run in another tool's format."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ringside.analysis import summary
from ringside.analysis.summary import Summary
from ringside.cli import context
from ringside.errors import UsageError
from ringside.measure import suites as parts
from ringside.render import exports

_TEXTS: dict[str, Callable[[Summary], str]] = {
    "pyperf": exports.pyperf,
    "bencher": exports.bencher,
    "github-action-benchmark": exports.github_action,
}


def export(run: str, *, form: str, output: Path | None, store: str | None = None) -> int:
    """Write a run to a file, or to stdout; exit status 0, 1 where cells have no figures."""
    storage = context.open_store(store)
    found = summary.of_run(storage, parts.single(storage, run))
    if form == "parquet":
        if output is None:
            raise UsageError("Parquet is no text: name a file with -o run.parquet")
        exports.parquet(found, output)
    else:
        text = _TEXTS[form](found)
        if output is None:
            sys.stdout.write(text)
        else:
            output.write_text(text, encoding="utf-8")
    return 0 if found.complete() else 1
