"""The tables of a store (docs/STORE.md)."""

from __future__ import annotations

import sqlalchemy as sa

from ringside.model.results import REPEATABLE

FORMAT = 1
# Changes of the tables that earlier versions can be brought through, the latest last (`store/migrations`).
REVISIONS = ("0001", "0002", "0003")

# SQLite numbers rows itself only in a column of this exact type, which holds 64 bits there.
_LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
METADATA = sa.MetaData()
# As Alembic has it.
REVISION = sa.Table(
    "alembic_version",
    METADATA,
    sa.Column("version_num", sa.String(32), primary_key=True),
)
META = sa.Table(
    "meta",
    METADATA,
    sa.Column("key", sa.String(32), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
RUN = sa.Table(
    "run",
    METADATA,
    sa.Column("id", sa.String(120), primary_key=True),
    sa.Column("experiment", sa.Text, nullable=False),
    sa.Column("started_at", sa.String(40), nullable=False),
    sa.Column("ended_at", sa.String(40)),
    sa.Column("seed", _LONG, nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
)
SOURCE = sa.Table(
    "source",
    METADATA,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
TRIAL = sa.Table(
    "trial",
    METADATA,
    sa.Column("id", _LONG, primary_key=True),
    sa.Column("run_id", sa.ForeignKey("run.id"), nullable=False, index=True),
    sa.Column("block", sa.Integer, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("contender", sa.Text, nullable=False),
    sa.Column("point", sa.Text, nullable=False),
    sa.Column("outcome", sa.String(20), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Column("started_at", sa.String(40), nullable=False),
    sa.Column("cpus", sa.Text, nullable=False),
    sa.Column("outcome_line", sa.Text, nullable=False),
    sa.Column("phases", sa.Text, nullable=False),
    sa.Column("marks", sa.Text, nullable=False),
    sa.Column("missing", sa.Text, nullable=False),
)
# A cell has one trial in a block, besides those that are to be repeated.
_counts = TRIAL.c.outcome.not_in(sorted(str(outcome) for outcome in REPEATABLE))
ONCE = sa.Index(
    "trial_once",
    TRIAL.c.run_id,
    TRIAL.c.block,
    TRIAL.c.contender,
    TRIAL.c.point,
    unique=True,
    sqlite_where=_counts,
    postgresql_where=_counts,
)
TIMELINE = sa.Table(
    "timeline",
    METADATA,
    sa.Column("trial_id", sa.ForeignKey("trial.id"), primary_key=True),
    sa.Column("samples", sa.Text, nullable=False),
)

# Made once: with the values in it, it would be compiled again for each trial.
INSERT_TRIAL = TRIAL.insert()
INSERT_TIMELINE = TIMELINE.insert()
