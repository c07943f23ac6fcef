"""HdrHistogram's text of percentiles, as its plotters read it: a line for each percentile, five to each
halving of what is left up to 100 %, values in milliseconds (HdrHistogram,
AbstractHistogram.outputPercentileDistribution and PercentileIterator).

The Python package `hdrhistogram` (0.10.8) writes other figures than the Java library: percentiles at other
levels (its steps shrink at each line instead of at each halving), whole microseconds only, and a standard
deviation in another unit than the rest. It also needs setuptools and pbr.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

_TICKS_PER_HALF = 5
# Of a histogram with three significant digits.
_SUB_BUCKETS = 2048
_DECIMALS = 6


def text(counts: Sequence[tuple[int, int]], mean_ns: float, stdev_ns: float) -> str:
    """The text of a histogram of (value in nanoseconds, count) pairs."""
    ordered = sorted((value_ns, count) for value_ns, count in counts if count > 0)
    total = sum(count for _, count in ordered)
    lines = [
        "{:>12} {:>14} {:>10} {:>14}".format("Value", "Percentile", "TotalCount", "1/(1-Percentile)"),
        "",
    ]
    for value, level, reached in _levels(ordered, total):
        line = f"{value / 1e6:12.{_DECIMALS}f} {level:14.12f} {reached:10d}"
        lines.append(line if level >= 1 else f"{line} {1 / (1 - level):14.2f}")
    max_ns = ordered[-1][0] if ordered else 0
    lines += [
        f"#[Mean    = {mean_ns / 1e6:12.{_DECIMALS}f}, StdDeviation   = {stdev_ns / 1e6:12.{_DECIMALS}f}]",
        f"#[Max     = {max_ns / 1e6:12.{_DECIMALS}f}, Total count    = {total:12d}]",
        f"#[Buckets = {_buckets(max_ns):12d}, SubBuckets     = {_SUB_BUCKETS:12d}]",
    ]
    return "\n".join(lines) + "\n"


def _levels(ordered: Sequence[tuple[int, int]], total: int) -> Iterator[tuple[int, float, int]]:
    """(value, percentile from 0 to 1, requests up to this value) of each line; the last is at 1."""
    level, reached = 0.0, 0
    for value, count in ordered:
        reached += count
        while 100 * reached / total >= level:
            yield value, level / 100, reached
            halvings = math.floor(math.log2(100 / (100 - level))) + 1
            level += 100 / (_TICKS_PER_HALF * 2**halvings)
            if reached == total:
                break
    if ordered:
        yield ordered[-1][0], 1.0, total


def _buckets(max_ns: int) -> int:
    """How many buckets a histogram of three digits has up to this value: the first ends below 2,048 ns, each
    other one holds a doubling."""
    return max(1, max_ns.bit_length() - _SUB_BUCKETS.bit_length() + 2)
