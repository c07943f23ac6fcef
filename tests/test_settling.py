from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats.settling import interpolated, rate_settled_at, settled_at

TIMES = [float(t) for t in range(11)]


def test_memory_that_grows_for_a_while() -> None:
    values = [1, 2, 4, 8, 9.9, 10, 10, 10.1, 10, 10, 10]
    assert settled_at(TIMES, values, end=10) == 4.0
    assert settled_at(TIMES, values, end=10, tolerance=0.5) == 3.0


def test_what_still_moves_has_not_settled() -> None:
    assert settled_at(TIMES, [1.1**t for t in range(11)], end=10) is None
    assert settled_at(TIMES, [5.0] * 10 + [9.0], end=10) is None


def test_a_value_holds_until_the_next() -> None:
    # Nothing was seen in the last tenth: it was as before.
    assert settled_at([0.0, 2.0], [1.0, 7.0], end=10) == 2.0
    assert settled_at([0.0], [1.0], end=10) == 0.0
    assert settled_at([], [], end=10) is None
    assert settled_at([5.0], [1.0], end=4) is None
    with pytest.raises(ValueError, match="1 times and 2 values"):
        settled_at([1.0], [1.0, 2.0], end=3)


def test_a_rate_settles_where_its_twentieth_begins() -> None:
    # Two seconds at five a second, then one a second.
    totals = [min(t, 2) * 5 + max(0.0, t - 2) for t in TIMES]
    assert rate_settled_at(TIMES, totals, begin=0, end=10) == 2.0
    fine = [t / 4 for t in range(41)]
    assert rate_settled_at(fine, [t * t for t in fine], begin=0, end=10) is None
    assert rate_settled_at([1.0], [1.0], begin=0, end=10) is None
    assert rate_settled_at(TIMES, totals, begin=10, end=10) is None


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40), st.floats(0.001, 0.5))
def test_from_there_on_all_lie_within_the_tolerance(values: list[float], tolerance: float) -> None:
    times = [float(t) for t in range(len(values))]
    found = settled_at(times, values, end=float(len(values)), tolerance=tolerance)
    if found is not None:
        rest = values[times.index(found) :]
        assert max(rest) - min(rest) <= 2 * tolerance * max(rest) + 1e-9


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(-100, 100)), min_size=1, max_size=20, unique_by=lambda p: p[0]
    ),
    st.floats(-10, 110),
)
def test_between_neighbours_lies_what_is_between_their_values(
    points: list[tuple[float, float]], at: float
) -> None:
    points.sort()
    times, values = [t for t, _ in points], [v for _, v in points]
    found = interpolated(times, values, at)
    if at <= times[0]:
        assert found == values[0]
    elif at >= times[-1]:
        assert found == values[-1]
    else:
        (_, low), (_, high) = next(
            pair for pair in itertools.pairwise(points) if pair[0][0] <= at <= pair[1][0]
        )
        assert min(low, high) - 1e-6 <= found <= max(low, high) + 1e-6
