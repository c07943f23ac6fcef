"""Runs of commands in the layouts of hyperfine's exports, for scripts that read those: JSON and CSV in
seconds, tables in Markdown, AsciiDoc and org-mode. Ratios in tables are those of pairs."""

from __future__ import annotations

import io
import json
import string
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ringside import units
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell
from ringside.model.results import Description, Outcome
from ringside.render.text.paired import in_order
from ringside.text import CsvWriter, one_line

_FIGURES = ("mean", "stddev", "median", "user", "system", "min", "max")
_MAX_TEXT = 200


def as_json(analysis: RunAnalysis, order: str = "auto") -> str:
    """`results`, one for each command at each point. `command` is the name where the command has one of its
    own, else the command line."""
    described = analysis.executions.descriptions
    results = [_result(analysis, cell, described[cell]) for cell in in_order(analysis, order)]
    return json.dumps({"results": results}, indent=2, ensure_ascii=False) + "\n"


def as_csv(analysis: RunAnalysis, order: str = "auto") -> str:
    """A line for each command at each point. Times in seconds."""
    factors = [name for name, _ in analysis.points[0].levels]
    target = io.StringIO()
    writer = CsvWriter(target)
    writer.writerow(["command", *_FIGURES, *(f"parameter_{name}" for name in factors)])
    described = analysis.executions.descriptions
    for cell in in_order(analysis, order):
        result = _result(analysis, cell, described[cell])
        figures = [0.0 if result[name] is None else result[name] for name in _FIGURES]
        writer.writerow([result["command"], *figures, *(str(cell.point[name]) for name in factors)])
    return target.getvalue()


# For each table: what stands before its head, behind it, around a command, in the place of `|` in it, at the
# end of each line, and at the end.
_TABLES = {
    "markdown": ("", "|:---|---:|---:|---:|---:|\n", "`{}`", r"\|", " |\n", ""),
    "asciidoc": ('[cols="<,>,>,>,>",options="header"]\n|===\n', "", "`{}`", r"\|", "\n", "|===\n"),
    "orgmode": ("", "|--+--+--+--+--|\n", "={}=", "\N{BROKEN BAR}", " |\n", ""),
}


def _table(kind: str, analysis: RunAnalysis, order: str) -> str:
    """A table, the command as code, times in one unit."""
    before, behind, code, bar, line_end, end = _TABLES[kind]
    described, headline = analysis.executions.descriptions, analysis.headline
    cells = in_order(analysis, order)
    over_first = analysis.executions.over_first_point if len(analysis.names) == 1 else {}
    factor, unit = units.scale(described[cells[0]].mean, headline.unit) if cells else (1.0, "s")
    rows = [["Command", *(f"{name} [{unit}]" for name in ("Mean", "Min", "Max")), "Relative"]]
    for cell in cells:
        description = described[cell]
        ends = (description.mean, description.least, description.most)
        mean, least, most = (units.significant(value / factor) for value in ends)
        if description.deviation is not None:
            mean += f" ± {units.at_place_of(description.deviation / factor, description.mean / factor)}"
        comparison = analysis.comparison(headline, cell.contender, analysis.experiment.baseline, cell.point)
        ratio = comparison.ratio if comparison else over_first.get(cell)
        title = one_line(_title(analysis, cell, with_unused=True), _MAX_TEXT)
        command = code.format(title.replace("|", bar))
        rows.append([command, mean, least, most, units.ratio(ratio) if ratio else "1"])
    head, *lines = (f"| {' | '.join(row)}{line_end}" for row in rows)
    return "".join([before, head, behind, *lines, end])


FORMATS: Mapping[str, Callable[[RunAnalysis, str], str]] = {
    "json": as_json,
    "csv": as_csv,
    **{kind: partial(_table, kind) for kind in _TABLES},
}


def _result(analysis: RunAnalysis, cell: Cell, description: Description) -> dict[str, Any]:
    means = analysis.executions.means[cell]
    reports = [
        trial.report
        for trial in analysis.trials
        if trial.cell == cell and trial.block > 0 and trial.outcome is Outcome.OK and trial.report
    ]
    result = {
        "command": _title(analysis, cell),
        "mean": description.mean,
        "stddev": description.deviation,
        "median": description.median,
        "user": means.get("user_s", 0.0),
        "system": means.get("system_s", 0.0),
        "min": description.least,
        "max": description.most,
        "times": list(analysis.cells[cell].by_block[analysis.headline.name].values()),
        "memory_usage_byte": [report.peak_process_bytes or 0 for report in reports],
        "exit_codes": [report.exit_status for report in reports],
    }
    if cell.point.levels:
        result["parameters"] = {name: str(level) for name, level in cell.point.levels}
    return result


def _title(analysis: RunAnalysis, cell: Cell, *, with_unused: bool = False) -> str:
    """The name of a command that has one of its own, else its command line at the point; `with_unused`: with
    the parameters that do not occur in it."""
    text = analysis.contenders[cell.contender].title
    title = cell.contender if _is_named(analysis, cell.contender) else text
    unused = [f"{name} = {level}" for name, level in cell.point.levels if f"{{{name}}}" not in title]
    for name, level in cell.point.levels:
        title = title.replace(f"{{{name}}}", str(level))
    return f"{title} ({', '.join(unused)})" if unused and with_unused else title


def _is_named(analysis: RunAnalysis, contender: str) -> bool:
    """Whether the command line named the command, also where that is the letter that it would have anyway."""
    options = analysis.plan.options
    names = analysis.experiment.contenders["--reference" in options :]
    letters = dict(zip(names, string.ascii_uppercase, strict=False))
    named = len(options.get("--command-name", ()))
    return contender in names[:named] or letters.get(contender) != contender
