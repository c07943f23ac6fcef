from __future__ import annotations

import dataclasses
import math
import random
import time

import pytest

from ringside.measure.stopping import MAX_BLOCKS_UNTIL, Progress, StoppingRule, rule_of
from ringside.model.design import Cell, Experiment, Point, Show
from ringside.model.results import Outcome, Trial
from ringside.stats.ratio import paired_ratio
from ringside.stats.sequential import FIRST_LOOK, interim_looks
from ringside.workloads.ring import RING
from tests.points import point

POINTS = (point(RING, nodes=10, messages=10), point(RING, nodes=20, messages=10))
EXPERIMENT = Experiment("x", "X", "ring", ("a", "b"), {}, "a", 7)


def trial(block: int, name: str, at: Point, ns: float, outcome: Outcome = Outcome.OK) -> Trial:
    return Trial(block, 0, Cell(name, at), outcome, "", phases={"relay": (round(ns),)})


class Clock:
    """A clock that tests move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)


def progress(rule: StoppingRule, experiment: Experiment = EXPERIMENT) -> Progress:
    return Progress(rule, experiment, RING, POINTS)


def fill(
    of: Progress, blocks: int, noise: float, noisy_point: Point | None = None, names: str = "ab"
) -> None:
    """Trials of so many blocks whose relay has so much noise; without noise at the other points if one is
    named."""
    generator = random.Random(3)
    for block in range(1, blocks + 1):
        for at in POINTS:
            here = noise if noisy_point in (None, at) else 0.0
            for name in names:
                of.add(trial(block, name, at, 1e9 * math.exp(generator.gauss(0, here))))


# --- the rule of an experiment ---


def test_without_a_goal_there_are_as_many_blocks_as_the_experiment_says() -> None:
    assert rule_of(EXPERIMENT) == StoppingRule(7, 7)
    assert rule_of(EXPERIMENT, 5.0) == StoppingRule(7, 7, time_s=5.0)


def test_with_a_goal_the_experiments_blocks_are_the_fewest() -> None:
    narrow = dataclasses.replace(EXPERIMENT, until=0.03)
    assert rule_of(narrow, 5.0) == StoppingRule(7, MAX_BLOCKS_UNTIL, 0.03, 5.0)
    many = dataclasses.replace(narrow, blocks=MAX_BLOCKS_UNTIL + 1)
    assert rule_of(many) == StoppingRule(MAX_BLOCKS_UNTIL + 1, MAX_BLOCKS_UNTIL + 1, 0.03)


# --- the number of blocks, the time ---


def test_the_most_blocks_are_the_goal() -> None:
    of = progress(StoppingRule(3, 7))
    assert [blocks for blocks in range(10) if of.is_reached(blocks)] == [7, 8, 9]


def test_time_counts_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    of = progress(StoppingRule(7, 7, time_s=5.0))
    assert not of.is_late(3)
    clock.now_s += 4.9
    assert not of.is_late(3)
    clock.now_s += 0.1
    assert of.is_late(0)
    clock.now_s += 1e9
    assert not progress(StoppingRule(7, 7)).is_late(3)


def test_a_run_is_not_late_before_its_fewest_timed_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    of = progress(StoppingRule(7, 7, time_s=5.0, min_timed_blocks=6))
    clock.now_s += 6
    assert [blocks for blocks in range(9) if of.is_late(blocks)] == [6, 7, 8]


# --- narrow intervals ---


def test_nothing_is_looked_at_without_a_goal() -> None:
    of = progress(StoppingRule(1, 500))
    fill(of, 20, noise=0.0001)
    assert not any(of.is_reached(blocks) for blocks in range(21))


def test_narrow_intervals_are_noticed_at_the_looks_only() -> None:
    of = progress(StoppingRule(1, 500, until=0.05))
    fill(of, 40, noise=0.001)
    looks = interim_looks(500)
    assert [blocks for blocks in range(41) if of.is_reached(blocks)] == [at for at in looks if at <= 40]
    assert looks[0] == FIRST_LOOK


def test_a_look_does_not_come_before_the_fewest_blocks() -> None:
    of = progress(StoppingRule(14, 500, until=0.05))
    fill(of, 20, noise=0.001)
    assert [blocks for blocks in range(18) if of.is_reached(blocks)] == [14, 16]


def test_one_wide_interval_at_any_point_is_enough_to_go_on() -> None:
    for noisy_point in (None, *POINTS):
        of = progress(StoppingRule(1, 500, until=0.05))
        fill(of, 10, noise=0.5, noisy_point=noisy_point)
        assert not of.is_reached(10)


def test_a_goal_is_a_share_of_the_ratio() -> None:
    of = progress(StoppingRule(1, 500, until=0.05))
    generator = random.Random(3)
    for block in range(1, 11):
        for at in POINTS:
            of.add(trial(block, "a", at, 1e6))
            # A hundred times as long, so an interval of 5 % is 5 wide.
            of.add(trial(block, "b", at, 1e8 * math.exp(generator.gauss(0, 0.02))))
    assert of.is_reached(10)


def test_trials_that_failed_do_not_count() -> None:
    of = progress(StoppingRule(1, 500, until=0.05))
    for block in range(1, 11):
        for at in POINTS:
            for name in "ab":
                of.add(trial(block, name, at, 1e9, Outcome.WRONG_EVIDENCE))
    assert not of.is_reached(10)


def test_a_contender_without_figures_does_not_keep_a_run_going() -> None:
    three = dataclasses.replace(EXPERIMENT, contenders=("a", "b", "c"))
    of = progress(StoppingRule(1, 500, until=0.05), three)
    fill(of, 10, noise=0.001, names="ab")
    assert of.is_reached(10)


def test_the_pairs_that_are_shown_are_those_that_must_be_narrow() -> None:
    show = Show(ratios=(("c", "b"),))
    three = dataclasses.replace(EXPERIMENT, contenders=("a", "b", "c"), show=show)
    of = progress(StoppingRule(1, 500, until=0.05), three)
    fill(of, 10, noise=0.5, names="a")
    fill(of, 10, noise=0.001, names="bc")
    assert of.is_reached(10)
    of = progress(StoppingRule(1, 500, until=0.05), dataclasses.replace(three, show=Show()))
    fill(of, 10, noise=0.5, names="a")
    fill(of, 10, noise=0.001, names="bc")
    assert not of.is_reached(10)


def test_the_headline_is_what_must_be_narrow() -> None:
    shown = dataclasses.replace(EXPERIMENT, show=Show(("spawn_ns", "hop_ns")))
    generator = random.Random(3)
    for experiment, reached in ((EXPERIMENT, True), (shown, False)):
        of = progress(StoppingRule(1, 500, until=0.05), experiment)
        for block in range(1, 11):
            for at in POINTS:
                for name in "ab":
                    spawn_ns = round(1e9 * math.exp(generator.gauss(0, 0.5)))
                    phases = {"relay": (1_000_000_000 + block,), "spawn": (spawn_ns,)}
                    of.add(dataclasses.replace(trial(block, name, at, 1), phases=phases))
        assert of.is_reached(10) is reached


def test_intervals_are_those_of_a_sequential_test() -> None:
    """They are wider than nominal ones, because they are looked at until they are narrow."""
    generator = random.Random(3)
    values = {block: 1e9 * math.exp(generator.gauss(0, 0.1)) for block in range(1, 11)}
    others = dict.fromkeys(values, 1e9)
    widths = []
    for sequential in (False, True):
        interval = paired_ratio(values, others, sequential=sequential)
        assert interval
        assert interval.low
        assert interval.high
        widths.append(interval.high / interval.low - 1)
    assert widths[0] < widths[1]
    for goal, reached in ((sum(widths) / 2, False), (widths[1] * 1.001, True)):
        of = progress(StoppingRule(1, 500, until=goal))
        for block, value in values.items():
            for at in POINTS:
                of.add(trial(block, "a", at, 1e9))
                of.add(trial(block, "b", at, value))
        assert of.is_reached(10) is reached
