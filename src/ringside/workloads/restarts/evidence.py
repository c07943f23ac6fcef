"""The messages of all units and what they come to, and what a trial says of its times that cannot be true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ringside.units import count
from ringside.workloads.evidence import (
    FACTOR,
    MODULUS,
    ORDER_BASE,
    first_number,
    milliseconds,
    rising_numbers,
)

# The passes over all messages. Units fail in the second; the first lets all code run once.
PASSES = ("warm", "failing", "calm")
FAILING = 1
# What a program reports of answers without failures, of answers beside them, and of replaced units.
TIMES = ("calm", "answer", "recovery")
LEVELS = ("p50", "p99", "max")
# How much of a pass the times of its answers cover at least: a program may do something else between two.
_COVERED = 0.5


@dataclass(frozen=True, slots=True)
class Expected:
    """`failures`: messages that make their unit fail; `order`: H of the contract."""

    failures: int
    order: int


@lru_cache(maxsize=16)
def expected(units: int, messages: int, every: int, seed: int) -> Expected:
    """What the collector of a program that did the work reports."""
    order = failures = 0
    for unit in range(units):
        x = first_number(seed + unit)
        folded = state = handled = 0
        fails = False
        for number in range(len(PASSES)):
            for left in range(messages - 1, -1, -1):
                x = FACTOR * x % MODULUS
                fails = number == FAILING and left > 0 and not fails and x < MODULUS // every
                if fails:
                    failures += 1
                    state = handled = 0
                else:
                    handled += 1
                    state = (ORDER_BASE * state + x) % MODULUS
                    folded = (ORDER_BASE * folded + state + handled) % MODULUS
        order = (ORDER_BASE * order + folded) % MODULUS
    return Expected(failures, order)


def times_ns(result: Mapping[str, str], what: str) -> tuple[int, ...] | None:
    """The p50, p99 and maximum of these times that a program reports; None where they cannot be such."""
    return rising_numbers(result, [f"{what}_{level}_ns" for level in LEVELS])


def contradictions(
    phases: Mapping[str, Sequence[int]], result: Mapping[str, str], units: int, messages: int, failures: int
) -> Iterator[str]:
    """What cannot be true of times in passes of this length, by the program's clock: no unit has two messages
    at one time, and one at least is busy until the end."""
    for name in ("start", *PASSES):
        if (lines := len(phases.get(name, ()))) != 1:
            yield f"{count(lines, 'line')} ::phase name={name} instead of 1"
            return
    total = units * messages
    # How many there are of each, and in which pass.
    numbers = {"calm": total, "answer": total - 2 * failures, "recovery": failures}
    most_ns = {}
    for what in TIMES:
        (passed_ns,) = phases["calm" if what == "calm" else "failing"]
        values = times_ns(result, what)
        if values is None:
            names = ", ".join(f"{what}_{level}_ns" for level in LEVELS)
            yield f"{names} must be whole numbers, none smaller than the one before"
            return
        median, p99, most = values
        number = numbers[what]
        # So many are as long at least, and all units together had so much time.
        together_ns = max(median * 0.5, p99 * 0.01) * number
        if most > passed_ns or together_ns > units * passed_ns:
            yield (
                f"{what}: {count(number, 'time')} with p50 {milliseconds(median)}, p99 {milliseconds(p99)} "
                f"and maximum {milliseconds(most)} do not fit into {milliseconds(passed_ns)} of "
                f"{count(units, 'unit')}"
            )
            return
        if number == 0 and most > 0:
            yield f"{what}_max_ns={most}, and there was none"
            return
        most_ns[what] = (number + 1) // 2 * median + number // 2 * p99 + (number // 100 + 1) * most
    for name, covering in (("calm", ("calm",)), ("failing", ("answer", "recovery"))):
        covered_ns, passed_ns = sum(most_ns[what] for what in covering), phases[name][0]
        if covered_ns < _COVERED * passed_ns:
            yield (
                f"{' and '.join(covering)}: all times together are {milliseconds(covered_ns)} at most, and "
                f"the pass {name}, in which some unit always had a message, took {milliseconds(passed_ns)}"
            )
            return
