"""A run on several machines, machine by machine. Ratios are of pairs inside blocks, and a block is of one
machine, so no ratio compares machines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ringside.analysis.cells import CellAnalysis
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval, Trial
from ringside.stats.interval import median_interval
from ringside.stats.paired import log_ratios, paired_ratio
from ringside.stats.samples import between_groups


@dataclass(frozen=True, slots=True)
class MachineRow:
    """A contender at a point. By machine, as far as there are figures: `figures`, medians of the headline;
    `ratios`, it over the baseline, from pairs on that machine. `spread`: the factor by which the ratios of
    two machines typically differ (a standard deviation of their logarithms, as a factor: 1 is none); None
    where fewer than two machines have two pairs."""

    cell: Cell
    figures: Mapping[str, Interval]
    ratios: Mapping[str, Interval]
    spread: float | None


@dataclass(frozen=True, slots=True)
class MachineAnalysis:
    """The machines, by name, the blocks of each, and the rows of all cells."""

    names: tuple[str, ...]
    blocks: Mapping[str, int]
    rows: tuple[MachineRow, ...]


def analyse_machines(
    trials: Sequence[Trial],
    cells: Mapping[Cell, CellAnalysis],
    headline: Metric,
    baseline: str,
    points: Sequence[Point],
    names: Sequence[str],
    confidence: float,
) -> MachineAnalysis | None:
    """None of a run on one machine. `confidence`: of the intervals of ratios."""
    of = {(trial.block, trial.cell): trial.machine for trial in trials if trial.machine}
    machines = tuple(sorted(set(of.values())))
    if len(machines) < 2:
        return None

    def values(machine: str, name: str, point: Point) -> dict[int, float]:
        cell = Cell(name, point)
        by_block = cells[cell].by_block.get(headline.name, {})
        return {block: value for block, value in by_block.items() if of.get((block, cell)) == machine}

    rows = []
    for point in points:
        for name in names:
            own = {machine: values(machine, name, point) for machine in machines}
            base = {machine: values(machine, baseline, point) for machine in machines}
            ratios, logs = {}, []
            for machine in machines if name != baseline else ():
                ratio = paired_ratio(own[machine], base[machine], confidence)
                if ratio is not None:
                    ratios[machine] = ratio
                logs.append(list(log_ratios(own[machine], base[machine]).values()))
            between = between_groups(logs)
            rows.append(
                MachineRow(
                    Cell(name, point),
                    {machine: median_interval(list(each.values())) for machine, each in own.items() if each},
                    ratios,
                    None if between is None else math.exp(between),
                )
            )
    blocks = {
        machine: len({block for (block, _), where in of.items() if where == machine and block > 0})
        for machine in machines
    }
    return MachineAnalysis(machines, blocks, tuple(rows))
