"""Whether the effect of a contender on the one after it is noticed."""

import dataclasses
import math
import random
from collections.abc import Mapping

import pytest

from ringside.analysis.diagnostics import carried_over
from ringside.analysis.examination import Observations
from ringside.measure.runs.loop import blocks
from ringside.model.results import Outcome, Trial
from tests.support.analyses import Exact, near, ok, point

# By contender, what takes how long, so that sizes could hide an effect.
SIZES = {"ant": 100.0, "bee": 3000.0, "cat": 470.0, "dog": 12.0, "eel": 900.0}


def trials(
    seed: int, effects: Mapping[str, float], count: int = 40, names: str = "ant bee cat dog", points: int = 1
) -> list[Trial]:
    """Blocks in a run's order, with drift; `effects`: by contender, the logarithm by which the trial right
    after it takes longer."""
    dice = random.Random(seed)
    results: list[Trial] = []
    last, drift = "", 0.0
    order = blocks([point(size=size) for size in range(points)], names.split(), count, seed)
    for block, cells in enumerate(order, 1):
        before = None
        for position, cell in enumerate(cells):
            # A trial that does not count precedes the first of a point, unless the last one was its own.
            last = cell.contender if cell.point != before else last
            drift, before = drift + dice.gauss(0, 0.01), cell.point
            moved = drift + dice.gauss(0, 0.02) + effects.get(last, 0.0)
            value = SIZES[cell.contender] * (1 + int(cell.point["size"])) * math.exp(moved)
            trial = ok(block, cell.contender, cell.point, hop_ns=value, cpu_s=1.0)
            results.append(dataclasses.replace(trial, position=position))
            last = cell.contender
    dice.shuffle(results)
    return results


def effects_of(results: list[Trial], metric: str = "hop_ns") -> dict[str, float]:
    return carried_over(Observations(Exact(), results), metric)


@pytest.mark.soak
@pytest.mark.parametrize(("blocks", "points"), [(40, 1), (10, 4)])
@pytest.mark.parametrize("effect", [0.08, -0.08])
def test_a_planted_effect_is_found_and_no_other(effect: float, blocks: int, points: int) -> None:
    """`cat` slows, or speeds up, whichever runs after it; the others only seem to do the opposite. Of 100
    runs, at most ten show a false effect beside the true one."""
    others = 0
    for seed in range(100):
        effects = effects_of(trials(seed, {"cat": effect}, blocks, points=points))
        assert effects["cat"] == near(math.expm1(effect), abs=0.06)
        others += len(effects) > 1
    assert others <= 10


def test_two_effects_are_found() -> None:
    effects = effects_of(trials(3, {"dog": 0.2, "ant": -0.1}, 80, "ant bee cat dog eel"))
    assert list(effects) == ["ant", "dog"]
    assert effects == {"ant": near(math.expm1(-0.1), abs=0.05), "dog": near(math.expm1(0.2), abs=0.05)}


def test_an_effect_below_one_percent_is_not_reported() -> None:
    results = trials(5, {"cat": 0.05}, 200)
    assert list(effects_of(results)) == ["cat"]
    assert effects_of(trials(5, {"cat": 0.005}, 200)) == {}


@pytest.mark.parametrize(("effects", "slower"), [({"ant": 0.05}, "ant"), ({"ant": -0.05}, "bee")])
def test_of_two_contenders_the_difference_is_seen(effects: dict[str, float], slower: str) -> None:
    """It cannot decide which of the two changes its successor."""
    results = trials(2, effects, 40, "ant bee")
    assert effects_of(results) == {slower: near(0.05, abs=0.02)}


def test_another_metric_has_effects_of_its_own() -> None:
    of_cat = trials(1, {"cat": 0.3})
    assert effects_of(of_cat, "cpu_s") == effects_of(of_cat, "rate") == {}


def test_trials_that_are_to_be_repeated_are_not_there_and_failures_have_no_value() -> None:
    """An interrupted trial between two does not count as the one before; a crash does."""
    results = [
        dataclasses.replace(trial, position=2 * trial.position)
        for trial in trials(6, {"cat": 0.1}, 60, points=2)
    ]
    interrupted = [
        dataclasses.replace(trial, outcome=Outcome.INTERRUPTED, position=trial.position - 1)
        for trial in results
        if trial.cell.contender == "dog"
    ]
    assert effects_of([*results, *interrupted]) == effects_of(results) != {}
    crashed = [
        dataclasses.replace(trial, outcome=Outcome.CRASHED) if trial.cell.contender == "cat" else trial
        for trial in results
    ]
    assert effects_of(crashed) == {"cat": near(math.expm1(0.1), abs=0.03)}


def test_what_ran_before_ran_on_the_same_machine() -> None:
    results = trials(6, {"cat": 0.1}, 60)
    apart = [dataclasses.replace(each, machine=each.cell.contender) for each in results]
    assert list(effects_of(results)) == ["cat"]
    assert effects_of(apart) == {}


@pytest.mark.soak
@pytest.mark.parametrize(("names", "blocks"), [("ant bee", 30), ("ant bee cat dog eel", 15)])
@pytest.mark.parametrize("points", [1, 2])
def test_the_rate_of_false_effects(names: str, blocks: int, points: int) -> None:
    """1 % of runs, and three standard errors, of 400."""
    false = sum(bool(effects_of(trials(seed, {}, blocks, names, points))) for seed in range(400))
    assert false <= 4 + 6
