"""Interim looks at a run in progress: after which blocks it is examined, and what each look may claim."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE

# The nominal confidence of an interval that is shown after interim looks, so that it really holds 95 %. A
# nominal 95 % misses in up to 6.9 % of cases, a nominal 97 % in up to 4.5 % (simulated, see VALIDATION).
SEQUENTIAL_CONFIDENCE = 0.97
# The probability that a family holds a false claim.
ERROR_RATE = 1 - CONFIDENCE
# The smallest p-value of fewer blocks, 1/32, is more than a first look may spend.
FIRST_LOOK = 7
# The ratio of the numbers of blocks at two successive looks.
_STEP = 4 / 3
# What the first look may spend of the error rate; the smallest p-value of seven blocks is 1/64.
_FIRST_LEVEL = 0.02
# What each of the next looks adds, and each one after these. The latter is more than one sign vector, so that
# what is beyond doubt is decided at any look; 33 of them make a million blocks.
_EARLY_LEVEL, _EARLY_LOOKS = 0.00275, 9
_LATE_LEVEL = (ERROR_RATE - _FIRST_LEVEL - _EARLY_LEVEL * _EARLY_LOOKS) / 33
# A run that ends once it has decided overstates ratios whose intervals come nearer to 1 than this, and than
# half of the estimate's distance from 1 (simulated: VALIDATION).
_CLEAR = math.log(1.05)
# The widths of intervals from fewer blocks are mostly chance.
_FIRST_WIDTH = 10
_WIDTH_STEP = 1.15


@dataclass(frozen=True, slots=True)
class Look:
    """An examination after so many blocks. `level`: the error rate that this look and all earlier ones may
    have spent together."""

    blocks: int
    level: float


def planned_looks(most: int) -> list[Look]:
    """The looks at a run in progress after up to so many blocks: after 7, 9, 12, 16, 21 … of them.

    What may be spent is fixed beforehand and does not depend on how long the run may become (K. K. G. Lan, D.
    L. DeMets, Biometrika 70 (1983) 659-663): 2 % at the first look, 0.275 % more at each of the next nine,
    then 0.525 % / 33 more at each.
    """
    looks: list[Look] = []
    blocks, level = FIRST_LOOK, _FIRST_LEVEL
    while blocks <= most:
        looks.append(Look(blocks, level))
        level += _EARLY_LEVEL if len(looks) <= _EARLY_LOOKS else _LATE_LEVEL
        blocks = int(blocks * _STEP)
    return looks


def last_look(blocks: int) -> Look:
    """The look at a run that ends after so many blocks whatever earlier ones had shown, because its blocks or
    its time are over: it may spend all that they did not."""
    return Look(blocks, ERROR_RATE)


def is_overstated(ratio: Interval) -> bool:
    """Whether a ratio that differs from 1, of a run that ended once this was shown, is probably too far from
    1: chance ends a run where it helps. Ratios that are clear of 1 hardly depend on it."""
    if ratio.low is None or ratio.high is None:
        return False
    nearest = min(abs(math.log(ratio.low)), abs(math.log(ratio.high)))
    return nearest < min(_CLEAR, abs(math.log(ratio.estimate)) / 2)


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
