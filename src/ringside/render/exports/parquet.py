"""Every figure of every trial as Parquet, by pyarrow."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.errors import UsageError


def write(analysis: RunAnalysis, file: Path) -> None:
    """A row for each metric of each trial with figures: run, block, contender, a column for each factor
    (text), metric, unit, value. Raises UsageError where pyarrow is missing or the file cannot be written."""
    if importlib.util.find_spec("pyarrow") is None:
        raise UsageError("Parquet is written by pyarrow: pip install 'ringside[parquet]'")
    import pyarrow as pa
    from pyarrow import parquet as pq

    factors = [name for name, _ in analysis.points[0].levels]
    types: dict[str, Any] = {"run": pa.string(), "block": pa.int32(), "contender": pa.string()}
    types |= {f"factor_{name}": pa.string() for name in factors}
    types |= {"metric": pa.string(), "unit": pa.string(), "value": pa.float64()}
    rows = _rows(analysis, factors)
    columns = {name: [row[place] for row in rows] for place, name in enumerate(types)}
    try:
        pq.write_table(pa.table(columns, schema=pa.schema(types)), file)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error}") from error


def _rows(analysis: RunAnalysis, factors: list[str]) -> list[tuple[Any, ...]]:
    rows = []
    for analysed in analysis.cells.values():
        cell = analysed.cell
        levels = [str(cell.point[name]) for name in factors]
        for metric, by_block in analysed.by_block.items():
            unit = analysis.measurement.metric(metric).unit
            for block, value in sorted(by_block.items()):
                rows.append((analysis.run.id, block, cell.contender, *levels, metric, unit, value))
    return rows
