"""When enough blocks have been made."""

from __future__ import annotations

from collections.abc import Iterable

from ringside.model.results import Interval
from ringside.stats.interval import LEAST

# What an interval must hold nominally, so that it holds 95 % when it is looked at again and again until it is
# narrow. With 95 % nominally up to 6.9 % miss, with 97 % up to 4.5 % (simulated, see METHODOLOGY).
PEEKED = 0.97
# Nothing is looked at before: the first widths are chance.
FIRST_LOOK = 10
# Each look comes after so many times the blocks of the one before.
_STEP = 1.15


def looks(most: int) -> list[int]:
    """The numbers of blocks after which one may stop, up to `most`: 10, 12, 14, 17, …"""
    found, at = [], FIRST_LOOK
    while at <= most:
        found.append(at)
        at = max(at + 1, round(at * _STEP))
    return found


def narrow_enough(ratios: Iterable[Interval | None], goal: float) -> bool:
    """Whether every interval's upper end is less than 1 + `goal` times its lower one. A pair without figures
    does not count; one without an interval does, and is not narrow. False for no pair at all.

    The rule looks at widths alone, never at where an interval lies: so it does not stop because a difference
    has just shown itself, which is what makes peeking most harmful. It is the sequential interval of fixed
    width of Y. S. Chow and H. Robbins (Ann. Math. Stat. 36 (1965) 457-462), whose coverage is right only as
    the goal becomes small: before that, intervals that are narrow by chance are taken, which `PEEKED` allows
    for. `benchmarks/calibration.py` simulates it.
    """
    found = [ratio for ratio in ratios if ratio is not None]
    return bool(found) and all(
        ratio.n >= LEAST
        and ratio.low is not None
        and ratio.high is not None
        and ratio.high <= ratio.low * (1 + goal)
        for ratio in found
    )
