"""An open database of runs: SQLite by default, another by URL (docs/STORE.md)."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from ringside.errors import NoStoreError, StoreError
from ringside.store import tables
from ringside.store.tables import FORMAT, META, REVISIONS, RUN, TRIAL
from ringside.text import one_line

# Of the lock that those have who begin runs, or make tables, in PostgreSQL.
_WRITERS_KEY = 0x52696E6773696465

# Of the write-ahead log, some 16 MB, before it is copied into the file: the trial at which that happens waits
# for the disk.
_LOG_PAGES = 4000

# So long others may take to write.
_PATIENCE_S = 10.0

# A server that accepts connections and does not answer, or whose network is gone, would be waited for without
# an end: by default libpq has no limit, and Linux tries to deliver for a quarter of an hour. Parameters of
# libpq's; a URL may have others.
_CONNECT_S = 10
_SILENCE_S = 60

# What to do about SQLite's errors.
_HINTS = {
    "database or disk is full": "free some space",
    "disk I/O error": "the disk fails, is full, or a limit on the size of files (ulimit -f) is reached",
    "file is not a database": "name another one with --store",
    "unable to open database file": "make its folder writable, with room, or name another one with --store",
    "attempt to write a readonly database": "make it writable or name another one with --store",
    "database is locked": "another program has it open: end that, or name another one with --store",
    "database disk image is malformed": "it is damaged: `sqlite3 FILE .recover` saves what can be read",
}


class Database:
    """A database whose tables are those of a store of this format. `path`: its file, where it has one."""

    def __init__(self, where: str | Path, *, create: bool = True, read_only: bool = False) -> None:
        """`where`: a path of an SQLite file or a database URL of SQLAlchemy's. `create`: make the tables
        where there are none; without it, an empty database is an error. A database of something else is one
        in any case, and stays as it is. `read_only`: the database refuses to write, and no file is made
        beside it. Raises StoreError, NoStoreError where there is nothing to read."""
        create = create and not read_only
        self._location = str(where)
        self.path = None if "://" in self._location else Path(self._location)
        # As it is shown: without a password.
        self.where = self._location
        self._creates = create
        if self.path is not None:
            if self.path.is_dir():
                raise StoreError(f"the store {self.where} is a folder: name a file in it")
            if not create and not self.path.exists():
                raise self.empty()
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"the store's folder {self.path.parent} cannot be made: {error.strerror}"
                ) from error
        try:
            if self.path is None:
                url = _with_driver(sa.engine.make_url(self._location))
                self.where = str(url)
                self.engine = sa.create_engine(url, connect_args=_limits(url))
                if url.get_backend_name() == "sqlite":
                    sa.event.listen(self.engine, "connect", _tune_sqlite)
                elif read_only:
                    self.engine = self.engine.execution_options(postgresql_readonly=True)
            else:
                self.engine = _sqlite(self.path, create=create, read_only=read_only)
        except ModuleNotFoundError as error:
            raise StoreError(
                f"the store {self.where} needs the Python package {error.name}"
                + (": install ringside[postgresql]" if error.name == "psycopg" else "")
            ) from error
        except sa.exc.NoSuchModuleError as error:
            raise StoreError(
                f"the store {self.where} cannot be opened: its kind is not known; name a file, or postgresql://…"
            ) from error
        except (sa.exc.ArgumentError, ImportError) as error:
            raise StoreError(f"the store {self.where} cannot be opened: {_first_line(error)}") from error
        with self._begin() as connection:
            self._check(connection, create=create)
        if create and self.engine.dialect.name == "sqlite":
            # Kept in the file itself, so not before it is known to be ours. WAL and NORMAL: a commit outlives
            # ringside's own death; a power cut may take the last trials, whole.
            with self._begin() as connection:
                _write_ahead(connection)
        # One connection for all trials: opening one for each costs more than the commit.
        with self.own_errors():
            self._connection = self.engine.connect()
        self._file = identity(self.path)

    def _check(self, connection: sa.Connection, *, create: bool) -> None:
        """Refuse what is no store of this format, before anything is written to it."""
        names = _table_names(connection)
        if not names and not create:
            raise self.empty()
        if not names:
            begin_writing(connection)
            # Another process may have made them meanwhile.
            if not (names := _table_names(connection)):
                tables.create(connection)
                return
        if not {META.name, RUN.name, TRIAL.name} <= names:
            raise StoreError(f"{self.where} is a database of something else: name another store with --store")
        store_format = connection.execute(sa.select(META.c.value).where(META.c.key == "format")).scalar()
        revision = tables.revision(connection)
        for what, value, known in (
            ("format", store_format, (str(FORMAT),)),
            ("tables of revision", revision, REVISIONS),
        ):
            if value not in known:
                raise StoreError(
                    f"the store {self.where} has {what} {one_line(str(value), 20)}, this ringside knows "
                    f"{known[-1]}: use the ringside that wrote it, or another store with --store"
                )
        if create and revision != REVISIONS[-1]:
            begin_writing(connection)
            tables.upgrade(connection)

    def empty(self) -> NoStoreError:
        return NoStoreError(f"the store {self.where} holds no run yet: `ringside run showdown` makes one")

    def close(self) -> None:
        self._connection.close()
        self.engine.dispose()

    @contextmanager
    def own_errors(self) -> Iterator[None]:
        """Where the database fails, the error is a StoreError of one line."""
        try:
            yield
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            raise self._error(error) from error

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        try:
            with self.own_errors(), self.engine.begin() as connection:
                yield connection
        # SQLite's own words about a damaged file may be no text.
        except UnicodeDecodeError as error:
            raise self._error(error) from error

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        with self.own_errors(), self._connection.begin():
            yield self._connection

    @contextmanager
    def reading(self, what: str) -> Iterator[sa.Connection]:
        """A transaction that reads `what`, which may be anything: others write files as well."""
        try:
            with self.transaction() as connection:
                yield connection
        except (ValueError, TypeError, OverflowError) as error:
            raise StoreError(f"{what} in {self.where} cannot be read: {_first_line(error)}") from error

    def _error(self, error: Exception) -> StoreError | NoStoreError:
        # A file that is only read may have been there a moment ago.
        if self.path is not None and not self._creates and not self.path.exists():
            return self.empty()
        reason = _first_line(getattr(error, "orig", None) or error)
        hint = _HINTS.get(reason, "the connection was lost" if is_lost(error) else "check what --store names")
        return StoreError(f"the store {self.where}: {reason}; {hint}")

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that writes. A file that was removed since it was opened is written again first, with
        all that it held. Where another file has taken its place, everything goes into a third one, and a
        StoreError names that."""
        replaced = self._follow_file()
        with self.transaction() as connection:
            yield connection
        if replaced:
            raise StoreError(
                f"the store {self.where} was replaced by another file; all that it held, and the run in "
                f"progress, is in {self.path}: name that with --store"
            )

    def _follow_file(self) -> bool:
        """Make sure that what is written can be read again; whether another file was in the way."""
        if self.path is None or (file := identity(self.path)) == self._file:
            return False
        if file is not None:
            self.path = _unused(self.path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path)) as copy:
                # What the open connection still sees.
                self._connection.connection.driver_connection.backup(copy)  # type: ignore[union-attr]
                copy.execute("PRAGMA journal_mode=WAL")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the store {self.where} was removed, and cannot be restored: {error}"
            ) from error
        self.close()
        if file is not None:
            self.engine = _sqlite(self.path, create=True, read_only=False)
        self._connection = self.engine.connect()
        self._file = identity(self.path)
        return file is not None


def is_lost(error: BaseException | None) -> bool:
    """Whether the database has ended the connection, as far as its driver says."""
    return bool(getattr(error, "connection_invalidated", False))


def identity(path: Path | None) -> tuple[int, int] | None:
    """What tells a file from another one that takes its place; None where there is none."""
    try:
        status = path.stat() if path else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status else None


def _unused(path: Path) -> Path:
    """A path beside that one at which there is nothing."""
    names = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(2, 10_000))
    return next(name for name in names if not name.exists())


def _with_driver(url: sa.URL) -> sa.URL:
    """The driver that the extra `postgresql` brings, where none is named."""
    # libpq knows it by both names.
    is_plain = url.drivername in ("postgresql", "postgres")
    return url.set(drivername="postgresql+psycopg") if is_plain else url


def _limits(url: sa.URL) -> dict[str, int]:
    """How long a silent PostgreSQL is waited for, as far as neither the URL nor libpq's environment says."""
    if url.get_backend_name() != "postgresql" or url.get_driver_name() not in ("psycopg", "psycopg2"):
        return {}
    limits = {
        "connect_timeout": _CONNECT_S,
        "keepalives_idle": _SILENCE_S // 2,
        "keepalives_interval": _SILENCE_S // 6,
        "keepalives_count": 3,
        "tcp_user_timeout": 1000 * _SILENCE_S,
    }
    if "PGCONNECT_TIMEOUT" in os.environ:
        del limits["connect_timeout"]
    return {name: value for name, value in limits.items() if name not in url.query}


def _sqlite(path: Path, *, create: bool, read_only: bool) -> sa.Engine:
    """An engine for a file, whatever characters are in its path."""
    log = path.with_name(f"{path.name}-wal")
    # Without a log of writes nobody has the database open for writing. SQLite then does without files of its
    # own, which it would make beside the database even to read it, where it is told that nobody writes.
    if read_only:
        mode = "ro" if log.exists() else "ro&immutable=1"
    elif create or os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        mode = "rwc"
    else:
        mode = "ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(uri, uri=True, check_same_thread=False),
        poolclass=sa.pool.NullPool if read_only else sa.pool.QueuePool,
    )
    sa.event.listen(engine, "connect", _tune_sqlite)
    return engine


def begin_writing(connection: sa.Connection) -> None:
    """What is read from here on stays so until it is written: another process may do the same just now, and
    Python's sqlite3 by itself begins a transaction at the first INSERT only."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    elif connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_WRITERS_KEY)))


def _table_names(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())


def _write_ahead(connection: sa.Connection) -> None:
    """Switch to a write-ahead log, where the store is a file. SQLite waits for others that write, but not
    where two switch at once."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            return
        except sa.exc.OperationalError as error:
            is_locked = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
            if not is_locked or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _tune_sqlite(connection: Any, _record: Any) -> None:
    for pragma in (
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"busy_timeout={_PATIENCE_S * 1000:.0f}",
        f"wal_autocheckpoint={_LOG_PAGES}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _first_line(error: object) -> str:
    text = str(error).strip()
    return one_line(text.splitlines()[0]) if text else type(error).__name__
