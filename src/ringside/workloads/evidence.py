"""The parts of evidence that several workloads have: numbers that are drawn and folded, reported times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

# x ← 48271·x mod p, from x = 1 + seed mod (p - 1): the generator of Park and Miller (CACM 31, 1988), whose
# period is p - 1.
FACTOR, MODULUS = 48271, 2147483647
# H of the contracts: h ← (31·h + x) mod p.
ORDER_BASE = 31


def first_number(seed: int) -> int:
    """The number before the first that is drawn."""
    return 1 + seed % (MODULUS - 1)


def fold(numbers: Iterable[int], folded: int = 0) -> int:
    """H over the numbers in their order."""
    for number in numbers:
        folded = (ORDER_BASE * folded + number) % MODULUS
    return folded


# A number of nanoseconds with more digits is none that fits into 63 bits.
_MAX_DIGITS = 18


def whole_number(text: str) -> int | None:
    """A number that a program reports; None where the text is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def rising_numbers(result: Mapping[str, str], names: Sequence[str]) -> tuple[int, ...] | None:
    """What a program reports by these names, such as a p50, a p99 and a maximum; None where one is no whole
    number, or smaller than the one before."""
    numbers = [whole_number(result.get(name, "")) for name in names]
    known = tuple(number for number in numbers if number is not None)
    rises = len(known) == len(numbers) and all(left <= right for left, right in pairwise(known))
    return known if rises else None


def milliseconds(ns: float) -> str:
    """`1,234.567 ms`."""
    return f"{ns / 1e6:,.3f} ms"
