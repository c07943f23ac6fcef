"""What the times of a bout say: figures of each command, comparisons with the first, ranks, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ringside.analysis.warned import drifted, noisy_neighbour
from ringside.measure.bout import Time
from ringside.measure.commands import Command
from ringside.model.design import Metric
from ringside.model.results import Interval, Trial, Verdict, Warned
from ringside.stats.family import as_family, blocks_needed, ranks
from ringside.stats.humps import two_humps
from ringside.stats.interval import LEAST, median_interval
from ringside.stats.ratio import Paired, paired, verdict
from ringside.workloads.base import CPU_S, PEAK, WALL_S, process_figures

_SHORT_S = 0.005


@dataclass(frozen=True, slots=True)
class Compared:
    """A command over the first one, in one metric."""

    metric: Metric
    name: str
    baseline: str
    ratio: Interval | None
    verdict: Verdict
    p: float


@dataclass(frozen=True, slots=True)
class Result:
    """A bout's figures. `figures[name][metric]`; `ranks` are groups of ties by wall time."""

    commands: Sequence[Command]
    times: Sequence[Time]
    figures: Mapping[str, Mapping[str, Interval]]
    compared: Sequence[Compared]
    ranks: Mapping[str, int]
    warnings: Sequence[Warned]
    blocks: int


USER_S = Metric("user_s", "s", "User", "the part of the CPU time outside the kernel")
SYSTEM_S = Metric("system_s", "s", "System", "the part of the CPU time inside the kernel")
METRICS = (WALL_S, CPU_S, USER_S, SYSTEM_S, PEAK)
# User and system time are parts of what is compared.
_COMPARED = (WALL_S, CPU_S, PEAK)


def conclude(commands: Sequence[Command], times: Sequence[Time], *, peeked: bool) -> Result:
    """The figures of what was measured. `peeked`: blocks were made until intervals were narrow."""
    values: dict[tuple[str, str], dict[int, float]] = {
        (command.name, metric.name): {} for command in commands for metric in METRICS
    }
    for one in times:
        for name, value in figures(one.trial).items():
            values[one.name, name][one.block] = value
    middles = {
        command.name: {
            metric.name: median_interval(list(found.values()))
            for metric in METRICS
            if (found := values[command.name, metric.name])
        }
        for command in commands
    }
    first, *others = (command.name for command in commands)
    compared: list[Compared] = []
    for metric in _COMPARED:
        pairs = {
            name: paired(values[name, metric.name], values[first, metric.name], peeked=peeked)
            for name in others
        }
        compared += _judged(metric, first, pairs)
    walls = {name: found for (name, metric), found in values.items() if metric == WALL_S.name and found}

    def compare(one: str, other: str) -> Paired | None:
        return paired(walls[one], walls[other], peeked=peeked)

    blocks = len({one.block for one in times})
    return Result(
        commands,
        times,
        middles,
        compared,
        ranks(sorted(walls, key=lambda name: median(walls[name].values())), compare),
        tuple(_warnings(commands, times, values, blocks)),
        blocks,
    )


def figures(trial: Trial) -> dict[str, float]:
    """The figures of a single execution by metric; one that was not seen is left out."""
    seen = process_figures(trial.outcome_line)
    for metric, key in ((USER_S, "cpu_user_ns"), (SYSTEM_S, "cpu_system_ns")):
        if (ns := trial.outcome_line.get(key)) is not None:
            seen[metric.name] = ns / 1e9
    return {metric.name: seen[metric.name] for metric in METRICS if metric.name in seen}


def _judged(metric: Metric, baseline: str, pairs: Mapping[str, Paired | None]) -> Iterator[Compared]:
    fair = as_family(pairs)
    for name, pair in pairs.items():
        if pair is None:
            yield Compared(metric, name, baseline, None, Verdict.TOO_FEW_BLOCKS, 1.0)
        else:
            p = fair[name]
            yield Compared(metric, name, baseline, pair.ratio, verdict(pair.ratio, p=p), p)


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
        if places := two_humps(list(values[command.name, WALL_S.name].values())):
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
        if (walls := values[command.name, WALL_S.name]) and median(walls.values()) < _SHORT_S
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
