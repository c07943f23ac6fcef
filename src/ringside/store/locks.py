"""Who may add to a run: one process at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import sqlalchemy as sa

from ringside.errors import StoreError, UsageError
from ringside.store.connection import Database

# A reader that looks at the lock of a run has it for an instant, which is no other process at work.
_HOLD_PATIENCE_S = 0.3


class RunLocks:
    """Locks of a database's runs: files beside it, or locks of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._engine = database.engine
        self._path = database.path

    @contextmanager
    def hold(self, run_id: str) -> Iterator[None]:
        """Keep others from adding to a run. Raises UsageError where another process already does, StoreError
        where the database fails."""
        busy = _busy(run_id)
        if self._path is None:
            with self._own_lock(run_id) as is_ours:
                if not is_ours:
                    raise busy
                yield
            return
        lock = filelock.FileLock(self._lock_path(run_id))
        try:
            lock.acquire(timeout=_HOLD_PATIENCE_S)
        except filelock.Timeout:
            raise busy from None
        except OSError as error:
            raise StoreError(f"the lock {lock.lock_file} cannot be made: {error.strerror}") from error
        try:
            yield
        finally:
            Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def refuse_held(self, run_id: str) -> None:
        """Raise UsageError where another process is adding to the run; `hold` does so as well."""
        if self.is_held(run_id):
            raise _busy(run_id)

    def is_held(self, run_id: str) -> bool:
        """Whether another process of this machine is adding to the run. Writes nothing: the lock is not made,
        and given back at once. Raises StoreError where the database fails."""
        if self._path is None:
            return self._is_own_lock_held(run_id)
        try:
            file = os.open(self._lock_path(run_id), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
        return False

    @contextmanager
    def _own_lock(self, run_id: str) -> Iterator[bool]:
        """A lock of the database's own, which ends with its connection; whether it was free."""
        if self._engine.dialect.name != "postgresql":
            yield True
            return
        with self._database.own_errors():
            connection = self._engine.connect()
        try:
            with self._database.own_errors():
                # No transaction stays open for the length of a run.
                connection.execution_options(isolation_level="AUTOCOMMIT")
                query = sa.select(sa.func.pg_try_advisory_lock(_key(run_id)))
                is_free = bool(connection.execute(query).scalar())
            yield is_free
        finally:
            # Not to the pool, which would keep the lock.
            connection.invalidate()
            connection.close()

    def _is_own_lock_held(self, run_id: str) -> bool:
        if self._engine.dialect.name != "postgresql":
            return False
        # The upper and the lower half of the key.
        query = (
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
            "AND (classid::bigint << 32 | objid::bigint) = :key"
        )
        with self._database.own_errors(), self._engine.connect() as connection:
            return connection.execute(sa.text(query), {"key": _key(run_id)}).first() is not None

    def _lock_path(self, run_id: str) -> Path:
        assert self._path is not None
        return self._path.with_name(f"{self._path.name}-{run_id}.lock")


def _key(run_id: str) -> int:
    """A run's lock in PostgreSQL: 64 bits with a sign."""
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8], signed=True)


def _busy(run_id: str) -> UsageError:
    return UsageError(f"run {run_id} is in progress in another process: wait for its end")
