"""The tables of the first version."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "meta",
        sa.Column("key", sa.String(32), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(120), primary_key=True),
        sa.Column("experiment", sa.Text, nullable=False),
        sa.Column("started_at", sa.String(40), nullable=False),
        sa.Column("ended_at", sa.String(40)),
        sa.Column("seed", _LONG, nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
    )
    op.create_table(
        "source",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )
    texts = ("detail", "started_at", "cpus", "outcome_line", "phases", "marks", "missing")
    op.create_table(
        "trial",
        sa.Column("id", _LONG, primary_key=True),
        sa.Column("run_id", sa.String(120), sa.ForeignKey("run.id"), nullable=False, index=True),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("contender", sa.Text, nullable=False),
        sa.Column("point", sa.Text, nullable=False),
        sa.Column("outcome", sa.String(20), nullable=False),
        *(
            sa.Column(name, sa.String(40) if name == "started_at" else sa.Text, nullable=False)
            for name in texts
        ),
    )
    op.create_table(
        "timeline",
        sa.Column("trial_id", _LONG, sa.ForeignKey("trial.id"), primary_key=True),
        sa.Column("samples", sa.Text, nullable=False),
    )
