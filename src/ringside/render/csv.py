"""A run as CSV: a row for each metric of each cell."""

from __future__ import annotations

import csv
import io

from ringside.analysis.run import RunAnalysis
from ringside.model.results import Outcome
from ringside.render import failures
from ringside.text import last_lines


def render(analysis: RunAnalysis) -> str:
    """Columns: contender, the factors, metric, unit, median, low, high, n, trials, ok, reason, stderr (the
    last lines of a trial that failed), repeat (the command that repeats it). A cell without figures is a row
    without a metric."""
    factors = [name for name, _ in analysis.points[0].levels]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    figures = ("metric", "unit", "median", "low", "high", "n")
    writer.writerow(["contender", *factors, *figures, "trials", "ok", "reason", "stderr", "repeat"])
    for cell in analysis.cells.values():
        start = [cell.cell.contender, *(cell.cell.point[factor] for factor in factors)]
        end = [
            sum(cell.outcomes.values()),
            cell.outcomes.get(Outcome.OK, 0),
            harmless(cell.reason),
            harmless(" | ".join(last_lines(cell.stderr))),
            failures.to_repeat(analysis, cell),
        ]
        for name, value in cell.metrics.items():
            unit = analysis.measurement.metric(name).unit
            writer.writerow([*start, name, unit, value.estimate, value.low, value.high, value.n, *end])
        if not cell.metrics:
            writer.writerow([*start, "", "", "", "", "", 0, *end])
    return out.getvalue()


def harmless(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
