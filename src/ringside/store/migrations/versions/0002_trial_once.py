"""A cell has one trial in a block, besides those that are to be repeated."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_COLUMNS = ("run_id", "block", "contender", "point")
_COUNTS = sa.column("outcome").not_in(["interrupted", "probe-failed"])


def upgrade() -> None:
    cell: list[sa.ColumnClause[object]] = [sa.column(name) for name in _COLUMNS]
    twice = sa.select(*cell).select_from(sa.table("trial")).where(_COUNTS).group_by(*cell)
    # A store that holds duplicates stays without the index.
    if op.get_bind().execute(twice.having(sa.func.count() > 1).limit(1)).first() is None:
        op.create_index(
            "trial_once", "trial", _COLUMNS, unique=True, sqlite_where=_COUNTS, postgresql_where=_COUNTS
        )
