import dataclasses
import math
import random
import time
from collections.abc import Mapping

import pytest

from ringside.measure.runs.loop import BlockProgress, StoppingRule, rule_of
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Outcome, Trial
from ringside.stats.sequential import FIRST_LOOK
from ringside.workloads.ring.workload import RING
from tests.support.points import point

POINTS = (point(RING, nodes=10, messages=10), point(RING, nodes=20, messages=10))
EXPERIMENT = Experiment("x", "X", "ring", ("a", "b"), {}, "a", 7)


def trial(block: int, name: str, at: Point, ns: float, outcome: Outcome = Outcome.OK) -> Trial:
    return Trial(block, 0, Cell(name, at), outcome, "", phases={"relay": (round(ns),)})


class Clock:
    """A clock that tests move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now_s)


class Blocks:
    """Gives a progress the trials that are added here, block by block."""

    def __init__(self, rule: StoppingRule, experiment: Experiment = EXPERIMENT) -> None:
        self.progress = BlockProgress(rule, experiment, RING, POINTS)
        self.is_needed = self.progress.is_needed
        self._trials: dict[int, list[Trial]] = {}

    def add(self, trial: Trial) -> None:
        self._trials.setdefault(trial.block, []).append(trial)

    def is_reached(self, blocks: int) -> bool:
        """Whether the goal is reached once the progress has so many blocks."""
        while self.progress.blocks < blocks:
            self.progress.add_block(self._trials.get(self.progress.blocks + 1, []))
        return self.progress.is_reached


def deciding(names: str = "ab", least: int = 1) -> Blocks:
    """The progress of a run of `least` to 40 blocks that ends once all is decided."""
    of = dataclasses.replace(EXPERIMENT, contenders=tuple(names), blocks=40, until_decided=True)
    return Blocks(dataclasses.replace(rule_of(of), min_blocks=least), of)


def relays(of: Blocks, blocks: int, ratios: Mapping[str, float], noise: float) -> None:
    """Trials of so many blocks at all points whose relay takes so many seconds, with so much noise."""
    for block in range(1, blocks + 1):
        for at in POINTS:
            for name, ratio in ratios.items():
                gauss = random.Random(f"{block} {at} {name}").gauss(0, noise)
                of.add(trial(block, name, at, 1e9 * ratio * math.exp(gauss)))


# --- the rule of an experiment ---


def test_without_a_goal_there_are_as_many_blocks_as_the_experiment_says() -> None:
    assert rule_of(EXPERIMENT) == StoppingRule(7)
    assert rule_of(EXPERIMENT, 5.0) == StoppingRule(7, deadline_s=5.0)


def test_where_all_is_to_be_decided_the_experiments_blocks_are_the_most() -> None:
    decided = dataclasses.replace(EXPERIMENT, until_decided=True, time_s=60.0)
    assert rule_of(decided) == StoppingRule(7, decided=True, time_s=60.0)


@pytest.mark.parametrize(
    ("rule", "fixed"),
    [
        (StoppingRule(7), True),
        # A deadline cuts a run off; it plans no other number of blocks.
        (StoppingRule(7, deadline_s=5.0), True),
        (StoppingRule(7, time_s=5.0), False),
        (StoppingRule(8, decided=True), False),
        # The first look is at the end.
        (StoppingRule(7, decided=True), True),
        (StoppingRule(7, decided=True, time_s=5.0), False),
    ],
)
def test_the_number_of_blocks_is_known_without_a_goal_and_a_time(rule: StoppingRule, fixed: bool) -> None:
    assert rule.is_fixed is fixed


# --- the number of blocks, the time ---


def test_the_most_blocks_are_the_goal() -> None:
    of = Blocks(StoppingRule(7, min_blocks=3))
    assert [blocks for blocks in range(10) if of.is_reached(blocks)] == [7, 8, 9]


def test_a_deadline_counts_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    of = Blocks(StoppingRule(7, deadline_s=5.0))
    clock.now_s += 3.0
    # Warm-ups count.
    of.progress.start()
    assert not of.progress.is_late()
    clock.now_s += 1.9
    assert not of.progress.is_late()
    clock.now_s += 0.1
    assert of.progress.is_late()
    # The time of the run itself is another matter.
    of.is_reached(7)
    assert not of.progress.is_over()
    clock.now_s += 1e9
    assert not Blocks(StoppingRule(7)).progress.is_late()


@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        (StoppingRule(9, time_s=5.0), FIRST_LOOK),
        # A run that has fewer blocks anyway cannot wait for more.
        (StoppingRule(3, time_s=5.0), 3),
        (StoppingRule(9, time_s=5.0, min_timed_blocks=2), 2),
    ],
)
def test_the_time_of_a_run_is_not_over_before_its_fewest_timed_blocks(
    monkeypatch: pytest.MonkeyPatch, rule: StoppingRule, ends: int
) -> None:
    clock, of = Clock(monkeypatch), Blocks(rule).progress
    over = []
    for _ in range(10):
        clock.now_s = 104.9
        assert not of.is_over()
        clock.now_s = 105.0
        over.append(of.is_over())
        of.add_block([])
    assert over == [blocks >= ends for blocks in range(10)]
    assert not of.is_late()


# --- all decided ---


@pytest.mark.parametrize("least", [1, 5, 7, 8, 12])
def test_a_least_number_of_blocks_is_made_of_what_is_decided(least: int) -> None:
    of = deciding(least=least)
    relays(of, 40, {"a": 1.0, "b": 2.0}, noise=0.02)
    for blocks in range(max(FIRST_LOOK, least)):
        assert not of.is_reached(blocks)
        assert of.is_needed(Cell("a", POINTS[0]))
    assert of.is_reached(max(FIRST_LOOK, least))


@pytest.mark.parametrize(("least", "needed"), [(FIRST_LOOK, "ac"), (FIRST_LOOK + 1, "abc")])
def test_once_the_least_number_is_made_decided_cells_are_dropped(least: int, needed: str) -> None:
    """`b` is decided at the first look, `c` is not."""
    of = deciding("abc", least)
    relays(of, 7, {"a": 1.0, "b": 2.0, "c": 1.03}, noise=0.05)
    assert not of.is_reached(FIRST_LOOK)
    assert [name for name in "abc" if of.is_needed(Cell(name, POINTS[0]))] == list(needed)
