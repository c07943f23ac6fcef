"""Who may add to a run: one process at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ringside.errors import StoreError, UsageError
from ringside.files import FileLock, is_locked
from ringside.model.results import Run
from ringside.store.connection import Database

# A process that looks whether a run is in progress has its lock for an instant.
_HOLD_PATIENCE_S = 0.3


class LockedDatabase(Database):
    """A database with locks of runs and of suites: files beside it, or locks of its own (PostgreSQL). One in
    memory has none."""

    def __init__(self, where: str | Path | None, *, create: bool = True, read_only: bool = False) -> None:
        super().__init__(where, create=create, read_only=read_only)
        # By run: the lock of a file, or the connection to PostgreSQL that has it; None where it was lost.
        self._held: dict[str, Any] = {}

    @contextmanager
    def hold(self, run: Run | str) -> Iterator[None]:
        """Keep others from adding to a run, or to the suite of that id. Raises UsageError where another
        process already does, StoreError where the database fails."""
        run_id = run if isinstance(run, str) else run.id
        try:
            with self.transaction():
                is_ours = self._take(run_id)
            if not is_ours:
                raise _busy(run_id)
            yield
        finally:
            self._give_back(run_id)

    def check_held(self, run_id: str) -> None:
        """Before a write to a run that this process holds: have the lock again where it went away, with a
        connection of the database's or with the file. Raises StoreError where another process has it by
        now."""
        if run_id not in self._held:
            return
        held = self._held[run_id]
        if isinstance(held, FileLock):
            # The store, too, may have been moved (`Database.writing`).
            is_lost = held.path != self._path(run_id) or held.is_lost()
        else:
            is_lost = held is not self.connection
        if is_lost and not self._take(run_id):
            raise StoreError(
                f"the lock of run {run_id} was lost, and another process has it: nothing more is written"
            )

    def _take(self, run_id: str) -> bool:
        """Whether the lock could be had."""
        if self.is_postgresql:
            query = "SELECT pg_try_advisory_lock(?) AS is_ours"
            (row,) = self.execute(query, (_key(run_id),))
            self._held[run_id] = self.connection if row["is_ours"] else None
        elif self.path is None:
            return True
        else:
            if before := self._held.pop(run_id, None):
                before.release(removes=True)
            lock = FileLock(self._path(run_id))
            try:
                self._held[run_id] = lock if lock.acquire(_HOLD_PATIENCE_S) else None
            except OSError as error:
                raise StoreError(f"the lock {lock.path} cannot be made: {error.strerror}") from error
        return self._held[run_id] is not None

    def _give_back(self, run_id: str) -> None:
        held = self._held.pop(run_id, None)
        if isinstance(held, FileLock):
            held.release(removes=True)
        elif held:
            # A connection that was lost has it no more.
            with suppress(StoreError), self.transaction():
                self.execute("SELECT pg_advisory_unlock(?)", (_key(run_id),))

    def refuse_held(self, run_id: str) -> None:
        """Raise UsageError where another process is adding to the run; `hold` does so as well."""
        if self.is_held(run_id):
            raise _busy(run_id)

    def is_held(self, run_id: str) -> bool:
        """Whether another process of this machine is adding to the run. Writes nothing: the lock is not made,
        and given back at once. Raises StoreError where the database fails."""
        if not self.is_postgresql:
            return self.path is not None and is_locked(self._path(run_id))
        # The upper and the lower half of the key.
        query = (
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
            "AND (classid::bigint << 32 | objid::bigint) = ?"
        )
        with self.transaction():
            return bool([*self.execute(query, (_key(run_id),))])

    def _path(self, run_id: str) -> Path:
        path = self.path
        assert path is not None
        return path.with_name(f"{path.name}-{run_id}.lock")


def _key(run_id: str) -> int:
    """A run's lock in PostgreSQL: 64 bits with a sign."""
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8], signed=True)


def _busy(run_id: str) -> UsageError:
    return UsageError(f"run {run_id} is in progress in another process: wait for its end")
