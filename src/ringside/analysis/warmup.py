"""Repeats inside one process: the first beside the steady ones, and whether there is a steady state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.stats.interval import is_positive_finite
from ringside.stats.series import MIN_SAMPLES, SeriesKind, steady_state
from ringside.workloads.base import Measurement

# With fewer repeats in one process no steady state can be detected.
REPEATS_FOR_STEADY_STATE = MIN_SAMPLES


@dataclass(frozen=True, slots=True)
class WarmUp:
    """A cell whose work was repeated. `series`: the repeated metric of each repeat, by trial; `medians`: of
    each repeat over the trials. Medians over trials: `first` of the first repeat, `steady` of the level of
    the steady state and `since` of the repeat (from 1) from which it holds, both None without one. `kinds`:
    how many trials were of which kind; empty where there are too few repeats."""

    cell: Cell
    series: tuple[tuple[float, ...], ...]
    medians: tuple[float, ...]
    first: float
    steady: float | None
    since: int | None
    kinds: Mapping[SeriesKind, int]

    @property
    def first_over_steady(self) -> float | None:
        return self.first / self.steady if self.steady else None

    @property
    def is_long_enough(self) -> bool:
        """Whether each trial has enough repeats to tell a steady state."""
        return all(len(series) >= MIN_SAMPLES for series in self.series)


def analyse_warm_ups(measurement: Measurement, trials: Mapping[Cell, Sequence[Trial]]) -> tuple[WarmUp, ...]:
    """The warm-up of each cell whose work was repeated in one process."""
    warm_ups = []
    for cell, its_trials in trials.items():
        repeats = [measurement.repeats_of(trial) for trial in its_trials if trial.outcome is Outcome.OK]
        if series := tuple(each for each in repeats if each):
            warm_ups.append(_warm_up(cell, series))
    return tuple(warm_ups)


def _warm_up(cell: Cell, series: tuple[tuple[float, ...], ...]) -> WarmUp:
    # A program may report a time of 0, which has no logarithm.
    usable = [each for each in series if all(map(is_positive_finite, each))]
    states = [state for each in usable if (state := steady_state(each))]
    steady = [state.steady for state in states if state.steady is not None]
    since = [state.since + 1 for state in states if state.since is not None]
    longest = max(map(len, series))
    return WarmUp(
        cell=cell,
        series=series,
        medians=tuple(
            median(each[place] for each in series if place < len(each)) for place in range(longest)
        ),
        first=median(each[0] for each in series),
        steady=median(steady) if steady else None,
        since=round(median(since)) if since else None,
        kinds=Counter(state.kind for state in states),
    )
