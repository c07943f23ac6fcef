from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.stats import signed_rank
from ringside.stats.signed_rank import cut, middle, p_value, tail

LOGS = st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=30)


def test_the_distribution_by_all_signs() -> None:
    n = 7
    sums = [
        sum(rank for rank, up in enumerate(signs, 1) if up) for signs in itertools.product((0, 1), repeat=n)
    ]
    for w in range(n * (n + 1) // 2 + 1):
        assert tail(w, n) == pytest.approx(sum(one <= w for one in sums) / 2**n)
    assert tail(-1, n) == 0
    assert tail(1000, n) == 1


def test_exact_and_approximate_distribution_meet() -> None:
    for w in (600, 700, 800, 915):
        assert tail(w, 61) == pytest.approx(tail(w - 15, 60), rel=0.25)
    assert cut(61) is not None


@given(LOGS)
def test_p_is_small_exactly_where_the_interval_leaves_out_0(logs: list[float]) -> None:
    found, p = middle(logs), p_value(logs)
    assert 0 <= p <= 1
    if found.low is not None and found.high is not None:
        assert (p <= 0.05) == (found.low > 0 or found.high < 0)
    assert p == p_value([-value for value in logs])


@given(LOGS, st.floats(0.8, 0.999))
def test_more_confidence_is_no_narrower(logs: list[float], confidence: float) -> None:
    narrow, wide = middle(logs, confidence), middle(logs, 0.9995)
    assert narrow.estimate == wide.estimate
    if wide.low is not None and wide.high is not None:
        assert narrow.low is not None
        assert narrow.high is not None
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_many_values_are_counted_as_they_would_be_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(5)
    logs = [round(dice.gauss(0.02, 0.1), 2) for _ in range(300)]
    written, p = middle(logs), p_value(logs)
    monkeypatch.setattr(signed_rank, "_WRITTEN", 10)
    counted = middle(logs)
    assert counted.estimate == pytest.approx(written.estimate, abs=1e-12)
    assert counted.low == pytest.approx(written.low, abs=1e-12)
    assert counted.high == pytest.approx(written.high, abs=1e-12)
    assert p_value(logs) == p


def test_nothing_and_what_is_not_finite() -> None:
    assert p_value([]) == 1
    with pytest.raises(ValueError, match="finite"):
        middle([])
    with pytest.raises(ValueError, match="finite"):
        middle([1.0, float("nan")])
