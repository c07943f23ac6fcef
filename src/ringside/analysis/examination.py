"""What a run has decided, look by look: for a run in progress, and for its analysis afterwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from ringside.analysis.cells import CellAnalysis, has_no_steady_state, trial_figures
from ringside.analysis.comparisons import ComparisonFamily, shown_pairs
from ringside.model.design import Cell, Experiment, Metric, Point
from ringside.model.results import REPEATABLE, Comparison, Obstacle, Outcome, Trial, Verdict
from ringside.stats.interval import CONFIDENCE
from ringside.stats.sequential import (
    FIRST_LOOK,
    SEQUENTIAL_CONFIDENCE,
    Look,
    last_look,
    planned_looks,
)
from ringside.workloads.base import Measurement

# A verdict over the blocks that are left would favour a contender that fails where it is slow.
MAX_FAILED_SHARE = 0.10
# Where more trials than this reach no steady state, noise in the others may only look like one.
_MAX_UNSTEADY_SHARE = 0.5


def nominal_confidence(experiment: Experiment) -> float:
    """The nominal confidence of the intervals of ratios, so that they really hold 95 %."""
    # A run of seven blocks or fewer has its first look at its end.
    can_end_early = experiment.until_decided and experiment.blocks > FIRST_LOOK
    is_sequential = can_end_early or experiment.until is not None
    return SEQUENTIAL_CONFIDENCE if is_sequential else CONFIDENCE


class Observations:
    """What trials showed, by cell: the `values` of each metric by block, the blocks in which a cell was
    measured or should have been (`attempted`), and those whose repeats reached no steady state
    (`unsteady`)."""

    def __init__(self, measurement: Measurement, trials: Iterable[Trial] = ()) -> None:
        self._measurement = measurement
        self.values: dict[tuple[str, Cell], dict[int, float]] = {}
        self.attempted: dict[Cell, set[int]] = {}
        self.unsteady: dict[Cell, set[int]] = {}
        for trial in trials:
            self.add(trial)

    def add(self, trial: Trial) -> None:
        """Count a trial, unless it is a warm-up or is to be repeated."""
        if self._count(trial):
            for name, value in trial_figures(trial, self._measurement).items():
                self.values.setdefault((name, trial.cell), {})[trial.block] = value

    @classmethod
    def of_cells(
        cls, measurement: Measurement, trials: Iterable[Trial], cells: Iterable[CellAnalysis]
    ) -> Observations:
        """Those of trials whose figures are in cells already."""
        observations = cls(measurement)
        for trial in trials:
            observations._count(trial)
        observations.values = {
            (name, each.cell): dict(by_block) for each in cells for name, by_block in each.by_block.items()
        }
        return observations

    def _count(self, trial: Trial) -> bool:
        cell, block = trial.cell, trial.block
        if block < 1 or trial.outcome in REPEATABLE:
            return False
        # On a machine that lacks its runtime a contender has not failed.
        if trial.machine and trial.outcome is Outcome.UNAVAILABLE:
            return False
        self.attempted.setdefault(cell, set()).add(block)
        if has_no_steady_state(trial, self._measurement):
            self.unsteady.setdefault(cell, set()).add(block)
        return True

    def until(self, blocks: int) -> Observations:
        """Those of the first blocks."""

        if all(block <= blocks for each in self.attempted.values() for block in each):
            return self

        def first(by_cell: dict[Cell, set[int]]) -> dict[Cell, set[int]]:
            return {cell: {block for block in each if block <= blocks} for cell, each in by_cell.items()}

        observations = Observations(self._measurement)
        observations.attempted, observations.unsteady = first(self.attempted), first(self.unsteady)
        observations.values = {
            key: {block: value for block, value in each.items() if block <= blocks}
            for key, each in self.values.items()
        }
        return observations

    def failures(self, metric: str, cell: Cell) -> int:
        """The number of blocks of a cell that gave no value."""
        return len(self.attempted.get(cell, ())) - len(self.values.get((metric, cell), {}))

    def failed_share(self, metric: str, cell: Cell) -> float:
        """The share of the blocks of a cell that gave no value."""
        return self.failures(metric, cell) / max(1, len(self.attempted.get(cell, ())))

    def obstacle(self, metric: str, cell: Cell) -> Obstacle | None:
        """What stands in the way of any verdict on a cell."""
        if self.failed_share(metric, cell) > MAX_FAILED_SHARE:
            return Obstacle.FAILED_BLOCKS
        if len(self.unsteady.get(cell, ())) > _MAX_UNSTEADY_SHARE * len(self.attempted.get(cell, ())):
            return Obstacle.NO_STEADY_STATE
        return None


class Examination:
    """The comparisons in some metrics as one family, looked at after blocks that are whole. The observations
    may grow between looks. `takes_looks`: False for metrics that do not decide when the run ends, which have
    the last look only."""

    def __init__(
        self,
        experiment: Experiment,
        metrics: Sequence[Metric],
        points: Sequence[Point],
        observations: Observations,
        *,
        takes_looks: bool = True,
    ) -> None:
        self._metrics = metrics
        self._points = points
        self._observations = observations
        self._pairs = shown_pairs(experiment)
        self._family = ComparisonFamily(metrics, points, experiment.contenders, experiment.margin)
        self._confidence = nominal_confidence(experiment)
        self._has_interim_looks = experiment.until_decided and takes_looks
        planned = planned_looks(experiment.blocks) if self._has_interim_looks else []
        self._levels = {look.blocks: look for look in planned}
        self._most_blocks = experiment.blocks
        self._concluded = observations
        self._open: set[Cell] | None = None

    def look(self, blocks: int) -> bool:
        """Take the look that is planned after so many blocks; False where there is none."""
        if blocks in self._levels:
            self._examine(self._levels[blocks])
        return blocks in self._levels

    def last_look(self, blocks: int) -> None:
        """Take the look at a run that is over. Where something else than this family's looks ended it, widths
        or another metric that may be like these, the level is that of the intervals."""
        if self._has_interim_looks:
            self._examine(last_look(blocks, interim=True))
        else:
            self._examine(Look(blocks, 1 - self._confidence))

    def _examine(self, look: Look) -> None:
        """What is decided now depends on nothing that comes later, so that a run that goes on after a pause,
        and its analysis, find the same."""
        so_far = self._observations.until(look.blocks)
        self._family.examine(so_far.values, look, self._confidence)
        self._concluded = so_far
        self._open = {
            cell
            for metric in self._metrics
            for point in self._points
            for pair in self._pairs
            if self._is_open(metric, point, pair)
            for cell in (Cell(name, point) for name in pair)
        }

    def _is_open(self, metric: Metric, point: Point, pair: tuple[str, str]) -> bool:
        """Whether more blocks could decide a pair."""
        comparison = self.comparison(metric, point, *pair)
        if comparison is None or comparison.verdict is not Verdict.INCONCLUSIVE:
            return False
        if comparison.obstacle is Obstacle.FAILED_BLOCKS:
            # One failure is a large share of few blocks, and may be a small one of all.
            failures = (self._concluded.failures(metric.name, Cell(name, point)) for name in pair)
            return max(failures) <= MAX_FAILED_SHARE * self._most_blocks
        return comparison.obstacle is None

    def conclude(self) -> None:
        """Settle the ratios with all observations."""
        self._concluded = self._observations
        self._family.conclude(self._observations.values, self._confidence)

    def comparison(
        self, metric: Metric, point: Point, contender: str, baseline: str, *, is_over: bool = True
    ) -> Comparison | None:
        """The comparison of a pair, None without a block in common. `is_over`: the run has ended, so what is
        not decided stays so."""
        cells = (Cell(contender, point), Cell(baseline, point))
        obstacles = (self._concluded.obstacle(metric.name, cell) for cell in cells)
        obstacle = next(filter(None, obstacles), None)
        comparison = self._family.comparison(metric.name, point, contender, baseline, obstacle)
        if (
            comparison
            and not is_over
            and comparison.verdict is Verdict.INCONCLUSIVE
            and comparison.obstacle is None
        ):
            return dataclasses.replace(comparison, obstacle=Obstacle.UNFINISHED, blocks_needed=None)
        return comparison

    def is_needed(self, cell: Cell) -> bool:
        """Whether a comparison of this cell was open at the last look."""
        return self._open is None or not self._pairs or cell in self._open

    @property
    def is_decided(self) -> bool:
        """Whether no comparison was open at the last look; False where there is none, or no look yet."""
        return self._open is not None and not self._open and bool(self._pairs)


def replay(examination: Examination, cells: Iterable[Cell], trials: Sequence[Trial]) -> int:
    """Take the planned looks at a run again, in the order of its blocks; the number of its whole blocks:
    those with a trial, none of them interrupted, of every cell that could be measured when the run began and
    was still needed."""
    unavailable = {trial.cell for trial in trials if trial.block == 0}
    measurable = [cell for cell in cells if cell not in unavailable]
    measured: dict[int, set[Cell]] = {}
    for trial in trials:
        if trial.block > 0 and trial.outcome is not Outcome.INTERRUPTED:
            measured.setdefault(trial.block, set()).add(trial.cell)
    whole = 0
    for block in sorted(measured):
        if all(cell in measured[block] for cell in measurable if examination.is_needed(cell)):
            whole += 1
            examination.look(whole)
    return whole
