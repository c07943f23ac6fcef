"""A run on several machines, machine by machine. Ratios are of pairs inside blocks, and a block is of one
machine, so no ratio compares machines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ringside.analysis.figures import RunFigures
from ringside.model.design import Cell
from ringside.model.results import Interval
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


def analyse_machines(run: RunFigures) -> MachineAnalysis | None:
    """None of a run on one machine."""
    places = {(trial.block, trial.cell): trial.machine for trial in run.trials if trial.machine}
    machines = tuple(sorted(set(places.values())))
    if len(machines) < 2:
        return None

    def by_machine(cell: Cell) -> dict[str, dict[int, float]]:
        values = run.cells[cell].values(run.headline.name)
        return {
            machine: {block: value for block, value in values.items() if places.get((block, cell)) == machine}
            for machine in machines
        }

    rows = []
    baseline = run.experiment.baseline
    for cell in run.cells:
        own, base = by_machine(cell), by_machine(Cell(baseline, cell.point))
        pairs = {machine: (own[machine], base[machine]) for machine in machines if cell.contender != baseline}
        ratios = {machine: paired_ratio(*pair, run.confidence) for machine, pair in pairs.items()}
        between = between_groups([list(log_ratios(*pair).values()) for pair in pairs.values()])
        rows.append(
            MachineRow(
                cell,
                {machine: median_interval(list(each.values())) for machine, each in own.items() if each},
                {machine: ratio for machine, ratio in ratios.items() if ratio},
                None if between is None else math.exp(between),
            )
        )
    blocks = {
        machine: len({block for (block, _), place in places.items() if place == machine and block > 0})
        for machine in machines
    }
    return MachineAnalysis(machines, blocks, tuple(rows))
