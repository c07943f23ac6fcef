"""Repeats inside one process."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from ringside.analysis.distributions import WarmUp, analyse_warm_ups
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.stats.series import SeriesKind
from tests.support.analyses import Exact, near

CELL = Cell("go", Point(()))


class Repeated(Exact):
    repeated_metric = "hop_ns"

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        return tuple(repeat / 10 for repeat in trial.repeats_ns("relay"))


def trial(*repeats: float, block: int = 1, outcome: Outcome = Outcome.OK) -> Trial:
    """A trial whose repeats are these."""
    return Trial(block, 0, CELL, outcome, "", phases={"relay": tuple(round(each * 10) for each in repeats)})


def analysed(*trials: Trial) -> WarmUp:
    (result,) = analyse_warm_ups(Repeated(), {CELL: trials})
    return result


def noisy(levels: Sequence[float], seed: int) -> list[float]:
    rng = random.Random(seed)
    return [level * math.exp(rng.gauss(0, 0.005)) for level in levels]


def test_first_and_steady_figures() -> None:
    """Five times as long for the first 2, 3 and 5 of twenty repeats."""
    trials = [
        trial(*noisy([1e6 * factor] * cold + [2e5 * factor] * (20 - cold), cold), block=block)
        for block, (cold, factor) in enumerate(((2, 1.0), (3, 1.1), (5, 1.3)), 1)
    ]
    result = analysed(*trials)
    assert result.cell == CELL
    assert result.first == near(1.1e6, rel=0.02)
    assert result.steady == near(2.2e5, rel=0.01)
    assert result.since == 4
    assert result.kinds == {SeriesKind.WARMING_UP: 3}
    assert result.first_over_steady == near(5, rel=0.03)
    assert result.is_long_enough
    assert [len(series) for series in result.series] == [20, 20, 20]


def test_kinds_are_counted() -> None:
    steady, again, never = (
        noisy([5e5] * 20, 1),
        noisy([6e5] * 20, 2),
        noisy([5e5] * 17 + [9e5] * 3, 3),
    )
    result = analysed(*(trial(*series) for series in (steady, again, never)))
    assert result.kinds == {SeriesKind.STEADY: 2, SeriesKind.NO_STEADY_STATE: 1}
    # Of the two that have a steady state; half a repeat is rounded.
    assert (result.steady, result.since) == (near(5.5e5, rel=0.01), 1)


def test_without_a_steady_state_there_are_only_first_figures() -> None:
    result = analysed(trial(*noisy([5e5] * 17 + [9e5] * 3, 3)))
    assert result.kinds == {SeriesKind.NO_STEADY_STATE: 1}
    assert (result.steady, result.since, result.first_over_steady) == (None, None, None)
    assert result.first == near(5e5, rel=0.02)


def test_medians_are_of_each_repeat_over_trials() -> None:
    result = analysed(trial(30, 20, 10), trial(60, 50, 40, 7), trial(90, 10, 80))
    assert result.series == ((30, 20, 10), (60, 50, 40, 7), (90, 10, 80))
    assert result.medians == (60, 20, 40, 7)
    assert result.first == 60


def test_too_few_repeats_are_not_classified() -> None:
    short, long = trial(*[100.0] * 9), trial(*[100.0] * 10)
    result = analysed(short)
    assert (result.kinds, result.steady, result.is_long_enough) == ({}, None, False)
    assert not analysed(short, long).is_long_enough
    assert analysed(long).is_long_enough


def test_a_reported_time_of_0_is_not_classified() -> None:
    """The clock of a program may be coarse."""
    result = analysed(trial(*[0.0] * 20), trial(*[100.0] * 20))
    assert result.kinds == {SeriesKind.STEADY: 1}
    assert (result.first, result.steady) == (50.0, near(100.0))


def test_failures_and_work_that_was_done_once_have_no_warm_up() -> None:
    assert analyse_warm_ups(Repeated(), {CELL: [trial(1.0)]}) == ()
    failed = trial(70, 80, outcome=Outcome.CRASHED)
    assert analyse_warm_ups(Repeated(), {CELL: [failed]}) == ()
    assert analyse_warm_ups(Exact(), {CELL: [trial(1.0, 2.0)]}) == ()
    result = analysed(failed, trial(1.0), trial(5.0, 4.0))
    assert result.series == ((5.0, 4.0),)
