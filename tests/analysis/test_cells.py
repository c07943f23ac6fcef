"""Cells: outcomes, medians, reasons; the trial that is shown over time."""

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ringside.analysis import cells
from ringside.analysis.cells import CellAnalysis, repeats_state, trial_figures
from ringside.model.design import Cell, Metric, Point
from ringside.model.results import Interval, Outcome, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.stats.samples import MergedPercentile, ValueCounts
from ringside.stats.series import SeriesKind
from tests.support.analyses import Exact, Repeated, analyse, analyse_cell, near, ok, planned

HERE = Point(())
CELL = Cell("go", HERE)


def failed(block: int, outcome: Outcome, detail: str, stderr: str = "") -> Trial:
    report = TrialOutcome(outcome, stderr_tail=stderr)
    return Trial(block, 0, CELL, outcome, detail, report=report)


def test_figures_come_from_trials_that_are_ok() -> None:
    """Each of the seven hops differs, and not every trial has a CPU time."""
    trials = [ok(block, "go", HERE, hop_ns=10.0 * block, rate=2.0) for block in range(1, 7)]
    trials += [
        ok(7, "go", HERE, hop_ns=70.0, cpu_s=0.5),
        dataclasses.replace(ok(8, "go", HERE, hop_ns=1.0), outcome=Outcome.CRASHED, detail="exit status 3"),
    ]
    assert analyse_cell(CELL, trials, Exact()) == CellAnalysis(
        cell=CELL,
        outcomes={Outcome.OK: 7, Outcome.CRASHED: 1},
        metrics={
            "hop_ns": Interval(40.0, 10.0, 70.0, 7),
            "rate": Interval(2.0, 2.0, 2.0, 6),
            "cpu_s": Interval(0.5, None, None, 1),
        },
        by_block={
            "hop_ns": {block: 10.0 * block for block in range(1, 8)},
            "rate": dict.fromkeys(range(1, 7), 2.0),
            "cpu_s": {7: 0.5},
        },
        reason="crashed: exit status 3",
        stderr="",
    )


class Sometimes(Exact):
    """In the second block the figure is not a number, in the third infinite."""

    def figures(self, trial: Trial) -> dict[str, float]:
        return {"hop_ns": {2: math.nan, 3: math.inf}.get(trial.block, float(trial.block))}


def test_a_figure_that_is_no_number_is_left_out() -> None:
    cell = analyse_cell(CELL, [ok(block, "go", HERE) for block in (1, 2, 3, 4)], Sometimes())
    assert cell.by_block == {"hop_ns": {1: 1.0, 4: 4.0}}
    assert cell.metrics["hop_ns"] == Interval(2.5, None, None, 2)


def test_the_reason_is_the_commonest_and_stderr_the_first_that_says_anything() -> None:
    trials = [
        failed(1, Outcome.CRASHED, "exit status 1"),
        failed(2, Outcome.TIMED_OUT, "after 5 s", "first words"),
        failed(3, Outcome.TIMED_OUT, "after 5 s", "last words"),
    ]
    cell = analyse_cell(CELL, trials, Exact())
    assert (cell.reason, cell.stderr) == ("timed-out: after 5 s", "first words")
    assert cell.outcomes == {Outcome.CRASHED: 1, Outcome.TIMED_OUT: 2}
    assert not cell.has_figures
    # The same outcome with another detail is another reason.
    more = [failed(4, Outcome.TIMED_OUT, "after 6 s"), failed(5, Outcome.CRASHED, "exit status 1")]
    more.append(failed(6, Outcome.CRASHED, "exit status 1"))
    assert analyse_cell(CELL, [*trials, *more], Exact()).reason == "crashed: exit status 1"


def test_a_cell_without_trials_says_so_and_one_without_failures_has_no_reason() -> None:
    absent = Trial(0, 0, CELL, Outcome.UNAVAILABLE, "")
    assert analyse_cell(CELL, [absent], Exact()).reason == "unavailable"
    empty = analyse_cell(CELL, [], Exact())
    assert empty == CellAnalysis(CELL, {}, {}, {}, "no trial yet", "")
    cell = analyse_cell(CELL, [ok(1, "go", HERE, hop_ns=5.0)], Exact())
    assert (cell.reason, cell.stderr, cell.has_figures) == ("", "", True)


def middle(*trials: Trial) -> dict[Cell, Trial]:
    return analyse(planned(["go"], [HERE]), trials, Exact()).median_trials


class Phases(Exact):
    """Two metrics that are made from one phase, and one from another."""

    phase_of: Mapping[str, str] = {"hop_ns": "relay", "cpu_s": "relay", "rate": "serve"}


def reported(block: int, *phases: str, outcome: Outcome = Outcome.OK, ns: int = 5) -> Trial:
    return Trial(block, 0, CELL, outcome, "", phases=dict.fromkeys(phases, (ns,)))


def test_metrics_whose_phase_was_not_reported_say_so_once() -> None:
    """In the words of the last trial that was ok."""
    crashed = reported(3, "relay", outcome=Outcome.CRASHED)
    trials = [reported(1, "first"), reported(2, "spawn", "rely", "rate")]
    relay = "no `::phase name=relay`; the phases reported: `spawn`, `rely`, `rate`"
    cell = analyse_cell(CELL, trials, Phases())
    assert (cell.missing, cell.reason) == ({"hop_ns": relay, "cpu_s": relay}, relay)
    cell = analyse_cell(CELL, [*trials, crashed], Phases())
    assert (cell.missing, cell.reason) == ({"hop_ns": relay, "cpu_s": relay}, "crashed")
    # A figure in one trial is enough, and what failed should have none.
    assert analyse_cell(CELL, [*trials, reported(3, "hop_ns", "cpu_s")], Phases()).missing == {}
    assert analyse_cell(CELL, [crashed], Phases()).missing == {}


def test_phases_of_no_time_and_no_phases() -> None:
    cell = analyse_cell(CELL, [reported(1, "relay", "serve", ns=0)], Phases())
    assert cell.missing["hop_ns"] == "`::phase name=relay` was 0"
    assert cell.reason == "`::phase name=relay` was 0; `::phase name=serve` was 0"
    silent = analyse_cell(CELL, [reported(1)], Phases())
    assert silent.missing["rate"] == "no `::phase name=serve`; the phases reported: none"
    assert not silent.has_figures


def test_of_an_even_number_the_better_trial_in_the_middle_is_shown() -> None:
    """By the headline, not by another metric."""
    trials = [
        ok(block, "go", HERE, hop_ns=hop, cpu_s=cpu)
        for block, hop, cpu in ((1, 90.0, 1.0), (2, 30.0, 4.0), (3, 20.0, 3.0), (4, 10.0, 2.0))
    ]
    assert middle(*trials) == {CELL: trials[2]}


def test_a_trial_without_the_headline_comes_last_and_failures_do_not_count() -> None:
    without, good, slow = (
        ok(1, "go", HERE, cpu_s=1.0),
        ok(2, "go", HERE, hop_ns=5.0),
        ok(3, "go", HERE, hop_ns=6.0),
    )
    assert middle(without, good, slow) == {CELL: slow}
    assert middle(without) == {CELL: without}
    crashes = [failed(block, Outcome.CRASHED, "") for block in (4, 5, 6, 7)]
    assert middle(*crashes, without, good, slow) == {CELL: slow}
    assert middle(*crashes) == middle() == {}


def repeating(levels: Sequence[float], outcome: Outcome = Outcome.OK) -> Trial:
    """Five repeats about each of these levels, in ns."""
    dice = random.Random(3)
    repeats = tuple(round(level * dice.uniform(0.995, 1.005)) for level in levels for _ in range(5))
    return Trial(
        1, 0, CELL, outcome, "", phases={"relay": repeats, "hop_ns": (5_000_000,), "cpu_s": (7_000_000,)}
    )


COLD, WARM, UNSTEADY = [9e5, 4e5, 4e5, 4e5], [4e5] * 4, [4e5, 4e5, 4e5, 4e5, 4e5, 4e5, 4e5, 9e5]
FALLING = [4e5 * 0.9**place for place in range(8)]


def test_a_repeated_metric_is_the_level_of_its_steady_state() -> None:
    """Or of the last third, where they reach none; not of a few repeats, of times of 0, or another metric."""

    def figures(levels: Sequence[float], measurement: Exact) -> tuple[float, float]:
        of_trial = trial_figures(repeating(levels), measurement)
        return of_trial["hop_ns"], of_trial["cpu_s"]

    for levels in (COLD, WARM):
        assert figures(levels, Repeated()) == (near(4e5, rel=0.005), 7.0)
    assert figures(UNSTEADY, Repeated()) == (near(4e5, rel=0.005), 7.0)
    assert figures(FALLING, Repeated()) == (near(4e5 * 0.9**6, rel=0.005), 7.0)
    assert not trial_figures(repeating(FALLING), Repeated()).keys() & {"first_over_steady", "steady_after_s"}
    for levels in ([4e5], [0.0] * 4):
        assert figures(levels, Repeated()) == (5.0, 7.0)
    assert figures(COLD, Exact()) == (5.0, 7.0)
    of_trial = trial_figures(repeating(COLD), Repeated())
    assert of_trial["first_over_steady"] == near(9e5 / 4e5, rel=0.01)
    cell = analyse_cell(CELL, [repeating(COLD)], Repeated())
    assert cell.by_block["hop_ns"] == {1: near(4e5, rel=0.005)}
    assert trial_figures(repeating(COLD, Outcome.CRASHED), Repeated()) == {}


def test_what_the_repeats_of_a_trial_do() -> None:
    for levels, kind in ((UNSTEADY, SeriesKind.UNSTEADY), (FALLING, SeriesKind.WARMING_UP)):
        state = repeats_state(repeating(levels), Repeated())
        assert (state.kind, state.since) == (kind, None)
    assert repeats_state(repeating(WARM), Exact()) is None
    assert repeats_state(repeating(WARM, Outcome.CRASHED), Repeated()) is None
    for levels in ([4e5], [0.0] * 4):
        assert repeats_state(repeating(levels), Repeated()) is None


def test_percentiles_of_all_requests_keep_the_order_of_the_metrics() -> None:
    """So that one run has one document, whatever the order of sets."""

    class Percentiles(Exact):
        metrics = tuple(Metric(f"p{n}", "s", f"p{n}", "time") for n in range(20))
        percentiles: ClassVar = {each.name: ("s", "n", "latency", 0.5) for each in metrics}

    values = {each.name: {1: 1.0} for each in Percentiles.metrics}
    merged = MergedPercentile([ValueCounts([(1000, 100)])], 0.5)
    of = cells.analyse_cell(Cell("go", Point(())), [], values, Percentiles(), lambda _: merged)
    assert list(of.metrics) == list(values)
