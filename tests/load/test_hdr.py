"""HdrHistogram's text of percentiles."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.load.result import hdr_text

MS = 1_000_000
COUNTS = st.lists(st.tuples(st.integers(1, 10**11), st.integers(1, 10**6)), min_size=1, max_size=80)


@given(COUNTS)
def test_percentiles_are_monotonic_and_totals_are_exact(pairs: list[tuple[int, int]]) -> None:
    counts = list(dict(pairs).items())
    text = hdr_text(counts, 5e6, 1e6)
    head, blank, *rows = text.splitlines()
    assert head.split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    assert blank == ""
    data = [[float(field) for field in row.split()] for row in rows if not row.startswith("#")]
    total = sum(count for _, count in counts)
    for before, after in pairwise(data):
        assert before[0] <= after[0]
        assert before[1] <= after[1]
        assert before[2] <= after[2]
    assert data[0][1] == 0
    assert data[-1][:3] == [pytest.approx(max(counts)[0] / 1e6, abs=1e-6), 1, total]
    assert len(data[-1]) == 3  # no 1/(1-1)
    for value, share, reached, inverse in data[:-1]:
        at_most = sum(count for value_ns, count in counts if value_ns / 1e6 <= value + 5e-7)
        assert reached == at_most or value == data[-1][0]
        assert reached / total >= share - 1e-12
        # The percentile has twelve decimals, so the inverse can be checked to these.
        assert inverse == pytest.approx(1 / (1 - share), rel=1e-3, abs=0.01)
    assert f"Total count    = {total:12d}]" in text
    assert re.search(r"^#\[Mean    = +5\.000000, StdDeviation   = +1\.000000\]$", text, re.MULTILINE)


def test_five_steps_to_each_halving_of_the_rest() -> None:
    """1 to 100 ms, one each. The levels are those of HdrHistogram's PercentileIterator with five ticks."""
    text = hdr_text([(value * MS, 1) for value in range(1, 101)], 50.5 * MS, 28.866 * MS)
    rows = [row.split() for row in text.splitlines()[2:] if not row.startswith("#")]
    levels = [float(row[1]) for row in rows]
    steps = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775, 0.8, 0.825, 0.85, 0.875)
    assert levels[: len(steps)] == pytest.approx(steps)
    assert rows[5] == ["50.000000", "0.500000000000", "50", "2.00"]
    assert rows[-1] == ["100.000000", "1.000000000000", "100"]
    assert len({len(line) for line in text.splitlines()[2:-4]}) == 1


@pytest.mark.parametrize(
    ("max_ns", "buckets"),
    [(1, 1), (2047, 1), (2048, 2), (4095, 2), (4096, 3), (MS, 10), (1 << 30, 21), (10**11, 27)],
)
def test_buckets_double(max_ns: int, buckets: int) -> None:
    """The first holds 2,048 values; an unequal count beside it must not matter."""
    text = hdr_text([(1, 7), (max_ns, 3)] if max_ns > 1 else [(1, 7)], 1, 1)
    assert re.search(rf"^#\[Buckets = +{buckets}, SubBuckets     = +2048\]$", text, re.MULTILINE)


def test_nothing_measured() -> None:
    text = hdr_text([], 0, 0)
    assert "Total count    =            0" in text
    assert "Buckets =            1" in text
