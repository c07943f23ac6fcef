"""Shares, margins, goals and durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.catalogue.quantities import goal, margin, seconds, share
from ringside.model.design import Goal


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10s", 10),
        (" 90 ", 90),
        ("1.5", 1.5),
        ("500ms", 0.5),
        ("250us", 0.000_25),
        ("1m30s", 90),
        ("2h", 7200),
        ("0s", 0),
    ],
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_the_parts_of_a_duration_are_added(hours: int, minutes: int, whole: int, ms: int) -> None:
    expected = 3600 * hours + 60 * minutes + whole + ms / 1000
    assert seconds(f"{hours}h{minutes}m{whole}s{ms}ms") == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "s", "soon", "-1", "1e9", "30s1m", "nan", "1 s", "٣s", "1s oops 2s", "1M", "5%"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: write it as 10s, 500ms or 1m30s"):
        seconds(text)


@pytest.mark.parametrize(("text", "value"), [("2%", 0.02), (" 0.5 % ", 0.005), ("100%", 1.0)])
def test_shares(text: str, value: float) -> None:
    assert share(text) == value


@pytest.mark.parametrize("text", ["", "2", "0%", "101%", "nan%", "inf%", "x%", "-1%", "2%%", "2% of all"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(ValueError, match="as a share from 0 to 100 %, like 2%"):
        share(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("5%", 0.05), ("0.04", 0.04), (" 3 % ", 0.03), ("0", 0.0), ("0%", 0.0), ("1", 1.0), ("100%", 1.0)],
)
def test_margins(text: str, value: float) -> None:
    assert margin(text) == value


@pytest.mark.parametrize(
    "text", ["", "%", "5", "-1%", "101%", "1.01", "nan", "inf", "x", "5%%", "5% wide", "5 percent"]
)
def test_what_is_no_margin(text: str) -> None:
    with pytest.raises(ValueError, match="as a share from 0 to 100 %, like 5%"):
        margin(text)


@pytest.mark.parametrize(("text", "value"), [("decided", "decided"), ("end", "end"), ("2%", 0.02)])
def test_goals(text: str, value: Goal) -> None:
    assert goal(text) == value


@pytest.mark.parametrize("text", ["", "0.02", "0%", "Decided", "soon", "end ", "101%"])
def test_what_is_no_goal(text: str) -> None:
    with pytest.raises(ValueError, match=f"write '{text}' as decided, end, or a share like 2%"):
        goal(text)


@given(st.text(max_size=20))
def test_any_other_text_is_refused_with_a_reason(text: str) -> None:
    for read in (seconds, share, margin, goal):
        reason = ""
        try:
            read(text)
        except ValueError as error:
            reason = str(error)
        assert "\n" not in reason
