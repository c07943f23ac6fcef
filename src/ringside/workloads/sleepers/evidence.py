"""The tasks' numbers and instants, and what a trial says of them that cannot be true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ringside.units import count
from ringside.workloads.evidence import FACTOR, MODULUS, ORDER_BASE, rising_numbers

SECOND_NS = 1_000_000_000
# The instants lie in the last second.
SPREAD_NS = SECOND_NS
# The collector reports so many times how far it is, or after each number where there are fewer.
REPORTS = 10
LATE = ("late_p50_ns", "late_p99_ns", "late_max_ns")


@lru_cache(maxsize=2)
def numbers(tasks: int, seed: int) -> tuple[int, ...]:
    """The numbers of all tasks in the order of their instants; none comes twice."""
    x = 1 + seed % (MODULUS - 1)
    drawn = []
    for _ in range(tasks):
        x = FACTOR * x % MODULUS
        drawn.append(x)
    return tuple(sorted(drawn))


def instant_ns(number: int, seconds: int) -> int:
    """When the task with this number wakes, in nanoseconds since the beginning."""
    return (seconds - 1) * SECOND_NS + number * SPREAD_NS // MODULUS


@lru_cache(maxsize=16)
def order(tasks: int, seed: int) -> int:
    """H of the contract: h ← (31·h + x) mod p over the numbers in the order of their instants."""
    folded = 0
    for number in numbers(tasks, seed):
        folded = (ORDER_BASE * folded + number) % MODULUS
    return folded


def reported_after(tasks: int) -> list[int]:
    """After how many numbers the collector reports: a tenth of them, two tenths and so on, rounded up."""
    shares = min(REPORTS, tasks)
    return [-(-share * tasks // shares) for share in range(1, shares + 1)]


@dataclass(frozen=True, slots=True)
class Observed:
    """What a program reported, and when the probe read it: nanoseconds since the start of the process.

    `starts`, `wakes`: durations of the phases by the program's own clock; `wakes_read`: when the lines of the
    latter were read; `result`: the pairs of `::result`, untrusted text."""

    starts: Sequence[int]
    wakes: Sequence[int]
    wakes_read: Sequence[int]
    result: Mapping[str, str]


def lateness_ns(result: Mapping[str, str]) -> dict[str, int] | None:
    """The lateness that a program reports; None where that is no lateness."""
    values = rising_numbers(result, LATE)
    return None if values is None else dict(zip(LATE, values, strict=True))


def contradictions(observed: Observed, tasks: int, seconds: int, seed: int) -> Iterator[str]:
    """What cannot be true of N tasks that were all asleep at one time, and of which each woke at its own
    instant."""
    in_order, expected = numbers(tasks, seed), reported_after(tasks)
    first_ns = instant_ns(in_order[0], seconds)
    if len(observed.starts) != 1:
        yield f"{len(observed.starts)} lines ::phase name=start instead of 1"
        return
    if len(observed.wakes) != len(expected):
        yield f"{len(observed.wakes)} lines ::phase name=wake instead of {len(expected)}"
        return
    (start,) = observed.starts
    if start > first_ns:
        yield (
            f"{count(tasks, 'task')} took {_seconds(start)} to start, and the first was due after "
            f"{_seconds(first_ns)}: they were not all asleep at one time"
        )
    for place, after in enumerate(expected):
        due = instant_ns(in_order[after - 1], seconds)
        # By both clocks: the program begins to count after its process has started.
        there = min(observed.wakes[place], observed.wakes_read[place])
        if there < due:
            yield (
                f"{count(after, 'number')} of {tasks:,} had come after {_seconds(there)}, and so many tasks "
                f"were due after {_seconds(due)}: some woke early"
            )
            return
    late = lateness_ns(observed.result)
    if late is None:
        yield f"{', '.join(LATE)} must be whole numbers, none smaller than the one before"
    elif late["late_max_ns"] > observed.wakes[-1] - first_ns:
        yield (
            f"a task was {_seconds(late['late_max_ns'])} late, and all numbers were there "
            f"{_seconds(observed.wakes[-1] - first_ns)} after the first instant"
        )


def _seconds(ns: int) -> str:
    return f"{ns / SECOND_NS:.3f} s"
