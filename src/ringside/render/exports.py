"""A run in the formats of other tools."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ringside import units as numbers
from ringside.analysis.summary import Summary
from ringside.errors import UsageError
from ringside.model.design import Cell, Metric
from ringside.text import one_line

# What pyperf calls our units, and how much of its unit one of ours is.
_PYPERF_UNITS = {"s": ("second", 1.0), "ns": ("second", 1e-9), "B": ("byte", 1.0)}
_PYPERF_VERSION = "1.0"


def pyperf(summary: Summary) -> str:
    """The JSON of pyperf (`pyperf show`, `stats`, `compare_to`): a benchmark for each cell and each compared
    metric that is a time or a size, a run with one value for each block. pyperf's own verdicts take the
    values of two files for independent: pairs are lost. Raises UsageError where no metric can be given."""
    benchmarks = []
    for cell, metric in _cells(summary):
        if metric.unit not in _PYPERF_UNITS:
            continue
        unit, factor = _PYPERF_UNITS[metric.unit]
        values = [
            value * factor
            for _, value in sorted(summary.cells[cell].by_block.get(metric.name, {}).items())
            if value > 0
        ]
        if values:
            benchmarks.append(
                {
                    "metadata": {"name": _name(summary, cell, metric), "unit": unit, "loops": 1},
                    "runs": [{"values": [value]} for value in values],
                }
            )
    if not benchmarks:
        raise UsageError(f"run {summary.run.id} has no time or size with figures, which is all pyperf knows")
    host = summary.run.host
    metadata = {
        "hostname": "",
        "cpu_model_name": str(host.get("cpu_model", "")),
        "platform": str(host.get("system", "")),
        "description": one_line(summary.experiment.title),
    }
    document = {
        "version": _PYPERF_VERSION,
        "metadata": {key: value for key, value in metadata.items() if value},
        "benchmarks": benchmarks,
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def bencher(summary: Summary) -> str:
    """Bencher Metric Format: benchmarks by name, measures with value and 95 % interval. Times are in
    nanoseconds, as Bencher's own measure `latency` is."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for cell, metric in _cells(summary):
        value = summary.cells[cell].metrics.get(metric.name)
        if value is None:
            continue
        factor = 1e9 if metric.unit == "s" else 1.0
        measure = {"value": value.estimate * factor}
        if value.low is not None and value.high is not None:
            measure |= {"lower_value": value.low * factor, "upper_value": value.high * factor}
        name = f"{cell.contender} {cell.point}".strip()
        found.setdefault(one_line(name, 1024), {})[_slug(metric)] = measure
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def github_action(summary: Summary, *, smaller_is_better: bool = True) -> str:
    """github-action-benchmark's JSON for `customSmallerIsBetter` (or `customBiggerIsBetter`): compared
    metrics of that direction."""
    found = []
    for cell, metric in _cells(summary):
        value = summary.cells[cell].metrics.get(metric.name)
        if value is None or metric.smaller_is_better != smaller_is_better:
            continue
        entry: dict[str, Any] = {
            "name": _name(summary, cell, metric),
            "unit": metric.unit or "1",
            "value": value.estimate,
        }
        if value.low is not None and value.high is not None:
            ends = (numbers.significant(end) for end in (value.low, value.high))
            entry["range"] = "–".join(ends)
        entry["extra"] = f"{metric.explanation}; {value.n} blocks, run {summary.run.id}"
        found.append(entry)
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def parquet(summary: Summary, file: Path) -> None:
    """A row for each metric of each trial with figures: run, block, contender, a column for each factor
    (text), metric, unit, value. Raises UsageError where pyarrow is missing or the file cannot be written."""
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError("Parquet is written by pyarrow: pip install 'ringside[parquet]'")
    import pyarrow as pa
    from pyarrow import parquet as pq

    columns: dict[str, list[Any]] = {"run": [], "block": [], "contender": []}
    factors = [name for name, _ in summary.points[0].levels]
    columns |= {f"factor_{name}": [] for name in factors}
    columns |= {"metric": [], "unit": [], "value": []}
    units = {metric.name: metric.unit for metric in summary.workload.metrics}
    for cell, found in summary.cells.items():
        for metric, by_block in found.by_block.items():
            for block, value in sorted(by_block.items()):
                row = [summary.run.id, block, cell.contender]
                row += [str(cell.point[name]) for name in factors]
                row += [metric, units[metric], value]
                for column, entry in zip(columns.values(), row, strict=True):
                    column.append(entry)
    types = {"block": pa.int32(), "value": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in columns])
    try:
        pq.write_table(pa.table(columns, schema=schema), file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error}") from error


def _cells(summary: Summary) -> Iterator[tuple[Cell, Metric]]:
    for cell, found in summary.cells.items():
        if found.has_figures:
            for metric in summary.metrics():
                yield cell, metric


def _name(summary: Summary, cell: Cell, metric: Metric) -> str:
    parts = (summary.experiment.name, cell.contender, str(cell.point), metric.name)
    return one_line(" ".join(part for part in parts if part), 400)


def _slug(metric: Metric) -> str:
    return metric.name.replace("_", "-")
