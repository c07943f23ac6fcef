"""When a run has enough blocks."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ringside.analysis.examination import RunExamination
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Trial
from ringside.stats.sequential import FIRST_LOOK
from ringside.workloads.base import Measurement


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """A run ends after `max_blocks` blocks, or once `time_s` seconds have passed and `min_timed_blocks` are
    done. Before that, but after `min_blocks` or more, where `decided`, as soon as the first place and every
    comparison of the headline are decided. No block begins after `deadline_s`: a run that decides as it goes,
    and had its first look, is over then; others can go on later."""

    max_blocks: int
    decided: bool = False
    min_blocks: int = 1
    time_s: float | None = None
    min_timed_blocks: int = FIRST_LOOK
    deadline_s: float | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether the number of blocks is known beforehand."""
        return not (self.decided and self.max_blocks > FIRST_LOOK) and self.time_s is None


def rule_of(experiment: Experiment, deadline_s: float | None = None) -> StoppingRule:
    """The rule of an experiment."""
    return StoppingRule(
        max_blocks=experiment.blocks,
        decided=experiment.until_decided,
        time_s=experiment.time_s,
        deadline_s=deadline_s,
    )


@dataclass(eq=False)
class BlockProgress:
    """Whether a run in progress has reached its goal. It is given the blocks in the order of their numbers,
    once they are whole."""

    rule: StoppingRule
    experiment: Experiment
    measurement: Measurement
    points: Sequence[Point]
    classes: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        self._examination = RunExamination(self.experiment, self.measurement, self.points, self.classes)
        self.start()
        self._created = self._begun
        self.is_reached = False

    def start(self) -> None:
        """Start the clock of its times anew."""
        self._begun = time.monotonic()

    @property
    def blocks(self) -> int:
        """How many whole blocks there are."""
        return self._examination.blocks

    def add_block(self, trials: Iterable[Trial]) -> None:
        """Judge the next whole block by its trials."""
        is_look = self._examination.add_block(trials if self.rule.decided else ())
        # With a least number of blocks, what an earlier look decided ends the run once they are made.
        is_end = self.blocks == self.rule.min_blocks or (is_look and self.blocks > self.rule.min_blocks)
        is_decided = self.rule.decided and is_end and self._examination.is_decided
        self.is_reached = is_decided or self.blocks >= self.rule.max_blocks

    def is_needed(self, cell: Cell) -> bool:
        """Whether a comparison of this cell is still open, or the least number of blocks is not yet made."""
        return self.blocks < self.rule.min_blocks or self._examination.is_needed(cell)

    def is_over(self) -> bool:
        """Whether the time of the run is over."""
        enough = self.blocks >= min(self.rule.min_timed_blocks, self.rule.max_blocks)
        spent_s = time.monotonic() - self._begun
        return self.rule.time_s is not None and enough and spent_s >= self.rule.time_s

    def is_late(self) -> bool:
        """Whether no new warm-up or block is to begin, though the run is not over."""
        deadline_s = self.rule.deadline_s
        return deadline_s is not None and time.monotonic() - self._created >= deadline_s
