"""When a run has enough blocks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ringside.analysis.comparisons import compare, shown_pairs
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Outcome, Trial
from ringside.stats.sequential import all_narrower_than, interim_looks
from ringside.workloads.base import Measurement

# With a goal for the intervals no more blocks than this, whether it is reached or not.
MAX_BLOCKS_UNTIL = 500


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """`min_blocks` blocks at least and `max_blocks` at most. In between the run ends when every interval of
    the headline is narrower than `until` (a share of its ratio, looked at after few blocks only), or when
    `time_s` seconds have passed and `min_timed_blocks` blocks are done."""

    min_blocks: int
    max_blocks: int
    until: float | None = None
    time_s: float | None = None
    min_timed_blocks: int = 0


def rule_of(experiment: Experiment, time_s: float | None = None) -> StoppingRule:
    """The rule of an experiment: its blocks, or more of them until intervals are narrow. A time limit cuts
    such a run off before its next block, even the first one."""
    if experiment.until is None:
        return StoppingRule(experiment.blocks, experiment.blocks, time_s=time_s)
    most = max(experiment.blocks, MAX_BLOCKS_UNTIL)
    return StoppingRule(experiment.blocks, most, experiment.until, time_s)


class Progress:
    """Whether a run in progress has reached its goal. The clock starts when it is made."""

    def __init__(
        self, rule: StoppingRule, experiment: Experiment, measurement: Measurement, points: Sequence[Point]
    ) -> None:
        self._rule = rule
        self._looks = set(interim_looks(rule.max_blocks))
        self._pairs = shown_pairs(experiment)
        self._measurement = measurement
        self._headline = measurement.metric((experiment.show.metrics or measurement.compared)[0])
        self._points = points
        self._values: dict[Cell, dict[int, float]] = {}
        self._begun = time.monotonic()

    def add(self, trial: Trial) -> None:
        """Count a trial."""
        if trial.outcome is Outcome.OK and self._rule.until is not None:
            value = self._measurement.figures(trial).get(self._headline.name)
            if value is not None:
                self._values.setdefault(trial.cell, {})[trial.block] = value

    def is_reached(self, blocks: int) -> bool:
        """Whether the goal is reached after so many blocks: the most of them, or narrow intervals."""
        if blocks >= self._rule.max_blocks:
            return True
        if self._rule.until is None or blocks < self._rule.min_blocks or blocks not in self._looks:
            return False
        ratios = []
        for point in self._points:
            values = {
                name: self._values.get(Cell(name, point), {})
                for name in dict.fromkeys(name for pair in self._pairs for name in pair)
            }
            comparisons = compare(values, self._pairs, self._headline, point, sequential=True)
            ratios += [comparison.ratio for comparison in comparisons.values()]
        return all_narrower_than(ratios, self._rule.until)

    def is_late(self, blocks: int) -> bool:
        """Whether the time is over, after so many blocks."""
        if self._rule.time_s is None or blocks < self._rule.min_timed_blocks:
            return False
        return time.monotonic() - self._begun >= self._rule.time_s
