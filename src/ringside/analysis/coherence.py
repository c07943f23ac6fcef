"""Whether the rows of a run fit together: a store or a record may have been written by anybody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ringside.errors import StoreError, UsageError
from ringside.model.design import Cell, Level, Point
from ringside.model.results import Run, Trial
from ringside.workloads.base import Cores, Factor, Measurement, Workload

# Factors that earlier versions of a workload did not have.
_LATER = ("capacity", "repeats")


def check_coherent(
    run: Run,
    measurement: Measurement,
    points: Sequence[Point],
    cells: Iterable[Cell],
    trials: Iterable[Trial],
) -> None:
    """Raise StoreError where a point is none of the workload's, or a trial belongs to none of the cells."""
    if isinstance(measurement, Workload):
        for point in points:
            levels = point.as_dict()
            for factor in measurement.factors:
                if not _fits(factor, levels.get(factor.name)):
                    raise StoreError(f"run {run.id} cannot be read: a point has no usable {factor.name}")
    known = set(cells)
    if any(trial.cell not in known for trial in trials):
        raise StoreError(f"run {run.id} cannot be read: it has a trial of a cell that it does not have")


def _fits(factor: Factor, level: Level | None) -> bool:
    """Whether a factor can have a level. Earlier versions may have had a wider range, and more cores."""
    if level is None:
        return factor.name in _LATER
    if isinstance(factor, Cores):
        return isinstance(level, int) and level >= 1
    if isinstance(level, int) and not factor.choices:
        return level >= factor.least
    try:
        return factor.check(level) == level
    except UsageError:
        return False
