"""Simulates runs, decided by the engine that decides real ones: how often a run contains a false claim, and
how many of its real differences are found in how many blocks. Part of `calibration.py`; needs no measuring.
It can also be started alone: `python benchmarks/simulated_tables.py TABLES`.

Targets:

- at most 5 % of runs have a false claim, under every noise, in either family
- at a noise of 3 %, a pair that differs by 2 % is decided in a mean of 15.5 blocks; by 5 %, in 11.6
- a pair that differs by 5 % is decided in 60 blocks under exponential noise of 10 %, and in 17 under spikes
- of sixteen contenders, fifteen are 10 % slower than the first: two thirds of these verdicts within 20 blocks

Shares and means may miss the targets by two standard errors."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringside.analysis.examination import RunExamination
from ringside.measure.runs.loop import blocks
from ringside.model.design import Cell, Experiment, Metric, Point
from ringside.model.results import Comparison, Interval, Outcome, Trial, Verdict
from ringside.stats.sequential import is_overstated
from ringside.workloads.base import Measurement

Numbers = Any
Pair = tuple[int, int]
EVEN: tuple[float, ...] = (1.0,) * 8
# Times of eight contenders: three are equal, the others differ by factors of 1.65 and more.
UNEQUAL: tuple[float, ...] = (1.0, 1.0, 1.0, 1.65, 2.7, 4.5, 7.4, 12.0)
HERE = Point(())
TIME = Metric("time", "s", "Time", "a time", phrase="time")


class Times(Measurement):
    """Puts given times into trials unchanged."""

    name = "times"
    title = "Times"
    metrics = (TIME,)
    compared = (TIME.name,)

    def figures(self, trial: Trial) -> dict[str, float]:
        return {TIME.name: trial.phases["time"][0] / 1e9}


# The logarithm of a trial's time beyond the contender's own, by contender, block, and position in the block.
Draw = Callable[[int, int, int], float]


@dataclass(frozen=True, slots=True)
class Noise:
    """`start`: returns a function that draws the logarithms of one run's times, in the trials' order."""

    name: str
    start: Callable[[np.random.Generator], Draw]


def independent(draw: Callable[[np.random.Generator], float]) -> Any:
    return lambda dice: lambda contender, block, place: draw(dice)


def _drift(strength: float, *, of_blocks: bool = False) -> Any:
    """A first-order autoregression of 20 % from trial to trial, or from block to block with noise of 3 %."""

    def start(dice: np.random.Generator) -> Draw:
        level, last = dice.normal(0, 0.2), 0

        def draw(contender: int, block: int, place: int) -> float:
            nonlocal level, last
            if not of_blocks or block != last:
                level = strength * level + dice.normal(0, 0.2 * math.sqrt(1 - strength**2))
                last = block
            return level + (dice.normal(0, 0.03) if of_blocks else 0.0)

        return draw

    return start


def _carried_over(effect: float, memory: float = 0.0, noise: float = 0.03) -> Any:
    """The first contender slows the one that runs after it, and by the share `memory` also the next one."""

    def start(dice: np.random.Generator) -> Draw:
        burden = effect / 2 / (1 - memory)

        def draw(contender: int, block: int, place: int) -> float:
            nonlocal burden
            value = burden + dice.normal(0, noise)
            burden = memory * burden + effect * (contender == 0)
            return value

        return draw

    return start


def _periodic(period: int, size: float) -> Any:
    """Every `period`-th trial of the machine stalls, whichever contender it is."""

    def start(dice: np.random.Generator) -> Draw:
        count = itertools.count(int(dice.integers(period)))
        return lambda *_: dice.normal(0, 0.03) + size * (next(count) % period == 0)

    return start


def _by_place(slope: float, *, of_block: bool) -> Any:
    """Each later block, or each later position in a block, is slower."""
    return lambda dice: (
        lambda contender, block, place: dice.normal(0, 0.03) + slope * (block if of_block else place)
    )


NORMAL = Noise("normal, 3 %", independent(lambda dice: dice.normal(0, 0.03)))
TEN = Noise("normal, 10 %", independent(lambda dice: dice.normal(0, 0.10)))
WIDE = Noise("normal, 9 %", independent(lambda dice: dice.normal(0, 0.09)))
EXPONENTIAL = Noise("exponential, 10 %", independent(lambda dice: dice.exponential(0.1)))
SPIKES = Noise(
    "rare spikes",
    independent(lambda dice: dice.normal(0, 0.03) + (dice.random() < 0.05) * dice.exponential(0.5)),
)
MODES = Noise(
    "two modes, 35 % apart",
    independent(lambda dice: dice.normal(0, 0.01) + 0.3 * (dice.random() < 0.4)),
)
HEAVY = Noise("t₃, 5 %", independent(lambda dice: 0.05 * dice.standard_t(3)))
NOISES = (
    NORMAL,
    WIDE,
    TEN,
    Noise("drift between trials: AR(1), 0.95, 20 %", _drift(0.95)),
    Noise("the same, 0.99", _drift(0.99)),
    Noise("drift between blocks: AR(1), 0.8, 20 %", _drift(0.8, of_blocks=True)),
    Noise("trend, 1.25 % in each block", _by_place(0.0125, of_block=True)),
    Noise("each place of a block 3 % slower", _by_place(0.03, of_block=False)),
    Noise("A slows its successor by 3 %", _carried_over(0.03)),
    Noise("by 5 %", _carried_over(0.05)),
    Noise("by 3 %, half of it left a trial later", _carried_over(0.03, 0.5)),
    Noise("by 5 %, half of it left", _carried_over(0.05, 0.5)),
    Noise("by 5 %, 0.8 of it left", _carried_over(0.05, 0.8)),
    Noise("by 5 %, half of it left, noise of 1 %", _carried_over(0.05, 0.5, 0.01)),
    Noise("each 4th trial stalls by 30 %", _periodic(4, math.log(1.3))),
    Noise("each 5th", _periodic(5, math.log(1.3))),
    Noise(
        "5 % of trials stall by 50 %",
        independent(lambda dice: dice.normal(0, 0.03) + (dice.random() < 0.05) * math.log(1.5)),
    ),
    Noise(
        "20 % of trials stall by 100 %, noise of 1 %",
        independent(lambda dice: dice.normal(0, 0.01) + (dice.random() < 0.2) * math.log(2)),
    ),
    Noise("stalls: Pareto(1.2)", independent(lambda dice: 0.02 * min(dice.pareto(1.2), 1e4))),
    MODES,
    Noise(
        "coarse clock, 2 %",
        independent(lambda dice: math.log(round(math.exp(dice.normal(0, 0.03)) * 50) / 50)),
    ),
    EXPONENTIAL,
    SPIKES,
    HEAVY,
)


@dataclass(frozen=True, slots=True)
class Table:
    """The conclusions of one simulated run: comparisons with the first contender, and of all pairs, for
    ranks."""

    verdicts: Mapping[Pair, Comparison]
    ranks: Mapping[Pair, Comparison]
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
    """A run of up to this many blocks, made and examined as by the product. With `interim` looks, a cell ends
    when it is decided, and the run ends when all cells have ended."""
    names = tuple(map(str, range(len(times))))
    of = Experiment("e", "", Times.name, names, {}, names[0], most, until_decided=interim)
    examination = RunExamination(of, Times(), (HERE,))
    draw, seed, last = noise.start(dice), int(dice.integers(2**62)), ""

    def is_needed(cell: Cell) -> bool:
        return not interim or examination.is_needed(cell)

    for block, cells in enumerate(blocks((HERE,), names, most, seed, is_needed), 1):
        trials = []
        for place, cell in enumerate(cells):
            if not place and last not in ("", cell.contender):
                draw(int(cell.contender), block, 0)
            number, last = int(cell.contender), cell.contender
            time_ns = round(1e12 * times[number] * math.exp(draw(number, block, place)))
            trials.append(Trial(block, place, cell, Outcome.OK, "", phases={"time": (time_ns,)}))
        examination.add_block(trials)
        if interim and examination.is_decided:
            break
    examination.conclude((), is_over=True)

    def concluded(pairs: Sequence[Pair]) -> dict[Pair, Comparison]:
        found = {(i, j): examination.comparison(TIME, HERE, names[j], names[i]) for i, j in pairs}
        return {pair: comparison for pair, comparison in found.items() if comparison}

    over_first = [(0, other) for other in range(1, len(times))]
    pairs = list(itertools.combinations(range(len(times)), 2)) if ranked else []
    verdicts = concluded(over_first)
    return Table(verdicts, concluded(pairs), examination.blocks)


def _is_claim(comparison: Comparison) -> bool:
    return comparison.verdict in (Verdict.SLOWER, Verdict.FASTER)


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
            claimed = {pair for pair, comparison in decisions.items() if _is_claim(comparison)}
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
    """A share of false claims; 5 % are allowed."""
    _check(what, count / runs, 0.05, math.sqrt(0.05 * 0.95 / runs))
    return f"{count / runs:.1%}"


def main(tables: int) -> list[str]:
    """Print the tables; the targets that were missed."""
    unequal_pairs(tables)
    equal_pairs(tables)
    sixteen(tables // 2)
    eight(tables // 2)
    twelve(tables // 2)
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
    print(f"\nEqual pairs, {runs:,} runs for each figure: share with a difference")
    print("| noise | up to 7 blocks | up to 30 | blocks, mean |")
    print("|---|---:|---:|---:|")
    for noise in NOISES:
        cells = []
        for most in (7, 30):
            made = _pairs(noise, 0.0, most, runs)
            claims = sum(_is_claim(run.verdicts[0, 1]) for run in made)
            cells.append(_is_rare(f"pair up to {most}, {noise.name}", claims, runs))
        mean = np.mean([run.blocks for run in made])
        print(f"| {noise.name} | {' | '.join(cells)} | {mean:.1f} |", flush=True)


def twelve(tables: int) -> None:
    print(f"\nTwelve equal contenders, {tables:,} tables for each figure: a false verdict; a false rank")
    print("| noise | up to 7 blocks | up to 30 |")
    print("|---|---:|---:|")
    for noise in NOISES:
        cells = []
        for most in (7, 30):
            result = shares(noise, (1.0,) * 12, most, tables, interim=True)
            what = f"table of twelve up to {most}, {noise.name}"
            false = (result.false_verdicts, result.false_ranks)
            cells.append("; ".join(_is_rare(what, count, tables) for count in false))
        print(f"| {noise.name} | {' | '.join(cells)} |", flush=True)


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
        # Pairs with the same baseline are found or missed together.
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
    shown = [each.ratio for each in decisions if each.verdict is Verdict.SLOWER]
    slower, faster, equivalent = (
        sum(each.verdict is verdict for each in decisions)
        for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT)
    )
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
