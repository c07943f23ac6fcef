"""Run by Alembic: applies the revisions in `versions` to the connection that `upgrade` gave it."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
