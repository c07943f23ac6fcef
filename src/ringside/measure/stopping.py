"""When a run has enough blocks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ringside.analysis.comparisons import shown_pairs
from ringside.analysis.examination import Examination, Observations
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Trial
from ringside.stats.paired import paired_ratio
from ringside.stats.sequential import FIRST_LOOK, SEQUENTIAL_CONFIDENCE, all_narrower_than, width_looks
from ringside.workloads.base import Measurement

# With a goal for the intervals no more blocks than this, whether it is reached or not.
MAX_BLOCKS_UNTIL = 500


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """A run ends after `max_blocks` blocks, or once `time_s` seconds have passed and `min_timed_blocks` are
    done. Before that, but after `min_blocks` or more, where `decided`, as soon as every comparison of the
    headline is decided; or, with `until`, when every interval of the headline is narrower than that share of
    its ratio. No block begins after `deadline_s`: a run that decides as it goes, and had its first look, is
    over then; others can go on later."""

    max_blocks: int
    decided: bool = False
    until: float | None = None
    min_blocks: int = 1
    time_s: float | None = None
    min_timed_blocks: int = FIRST_LOOK
    deadline_s: float | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the number of blocks is known beforehand."""
        can_end_early = self.decided and self.max_blocks > FIRST_LOOK
        return not can_end_early and self.until is None and self.time_s is None


def rule_of(experiment: Experiment, deadline_s: float | None = None) -> StoppingRule:
    """The rule of an experiment."""
    is_open = experiment.until is not None
    return StoppingRule(
        max_blocks=max(experiment.blocks, MAX_BLOCKS_UNTIL) if is_open else experiment.blocks,
        decided=experiment.until_decided,
        until=experiment.until,
        min_blocks=experiment.blocks if is_open else 1,
        time_s=experiment.time_s,
        deadline_s=deadline_s,
    )


class Progress:
    """Whether a run in progress has reached its goal. The clock starts when it is made."""

    def __init__(
        self, rule: StoppingRule, experiment: Experiment, measurement: Measurement, points: Sequence[Point]
    ) -> None:
        metrics = experiment.show.metrics or measurement.compared
        confirmatory = metrics if measurement.one_family else metrics[:1]
        self._rule = rule
        self._widths = set(width_looks(rule.max_blocks))
        self._pairs = shown_pairs(experiment)
        self._metrics = [measurement.metric(name) for name in confirmatory]
        self._points = points
        self._observations = Observations(measurement)
        self._examination = Examination(experiment, self._metrics, points, self._observations)
        self._begun = time.monotonic()
        self._blocks = 0

    def add(self, trial: Trial) -> None:
        """Count a trial."""
        if self._rule.decided or self._rule.until is not None:
            self._observations.add(trial)

    def is_reached(self, blocks: int) -> bool:
        """Whether the goal is reached after so many blocks, called once for each number of them, in order."""
        self._blocks = blocks
        if blocks >= self._rule.max_blocks:
            return True
        if self._rule.decided:
            # With a least number of blocks, what an earlier look decided ends the run once they are made.
            is_look = self._examination.look(blocks) and blocks > self._rule.min_blocks
            return (is_look or blocks == self._rule.min_blocks) and self._examination.is_decided
        if self._rule.until is None or blocks < self._rule.min_blocks or blocks not in self._widths:
            return False
        ratios = [
            paired_ratio(self._values(one, point), self._values(other, point), SEQUENTIAL_CONFIDENCE)
            for point in self._points
            for one, other in self._pairs
        ]
        return all_narrower_than(ratios, self._rule.until)

    def is_needed(self, cell: Cell) -> bool:
        """Whether a comparison of this cell is still open, or the least number of blocks is not yet made."""
        return self._blocks < self._rule.min_blocks or self._examination.is_needed(cell)

    def is_over(self, blocks: int) -> bool:
        """Whether the time of the run is over, after so many blocks."""
        enough = blocks >= min(self._rule.min_timed_blocks, self._rule.max_blocks)
        return self._rule.time_s is not None and enough and self._spent_s() >= self._rule.time_s

    def is_late(self) -> bool:
        """Whether no new block is to begin, though the run is not over."""
        return self._rule.deadline_s is not None and self._spent_s() >= self._rule.deadline_s

    def _spent_s(self) -> float:
        return time.monotonic() - self._begun

    def _values(self, name: str, point: Point) -> dict[int, float]:
        return self._observations.values.get((self._metrics[0].name, Cell(name, point)), {})
