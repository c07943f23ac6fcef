"""Tables of contenders: what they are, and why some have no figures."""

from __future__ import annotations

from collections.abc import Callable

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import Outcome
from ringside.render import failures
from ringside.render.table import TableData
from ringside.render.tables import cells
from ringside.store.plans import PlannedContender
from ringside.text import one_line


def runs_on(contender: PlannedContender) -> str:
    """`CPython 3.13.2`; nothing for commands and URLs."""
    runtime = contender.runs_on or contender.language
    state = "not built" if contender.version and contender.unavailable else ""
    version = contender.version or "not found"
    return f"{runtime} {version}{', ' if state else ''}{state}" if runtime else ""


_COLUMNS: dict[str, Callable[[PlannedContender], str]] = {
    # Commands and URLs have no manifest.
    "what": lambda contender: "" if runs_on(contender) else contender.title,
    "class": lambda contender: contender.kind if runs_on(contender) else "",
    "model": lambda contender: contender.model,
    "queue": lambda contender: contender.queue,
    "scheduler": lambda contender: contender.scheduler,
    "runs on": runs_on,
}


# Characters of a text that a manifest has; plans of earlier versions have no bound.
_MAX_TEXT = 200


def contender_table(*analyses: RunAnalysis) -> TableData:
    """What the contenders of some runs are: their model, queue, scheduler and version. Columns in which no
    contender has text are left out."""
    contenders = {name: contender for analysis in analyses for name, contender in analysis.contenders.items()}
    columns = [column for column, text_of in _COLUMNS.items() if any(map(text_of, contenders.values()))]

    def text_of(column: str, name: str) -> str:
        """Of a contender whose program differs from workload to workload, each text once."""
        texts = (
            _COLUMNS[column](analysis.contenders[name])
            for analysis in analyses
            if name in analysis.contenders
        )
        return one_line(", ".join(dict.fromkeys(filter(None, texts))), _MAX_TEXT)

    rows = tuple(
        (cells.text(name), *(cells.text(text_of(column, name)) for column in columns)) for name in contenders
    )
    return TableData("Contenders", ("contender", *columns), rows)


def failure_table(analysis: RunAnalysis) -> TableData | None:
    """Cells that have trials without figures, or lack some, with the reason; below, what the first such
    trial of each contender wrote to stderr, and how to repeat it. None where there are none."""
    rows = []
    notes: dict[str, tuple[str, ...]] = {}
    for point in analysis.points:
        for name in analysis.names:
            cell = analysis.cells[Cell(name, point)]
            failed = {outcome: n for outcome, n in cell.outcomes.items() if outcome is not Outcome.OK}
            if failed or not cell.outcomes or cell.missing:
                counts = ", ".join(f"{n} × {outcome}" for outcome, n in failed.items())
                if not failed:
                    counts = "figures missing" if cell.missing else "none measured"
                rows.append(tuple(map(cells.text, (name, analysis.label(point), counts, cell.reason))))
                if name not in notes and (lines := failures.notes(analysis, cell)):
                    notes[name] = lines
    if not rows:
        return None
    return TableData(
        "Without figures",
        ("contender", "point", "trials", "why"),
        tuple(rows),
        notes=tuple(line for lines in notes.values() for line in lines),
    )
