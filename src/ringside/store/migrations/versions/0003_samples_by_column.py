"""Samples are written by column, which earlier versions cannot read; the tables stay as they are, and rows
with samples of earlier versions too: `store/samples.py` reads both."""

from __future__ import annotations

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Nothing but the number changes."""
