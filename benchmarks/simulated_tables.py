"""Simulated runs of eight contenders: how often a whole table holds a false claim, and how many of its real
differences are found. Part of `calibration.py`; needs no measuring.

The same tables are made with blocks fixed beforehand and with interim looks that end a run once everything
is decided."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringside.stats.decisions import Decision, Family
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE, last_look, planned_looks

Numbers = Any
CONTENDERS = 8
# Times of the eight: three are even, the others 1.65 times apart and more.
UNEQUAL = (1.0, 1.0, 1.0, 1.65, 2.7, 4.5, 7.4, 12.0)
MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Noise:
    """How the logarithms of a table's times come about, besides its contenders: (blocks, contenders)."""

    name: str
    draw: Callable[[np.random.Generator, int, int], Numbers]


def _autoregressive(dice: np.random.Generator, blocks: int, contenders: int) -> Numbers:
    drift, series = 0.0, []
    for _ in range(blocks * contenders):
        drift = 0.95 * drift + dice.normal(0, 0.2 * math.sqrt(1 - 0.95**2))
        series.append(drift)
    return _in_random_order(dice, np.array(series).reshape(blocks, contenders))


def _trend(dice: np.random.Generator, blocks: int, contenders: int) -> Numbers:
    trend = np.linspace(0, 0.5, blocks * contenders).reshape(blocks, contenders)
    return _in_random_order(dice, trend) + dice.normal(0, 0.03, (blocks, contenders))


def _in_random_order(dice: np.random.Generator, values: Numbers) -> Numbers:
    return dice.permuted(values, axis=1)


def _spikes(dice: np.random.Generator, blocks: int, contenders: int) -> Numbers:
    shape = (blocks, contenders)
    return dice.normal(0, 0.03, shape) + (dice.random(shape) < 0.05) * dice.exponential(0.5, shape)


def _modes(dice: np.random.Generator, blocks: int, contenders: int) -> Numbers:
    shape = (blocks, contenders)
    return dice.normal(0, 0.01, shape) + 0.3 * (dice.random(shape) < 0.4)


def _coarse(dice: np.random.Generator, blocks: int, contenders: int) -> Numbers:
    return np.log(np.round(np.exp(dice.normal(0, 0.03, (blocks, contenders))) * 50) / 50)


NOISES = (
    Noise("normal, 3 %", lambda dice, blocks, n: dice.normal(0, 0.03, (blocks, n))),
    Noise("drift: AR(1), 20 %", _autoregressive),
    Noise("trend, 50 % over the run", _trend),
    Noise("stalls: Pareto(1.2)", lambda dice, blocks, n: 0.02 * dice.pareto(1.2, (blocks, n))),
    Noise("two modes, 35 % apart", _modes),
    Noise("coarse clock, 2 %", _coarse),
    Noise("exponential, 10 %", lambda dice, blocks, n: dice.exponential(0.1, (blocks, n))),
    Noise("rare spikes", _spikes),
)


@dataclass(frozen=True, slots=True)
class Shares:
    """Of many tables: the share with a false difference, the share of real differences found, the share of
    pairs called equivalent that are not, and the mean number of blocks."""

    family_error: float
    power: float
    false_equivalences: float
    blocks: float


def one(
    noise: Noise, times: tuple[float, ...], most: int, dice: np.random.Generator, *, interim: bool
) -> tuple[Mapping[tuple[int, int], Decision], int]:
    """The decisions on all pairs of one table, and its number of blocks."""
    logs = np.log(np.array(times)) + noise.draw(dice, most, len(times))
    pairs = list(itertools.combinations(range(len(times)), 2))
    ratios = {(i, j): dict(enumerate((logs[:, i] - logs[:, j]).tolist(), 1)) for i, j in pairs}
    family: Family[tuple[int, int]] = Family(MARGIN)
    if not interim:
        family.examine(ratios, last_look(most, interim=False))
        return {pair: family.decision(pair, ratios[pair]) for pair in pairs}, most
    for look in (*planned_looks(most - 1), last_look(most, interim=True)):
        family.examine(ratios, look)
        found = {
            pair: family.decision(
                pair,
                {block: d for block, d in ratios[pair].items() if block <= look.blocks},
                SEQUENTIAL_CONFIDENCE,
            )
            for pair in pairs
        }
        # As experiments do: each contender over the first decides when to stop.
        if all(found[pair].is_decided for pair in pairs if pair[0] == 0):
            break
    return found, look.blocks


def shares(
    noise: Noise, times: tuple[float, ...], most: int, tables: int, *, interim: bool, seed: int = 1
) -> Shares:
    dice = np.random.default_rng([seed, *noise.name.encode()])
    false = real = found = wrong = total = 0
    for _ in range(tables):
        decisions, blocks = one(noise, times, most, dice, interim=interim)
        equal = {pair for pair in decisions if times[pair[0]] == times[pair[1]]}
        false += any(decisions[pair].direction for pair in equal)
        real += len(decisions) - len(equal)
        found += sum(decision.direction < 0 for pair, decision in decisions.items() if pair not in equal)
        wrong += sum(decision.equivalent for pair, decision in decisions.items() if pair not in equal)
        total += blocks
    return Shares(
        false / tables, found / real if real else math.nan, wrong / real if real else math.nan, total / tables
    )


def main(tables: int) -> None:
    """Print a row for each noise."""
    print(f"\nTables of {CONTENDERS} contenders, {tables:,} for each figure: share with a false difference")
    print(
        "| noise | all even, 7 blocks | 10 blocks | looks up to 40 | 3 even, 7 blocks | looks up to 40 "
        "| real differences found, 7 blocks |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    even = (1.0,) * CONTENDERS
    for noise in NOISES:
        row = [
            shares(noise, even, 7, tables, interim=False),
            shares(noise, even, 10, tables, interim=False),
            shares(noise, even, 40, tables, interim=True),
            shares(noise, UNEQUAL, 7, tables, interim=False),
            shares(noise, UNEQUAL, 40, tables, interim=True),
        ]
        cells = [f"{each.family_error:.1%}" for each in row] + [f"{row[3].power:.1%}"]
        print(f"| {noise.name} | {' | '.join(cells)} |", flush=True)
    print(f"\nPairs with interim looks up to 400 blocks, {tables:,} for each row")
    print("| noise | B slower by | found | equivalent | blocks, median | covered |")
    print("|---|---:|---:|---:|---:|---:|")
    for noise in (NOISES[0], NOISES[6], NOISES[7]):
        for planted in (0.0, 0.02, 0.05, 0.20):
            print(f"| {noise.name} | {planted:.0%} | {pairs(noise, planted, tables)} |", flush=True)


def pairs(noise: Noise, planted: float, times: int, seed: int = 1) -> str:
    """Of many pairs: the shares called slower and equivalent, the median number of blocks, and the share of
    intervals that hold the ratio."""
    dice = np.random.default_rng([seed, *noise.name.encode()])
    slower = equivalent = covered = 0
    stops = []
    for _ in range(times):
        decisions, blocks = one(noise, (1.0, 1 + planted), 400, dice, interim=True)
        found = decisions[0, 1]
        slower += found.direction < 0
        equivalent += found.equivalent and not found.direction
        low, high = found.ratio.low, found.ratio.high
        covered += low is not None and high is not None and low <= 1 / (1 + planted) <= high
        stops.append(blocks)
    shares = [f"{count / times:.1%}" for count in (slower, equivalent)]
    return f"{' | '.join(shares)} | {np.median(stops):.0f} | {covered / times:.1%}"
