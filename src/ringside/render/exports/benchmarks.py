"""What other tools call a benchmark: a compared metric of a cell with figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.run import RunAnalysis
from ringside.model.design import Metric
from ringside.model.results import Interval
from ringside.text import one_line

_MAX_NAME = 400


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A compared metric of a cell. `name` is unique within the run's file, and across experiments."""

    name: str
    cell: CellAnalysis
    metric: Metric
    value: Interval


def benchmarks(analysis: RunAnalysis) -> Iterator[Benchmark]:
    """All benchmarks of a run, cell by cell."""
    for cell in analysis.cells.values():
        for metric in analysis.metrics:
            if value := cell.metrics.get(metric.name):
                parts = (
                    analysis.experiment.name,
                    cell.cell.contender,
                    str(cell.cell.point),
                    metric.name,
                )
                name = one_line(" ".join(part for part in parts if part), _MAX_NAME)
                yield Benchmark(name, cell, metric, value)
