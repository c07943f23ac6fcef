"""The tables of a store (docs/STORE.md)."""

from __future__ import annotations

from functools import cache

import sqlalchemy as sa

from ringside.model.results import REPEATABLE

FORMAT = 1
# Revisions of the tables, the latest last. 0001 had no index `trial_once`; since 0003, samples are written by
# column, which earlier versions cannot read (`store/samples.py` reads both).
REVISIONS = ("0001", "0002", "0003")

# SQLite numbers rows itself only in a column of this exact type, which holds 64 bits there.
_LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
METADATA = sa.MetaData()
# Named after the library that once changed the tables: stores of that time say their revision here.
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


@cache
def insert_trial_text() -> str:
    """For SQLite's own driver, which needs a fraction of the time that SQLAlchemy takes."""
    from sqlalchemy.dialects import sqlite  # here, since most commands write no trial

    columns = [column.name for column in TRIAL.c if not column.primary_key]
    return str(INSERT_TRIAL.compile(dialect=sqlite.dialect(paramstyle="named"), column_keys=columns))


def revision(connection: sa.Connection) -> str:
    """The revision of a store's tables. Stores of the first versions do not say it."""
    inspector = sa.inspect(connection)
    if REVISION.name in inspector.get_table_names():
        return str(connection.execute(sa.select(REVISION.c.version_num)).scalar())
    return "0002" if ONCE.name in {index["name"] for index in inspector.get_indexes(TRIAL.name)} else "0001"


def _name_condition(connection: sa.Connection) -> None:
    """Where the index holds, in the words of this database: SQLAlchemy imports each dialect that is named."""
    ONCE.dialect_kwargs[f"{connection.dialect.name}_where"] = _counts


def create(connection: sa.Connection) -> None:
    """Make the tables of a new store, within the connection's transaction."""
    _name_condition(connection)
    METADATA.create_all(connection)
    connection.execute(META.insert().values(key="format", value=str(FORMAT)))
    connection.execute(REVISION.insert().values(version_num=REVISIONS[-1]))


def upgrade(connection: sa.Connection) -> None:
    """Bring a store's tables to the latest revision, within the connection's transaction."""
    if revision(connection) == "0001":
        cell = list(ONCE.columns)
        twice = sa.select(*cell).where(_counts).group_by(*cell).having(sa.func.count() > 1)
        # A store that holds duplicates stays without the index.
        if connection.execute(twice.limit(1)).first() is None:
            _name_condition(connection)
            ONCE.create(connection)
    REVISION.create(connection, checkfirst=True)
    connection.execute(REVISION.delete())
    connection.execute(REVISION.insert().values(version_num=REVISIONS[-1]))
