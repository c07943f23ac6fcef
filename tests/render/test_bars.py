"""Bars of a terminal."""

from __future__ import annotations

import pytest

from ringside.render.bars import bar


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
