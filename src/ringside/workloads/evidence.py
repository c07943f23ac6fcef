"""The parts of evidence that several workloads have: numbers that are drawn and folded, reported times."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import repeat

from ringside.units import count

# x ← 48271·x mod p, from x = 1 + seed mod (p - 1): the generator of Park and Miller (CACM 31, 1988), whose
# period is p - 1.
FACTOR, MODULUS = 48271, 2147483647
# H of the contracts: h ← (31·h + x) mod p.
ORDER_BASE = 31


def first_number(seed: int) -> int:
    """The number before the first that is drawn."""
    return 1 + seed % (MODULUS - 1)


def fold(numbers: Iterable[int], base: int = ORDER_BASE) -> int:
    """H over the numbers in their order."""
    folded = 0
    for number in numbers:
        folded = (base * folded + number) % MODULUS
    return folded


def fold_again(once: int, numbers: int, times: int) -> int:
    """H over a sequence of `numbers` that comes several `times`. `once`: H of one pass."""
    return fold(repeat(once, times), pow(ORDER_BASE, numbers, MODULUS))


# A number with more digits may not fit into 63 bits.
_MAX_DIGITS = 18


def whole_number(text: str) -> int | None:
    """A number that a program reports; None if the text is no such number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


# A program's summary of many times, in nanoseconds.
LEVELS = ("p50", "p99", "max")


def reported_ns(result: Mapping[str, str], name: str) -> list[int]:
    """The reported p50, p99 and maximum of these times. Raises ValueError if one is missing or falls."""
    names = [f"{name}_{level}_ns" for level in LEVELS]
    numbers = [number for each in names if (number := whole_number(result.get(each, ""))) is not None]
    if len(numbers) < len(names) or numbers != sorted(numbers):
        raise ValueError(f"{', '.join(names)} must be whole numbers, none smaller than the one before")
    return numbers


def times_figures(result: Mapping[str, str], names: Iterable[str]) -> dict[str, float]:
    """The p50, p99 and maximum of these times that a program reports, as metrics; 0: there was none."""
    figures: dict[str, float] = {}
    for name in names:
        with suppress(ValueError):
            if (numbers := reported_ns(result, name))[-1]:
                figures |= {f"{name}_s.{level}": ns / 1e9 for level, ns in zip(LEVELS, numbers, strict=True)}
    return figures


def most_together_ns(
    result: Mapping[str, str], name: str, number: int, units: int, passed_ns: int, measured: int | None = None
) -> int:
    """The most that these times come to, by the p50, p99 and maximum of those that were `measured`. Raises
    ValueError if they cannot be true of this many units in this time, one after the other in each."""
    median, p99, most = reported_ns(result, name)
    measured = number if measured is None else measured
    # This many are at least as long, and each unit had `passed_ns`.
    if most > passed_ns or max(median * 0.5, p99 * 0.01) * measured > units * passed_ns:
        raise ValueError(
            f"{name}: {count(measured, 'time')} with p50 {milliseconds(median)}, p99 {milliseconds(p99)} "
            f"and maximum {milliseconds(most)} do not fit into {milliseconds(passed_ns)} of "
            f"{count(units, 'unit')}"
        )
    if number == 0 and most > 0:
        raise ValueError(f"{name}_max_ns={most}, but nothing was timed")
    return (number + 1) // 2 * median + number // 2 * p99 + (number // 100 + 1) * most


def milliseconds(ns: float) -> str:
    """`1,234.567 ms`."""
    return f"{ns / 1e6:,.3f} ms"
