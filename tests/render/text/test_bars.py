"""Bars of a terminal, and bands of latency."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.render.text.terminal import band_counts, band_edges, band_label, bar, shade


@pytest.mark.parametrize(
    ("share", "width", "drawn"),
    [
        (0.0, 8, ""),
        (1e-9, 8, "▏"),
        (0.5, 8, "████"),
        (0.5, 3, "█▌"),
        (0.99, 8, "███████▉"),
        (1.0, 2, "██"),
    ],
)
def test_bars(share: float, width: int, drawn: str) -> None:
    assert bar(share, width) == drawn


@given(st.floats(1, 1e12), st.floats(1, 1e12), st.integers(1, 20), st.booleans())
def test_bands_hold_all_and_are_few(first: float, second: float, max_bands: int, fine: bool) -> None:
    low, high = min(first, second), max(first, second)
    edges = band_edges(low, high, max_bands, fine=fine)
    assert 1 <= len(edges) <= max_bands
    assert edges == sorted(set(edges))
    assert edges[-1] >= high * (1 - 1e-9)
    assert sum(band_counts([(low, 2), (high, 3)], edges)) == 5


def test_bands_are_round() -> None:
    coarse = band_edges(15e3, 90e3, 12, fine=False)
    assert [band_label(edge) for edge in coarse] == ["20 µs", "50 µs", "100 µs"]
    fine = band_edges(15e3, 30e3, 12)
    assert [band_label(edge) for edge in fine] == ["16 µs", "20 µs", "25 µs", "32 µs"]


def test_a_value_at_an_edge_is_below_it() -> None:
    assert band_counts([(1, 2), (10, 3), (11, 5), (101, 7)], [10, 100]) == [5, 12]


def test_shades() -> None:
    assert [shade(count, 1000) for count in (0, 1, 10, 100, 1000)] == [0, 1, 2, 3, 4]
    assert shade(0, 0) == 0
