import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside import units
from ringside.model.results import Interval
from ringside.units import margin, seconds
from tests.support.cases import cases


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1, "1.00"), (1.2345, "1.23"), (12.345, "12.3"), (123.45, "123"), (1234.5, "1,230"),
        (0.012345, "0.0123"), (999.9, "1,000"), (0.9999, "1.000"), (-5.678, "-5.68"), (1e6, "1,000,000"),
    ],
)  # fmt: skip
def test_three_significant_digits(value: float, text: str) -> None:
    assert units.significant(value) == text


@pytest.mark.parametrize(("value", "unit", "text"), cases(__file__, "units_scale"))
def test_units_scale(value: float, unit: str, text: str) -> None:
    assert units.quantity(value, unit) == text


def test_an_interval_has_the_scale_and_the_decimals_of_its_estimate() -> None:
    assert units.with_interval(Interval(1100, 950, 1200, 7), "ns") == "1.10 µs (0.95–1.20)"
    assert units.with_interval(Interval(1100, None, None, 2), "ns") == "1.10 µs"
    assert units.with_interval(Interval(12_345, 9_876, 13_579, 7), "/s") == "12,300 /s (9,900–13,600)"
    assert units.with_interval(Interval(0.0, 0.0, 0.0123, 7), "s") == "0 µs (0–12,300)"


@pytest.mark.parametrize(("low", "estimate", "high", "text"), cases(__file__, "digits_of_ratios"))
def test_ratios_have_consistent_digits(low: float, estimate: float, high: float, text: str) -> None:
    assert units.ratio(Interval(estimate, low, high, 7)) == text


def test_ratios_shares_counts_and_ranks() -> None:
    assert units.ratio(Interval(1.6345, None, None, 3)) == "1.63"
    assert units.percent(0.194) == "19 %"
    assert (units.count(1, "block"), units.count(1200, "trial")) == ("1 block", "1,200 trials")
    assert (units.rank_interval((1, 1)), units.rank_interval((2, 14))) == ("1", "2–14")


@given(st.floats(1e-6, 1e12))
def test_what_is_written_is_near_what_is_meant(value: float) -> None:
    assert float(units.significant(value).replace(",", "")) == pytest.approx(value, rel=0.006)


@given(st.floats(1e-3, 1e3), st.floats(1, 3), st.floats(1, 3))
def test_no_end_of_a_ratio_is_written_as_0(estimate: float, below: float, above: float) -> None:
    _, ends = units.ratio_parts(Interval(estimate, estimate / below, estimate * above, 7))
    low, high = (float(end.replace(",", "")) for end in ends.split("–"))
    assert 0 < low <= high


@pytest.mark.parametrize(
    ("low", "estimate", "high"), [(0.0123, 0.0, 1.5), (1.056, 1.2, 1.5), (-0.4, 0.0, 12.25), (0.0, 0.0, 0.5)]
)
def test_both_ends_of_an_interval_have_the_same_decimals(low: float, estimate: float, high: float) -> None:
    text = units.with_interval(Interval(estimate, low, high, 7), "")
    ends = re.fullmatch(r"\S+ \((.+?)–(.+)\)", text)
    decimals = {len(end.partition(".")[2]) for end in ends.groups() if end != "0"}
    assert len(decimals) == 1, text


@pytest.mark.parametrize(
    ("value", "text"), [(0.4, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")]
)
def test_how_long_something_takes(value: float, text: str) -> None:
    assert units.duration(value) == text


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (seconds, "10s", 10), (seconds, "90", 90), (seconds, "1.5", 1.5), (seconds, "500ms", 0.5),
        (seconds, "250us", 0.000_25), (seconds, "1m30s", 90), (seconds, "2h", 7200), (seconds, "0s", 0),
        (margin, "5%", 0.05), (margin, "0.04", 0.04), (margin, "3 %", 0.03), (margin, "0", 0.0),
        (margin, "0%", 0.0), (margin, "1", 1.0), (margin, "100%", 1.0),
    ],
)  # fmt: skip
def test_durations_and_margins(read: Callable[[str], float], text: str, value: float) -> None:
    assert read(text) == pytest.approx(value)


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_the_parts_of_a_duration_are_added(hours: int, minutes: int, whole: int, ms: int) -> None:
    expected = 3600 * hours + 60 * minutes + whole + ms / 1000
    assert seconds(f"{hours}h{minutes}m{whole}s{ms}ms") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("read", "texts", "message"),
    [
        (
            seconds,
            ["", "s", "soon", "-1", "1e9", "30s1m", "nan", "1 s", "٣s", "1s oops 2s", "1M", "5%"],
            "is not a duration: write it as 10s, 500ms or 1m30s",
        ),
        (
            margin,
            ["", "%", "5", "-1%", "101%", "1.01", "nan", "inf", "x", "5%%", "5% wide", "5 percent"],
            "as a share from 0 to 100 %, like 5%",
        ),
    ],
)
def test_other_texts_are_refused(read: Callable[[str], float], texts: list[str], message: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=message):
            read(text)


@given(st.text(max_size=20))
def test_any_other_text_is_refused_with_a_reason(text: str) -> None:
    for read in (seconds, margin):
        reason = ""
        try:
            read(text)
        except ValueError as error:
            reason = str(error)
        assert "\n" not in reason
