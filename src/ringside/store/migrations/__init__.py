"""Brings the tables of earlier versions up to those of this one, by Alembic.

`versions` has a revision for each change of the tables. A new store gets today's tables at once
(`store/tables.py`); a test checks that both ways lead to the same tables.
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

FOLDER = Path(__file__).parent


def upgrade(connection: sa.Connection, revision: str | None) -> None:
    """Bring a store's tables from this revision to the latest, within the connection's transaction. None:
    there are no tables yet."""
    # Heavy, and needed once in the life of a store.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    if revision is not None:
        command.stamp(config, revision)
    command.upgrade(config, "head")
