"""An open database of runs: an SQLite file, or PostgreSQL by its URL (docs/STORE.md)."""

from __future__ import annotations

import os
import re
import shlex
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ringside.errors import NoStoreError, StoreError
from ringside.store.tables import FORMAT, creation
from ringside.text import one_line

# The key of the advisory lock that PostgreSQL grants to one process that begins a run or makes tables.
_WRITERS_KEY = 0x52696E6773696465

# SQLite copies the write-ahead log into the file once it has this many pages, some 16 MB: the trial at which
# that happens waits for the disk.
_LOG_PAGES = 4000

# How long another process may take to write.
_PATIENCE_S = 10.0

# By default libpq waits without end for a server that accepts connections and does not answer, and Linux
# tries to deliver for a quarter of an hour where the network is gone. A URL may name other limits.
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
    """A database whose tables are those of a store of this format. `path`: its file, where it has one;
    `where`: its location without a password; `connection`: the driver's own."""

    def __init__(self, where: str | Path | None, *, create: bool = True, read_only: bool = False) -> None:
        """`where`: a path of an SQLite file, a URL of PostgreSQL, or None for a database in memory.
        `create`: make the tables where there are none; without it, an empty database is an error. A database
        of something else is an error in any case, and stays as it is. `read_only`: the database refuses to
        write, and no file is made beside it. Raises StoreError, NoStoreError where there is nothing to
        read."""
        create = create and not read_only
        self._location = "memory" if where is None else str(where)
        self.is_postgresql = where is not None and "://" in self._location
        self.path = None if where is None or self.is_postgresql else Path(self._location)
        self.where = _without_password(self._location) if self.is_postgresql else self._location
        self._creates, self._read_only = create, read_only
        self._errors: tuple[type[Exception], ...] = (sqlite3.Error,)
        self.connection: Any = None
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
        with self._own_errors():
            self.connection = self._connect()
        try:
            self._check(create=create)
            if create and self.path is not None:
                # Kept in the file itself, so not before it is known to be ours. WAL and NORMAL: a commit
                # outlives ringside's own death; a power cut may take the last trials, whole.
                with self._own_errors():
                    _write_ahead(self.connection)
        # SQLite's own words about a damaged file may be no text.
        except UnicodeDecodeError as error:
            self.close()
            raise self._error(error) from error
        except BaseException:
            self.close()
            raise
        self._file = identity(self.path)

    def _connect(self) -> Any:
        """A connection in which nothing is a transaction that is not begun by a statement."""
        if not self.is_postgresql:
            return _sqlite(self.path, create=self._creates, read_only=self._read_only)
        if not self._location.startswith(("postgresql://", "postgres://")):
            raise StoreError(
                f"the store {self.where} cannot be opened: its kind is not known; name a file, or postgresql://…"
            )
        try:
            import psycopg  # here, since the extra brings it
            from psycopg.rows import dict_row
        except ImportError as error:
            hint = ": pip install 'psycopg[binary]'" if error.name == "psycopg" else f": {_first_line(error)}"
            raise StoreError(f"the store {self.where} needs the Python package psycopg{hint}") from error
        self._errors = (sqlite3.Error, psycopg.Error)
        limits = _limits(self._location)
        connection = psycopg.connect(self._location, autocommit=True, row_factory=dict_row, **limits)
        if self._read_only:
            connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        return connection

    def _check(self, *, create: bool) -> None:
        """Refuse what is no store of this format, before anything is written to it."""
        with self.transaction():
            names = self._table_names()
        if not names:
            if not create:
                raise self.empty()
            with self.transaction(writes=True):
                self.wait_for_writers()
                # Another process may have made them meanwhile.
                if not (names := self._table_names()):
                    for statement in creation("postgresql" if self.is_postgresql else "sqlite"):
                        self.execute(statement)
                    return
        if not {"meta", "run", "trial"} <= names:
            raise StoreError(f"{self.where} is a database of something else: name another store with --store")
        with self.transaction():
            values = [row["value"] for row in self.execute("SELECT value FROM meta WHERE key = 'format'")]
        if values != [str(FORMAT)]:
            found = one_line(str(values[0] if values else None), 20)
            raise StoreError(
                f"the store {self.where} has format {found}, this ringside knows {FORMAT}: use the ringside "
                "that wrote it, or another store with --store"
            )

    def _table_names(self) -> set[str]:
        query = (
            "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
            if self.is_postgresql
            else "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"
        )
        return {row["name"] for row in self.execute(query)}

    def empty(self) -> NoStoreError:
        makes = shlex.join(("ringside", "run", "showdown", "--store", self.where))
        return NoStoreError(f"the store {self.where} holds no run yet: `{makes}` makes one")

    def close(self) -> None:
        self.connection.close()

    def execute(self, statement: str, values: Sequence[object] = ()) -> Iterator[dict[str, Any]]:
        """Execute a statement within a transaction, its `?` being these values; the rows, which are read
        once."""
        if self.is_postgresql:
            statement = statement.replace("?", "%s")
        rows: Iterator[dict[str, Any]] = self.connection.execute(statement, values)
        return rows

    def wait_for_writers(self) -> None:
        """Within a transaction that writes: what is read from here on stays so until its end. Another process
        may begin a run, or make tables, just now."""
        if self.is_postgresql:
            self.execute("SELECT pg_advisory_xact_lock(?)", (_WRITERS_KEY,))

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Where the database fails, the error is a StoreError of one line."""
        try:
            yield
        except Exception as error:
            if not isinstance(error, self._errors):
                raise
            raise self._error(error) from error

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[None]:
        """A transaction. Where the server has ended the connection since the last one, another is made: a
        server that was started again between two trials costs none."""
        # SQLite refuses to write where another process wrote since the transaction read first.
        begin = "BEGIN IMMEDIATE" if writes and not self.is_postgresql else "BEGIN"
        with self._own_errors():
            try:
                self.execute(begin)
            except self._errors:
                if not self._is_lost():
                    raise
                self.connection = self._connect()
                self.execute(begin)
            try:
                yield
                self.execute("COMMIT")
            except BaseException:
                # The error may have ended it already.
                with suppress(*self._errors):
                    self.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """A transaction that reads `what`, which may be anything: others write files as well."""
        try:
            with self.transaction():
                yield
        except (ValueError, TypeError, OverflowError) as error:
            raise StoreError(f"{what} in {self.where} cannot be read: {_first_line(error)}") from error

    def _is_lost(self) -> bool:
        """Whether the server has ended the connection, as far as the driver knows."""
        return self.is_postgresql and self.connection is not None and bool(self.connection.closed)

    def _error(self, error: Exception) -> StoreError | NoStoreError:
        # A file that is only read may have been there a moment ago.
        if self.path is not None and not self._creates and not self.path.exists():
            return self.empty()
        reason = _first_line(error).replace(self._location, self.where)
        hint = (
            "the connection was lost" if self._is_lost() else _HINTS.get(reason, "check what --store names")
        )
        return StoreError(f"the store {self.where}: {reason}; {hint}")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that writes. A file that was removed since it was opened is written again first, with
        all that it held. Where another file has taken its place, everything goes into a third one, and a
        StoreError names that."""
        replaced = self._follow_file()
        with self.transaction(writes=True):
            yield
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
            old = self.path
            names = (old.with_name(f"{old.stem}-{number}{old.suffix}") for number in range(2, 10_000))
            self.path = next(name for name in names if not name.exists())
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path)) as copy:
                # What the open connection still sees.
                self.connection.backup(copy)
                copy.execute("PRAGMA journal_mode=WAL")
            self.close()
            self.connection = self._connect()
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the store {self.where} was removed, and cannot be restored: {error}"
            ) from error
        self._file = identity(self.path)
        return file is not None


def identity(path: Path | None) -> tuple[int, int] | None:
    """What tells a file from another one that takes its place; None where there is none."""
    try:
        status = path.stat() if path else None
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status else None


def _without_password(url: str) -> str:
    return re.sub(r"([?&]\w*password=)[^&]*", r"\1***", re.sub(r"(://[^:/@]*):[^/@]*@", r"\1:***@", url))


def _limits(url: str) -> dict[str, Any]:
    """How long a silent PostgreSQL is waited for, as far as neither the URL nor libpq's environment says."""
    from psycopg.conninfo import conninfo_to_dict

    limits = {
        "connect_timeout": _CONNECT_S,
        "keepalives_idle": _SILENCE_S // 2,
        "keepalives_interval": _SILENCE_S // 6,
        "keepalives_count": 3,
        "tcp_user_timeout": 1000 * _SILENCE_S,
    }
    if "PGCONNECT_TIMEOUT" in os.environ:
        del limits["connect_timeout"]
    named = conninfo_to_dict(url)
    return {name: value for name, value in limits.items() if name not in named}


def _sqlite(path: Path | None, *, create: bool, read_only: bool) -> sqlite3.Connection:
    """A connection to a file, whatever characters are in its path, or to a database in memory."""
    uri = f"file:{quote(str(path.absolute()))}?mode={_mode(path, create, read_only)}" if path else ":memory:"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    connection.row_factory = lambda cursor, values: dict(
        zip([column[0] for column in cursor.description], values, strict=True)
    )
    for pragma in (
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"busy_timeout={_PATIENCE_S * 1000:.0f}",
        f"wal_autocheckpoint={_LOG_PAGES}",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _mode(path: Path, create: bool, read_only: bool) -> str:
    log = path.with_name(f"{path.name}-wal")
    # Without a log of writes nobody has the database open for writing. SQLite then does without files of its
    # own, which it would make beside the database even to read it, where it is told that nobody writes.
    if read_only:
        return "ro" if log.exists() else "ro&immutable=1"
    if create or os.access(path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
        return "rwc"
    return "ro&immutable=1"


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log. SQLite waits for others that write, but not where two switch at once."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _first_line(error: object) -> str:
    text = str(error).strip()
    return one_line(text.splitlines()[0]) if text else type(error).__name__
