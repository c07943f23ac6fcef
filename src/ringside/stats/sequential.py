"""Interim looks at a run in progress: after which blocks it is examined, and what each look may claim."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE

# The nominal confidence of an interval that is shown after interim looks, so that it really holds 95 %. A
# nominal 95 % misses in up to 6.9 % of cases, a nominal 97 % in up to 4.5 % (simulated, see METHODOLOGY).
SEQUENTIAL_CONFIDENCE = 0.97
# The probability that a family holds a false claim.
ERROR_RATE = 1 - CONFIDENCE
# Fewer blocks can decide at most one comparison of several: their smallest p-value is 1/32.
FIRST_LOOK = 7
# The ratio of the numbers of blocks at two successive looks.
_STEP = 4 / 3
# What the first look may spend of the error rate; the smallest p-value of seven blocks is 1/64.
_FIRST_LEVEL = 0.02
# The widths of intervals from fewer blocks are mostly chance.
_FIRST_WIDTH = 10
_WIDTH_STEP = 1.15


@dataclass(frozen=True, slots=True)
class Look:
    """An examination after so many blocks, at which p-values of at most `level` are claims."""

    blocks: int
    level: float


def planned_looks(most: int) -> list[Look]:
    """The looks at a run in progress after up to so many blocks: after 7, 9, 12, 16, 21 … of them.

    All levels together are 5 % at most, so whatever the dependence between looks, the probability of a false
    claim at any of them is at most 5 % (Bonferroni's inequality as a rule of alpha spending; K. K. G. Lan, D.
    L. DeMets, Biometrika 70 (1983) 659-663, require that such a sequence is fixed beforehand). The first look
    may spend 2 %, the later ones 3 % / (k(k + 1)) for k = 1, 2, …
    """
    looks: list[Look] = []
    blocks = FIRST_LOOK
    while blocks <= most:
        k = len(looks)
        looks.append(Look(blocks, (ERROR_RATE - _FIRST_LEVEL) / (k * (k + 1)) if k else _FIRST_LEVEL))
        blocks = int(blocks * _STEP)
    return looks


def last_look(blocks: int, *, interim: bool) -> Look:
    """The look at a run that ends after so many blocks whatever earlier ones had shown, because its blocks or
    its time are over. It may spend all that they did not. `interim`: whether there were any."""
    earlier = planned_looks(blocks - 1) if interim else []
    return Look(blocks, ERROR_RATE - sum(look.level for look in earlier))


def width_looks(most: int) -> list[int]:
    """The numbers of blocks after which widths of intervals are examined, up to `most`: 10, 12, 14, 16, …"""
    looks, blocks = [], _FIRST_WIDTH
    while blocks <= most:
        looks.append(blocks)
        blocks = round(blocks * _WIDTH_STEP)
    return looks


def all_narrower_than(ratios: Iterable[Interval | None], goal: float) -> bool:
    """Whether the upper end of every interval is at most 1 + `goal` times its lower end. A pair without
    values (None) is left out; a ratio without an interval is not narrow. False where no pair has values.

    The rule uses widths only, never where an interval lies: it cannot stop because a difference has just
    appeared, which is the most harmful effect of repeated testing. It is the sequential interval of fixed
    width of Y. S. Chow and H. Robbins (Ann. Math. Stat. 36 (1965) 457-462), whose coverage is right only as
    the goal becomes small. For larger goals, intervals that are narrow by chance are accepted;
    `SEQUENTIAL_CONFIDENCE` makes up for them. `benchmarks/simulated.py` simulates it.
    """
    intervals = [ratio for ratio in ratios if ratio is not None]
    return bool(intervals) and all(
        interval.low is not None and interval.high is not None and interval.high <= interval.low * (1 + goal)
        for interval in intervals
    )
