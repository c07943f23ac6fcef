"""What `ringside vs` writes: to the terminal, as documents, and into files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.cli import context
from ringside.errors import UsageError
from ringside.render import documents, paired
from ringside.render.exports import hyperfine

_STDOUT = "-"
_COLOURS = {"basic": False, "nocolor": False, "full": True, "color": True}


@dataclass(frozen=True, slots=True)
class Form:
    """What goes to stdout. `silent`: nothing but exports; `order` of rows; `unit` of times, None for the one
    that suits each."""

    kind: Literal["json", "markdown", "text"]
    silent: bool
    style: str
    order: str
    unit: str | None


def opened(exports: Mapping[str, str]) -> dict[str, Path | None]:
    """The file of each export, None for stdout; a file that cannot be written is an error before anything is
    measured. Raises UsageError."""
    files: dict[str, Path | None] = {}
    for kind, name in exports.items():
        files[kind] = None if name == _STDOUT else Path(name)
        if path := files[kind]:
            try:
                path.open("ab").close()
            except OSError as error:
                raise UsageError(f"--export-{kind} {name}: {error.strerror}") from error
    return files


def show(analysis: RunAnalysis, facts: Mapping[str, Any], form: Form) -> None:
    """Write verdicts and figures to stdout."""
    run = analysis.run
    blocks = units.count(analysis.blocks_done, "block")
    order = "in random order, " if len(analysis.cells) > 1 else ""
    how = f"{blocks} {order}seed {run.seed}; run {run.id}" if order else f"{blocks}; run {run.id}"
    if form.silent:
        return
    with units.time_unit(form.unit):
        if form.kind == "json":
            sys.stdout.write(documents.as_json(paired.vs_document(analysis, facts)))
        elif form.kind == "markdown":
            sys.stdout.write(paired.as_markdown(analysis, how, form.order))
        else:
            paired.show(analysis, how, context.out(colours=_COLOURS.get(form.style)), form.order)


def export(analysis: RunAnalysis, files: Mapping[str, Path | None], form: Form) -> None:
    """Write each export to its file."""
    for kind, path in files.items():
        with units.time_unit(form.unit):
            text = hyperfine.FORMATS[kind](analysis, form.order)
        if path is None:
            sys.stdout.write(text)
        else:
            path.write_text(text, encoding="utf-8")
