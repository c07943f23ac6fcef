from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside import units as numbers
from ringside.model.results import Interval
from ringside.text import one_line


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1, "1.00"), (1.2345, "1.23"), (12.345, "12.3"), (123.45, "123"), (1234.5, "1,230"),
        (0.012345, "0.0123"), (999.9, "1,000"), (0.9999, "1.000"), (-5.678, "-5.68"), (1e6, "1,000,000"),
    ],
)  # fmt: skip
def test_three_digits_that_count(value: float, text: str) -> None:
    assert numbers.significant(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (123.4, "ns", "123 ns"), (1234, "ns", "1.23 µs"), (0.5, "ns", "0.500 ns"), (2.5e9, "ns", "2.50 s"),
        (0.0123, "s", "12.3 ms"), (90, "s", "90.0 s"), (3 << 20, "B", "3.00 MiB"),
        (17, "", "17"), (17.5, "", "17.5"),
    ],
)  # fmt: skip
def test_units_scale(value: float, unit: str, text: str) -> None:
    assert numbers.quantity(value, unit) == text


def test_an_interval_keeps_the_estimates_scale() -> None:
    assert numbers.with_interval(Interval(1100, 950, 1200, 7), "ns") == "1.10 µs (0.950–1.20)"
    assert numbers.with_interval(Interval(1100, None, None, 2), "ns") == "1.10 µs"
    assert numbers.ratio(Interval(1.63, 1.55, 1.74, 7)) == "1.63 (1.55–1.74)"


@given(st.floats(1e-6, 1e12))
def test_what_is_written_is_near_what_is_meant(value: float) -> None:
    assert float(numbers.significant(value).replace(",", "")) == pytest.approx(value, rel=0.006)


@given(st.text())
def test_one_line_is_one_harmless_line(text: str) -> None:
    found = one_line(text)
    assert len(found.splitlines()) <= 1
    assert len(found) <= 400
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in found)
    assert "\u202e" not in found
