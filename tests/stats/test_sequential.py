import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.model.results import Interval
from ringside.stats.interval import CONFIDENCE
from ringside.stats.sequential import is_overstated, planned_looks
from tests.support.cases import cases


def test_looks_are_a_geometric_sequence() -> None:
    assert [look.blocks for look in planned_looks(100)] == [7, 9, 12, 16, 21, 28, 37, 49, 65, 86]
    assert [look.blocks for look in planned_looks(12)] == [7, 9, 12]
    assert [look.blocks for look in planned_looks(11)] == [7, 9]
    assert planned_looks(6) == []


def test_levels_by_hand() -> None:
    levels = [look.level for look in planned_looks(12)]
    assert levels == pytest.approx([0.02, 0.023, 0.0257])
    # Seven blocks have a p-value that the first look accepts.
    assert 1 / 64 <= levels[0] < 2 / 64


@given(st.integers(0, 2000))
def test_a_look_does_not_depend_on_how_long_the_run_may_become(most: int) -> None:
    assert planned_looks(most) == [look for look in planned_looks(5000) if look.blocks <= most]


def test_each_look_may_claim_what_is_beyond_doubt() -> None:
    """Up to 30,000 blocks each look adds more than one of 8,192 sign vectors, and all together less than 5
    %."""
    levels = [look.level for look in planned_looks(30_000)]
    assert all(later - earlier > 1 / 8192 for earlier, later in itertools.pairwise(levels))
    assert levels[-1] < 1 - CONFIDENCE


@pytest.mark.parametrize(
    ("low", "estimate", "high", "expected"),
    cases(__file__, "small_ratios_with_wide_intervals_are_overstated"),
)
def test_small_ratios_of_wide_intervals(low: float, estimate: float, high: float, *, expected: bool) -> None:
    assert is_overstated(Interval(estimate, low, high, 7)) is expected
    assert is_overstated(Interval(1 / estimate, 1 / high, 1 / low, 7)) is expected
    assert not is_overstated(Interval(estimate, None, None, 5))
