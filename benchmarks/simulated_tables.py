"""Simulated runs: how often one holds a false claim, and how many of its real differences are found in how
many blocks, by the engine that decides real ones. Part of `calibration.py`; needs no measuring, and can be
started by itself: `python benchmarks/simulated_tables.py TABLES`.

Targets: at most 5 % of runs with a false claim under every noise, in either family; a pair at a noise of 3 %
is decided in a mean of 15.5 blocks where it differs by 2 %, in 11.6 where by 5 %; a pair that differs by 5 %
in 60 blocks under exponential noise of 10 %, in 17 under spikes; sixteen contenders of which fifteen are 10 %
slower than the first have two thirds of these verdicts after twenty blocks. Shares and means may miss them by
two standard errors."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringside.measure.runs.loop import blocks
from ringside.model.design import Point
from ringside.model.results import Interval
from ringside.stats.decisions import ComparisonTests, Decision
from ringside.stats.interval import CONFIDENCE
from ringside.stats.sequential import SEQUENTIAL_CONFIDENCE, is_overstated, last_look, planned_looks

Numbers = Any
Pair = tuple[int, int]
EVEN: tuple[float, ...] = (1.0,) * 8
# Times of eight: three are even, the others 1.65 times apart and more.
UNEQUAL: tuple[float, ...] = (1.0, 1.0, 1.0, 1.65, 2.7, 4.5, 7.4, 12.0)
MARGIN = 0.05


@dataclass(frozen=True, slots=True)
class Noise:
    """How the logarithms of times come about, besides the contenders: an array of blocks and contenders.
    `draw` has that of the contender at each place of each block."""

    name: str
    draw: Callable[[np.random.Generator, Numbers], Numbers]


def independent(draw: Callable[[np.random.Generator, tuple[int, int]], Numbers]) -> Any:
    return lambda dice, order: draw(dice, order.shape)


def _by_contender(order: Numbers, by_place: Numbers) -> Numbers:
    values = np.empty(order.shape)
    np.put_along_axis(values, order, by_place.reshape(order.shape), axis=1)
    return values


def _autoregressive(dice: np.random.Generator, count: int, strength: float) -> Numbers:
    drift, series = 0.0, []
    for _ in range(count):
        drift = strength * drift + dice.normal(0, 0.2 * math.sqrt(1 - strength**2))
        series.append(drift)
    return np.array(series)


def _drift(dice: np.random.Generator, order: Numbers) -> Numbers:
    return _by_contender(order, _autoregressive(dice, order.size, 0.95))


def _drift_of_blocks(dice: np.random.Generator, order: Numbers) -> Numbers:
    return _autoregressive(dice, len(order), 0.8)[:, None] + dice.normal(0, 0.03, order.shape)


def _trend(dice: np.random.Generator, order: Numbers) -> Numbers:
    return _by_contender(order, np.linspace(0, 0.5, order.size)) + dice.normal(0, 0.03, order.shape)


def _later_slower(dice: np.random.Generator, order: Numbers) -> Numbers:
    places = np.tile(0.03 * np.arange(order.shape[1]), (len(order), 1))
    return _by_contender(order, places) + dice.normal(0, 0.03, order.shape)


def _carried_over(effect: float) -> Any:
    """The first contender slows whoever comes after it."""

    def draw(dice: np.random.Generator, order: Numbers) -> Numbers:
        before: Numbers = np.append(dice.integers(order.shape[1]), order.ravel()[:-1])
        return _by_contender(order, effect * (before == 0)) + dice.normal(0, 0.03, order.shape)

    return draw


def _spikes(dice: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return dice.normal(0, 0.03, shape) + (dice.random(shape) < 0.05) * dice.exponential(0.5, shape)


def _modes(dice: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return dice.normal(0, 0.01, shape) + 0.3 * (dice.random(shape) < 0.4)


def _coarse(dice: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return np.log(np.round(np.exp(dice.normal(0, 0.03, shape)) * 50) / 50)


NORMAL = Noise("normal, 3 %", independent(lambda dice, shape: dice.normal(0, 0.03, shape)))
TEN = Noise("normal, 10 %", independent(lambda dice, shape: dice.normal(0, 0.10, shape)))
WIDE = Noise("normal, 9 %", independent(lambda dice, shape: dice.normal(0, 0.09, shape)))
EXPONENTIAL = Noise("exponential, 10 %", independent(lambda dice, shape: dice.exponential(0.1, shape)))
SPIKES = Noise("rare spikes", independent(_spikes))
MODES = Noise("two modes, 35 % apart", independent(_modes))
HEAVY = Noise("t₃, 5 %", independent(lambda dice, shape: 0.05 * dice.standard_t(3, shape)))
CARRIED = tuple(
    Noise(f"A slows its successor by {effect:.0%}", _carried_over(effect)) for effect in (0.03, 0.05)
)
NOISES = (
    NORMAL,
    WIDE,
    Noise("drift between trials: AR(1), 20 %", _drift),
    Noise("drift between blocks: AR(1), 20 %", _drift_of_blocks),
    Noise("trend, 50 % over the run", _trend),
    Noise("each place of a block 3 % slower", _later_slower),
    *CARRIED,
    Noise(
        "stalls: Pareto(1.2)",
        independent(lambda dice, shape: 0.02 * np.minimum(dice.pareto(1.2, shape), 1e4)),
    ),
    MODES,
    Noise("coarse clock, 2 %", independent(_coarse)),
    EXPONENTIAL,
    SPIKES,
    HEAVY,
)


@dataclass(frozen=True, slots=True)
class Table:
    """The decisions on one simulated run: over the first contender, and on all pairs, for ranks."""

    verdicts: Mapping[Pair, Decision]
    ranks: Mapping[Pair, Decision]
    blocks: int


def simulate(
    noise: Noise,
    times: Sequence[float],
    most: int,
    dice: np.random.Generator,
    *,
    interim: bool = True,
    ranked: bool = True,
) -> Table:
    """One run of up to so many blocks, in the order of real ones. With `interim` looks it ends once every
    verdict over the first contender is there."""
    logs = np.log(np.array(times)) + noise.draw(dice, _order(dice, most, len(times)))
    pairs = list(itertools.combinations(range(len(times)), 2)) if ranked else []
    over_first = [(0, other) for other in range(1, len(times))]
    ratios = {
        (i, j): dict(enumerate((logs[:, j] - logs[:, i]).tolist(), 1))
        for i, j in dict.fromkeys((*over_first, *pairs))
    }
    verdicts: ComparisonTests[Pair] = ComparisonTests(MARGIN)
    ranks: ComparisonTests[Pair] = ComparisonTests(0.0)
    confidence = SEQUENTIAL_CONFIDENCE if interim else CONFIDENCE

    def settled(family: ComparisonTests[Pair], of: Sequence[Pair], count: int) -> dict[Pair, Decision]:
        return {
            pair: family.decision(pair, {b: d for b, d in ratios[pair].items() if b <= count}, confidence)
            for pair in of
        }

    for look in (*(planned_looks(most - 1) if interim else ()), last_look(most)):
        verdicts.examine({pair: ratios[pair] for pair in over_first}, look)
        ranks.examine({pair: ratios[pair] for pair in pairs}, look)
        decisions = settled(verdicts, over_first, look.blocks)
        if all(decision.direction or decision.equivalent for decision in decisions.values()):
            break
    return Table(decisions, settled(ranks, pairs, look.blocks), look.blocks)


def _order(dice: np.random.Generator, most: int, contenders: int) -> Numbers:
    names = tuple(map(str, range(contenders)))
    seed = int(dice.integers(2**62))
    return np.array(
        [[int(cell.contender) for cell in each.cells] for each in blocks((Point(()),), names, most, seed)]
    )


@dataclass(slots=True)
class Shares:
    """Of many tables: those with a false difference in the verdicts, and in the ranks; the share of real
    differences found in the verdicts, and in the ranks."""

    tables: int = 0
    false_verdicts: int = 0
    false_ranks: int = 0
    found: Numbers = None
    real: Numbers = None

    def add(self, table: Table, times: Sequence[float]) -> None:
        self.tables += 1
        counts = []
        for decisions in (table.verdicts, table.ranks):
            differ = [pair for pair in decisions if times[pair[0]] != times[pair[1]]]
            claimed = {pair for pair, decision in decisions.items() if decision.direction}
            counts.append((bool(claimed - {*differ}), sum(pair in claimed for pair in differ), len(differ)))
        self.false_verdicts += counts[0][0]
        self.false_ranks += counts[1][0]
        found, real = (np.array([each[place] for each in counts]) for place in (1, 2))
        self.found = found if self.found is None else self.found + found
        self.real = real if self.real is None else self.real + real

    def power(self, family: int) -> float:
        return float(self.found[family] / self.real[family]) if self.real[family] else math.nan


def shares(
    noise: Noise, times: Sequence[float], most: int, tables: int, *, interim: bool, ranked: bool = True
) -> Shares:
    dice = np.random.default_rng([1, *noise.name.encode()])
    result = Shares()
    for _ in range(tables):
        result.add(simulate(noise, times, most, dice, interim=interim, ranked=ranked), times)
    return result


_missed: list[str] = []


def _check(what: str, value: float, target: float, error: float, *, at_most: bool = True) -> None:
    if (value - target if at_most else target - value) > 2 * error:
        _missed.append(f"{what}: {value:.3g}, target {target:.3g}")


def _is_rare(what: str, count: int, runs: int) -> str:
    """A share of false claims, which may be 5 %."""
    _check(what, count / runs, 0.05, math.sqrt(0.05 * 0.95 / runs))
    return f"{count / runs:.1%}"


def main(tables: int) -> list[str]:
    """Print the tables; the targets that were missed."""
    unequal_pairs(tables)
    equal_pairs(tables)
    sixteen(tables // 2)
    eight(tables // 2)
    print("\nTargets missed: " + ("; ".join(_missed) or "none"))
    return _missed


def unequal_pairs(runs: int) -> None:
    print(f"\nPairs with looks up to 400 blocks, {runs:,} for each row")
    columns = (
        "slower | faster | equivalent | blocks, mean | median | covered | slower: ratio | covered | marked"
    )
    print(f"| noise | B slower by | {columns} |")
    print("|---|" + "---:|" * 10)
    for noise in (NORMAL, TEN, EXPONENTIAL, SPIKES, MODES):
        for planted in (0.0, 0.02, 0.05, 0.10, 0.20):
            print(f"| {noise.name} | {planted:.0%} | {pairs(noise, planted, runs)} |", flush=True)


def equal_pairs(runs: int) -> None:
    print(f"\nEqual pairs with looks up to 40 blocks, {runs:,} for each row: share with a difference")
    print("| noise | claims | blocks, mean |")
    print("|---|---:|---:|")
    for noise in NOISES:
        made = _pairs(noise, 0.0, 40, runs)
        claims = sum(run.verdicts[0, 1].direction != 0 for run in made)
        mean = np.mean([run.blocks for run in made])
        print(f"| {noise.name} | {_is_rare(f'pair, {noise.name}', claims, runs)} | {mean:.0f} |", flush=True)


def sixteen(tables: int) -> None:
    print(
        f"\nSixteen contenders, the first 10 % faster than the others, {tables:,} tables for each row: found"
    )
    print("| noise | 20 blocks | looks up to 20 |")
    print("|---|---:|---:|")
    times = (1.0, *(1.1,) * 15)
    for noise in (SPIKES, EXPONENTIAL, HEAVY, WIDE):
        fixed, looks = (
            shares(noise, times, 20, tables, interim=interim, ranked=False).power(0)
            for interim in (False, True)
        )
        # Pairs with one baseline are found or missed together.
        _check(f"sixteen, {noise.name}", fixed, 2 / 3, math.sqrt(0.22 / tables), at_most=False)
        print(f"| {noise.name} | {fixed:.0%} | {looks:.0%} |", flush=True)


def eight(tables: int) -> None:
    print(f"\nTables of eight, {tables:,} for each figure: share with a false difference, verdicts; ranks")
    print("| noise | all even, 7 blocks | looks up to 40 | 3 even, 7 blocks | looks up to 40 | found at 7 |")
    print("|---|---:|---:|---:|---:|---:|")
    for noise in NOISES:
        cells, power = [], ""
        for times in (EVEN, UNEQUAL):
            for most in (7, 40):
                result = shares(noise, times, most, tables, interim=most > 7)
                false = (result.false_verdicts, result.false_ranks)
                what = f"table of eight up to {most}, {noise.name}"
                cells.append("; ".join(_is_rare(what, count, tables) for count in false))
                if times is UNEQUAL and most == 7:
                    power = "; ".join(f"{result.power(family):.1%}" for family in (0, 1))
        print(f"| {noise.name} | {' | '.join(cells)} | {power} |", flush=True)


# The mean number of blocks that a pair may need.
BLOCKS = {
    (NORMAL.name, 0.02): 15.5,
    (NORMAL.name, 0.05): 11.6,
    (EXPONENTIAL.name, 0.05): 60.0,
    (SPIKES.name, 0.05): 17.0,
}


def _pairs(noise: Noise, planted: float, most: int, runs: int) -> list[Table]:
    dice = np.random.default_rng([1, *noise.name.encode()])
    return [simulate(noise, (1.0, 1 + planted), most, dice, ranked=False) for _ in range(runs)]


def pairs(noise: Noise, planted: float, runs: int) -> str:
    """Of many pairs: the shares called slower, faster and equivalent, the numbers of blocks, and the share of
    intervals that hold the ratio; of those called slower the median ratio, the same share, and the share of
    those that are marked as overstated."""
    made = _pairs(noise, planted, 400, runs)
    decisions = [run.verdicts[0, 1] for run in made]
    shown = [each.ratio for each in decisions if each.direction == 1]
    slower, faster = (sum(each.direction == sign for each in decisions) for sign in (1, -1))
    equivalent = sum(each.equivalent and not each.direction for each in decisions)
    counts = np.array([run.blocks for run in made])
    if target := BLOCKS.get((noise.name, planted)):
        error = float(counts.std() / math.sqrt(runs))
        _check(f"blocks, {noise.name}, {planted:.0%}", float(counts.mean()), target, error)
    if not planted:
        _is_rare(f"pair up to 400, {noise.name}", slower + faster, runs)
    parts = [f"{count / runs:.1%}" for count in (slower, faster, equivalent)]
    parts += [f"{counts.mean():.1f}", f"{np.median(counts):.0f}"]
    parts.append(_covered([each.ratio for each in decisions], 1 + planted))
    marked = sum(map(is_overstated, shown))
    parts += [
        f"{np.median([ratio.estimate for ratio in shown]):.3f}" if shown else "–",
        _covered(shown, 1 + planted),
        f"{marked / len(shown):.0%}" if shown else "–",
    ]
    return " | ".join(parts)


def _covered(ratios: Sequence[Interval], true: float) -> str:
    """The share of intervals that hold the true ratio."""
    count = sum(
        each.low is not None and each.high is not None and each.low <= true <= each.high for each in ratios
    )
    return f"{count / len(ratios):.1%}" if ratios else "–"


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000) else 0)
