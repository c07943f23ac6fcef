"""What the times of a bout say: figures of each command, comparisons with the first, ranks, warnings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ringside.model import Interval, Trial, Verdict, Warned
from ringside.report.warned import drifted, noisy_neighbour
from ringside.stats.family import adjusted, blocks_needed, groups
from ringside.stats.humps import two_humps
from ringside.stats.interval import LEAST, median_interval
from ringside.stats.ratio import Paired, paired, verdict
from ringside.versus.bout import Time
from ringside.versus.commands import Command

# Sampled memory of something that ended before the first look is not known; kernel ticks do not matter here.
_SHORT_S = 0.005


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a single execution; None where it was not seen."""

    name: str
    title: str
    unit: str
    value: Callable[[Trial], float | None]


@dataclass(frozen=True, slots=True)
class Compared:
    """A command over the first one, in one measure."""

    measure: Measure
    name: str
    baseline: str
    ratio: Interval | None
    verdict: Verdict
    p: float


@dataclass(frozen=True, slots=True)
class Result:
    """A bout's figures. `figures[name][measure]`; `ranks` are groups of ties by wall time."""

    commands: Sequence[Command]
    times: Sequence[Time]
    figures: Mapping[str, Mapping[str, Interval]]
    compared: Sequence[Compared]
    ranks: Mapping[str, int]
    warnings: Sequence[Warned]
    blocks: int


def _seconds(*keys: str) -> Callable[[Trial], float | None]:
    def value(trial: Trial) -> float | None:
        found = [trial.outcome_line.get(key) for key in keys]
        return sum(one for one in found if one is not None) / 1e9 if None not in found else None

    return value


def _peak(trial: Trial) -> float | None:
    found = trial.outcome_line.get("peak_pss_bytes")
    return float(found) if found else None


MEASURES = (
    Measure("wall_s", "Wall", "s", _seconds("wall_ns")),
    Measure("cpu_s", "CPU", "s", _seconds("cpu_user_ns", "cpu_system_ns")),
    Measure("user_s", "User", "s", _seconds("cpu_user_ns")),
    Measure("system_s", "System", "s", _seconds("cpu_system_ns")),
    Measure("peak_pss_bytes", "Peak memory", "B", _peak),
)
# User and system time are parts of what is compared.
_COMPARED = ("wall_s", "cpu_s", "peak_pss_bytes")


def conclude(commands: Sequence[Command], times: Sequence[Time], *, peeked: bool) -> Result:
    """The figures of what was measured. `peeked`: blocks were made until intervals were narrow."""
    values = {
        (command.name, measure.name): _by_block(times, command.name, measure)
        for command in commands
        for measure in MEASURES
    }
    figures = {
        command.name: {
            measure.name: median_interval(list(found.values()))
            for measure in MEASURES
            if (found := values[command.name, measure.name])
        }
        for command in commands
    }
    first, *others = (command.name for command in commands)
    compared: list[Compared] = []
    for measure in MEASURES:
        if measure.name not in _COMPARED:
            continue
        pairs = [
            paired(values[name, measure.name], values[first, measure.name], peeked=peeked) for name in others
        ]
        compared += _judged(measure, others, first, pairs)
    blocks = len({one.block for one in times})
    return Result(
        commands,
        times,
        figures,
        compared,
        _ranks({name: values[name, "wall_s"] for name in (first, *others)}, peeked=peeked),
        tuple(_warnings(commands, times, values, blocks)),
        blocks,
    )


def _by_block(times: Sequence[Time], name: str, measure: Measure) -> dict[int, float]:
    found = {one.block: measure.value(one.trial) for one in times if one.name == name}
    return {block: value for block, value in found.items() if value is not None}


def _judged(
    measure: Measure, names: Sequence[str], baseline: str, pairs: Sequence[Paired | None]
) -> list[Compared]:
    fair = iter(adjusted([pair.p for pair in pairs if pair]))
    found = []
    for name, pair in zip(names, pairs, strict=True):
        if pair is None:
            found.append(Compared(measure, name, baseline, None, Verdict.TOO_FEW_BLOCKS, 1.0))
        else:
            p = next(fair)
            found.append(Compared(measure, name, baseline, pair.ratio, verdict(pair.ratio, p=p), p))
    return found


def _ranks(walls: Mapping[str, Mapping[int, float]], *, peeked: bool) -> dict[str, int]:
    names = sorted((name for name in walls if walls[name]), key=lambda name: median(walls[name].values()))
    pairs = {
        (one, other): found
        for one, other in itertools.combinations(names, 2)
        if (found := paired(walls[one], walls[other], peeked=peeked))
    }
    fair = dict(zip(pairs, adjusted([pair.p for pair in pairs.values()]), strict=True))

    def differ(one: str, other: str) -> bool:
        pair = pairs.get((one, other))
        return pair is not None and verdict(pair.ratio, p=fair[one, other]) is Verdict.FASTER

    return {name: rank for rank, tied in enumerate(groups(names, differ), 1) for name in tied}


def _warnings(
    commands: Sequence[Command],
    times: Sequence[Time],
    values: Mapping[tuple[str, str], Mapping[int, float]],
    blocks: int,
) -> list[Warned]:
    found = [*_outputs(commands, times), *_failures(commands, times)]
    needed = blocks_needed(len(commands) - 1)
    if blocks < LEAST:
        found.append(
            Warned(
                "too-few-blocks",
                f"{blocks} block{'s' * (blocks != 1)}: below {LEAST} no interval holds 95 %, so there is no "
                "verdict",
                f"give it --blocks {max(10, needed)}, or more --time",
            )
        )
    elif blocks < needed:
        found.append(
            Warned(
                "too-few-blocks",
                f"{len(commands) - 1} comparisons share an error rate of 5 %: with {blocks} blocks a command "
                "that differs may stay indistinguishable",
                f"give it --blocks {needed}",
            )
        )
    trials = [one.trial for one in times]
    found += noisy_neighbour(trials)
    found += drifted(ns for trial in trials if (ns := trial.outcome_line.get("reference_ns")))
    for command in commands:
        if places := two_humps(list(values[command.name, "wall_s"].values())):
            found.append(
                Warned(
                    "two-humps",
                    f"{command.name}'s times gather about two places, {places[1] / places[0]:.2f} times "
                    "apart: its median may be neither",
                    "often it is where the scheduler puts threads: try --cpus",
                )
            )
    short = [
        command.name
        for command in commands
        if (walls := values[command.name, "wall_s"]) and median(walls.values()) < _SHORT_S
    ]
    if short:
        found.append(
            Warned(
                "short",
                f"{', '.join(short)}: under 5 ms most of the time is that of starting a process",
                "let each do more work; the start is the same for all of them",
            )
        )
    return found


def _outputs(commands: Sequence[Command], times: Sequence[Time]) -> list[Warned]:
    """What is said where commands do not print the same."""
    printed = {
        command.name: {one.sha256 for one in times if one.name == command.name} for command in commands
    }
    varying = [name for name, seen in printed.items() if len(seen) > 1]
    steady = {name: next(iter(seen)) for name, seen in printed.items() if len(seen) == 1}
    found = []
    if len(set(steady.values())) > 1:
        first = next(iter(steady))
        others = [name for name, seen in steady.items() if seen != steady[first]]
        found.append(
            Warned(
                "unequal-output",
                f"{', '.join(others)} print{'s' * (len(others) == 1)} something else than {first}",
                "make sure that they do the same work before believing a ratio",
            )
        )
    if varying:
        found.append(
            Warned(
                "varying-output",
                f"what {', '.join(varying)} print{'s' * (len(varying) == 1)} changes from time to time, so "
                "it was not compared",
                "fix seeds and leave out times, where the same work is to be shown",
            )
        )
    return found


def _failures(commands: Sequence[Command], times: Sequence[Time]) -> list[Warned]:
    counts = {
        command.name: sum(bool(one.trial.detail) for one in times if one.name == command.name)
        for command in commands
    }
    bad = {name: count for name, count in counts.items() if count}
    if not bad:
        return []
    text = ", ".join(f"{name} {count} times" for name, count in bad.items())
    return [Warned("failures", f"{text} ended with a failure, which counted", "leave out --ignore-failure")]
