"""Whether the effect of a contender on the one after it is noticed."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping

import pytest

from ringside.analysis.cells import trial_figures
from ringside.analysis.diagnostics import carried_over
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from tests.support.analyses import Exact, near, ok, point

# By contender, what takes how long, so that sizes could hide an effect.
SIZES = {"ant": 100.0, "bee": 3000.0, "cat": 470.0, "dog": 12.0, "eel": 900.0}


def trials(
    seed: int, effects: Mapping[str, float], blocks: int = 40, names: str = "ant bee cat dog", points: int = 1
) -> list[Trial]:
    """Blocks in random order with drift; `effects`: by contender, the logarithm by which the trial right
    after it takes longer, unless that is one of its own."""
    dice = random.Random(seed)
    results: list[Trial] = []
    last = ""
    for block in range(1, blocks + 1):
        drift, position = dice.gauss(0, 0.2), 0
        for size in dice.sample(range(points), points):
            for name in dice.sample(names.split(), len(names.split())):
                moved = drift + dice.gauss(0, 0.02) + (effects.get(last, 0.0) if last != name else 0.0)
                value = SIZES[name] * (1 + size) * math.exp(moved)
                trial = ok(block, name, point(size=size), hop_ns=value, cpu_s=1.0)
                results.append(dataclasses.replace(trial, position=position))
                position, last = position + 1, name
    dice.shuffle(results)
    return results


def headlines(metric: str, results: list[Trial]) -> dict[Cell, dict[int, float]]:
    found: dict[Cell, dict[int, float]] = {}
    for trial in results:
        if (value := trial_figures(trial, Exact()).get(metric)) is not None:
            found.setdefault(trial.cell, {})[trial.block] = value
    return found


def effects_of(results: list[Trial]) -> dict[str, float]:
    return carried_over(headlines("hop_ns", results), results)


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


def test_another_metric_has_effects_of_its_own() -> None:
    of_cat = trials(1, {"cat": 0.3})
    assert carried_over(headlines("cpu_s", of_cat), of_cat) == {}
    assert carried_over(headlines("rate", of_cat), of_cat) == {}


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


def ordered(*blocks: tuple[str, str]) -> list[Trial]:
    """Trials without noise in this order, by machine and contender with its point: `bee` takes a tenth longer
    right after `ant` on the same machine."""
    results: list[Trial] = []
    last = ("", "")
    for block, (machine, names) in enumerate(blocks, 1):
        for position, each in enumerate(names.split()):
            name, size = each[:3], int(each[3])
            slowed = name == "bee" and last == (machine, "ant")
            value = SIZES[name] * size * (1.1 if slowed else 1.0)
            trial = ok(block, name, point(size=size), hop_ns=value)
            results.append(dataclasses.replace(trial, position=position, machine=machine))
            last = (machine, name)
    return results


# In each block one trial of each after the other contender, and one of `bee` after itself.
USUAL = [("east", "ant1 bee1 bee2 ant2"), ("east", "ant1 bee2 bee1 ant2")] * 5


def test_ten_trials_after_a_contender_and_ten_after_others_are_enough() -> None:
    assert effects_of(ordered(*USUAL[:9])) == {}
    results = ordered(*USUAL)
    assert effects_of(results) == {"ant": near(0.1)}
    for place in (1, 2):
        # Nine values after `ant`; nine of `bee` after itself.
        failed = dataclasses.replace(results[place], outcome=Outcome.CRASHED)
        assert effects_of([*results[:place], failed, *results[place + 1 :]]) == {}


def test_what_ran_before_ran_on_the_same_machine() -> None:
    """The tenth trial of `bee` after one of `ant`, on this machine or on another one."""
    assert effects_of(ordered(*USUAL[:9], ("east", "bee2 bee1 ant1 ant2"))) == {"ant": near(0.1)}
    assert effects_of(ordered(*USUAL[:9], ("west", "bee2 bee1 ant1 ant2"))) == {}


@pytest.mark.soak
@pytest.mark.parametrize(("names", "blocks", "points"), [("ant bee", 30, 2), ("ant bee cat dog eel", 15, 1)])
def test_the_rate_of_false_effects(names: str, blocks: int, points: int) -> None:
    """1 % of runs, and three standard errors, of 400."""
    false = sum(bool(effects_of(trials(seed, {}, blocks, names, points))) for seed in range(400))
    assert false <= 4 + 6
