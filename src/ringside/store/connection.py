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
from ringside.store import migrations
from ringside.store.tables import FORMAT, META, METADATA, ONCE, REVISION, REVISIONS, RUN, TRIAL
from ringside.text import one_line

# Of the lock that those have who begin runs, or make tables, in PostgreSQL.
_WRITERS_KEY = 0x52696E6773696465

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
                if read_only:
                    self.engine = self.engine.execution_options(postgresql_readonly=True)
            elif read_only:
                self.engine = _reader(self.path)
            else:
                self.engine = sa.create_engine(_url(self.path, create))
        except ModuleNotFoundError as error:
            raise StoreError(
                f"the store {self.where} needs the Python package {error.name}"
                + (": install ringside[postgresql]" if error.name == "psycopg" else "")
            ) from error
        except (sa.exc.ArgumentError, ImportError) as error:
            raise StoreError(f"the store {self.where} cannot be opened: {_first_line(error)}") from error
        if self.engine.dialect.name == "sqlite":
            sa.event.listen(self.engine, "connect", _tune_sqlite)
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

    def _check(self, connection: sa.Connection, *, create: bool) -> None:
        """Refuse what is no store of this format, before anything is written to it."""
        tables = _table_names(connection)
        if not tables and not create:
            raise self.empty()
        if not tables:
            begin_writing(connection)
            tables = _table_names(connection)
        if tables and not {META.name, RUN.name, TRIAL.name} <= tables:
            raise StoreError(f"{self.where} is a database of something else: name another store with --store")
        if tables:
            query = sa.select(META.c.value).where(META.c.key == "format")
            known = connection.execute(query).scalar()
            if known != str(FORMAT):
                raise self._of_another_version("format", known, FORMAT)
            revision = _revision(connection, tables)
            if revision not in REVISIONS:
                raise self._of_another_version("tables of revision", revision, REVISIONS[-1])
            if create and revision != REVISIONS[-1]:
                begin_writing(connection)
                # Another process may have done so meanwhile.
                if (revision := _revision(connection, _table_names(connection))) != REVISIONS[-1]:
                    migrations.upgrade(connection, revision)
        elif create:
            METADATA.create_all(connection)
            connection.execute(META.insert().values(key="format", value=str(FORMAT)))
            connection.execute(REVISION.insert().values(version_num=REVISIONS[-1]))

    def _of_another_version(self, what: str, found: object, known: object) -> StoreError:
        return StoreError(
            f"the store {self.where} has {what} {one_line(str(found), 20)}, this ringside knows {known}: use "
            "the ringside that wrote it, or another store with --store"
        )

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
        except sa.exc.SQLAlchemyError as error:
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
        is_lost = getattr(error, "connection_invalidated", False)
        hint = _HINTS.get(reason, "the connection was lost" if is_lost else "check what --store names")
        return StoreError(f"the store {self.where}: {reason}; {hint}")

    def restore_removed(self) -> None:
        """Where the file was removed since it was opened, copy what the open connection still sees into a new
        one, and go on with that."""
        path = self.path
        if path is None or path.exists():
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path)) as copy:
                self._connection.connection.driver_connection.backup(copy)  # type: ignore[union-attr]
                copy.execute("PRAGMA journal_mode=WAL")
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the store {self.where} was removed, and cannot be restored: {error}"
            ) from error
        self.close()
        self._connection = self.engine.connect()


def _with_driver(url: sa.URL) -> sa.URL:
    """The driver that the extra `postgresql` brings, where none is named."""
    return url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url


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


def _url(path: Path, create: bool) -> str:
    # SQLite cannot even read such a file without writing beside it, unless it is told that nobody writes.
    log = path.with_name(f"{path.name}-wal")
    if create or os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return f"sqlite:///{path}"
    return f"sqlite:///file:{quote(str(path))}?mode=ro&immutable=1&uri=true"


def _reader(path: Path) -> sa.Engine:
    """An engine whose connections cannot write."""
    # Without a log of writes nobody has the database open for writing; then SQLite does without the files of
    # its own that it would otherwise make beside it.
    flags = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?{flags}"
    return sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(uri, uri=True, check_same_thread=False),
        poolclass=sa.pool.NullPool,
    )


def _revision(connection: sa.Connection, tables: set[str]) -> str:
    """That of the tables. Stores of the first versions do not say it."""
    if REVISION.name in tables:
        return str(connection.execute(sa.select(REVISION.c.version_num)).scalar())
    indexes = {index["name"] for index in sa.inspect(connection).get_indexes(TRIAL.name)}
    return "0002" if ONCE.name in indexes else "0001"


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
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON", f"busy_timeout={_PATIENCE_S * 1000:.0f}"):
        connection.execute(f"PRAGMA {pragma}")


def _first_line(error: object) -> str:
    text = str(error).strip()
    return one_line(text.splitlines()[0]) if text else type(error).__name__
