"""Sequential stopping: after which blocks intervals are examined, and when they are narrow enough."""

from __future__ import annotations

from collections.abc import Iterable

from ringside.model.results import Interval

# The nominal confidence of an interval that is examined again and again until it is narrow, so that it really
# holds 95 %. A nominal 95 % misses in up to 6.9 % of cases, a nominal 97 % in up to 4.5 % (simulated, see
# METHODOLOGY).
SEQUENTIAL_CONFIDENCE = 0.97
# The widths of intervals from fewer blocks are mostly chance.
FIRST_LOOK = 10
# The ratio of the numbers of blocks at two successive interim looks.
_STEP = 1.15


def interim_looks(most: int) -> list[int]:
    """The numbers of blocks after which a run may stop, up to `most`: 10, 12, 14, 16, …"""
    looks, blocks = [], FIRST_LOOK
    while blocks <= most:
        looks.append(blocks)
        blocks = round(blocks * _STEP)
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
