"""The balances that all transfers leave, and what a trial reports of its audits and times that cannot be true."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ringside.units import count
from ringside.workloads.evidence import (
    FACTOR,
    MODULUS,
    first_number,
    fold,
    milliseconds,
    rising_numbers,
    whole_number,
)

OPENING_BALANCE = 1000
_MOST_AMOUNT = 1000
# A unit reads the clock before and after one of so many transfers.
_TIMED = 16
# What a program reports times of: transfers, and audits from the question to the answer.
TIMES = ("transfer", "audit")
LEVELS = ("p50", "p99", "max")
# How much of the phase transfers and audits take at least, all units together: the rest is drawing numbers
# and waiting for a CPU outside of a transfer.
_COVERED = 0.02


@lru_cache(maxsize=16)
def expected(accounts: int, units: int, transfers: int, hot: int, seed: int) -> int:
    """The fold over the final balances: the same in whatever order the transfers were made."""
    balances = [OPENING_BALANCE] * accounts
    others = accounts - 1
    for unit in range(units):
        x = first_number(seed + unit)
        for _ in range(transfers):
            x = FACTOR * x % MODULUS
            drawn, amount = divmod(x, _MOST_AMOUNT)
            x = FACTOR * x % MODULUS
            source = 0 if drawn % 100 < hot else x % accounts
            x = FACTOR * x % MODULUS
            target = x % others
            balances[source] -= amount + 1
            balances[target + (target >= source)] += amount + 1
    return fold(balance % MODULUS for balance in balances)


def times_ns(result: Mapping[str, str], what: str) -> tuple[int, ...] | None:
    """The p50, p99 and maximum of these times that a program reports; None where they cannot be such."""
    return rising_numbers(result, [f"{what}_{level}_ns" for level in LEVELS])


def contradictions(
    result: Mapping[str, str], phase_ns: int, units: int, transfers: int, every: int, auditors: int
) -> Iterator[str]:
    """What cannot be true of audits beside transfers, and of times in a phase of this length. Each unit waits
    for the answer of its audit, and asks the auditors in turn."""
    audits = transfers // every
    # At an auditor's first audit each unit has asked each auditor once at most; at its last, no unit has more
    # audits before it than there are other auditors.
    bounds = {"first": (every, units * every * auditors)}
    bounds["last"] = (units * every * (audits - auditors + 1), units * every * audits)
    for name, (least, most) in bounds.items():
        numbers = [whole_number(text) for text in result.get(name, "").split(",")]
        if len(numbers) != auditors or None in numbers:
            yield f"{name} must be {count(auditors, 'whole number')}, one for each auditor"
            return
        for auditor, number in enumerate(numbers):
            if number is not None and not least <= number <= most:
                yield (
                    f"{name}: auditor {auditor} counted {count(number, 'transfer')} at its {name} audit; "
                    f"{least:,} to {most:,} are possible while units wait for their audits"
                )
    numbers_of = {"transfer": units * transfers, "audit": units * audits}
    covered_ns = 0
    for what in TIMES:
        values = times_ns(result, what)
        if values is None:
            names = ", ".join(f"{what}_{level}_ns" for level in LEVELS)
            yield f"{names} must be whole numbers, none smaller than the one before"
            return
        median, p99, most = values
        measured = units * -(-transfers // _TIMED) if what == "transfer" else numbers_of[what]
        # So many took as long at least, and all units together had so much time.
        if most > phase_ns or max(median * 0.5, p99 * 0.01) * measured > units * phase_ns:
            yield (
                f"{what}: {count(measured, 'time')} with p50 {milliseconds(median)}, p99 {milliseconds(p99)} "
                f"and maximum {milliseconds(most)} do not fit into {milliseconds(phase_ns)} of "
                f"{count(units, 'unit')}"
            )
            return
        covered_ns += _at_most(values, numbers_of[what])
    if covered_ns < _COVERED * phase_ns:
        yield (
            f"all transfers and audits together took {milliseconds(covered_ns)} at most, and the phase "
            f"transfer, in which nothing else is done, {milliseconds(phase_ns)}"
        )


def _at_most(values: Sequence[int], number: int) -> int:
    """The most that so many times with this p50, p99 and maximum come to."""
    median, p99, most = values
    return (number + 1) // 2 * median + number // 2 * p99 + (number // 100 + 1) * most
