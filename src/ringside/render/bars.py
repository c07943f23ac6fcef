"""Bars of a terminal, in eighths of a character."""

from __future__ import annotations

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, width: int) -> str:
    """A bar of up to `width` characters; any share above 0 shows (rich.bar.Bar rounds it down to nothing)."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
