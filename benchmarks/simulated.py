"""A million comparisons of numbers from a generator: how often a difference is claimed where there is none,
and how often one that was planted is found. Part of `calibration.py`; needs no measuring."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.stats import t

from ringside.stats import unpaired
from ringside.stats.interval import median_interval
from ringside.stats.paired import cumulated_counts, hodges_lehmann
from ringside.stats.samples import MergedPercentile, ValueCounts, independent_ratio, is_supported
from ringside.stats.series import SeriesKind, steady_state

Numbers = Any
_AT_ONCE = 100_000
_LEVEL = 0.05
LENGTHS = (10, 20, 50)


@dataclass(frozen=True, slots=True)
class Machine:
    """A distribution of times. The logarithm of a time is the block's drift plus noise, with the same
    distribution on both sides."""

    name: str
    noise: Callable[[np.random.Generator, tuple[int, int]], Numbers]
    drift: float = 0.3


def _spikes(dice: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return dice.normal(0, 0.03, shape) + (dice.random(shape) < 0.05) * dice.exponential(0.5, shape)


def _modes(dice: np.random.Generator, shape: tuple[int, int]) -> Numbers:
    return dice.normal(0, 0.01, shape) + 0.3 * (dice.random(shape) < 0.4)


MACHINES = (
    Machine("noise of 3 %", lambda dice, shape: dice.normal(0, 0.03, shape)),
    Machine("spikes: one of twenty takes 1.5 times as long", _spikes),
    Machine("two modes, 35 % apart", _modes),
    Machine("a long tail", lambda dice, shape: dice.lognormal(0, 0.5, shape) * 0.05),
)


def _persistent(coefficient: float) -> Machine:
    """Noise of 3 % that persists from repeat to repeat: a first-order autoregression."""

    def noise(dice: np.random.Generator, shape: tuple[int, int]) -> Numbers:
        times, length = shape
        steps = dice.normal(0, 0.03 * math.sqrt(1 - coefficient**2), (times, length))
        steps[:, 0] = dice.normal(0, 0.03, times)
        for place in range(1, length):
            steps[:, place] += coefficient * steps[:, place - 1]
        return steps

    return Machine(f"noise of 3 % that persists: AR({coefficient:g})", noise)


PERSISTENT = (_persistent(0.5), _persistent(0.8))


def claims(machine: Machine, planted: float, blocks: int, times: int, seed: int = 1) -> dict[str, float]:
    """In what share of `times` comparisons with this many blocks, a side that takes 1 + `planted` times as
    long is called different: by pairs (ours), and by Student's t-test on times as they come when one side
    runs after the other, each in a drift of its own that moves slowly: what one gets without pairs."""
    dice = np.random.default_rng(seed)
    found = {"pairs": 0, "one after the other": 0}
    done = 0
    while done < times:
        count = min(_AT_ONCE, times - done)
        shape = (count, blocks)
        drift = dice.normal(0, machine.drift, shape)
        one = drift + machine.noise(dice, shape)
        other = drift + machine.noise(dice, shape) + math.log1p(planted)
        found["pairs"] += int((_p_values(other - one) <= _LEVEL).sum())
        # The first side runs completely before the second. The drift changes by a fifth of its size from one
        # run to the next.
        slow = np.cumsum(dice.normal(0, machine.drift / 5, (count, 2 * blocks)), axis=1)
        first = np.exp(slow[:, :blocks] + machine.noise(dice, shape))
        second = np.exp(slow[:, blocks:] + machine.noise(dice, shape)) * (1 + planted)
        found["one after the other"] += int(_t_test(first, second).sum())
        done += count
    return {name: number / times for name, number in found.items()}


def kinds(machine: Machine, length: int, times: int, fall: float = 0.0) -> Counter[SeriesKind]:
    """The classification of series of this many repeats, which get faster by `fall` with each repeat."""
    logs = machine.noise(np.random.default_rng(1), (times, length)) + math.log1p(-fall) * np.arange(length)
    states = (steady_state(series.tolist()) for series in np.exp(logs))
    return Counter(state.kind for state in states if state)


def medians_cover(persistence: float, blocks: int, times: int) -> tuple[float, float]:
    """The share of intervals of a median that hold the program's level, of two contenders with noise of 3 %
    in a drift of 10 % that persists from trial to trial; and of intervals that are as much wider as the
    correlation of neighbouring blocks makes it likely."""
    dice, covered = np.random.default_rng(1), np.zeros(2)
    for _ in range(times):
        steps = dice.normal(0, 0.1 * math.sqrt(1 - persistence**2), 2 * blocks)
        drift = np.array([steps[0] / math.sqrt(1 - persistence**2), *steps[1:]])
        for place in range(1, len(drift)):
            drift[place] += persistence * drift[place - 1]
        found = median_interval((drift[::2] + dice.normal(0, 0.03, blocks)).tolist())
        assert found.low is not None
        assert found.high is not None
        rest = drift[::2] - drift[::2].mean()
        lag = float((rest[1:] * rest[:-1]).sum() / (rest**2).sum())
        lag = min(0.95, max(0.0, lag + (1 + 3 * lag) / blocks))
        wider = math.sqrt((1 + lag) / (1 - lag))
        for place, by in enumerate((1.0, wider)):
            low, high = ((end - found.estimate) * by + found.estimate for end in (found.low, found.high))
            covered[place] += low <= 0 <= high
    one, other = (covered / times).tolist()
    return one, other


def print_medians(times: int) -> None:
    """The table of medians in a drift."""
    print("\nMedians in a drift of 10 %: share of 95 % intervals that hold the level; widened by lag 1")
    print("| persistence | 7 blocks | 15 | 30 |")
    print("|---:|---:|---:|---:|")
    for persistence in (0.0, 0.8, 0.95, 0.99):
        cover = (medians_cover(persistence, blocks, times) for blocks in (7, 15, 30))
        row = " | ".join(f"{one:.0%}; {other:.0%}" for one, other in cover)
        print(f"| {persistence} | {row} |", flush=True)


def percentiles(requests: tuple[int, int], blocks: int, drift: float, times: int) -> list[float]:
    """p99 of two servers whose requests have one distribution (lognormal, σ 0.5, about a level that drifts
    between blocks): how far the first's lies from the truth, the share of its intervals that hold, and that
    of ratios whose interval excludes 1."""
    dice = np.random.default_rng(blocks)
    in_blocks = all(is_supported(0.99, count // 2) for count in requests)
    # The true p99 of a block, or of all blocks together.
    truth = math.exp(NormalDist().inv_cdf(0.99) * (0.5 if in_blocks else math.hypot(0.5, drift)))
    shown, covers, claims = [], 0, 0
    for _ in range(times):
        levels, sides = dice.normal(0, drift, blocks), []
        for count in requests:
            times_ns = np.exp(dice.normal(levels[:, None], 0.5, (blocks, count)))
            sides.append([ValueCounts((round(1e6 * each), 1) for each in row) for row in times_ns])
        merged = [MergedPercentile(side, 0.99) for side in sides]
        own = merged[0].interval()
        if in_blocks:
            ends = ([math.log(each.percentile(0.99)) for each in side] for side in sides)
            ratio = hodges_lehmann([above - below for above, below in zip(*ends, strict=True)])
            own = median_interval([each.percentile(0.99) for each in sides[0]])
        else:
            ratio = independent_ratio(*(each.interval() for each in merged))
        assert own.low is not None
        assert own.high is not None
        assert ratio.low is not None
        assert ratio.high is not None
        shown.append(own.estimate / 1e6 / truth - 1)
        covers += own.low <= 1e6 * truth <= own.high
        claims += not ratio.low <= 0 <= ratio.high
    return [math.fsum(shown) / times, covers / times, claims / times]


def print_percentiles(times: int) -> None:
    """The table of p99."""
    print("\np99 of two equal servers: shown against the truth; its interval holds; a difference is claimed")
    print("| requests in a block | blocks | steady machine | drift of 10 % |")
    print("|---|---:|---:|---:|")
    for blocks in (7, 20):
        for requests in ((200, 200), (400, 400), (1000, 1000), (2000, 2000), (200, 600), (200, 2000)):
            cells = []
            for drift in (0.0, 0.1):
                bias, covers, claims = percentiles(requests, blocks, drift, times)
                cells.append(f"{bias:+.1%}; {covers:.0%}; {claims:.1%}")
            print(f"| {requests[0]} and {requests[1]} | {blocks} | {' | '.join(cells)} |", flush=True)


def print_steady_states(times: int) -> None:
    """The tables of repeats."""
    print("\nSeries without a trend inside one process: share that is called steady; without a steady state")
    print("| machine | " + " | ".join(f"{length} repeats" for length in LENGTHS) + " |")
    print("|---|" + "---:|" * len(LENGTHS))
    without = (SeriesKind.WARMING_UP, SeriesKind.UNSTEADY)
    for machine in (*MACHINES, *PERSISTENT):
        counts = [kinds(machine, length, times) for length in LENGTHS]
        shares = ((each[SeriesKind.STEADY], sum(each[kind] for kind in without)) for each in counts)
        row = " | ".join(f"{steady / times:.0%}; {rest / times:.1%}" for steady, rest in shares)
        print(f"| {machine.name} | {row} |", flush=True)
    print("\nSeries that get faster with each repeat, noise of 1 %: share that is called `warming up`")
    print("| faster by | " + " | ".join(f"{length} repeats" for length in LENGTHS) + " |")
    print("|---:|" + "---:|" * len(LENGTHS))
    one = Machine("noise of 1 %", lambda dice, shape: dice.normal(0, 0.01, shape))
    for fall in (0.01, 0.02, 0.05, 0.1):
        counts = [kinds(one, length, times, fall) for length in LENGTHS]
        row = " | ".join(f"{each[SeriesKind.WARMING_UP] / times:.0%}" for each in counts)
        print(f"| {fall:.0%} | {row} |", flush=True)


# The number of runs a side, and the number of blocks in each run.
SIDES, RUN_BLOCKS = ((1, 1), (5, 1), (2, 2), (3, 3), (5, 5)), (7, 20, 100)


def between_runs(sides: tuple[int, int], blocks: int, deviation: float, times: int, seed: int = 1) -> float:
    """The share of comparisons that claim a change between runs of one program, this many on each of the two
    `sides`, with noise of 3 % between blocks and this standard deviation between runs."""
    dice = np.random.default_rng(seed)
    wrong = 0
    for _ in range(times):
        one, other = (
            np.exp(dice.normal(0, deviation, (runs, 1)) + dice.normal(0, 0.03, (runs, blocks)))
            for runs in sides
        )
        if sides == (1, 1):
            ratio = unpaired.ratio(other[0], one[0], between=unpaired.ASSUMED_BETWEEN_RUNS)
        else:
            ratio = unpaired.ratio_of_runs(*(np.median(side, axis=1).tolist() for side in (other, one)))
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        wrong += not ratio.low <= 1 <= ratio.high
    return wrong / times


def print_between_runs(times: int) -> None:
    """The table of `compare`."""
    print("\nRuns of one program at different times: share of comparisons that claim a change")
    print("| runs | " + " | ".join(f"{blocks} blocks" for blocks in RUN_BLOCKS) + " |")
    print("|---|" + "---:|" * len(RUN_BLOCKS))
    for sides in SIDES:
        row = [
            ", ".join(f"{between_runs(sides, blocks, of, times):.1%}" for of in (0.0, 0.01, 0.02))
            for blocks in RUN_BLOCKS
        ]
        print(f"| {sides[0]} and {sides[1]} | {' | '.join(row)} |", flush=True)


def sessions(count: int, between: float, blocks: int, times: int) -> tuple[float, float, float]:
    """The shares of intervals that hold the ratio of two programs which differ by this deviation from session
    to session, with noise of 3 % a side: Student's over that many sessions, a bootstrap over them, and that
    of one session alone."""
    dice, held = np.random.default_rng(1), np.zeros(3)
    for _ in range(times):
        logs = dice.normal(0, between, (count, 1)) + dice.normal(0, 0.03 * math.sqrt(2), (count, blocks))
        sessions_alone = [hodges_lehmann(session.tolist()) for session in logs]
        levels = np.array([session.estimate for session in sessions_alone])
        again = levels[dice.integers(0, count, (999, count))].mean(axis=1)
        student = unpaired.shift_of_runs(levels.tolist())
        ends = [(each.low or 0.0, each.high or 0.0) for each in (student, sessions_alone[0])]
        ends.insert(1, np.quantile(again, (0.025, 0.975)))
        held += [low <= 0 <= high for low, high in ends]
    one, other, alone = (held / times).tolist()
    return one, other, alone


def print_sessions(times: int) -> None:
    """The table of `--sessions`."""
    print("\nSeven blocks a session: share of intervals that hold; Student's, bootstrap, one alone")
    print("| deviation between sessions | 2 sessions | 3 | 5 | 10 |")
    print("|---:|---:|---:|---:|---:|")
    for between in (0.0, 0.01, 0.02):
        cells = (sessions(count, between, 7, times) for count in (2, 3, 5, 10))
        row = " | ".join("; ".join(f"{share:.0%}" for share in cell) for cell in cells)
        print(f"| {between:.0%} | {row} |", flush=True)


def _p_values(logs: Numbers) -> Numbers:
    """Wilcoxon's two-sided p of each row."""
    blocks = logs.shape[1]
    ranks = np.argsort(np.argsort(np.abs(logs), axis=1), axis=1) + 1
    up = (ranks * (logs > 0)).sum(axis=1)
    smaller = np.minimum(up, blocks * (blocks + 1) // 2 - up)
    table = np.array([min(1.0, 2 * count / 2**blocks) for count in cumulated_counts(blocks)])
    return table[smaller]


def _t_test(one: Numbers, other: Numbers) -> Numbers:
    """Student's two-sided t-test of each row at 5 %, equal numbers of values."""
    blocks = one.shape[1]
    error = np.sqrt((one.var(axis=1, ddof=1) + other.var(axis=1, ddof=1)) / blocks)
    apart = np.abs(one.mean(axis=1) - other.mean(axis=1))
    return apart > t.ppf(1 - _LEVEL / 2, 2 * blocks - 2) * error


def main(times: int) -> None:
    """Print the tables. `times` is the number of comparisons in all of the first."""
    each = max(1000, times // (len(MACHINES) * 2 * 4))
    print(f"\nSimulated: {each * len(MACHINES) * 8:,} comparisons; share in which a difference is claimed")
    print("| machine | blocks | planted | by pairs | one after the other, t-test |")
    print("|---|---:|---:|---:|---:|")
    for machine in MACHINES:
        for blocks in (7, 30):
            for planted in (0.0, 0.02, 0.05, 0.10):
                found = claims(machine, planted, blocks, each)
                shares = " | ".join(f"{share:.1%}" for share in found.values())
                print(f"| {machine.name} | {blocks} | {planted:.0%} | {shares} |", flush=True)
    print_between_runs(min(2000, each))
    print_sessions(min(2000, each))
    print_steady_states(min(1000, each))
    print_medians(min(1000, each))
    print_percentiles(min(500, each))
