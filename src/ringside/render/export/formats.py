"""A run in other tools' formats, and as CSV. Those of hyperfine are for `vs`, with ratios of pairs."""

import importlib.util
import json
import string
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ringside import units
from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError
from ringside.model.design import NS_OF, Cell, Metric
from ringside.model.results import Description, Interval, Outcome
from ringside.render.export.documents import as_json
from ringside.render.text import command, paired
from ringside.text import csv_text, last_lines, one_line
from ringside.workloads.command import COMMAND
from ringside.workloads.process import WALL_S

_MAX_NAME = 400
_MAX_BENCHER_NAME = 1024
_PYPERF_VERSION = "1.0"
# pyperf's names for our units, and how many of its units one of ours is.
_PYPERF_UNITS = {unit: ("second", ns / NS_OF["s"]) for unit, ns in NS_OF.items()} | {"B": ("byte", 1.0)}


def _benchmarks(analysis: RunAnalysis) -> Iterator[tuple[str, CellAnalysis, Metric, Interval]]:
    """Each compared metric of each cell that has a figure, with a name that is unique across experiments."""
    for cell in analysis.cells.values():
        for metric in analysis.metrics:
            if value := cell.metrics.get(metric.name):
                words = (analysis.experiment.name, cell.cell.contender, str(cell.cell.point), metric.name)
                yield one_line(" ".join(filter(None, words)), _MAX_NAME), cell, metric, value


def bencher(analysis: RunAnalysis) -> str:
    """Benchmarks by name, measures with value and 95 % interval, in the unit that ends the measure's name."""
    document: dict[str, dict[str, dict[str, float]]] = {}
    for _, analysed, metric, value in _benchmarks(analysis):
        measure = {"value": value.estimate}
        if value.low is not None and value.high is not None:
            measure |= {"lower_value": value.low, "upper_value": value.high}
        cell = analysed.cell
        name = one_line(f"{cell.contender} {cell.point}".strip(), _MAX_BENCHER_NAME)
        document.setdefault(name, {})[metric.name.replace("_", "-")] = measure
    return as_json(document)


def github_action(analysis: RunAnalysis, *, smaller_is_better: bool = True) -> str:
    """The compared metrics of one direction, for `customSmallerIsBetter` or `customBiggerIsBetter`."""
    entries = []
    for name, _, metric, value in _benchmarks(analysis):
        if metric.smaller_is_better != smaller_is_better:
            continue
        entry = {"name": name, "unit": metric.unit or "1", "value": value.estimate}
        if value.low is not None and value.high is not None:
            entry["range"] = f"{units.significant(value.low)}–{units.significant(value.high)}"
        entry["extra"] = f"{metric.explanation}; {units.count(value.n, 'block')}, run {analysis.run.id}"
        entries.append(entry)
    return as_json(entries)


def pyperf(analysis: RunAnalysis) -> str:
    """Each time or size of each cell as a benchmark with a value per block. pyperf does not know pairs.
    Raises UsageError if the run has no such metric."""
    entries = []
    for name, cell, metric, _ in _benchmarks(analysis):
        unit, factor = _PYPERF_UNITS.get(metric.unit, ("", 0.0))
        by_block = cell.by_block[metric.name]
        # pyperf refuses values that are not positive.
        values = [value * factor for _, value in sorted(by_block.items()) if value * factor > 0]
        if values:
            metadata = {"name": name, "unit": unit, "loops": 1}
            entries.append({"metadata": metadata, "runs": [{"values": [value]} for value in values]})
    if not entries:
        raise UsageError(f"run {analysis.run.id} has no time or size with figures, which is all pyperf knows")
    host = analysis.run.host
    facts = {"cpu_model_name": host.get("cpu_model"), "platform": host.get("system")}
    facts["description"] = one_line(analysis.experiment.title)
    metadata = {key: str(value) for key, value in facts.items() if value}
    return as_json({"version": _PYPERF_VERSION, "metadata": metadata, "benchmarks": entries})


def left_out(analysis: RunAnalysis, form: str) -> str:
    """The parts that a format leaves out, and the direction that contains them; empty if there are none."""
    absent, why = [], ""
    if form == "pyperf":
        absent = [metric.name for metric in analysis.metrics if metric.unit not in _PYPERF_UNITS]
        why = "pyperf knows times and sizes only"
    elif form.startswith("github-action-benchmark"):
        wants_bigger = form.endswith("-bigger")
        absent = [metric.name for metric in analysis.metrics if metric.smaller_is_better == wants_bigger]
        why = f"--format github-action-benchmark{'' if wants_bigger else '-bigger'} has them"
    return f"left out: {', '.join(absent)}; {why}" if absent else ""


def write_parquet(analysis: RunAnalysis, file: Path) -> None:
    """A row for each metric of each trial with figures: run, block, contender, a column for each factor
    (text), metric, unit, value. Raises UsageError if pyarrow is missing or the file cannot be written."""
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: pip install pyarrow")
    import pyarrow as pa
    from pyarrow import parquet as pq

    factors = [name for name, _ in analysis.points[0].levels]
    types: dict[str, Any] = {"run": pa.string(), "block": pa.int32(), "contender": pa.string()}
    types |= {f"factor_{name}": pa.string() for name in factors}
    types |= {"metric": pa.string(), "unit": pa.string(), "value": pa.float64()}
    rows = [
        (
            *(analysis.run.id, block, cell.contender, *(str(cell.point[name]) for name in factors)),
            *(metric, analysis.measurement.metric(metric).unit, value),
        )
        for cell, analysed in analysis.cells.items()
        for metric, by_block in analysed.by_block.items()
        for block, value in sorted(by_block.items())
    ]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(types)}
    try:
        pq.write_table(pa.table(columns, schema=pa.schema(types)), file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error}") from error


def as_csv(analysis: RunAnalysis) -> str:
    """A row for each metric of each cell, with the end of its stderr and the command that repeats it; a cell
    without figures is a row without a metric."""
    factors = [name for name, _ in analysis.points[0].levels]
    figures = ("metric", "unit", "median", "low", "high", "n")
    others = ("contender", *figures, "trials", "ok", "reason", "stderr", "repeat")
    # A factor such as `n` has another name than a column that is always there.
    named = (f"factor_{name}" if name in others else name for name in factors)
    rows: list[list[object]] = [[others[0], *named, *others[1:]]]
    for cell in analysis.cells.values():
        start = [cell.cell.contender, *(cell.cell.point[factor] for factor in factors)]
        trials, ok = sum(cell.outcomes.values()), cell.outcomes.get(Outcome.OK, 0)
        stderr, repeat = " | ".join(last_lines(cell.stderr)), command.command_to_repeat(analysis, cell)
        end = [trials, ok, cell.reason, stderr, repeat]
        for name, value in cell.metrics.items():
            unit = analysis.measurement.metric(name).unit
            rows.append([*start, name, unit, value.estimate, value.low, value.high, value.n, *end])
        if not cell.metrics:
            rows.append([*start, "", "", "", "", "", 0, *end])
    return csv_text(rows)


_FIGURES = ("mean", "stddev", "median", "user", "system", "min", "max")
_MAX_TEXT = 200


def hyperfine_json(analysis: RunAnalysis, order: str = "auto") -> str:
    """A run as hyperfine writes it: a result per command and point. Raises UsageError for other runs."""
    if analysis.measurement.name != COMMAND.name:
        raise UsageError(
            f"run {analysis.run.id} is not one of `ringside vs`, which hyperfine's layout is for"
        )
    results = [_result(analysis, *each) for each in _walls(analysis, order).items()]
    return json.dumps({"results": results}, indent=2, ensure_ascii=False) + "\n"


def _walls(analysis: RunAnalysis, order: str) -> dict[Cell, Description]:
    """The wall times of each command at each point, in this order."""
    walls = {cell: analysis.description(cell, WALL_S.name) for cell in paired.in_order(analysis, order)}
    return {cell: each for cell, each in walls.items() if each}


def _hyperfine_csv(analysis: RunAnalysis, order: str) -> str:
    """A line for each command at each point. Times in seconds."""
    factors = [name for name, _ in analysis.points[0].levels]
    rows: list[list[object]] = [["command", *_FIGURES, *(f"parameter_{name}" for name in factors)]]
    for cell, wall in _walls(analysis, order).items():
        result = _result(analysis, cell, wall)
        figures = [0.0 if result[name] is None else result[name] for name in _FIGURES]
        rows.append([result["command"], *figures, *(str(cell.point[name]) for name in factors)])
    return csv_text(rows)


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
    wall = analysis.measurement.metric(WALL_S.name)
    described, over_first = _walls(analysis, order), paired.over_first(analysis)
    factor, unit = next((units.scale(each.mean, wall.unit) for each in described.values()), (1.0, "s"))
    rows = [["Command", *(f"{name} [{unit}]" for name in ("Mean", "Min", "Max")), "Relative"]]
    for cell, description in described.items():
        ends = (description.mean, description.least, description.most)
        mean, least, most = (units.significant(value / factor) for value in ends)
        if description.deviation is not None:
            mean += f" ± {units.at_place_of(description.deviation / factor, description.mean / factor)}"
        comparison = analysis.comparison(wall, cell.contender, analysis.experiment.baseline, cell.point)
        over = comparison or over_first.get(cell.point)
        title = one_line(_title(analysis, cell, with_unused=True), _MAX_TEXT)
        command = code.format(title.replace("|", bar))
        rows.append([command, mean, least, most, units.ratio(over.ratio) if over else "1"])
    head, *lines = (f"| {' | '.join(row)}{line_end}" for row in rows)
    return "".join([before, head, behind, *lines, end])


# Exports of `vs`, by the names that users give.
VS_FORMATS: Mapping[str, Callable[[RunAnalysis, str], str]] = {
    "json": hyperfine_json,
    "csv": _hyperfine_csv,
    **{kind: partial(_table, kind) for kind in _TABLES},
}
# Formats of `show` that are text. Parquet is written to a file (`write_parquet`).
TEXT_FORMATS: Mapping[str, Callable[[RunAnalysis], str]] = {
    "hyperfine": hyperfine_json,
    "pyperf": pyperf,
    "bencher": bencher,
    "github-action-benchmark": github_action,
    "github-action-benchmark-bigger": partial(github_action, smaller_is_better=False),
}


def _result(analysis: RunAnalysis, cell: Cell, description: Description) -> dict[str, Any]:
    user, system = (analysis.description(cell, metric) for metric in ("user_s", "system_s"))
    mine = (trial for trial in analysis.trials if trial.cell == cell and trial.block > 0)
    reports = [trial.report for trial in mine if trial.outcome is Outcome.OK and trial.report]
    result = {
        "command": _title(analysis, cell),
        "mean": description.mean,
        "stddev": description.deviation,
        "median": description.median,
        "user": user.mean if user else 0.0,
        "system": system.mean if system else 0.0,
        "min": description.least,
        "max": description.most,
        "times": list(analysis.cells[cell].by_block[WALL_S.name].values()),
        "memory_usage_byte": [report.peak_process_bytes or 0 for report in reports],
        "exit_codes": [report.exit_status for report in reports],
    }
    if cell.point.levels:
        result["parameters"] = {name: str(level) for name, level in cell.point.levels}
    return result


def _title(analysis: RunAnalysis, cell: Cell, *, with_unused: bool = False) -> str:
    """A command's own name, else its command line at the point; `with_unused`: and its other parameters."""
    text = analysis.contenders[cell.contender].title
    options = analysis.plan.options
    names = analysis.experiment.contenders["--reference" in options :]
    letters = dict(zip(names, string.ascii_uppercase, strict=False))
    # The command line named it, perhaps by the letter that it would have anyway.
    is_named = cell.contender in names[: len(options.get("--command-name", ()))]
    unnamed = letters.get(cell.contender, "" if "--reference-name" in options else "reference")
    is_named |= unnamed != cell.contender
    title = cell.contender if is_named else text
    unused = [f"{name} = {level}" for name, level in cell.point.levels if f"{{{name}}}" not in title]
    title = cell.point.filled_in(title)
    return f"{title} ({', '.join(unused)})" if unused and with_unused else title
