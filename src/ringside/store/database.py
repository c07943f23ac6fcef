"""The store's database: SQLite by default, another by URL (docs/STORE.md). A trial is committed before the
next one begins."""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import filelock
import sqlalchemy as sa

from ringside.errors import NoStoreError, StoreError, UsageError
from ringside.model.results import REPEATABLE, KeptSamples, Run, Trial
from ringside.probe.protocol import Sample, Usage
from ringside.store import rows
from ringside.text import one_line

FORMAT = 1

# SQLite numbers rows itself only in a column of this exact type, which holds 64 bits there.
_LONG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_metadata = sa.MetaData()
_meta = sa.Table(
    "meta",
    _metadata,
    sa.Column("key", sa.String(32), primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
_run = sa.Table(
    "run",
    _metadata,
    sa.Column("id", sa.String(120), primary_key=True),
    sa.Column("experiment", sa.Text, nullable=False),
    sa.Column("started_at", sa.String(40), nullable=False),
    sa.Column("ended_at", sa.String(40)),
    sa.Column("seed", _LONG, nullable=False),
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
)
_source = sa.Table(
    "source",
    _metadata,
    sa.Column("hash", sa.String(64), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)
_trial = sa.Table(
    "trial",
    _metadata,
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
_counts = _trial.c.outcome.not_in([str(outcome) for outcome in REPEATABLE])
_once = sa.Index(
    "trial_once",
    _trial.c.run_id,
    _trial.c.block,
    _trial.c.contender,
    _trial.c.point,
    unique=True,
    sqlite_where=_counts,
    postgresql_where=_counts,
)
_timeline = sa.Table(
    "timeline",
    _metadata,
    sa.Column("trial_id", sa.ForeignKey("trial.id"), primary_key=True),
    sa.Column("samples", sa.Text, nullable=False),
)

# What to do about SQLite's errors.
_HINTS = {
    "database or disk is full": "free some space",
    "disk I/O error": "the disk fails, is full, or a limit on the size of files (ulimit -f) is reached",
    "file is not a database": "name another one with --store",
    "unable to open database file": "its folder must be writable, or name another one with --store",
    "attempt to write a readonly database": "make it writable or name another one with --store",
    "database is locked": "another program has it open: end that, or name another one with --store",
    "database disk image is malformed": "it is damaged: `sqlite3 FILE .recover` saves what can be read",
}
# A reader that looks at the lock of a run has it for an instant, which is no other process at work.
_HOLD_PATIENCE_S = 0.3

# Made once: with the values in it, it would be compiled again for each trial.
_INSERT_TRIAL = _trial.insert()
_INSERT_TIMELINE = _timeline.insert()


def now() -> str:
    """The time as it is stored: UTC, ISO 8601, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def stamp(time: str | None = None) -> str:
    """A time, or now, as it begins the ids of runs: `20260918-174158`."""
    time = time or now()
    return f"{time[:10].replace('-', '')}-{time[11:19].replace(':', '')}"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run without its plan. `title`: that of its experiment; `suite`: the id of the suite that it is a part
    of. Both are empty where the plan cannot be read."""

    id: str
    experiment: str
    started_at: str
    ended_at: str | None
    trials: int
    title: str
    suite: str


class Store:
    """An open store. Every method commits before it returns, and raises StoreError when it cannot."""

    def __init__(self, where: str | Path, *, create: bool = True, read_only: bool = False) -> None:
        """`where`: a path of an SQLite file or a database URL of SQLAlchemy's. `create`: make the tables
        where there are none; without it, an empty database is an error. A database of something else is one
        in any case, and stays as it is. `read_only`: the database refuses to write, and no file is made
        beside it. Raises StoreError, NoStoreError where there is nothing to read."""
        create = create and not read_only
        self.where = str(where)
        self._path = None if "://" in self.where else Path(self.where)
        if self._path is not None:
            if not create and not self._path.exists():
                raise self._empty()
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"the store's folder {self._path.parent} cannot be made: {error.strerror}"
                ) from error
        try:
            if read_only:
                self._engine = _reader(self.where, self._path)
            else:
                self._engine = sa.create_engine(self._url(create))
        except (sa.exc.ArgumentError, ImportError) as error:
            raise StoreError(f"the store {self.where} cannot be opened: {_first_line(error)}") from error
        if self._engine.dialect.name == "sqlite":
            sa.event.listen(self._engine, "connect", _tune_sqlite)
        try:
            with self._begin() as connection:
                self._check(connection, create=create)
        except StoreError:
            # It may have been there a moment ago.
            if self._path is not None and not create and not self._path.exists():
                raise self._empty() from None
            raise
        if create and self._engine.dialect.name == "sqlite":
            # Kept in the file itself, so not before it is known to be ours. WAL and NORMAL: a commit outlives
            # ringside's own death; a power cut may take the last trials, whole.
            with self._begin() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        # One connection for all trials: opening one for each costs more than the commit.
        try:
            self._connection = self._engine.connect()
        except sa.exc.SQLAlchemyError as error:
            raise self._error(error) from error

    def _url(self, create: bool) -> str:
        if self._path is None:
            return self.where
        # SQLite cannot even read such a file without writing beside it, unless it is told that nobody writes.
        log = self._path.with_name(f"{self._path.name}-wal")
        if create or os.access(self._path.parent, os.W_OK) or (log.exists() and log.stat().st_size):
            return f"sqlite:///{self.where}"
        return f"sqlite:///file:{quote(str(self._path))}?mode=ro&immutable=1&uri=true"

    def _check(self, connection: sa.Connection, *, create: bool) -> None:
        """Refuse what is no store of this format, before anything is written to it."""
        tables = _table_names(connection)
        if not tables and not create:
            raise self._empty()
        if not tables:
            _begin_writing(connection)
            tables = _table_names(connection)
        if tables and not {_meta.name, _run.name, _trial.name} <= tables:
            raise StoreError(f"{self.where} is a database of something else: name another store with --store")
        known = None
        if tables:
            query = sa.select(_meta.c.value).where(_meta.c.key == "format")
            known = connection.execute(query).scalar()
            if known != str(FORMAT):
                raise StoreError(
                    f"the store {self.where} has format {one_line(str(known), 20)}, this ringside knows "
                    f"{FORMAT}: use the ringside that wrote it, or another store with --store"
                )
        if create:
            _metadata.create_all(connection)
            if known is None:
                connection.execute(_meta.insert().values(key="format", value=str(FORMAT)))
            elif _once.name not in {index["name"] for index in sa.inspect(connection).get_indexes("trial")}:
                # A store of an earlier version; one that holds duplicates stays without the index.
                try:
                    with connection.begin_nested():
                        _once.create(connection)
                except sa.exc.IntegrityError:
                    pass

    def _empty(self) -> NoStoreError:
        return NoStoreError(f"the store {self.where} holds no run yet: `ringside run showdown` makes one")

    def _unknown(self, name: str) -> UsageError:
        return UsageError(
            f"there is no run `{one_line(name, 120)}` in {self.where}: `ringside list runs` names them"
        )

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        # SQLite's own words about a damaged file may be no text.
        except (sa.exc.SQLAlchemyError, UnicodeDecodeError) as error:
            raise self._error(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._connection.begin():
                yield self._connection
        except sa.exc.SQLAlchemyError as error:
            raise self._error(error) from error

    @contextmanager
    def _reading(self, what: str) -> Iterator[sa.Connection]:
        """A transaction that reads `what`, which may be anything: others write files as well."""
        try:
            with self._transaction() as connection:
                yield connection
        except (ValueError, TypeError, OverflowError) as error:
            raise StoreError(f"{what} in {self.where} cannot be read: {_first_line(error)}") from error

    def _error(self, error: Exception) -> StoreError:
        reason = _first_line(getattr(error, "orig", None) or error)
        hint = _HINTS.get(reason, "check the path or URL given by --store")
        return StoreError(f"the store {self.where}: {reason}; {hint}")

    def begin_run(
        self,
        experiment: str,
        seed: int,
        plan: Mapping[str, Any],
        host: Mapping[str, Any],
        sources: Mapping[str, str],
    ) -> Run:
        """A new run. `sources` are texts by their hash (`text_hash`), to which the plan refers."""
        started = now()
        stem = f"{stamp(started)}-{experiment}"
        with self._transaction() as connection:
            _begin_writing(connection)
            taken = set(connection.execute(sa.select(_run.c.id).where(_run.c.id.startswith(stem))).scalars())
            name = next(
                candidate
                for candidate in (stem, *(f"{stem}-{number}" for number in range(2, 10_000)))
                if candidate not in taken
            )
            for digest, text in sources.items():
                known = connection.execute(sa.select(_source.c.hash).where(_source.c.hash == digest)).first()
                if known is None:
                    connection.execute(_source.insert().values(hash=digest, text=text))
            connection.execute(
                _run.insert().values(
                    id=name,
                    experiment=experiment,
                    started_at=started,
                    seed=seed,
                    plan=json.dumps(plan),
                    host=json.dumps(host),
                )
            )
        return Run(name, experiment, started, None, seed, plan, host)

    @contextmanager
    def hold(self, run: Run) -> Iterator[None]:
        """Keep others from adding to a run. Raises UsageError where another process already does."""
        busy = _busy(run)
        if self._path is None:
            # Not SQLite: a lock of the database's own, which ends with the connection.
            if self._engine.dialect.name != "postgresql":
                yield
                return
            with self._engine.connect() as connection:
                key = int.from_bytes(hashlib.sha256(run.id.encode()).digest()[:8], signed=True)
                if not connection.execute(sa.select(sa.func.pg_try_advisory_lock(key))).scalar():
                    raise busy
                yield
            return
        lock = filelock.FileLock(self._lock_path(run.id))
        try:
            lock.acquire(timeout=_HOLD_PATIENCE_S)
        except filelock.Timeout:
            raise busy from None
        try:
            yield
        finally:
            Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def refuse_held(self, run: Run) -> None:
        """Raise UsageError where another process is adding to the run; `hold` does so as well."""
        if self.is_held(run):
            raise _busy(run)

    def is_held(self, run: Run) -> bool:
        """Whether another process of this machine is adding to the run."""
        return self.is_id_held(run.id)

    def is_id_held(self, run_id: str) -> bool:
        """`is_held` of the run of that id. Writes nothing: the lock is not made, and given back at once."""
        if self._path is None:
            return False
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

    def _lock_path(self, run_id: str) -> Path:
        assert self._path is not None
        return self._path.with_name(f"{self._path.name}-{run_id}.lock")

    def end_run(self, run: Run) -> None:
        """Note that all that was planned has been done."""
        with self._transaction() as connection:
            connection.execute(_run.update().where(_run.c.id == run.id).values(ended_at=now()))

    def add_trial(self, run: Run, trial: Trial) -> None:
        """Keep a trial, with its samples. A file that was removed since the store was opened, by a contender
        perhaps, is written anew with all that it held."""
        if self._path is not None and not self._path.exists():
            self._restore(self._path)
        with self._transaction() as connection:
            result = connection.execute(_INSERT_TRIAL, {"run_id": run.id, **rows.trial_values(trial)})
            if (key := result.inserted_primary_key) and trial.samples:
                samples = rows.samples_text(trial.samples)
                connection.execute(_INSERT_TIMELINE, {"trial_id": key[0], "samples": samples})

    def _restore(self, path: Path) -> None:
        """Copy what the open connection still sees into a new file, and go on with that."""
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
        self._connection = self._engine.connect()

    def trials(self, run: Run, *, samples: bool = False) -> list[Trial]:
        """All trials of a run in the order in which they were carried out; with their samples only on
        request: these are read when they are used, as long as the store is open."""
        query = sa.select(_trial).where(_trial.c.run_id == run.id).order_by(_trial.c.id)
        with self._reading(f"a trial of run {run.id}") as connection:
            trials = [(row.id, rows.trial_of(row)) for row in connection.execute(query)]
        if not samples:
            return [trial for _, trial in trials]
        return [
            replace(trial, samples=KeptSamples(_Samples(partial(self._read_samples, key))))
            for key, trial in trials
        ]

    def _read_samples(self, trial_id: int, decode: Callable[[str], Any]) -> Any:
        query = sa.select(_timeline.c.samples).where(_timeline.c.trial_id == trial_id)
        with self._reading("the samples of a trial") as connection:
            return decode(connection.execute(query).scalar() or "[]")

    def runs(self) -> list[Run]:
        """All runs, the latest last."""
        with self._reading("a run") as connection:
            result = connection.execute(sa.select(_run).order_by(_run.c.started_at, _run.c.id))
            return [rows.run_of(row) for row in result]

    def summaries(self) -> list[RunSummary]:
        """All runs without their plans, the latest last. A run whose plan cannot be read is one of them."""
        trials = (
            sa.select(_trial.c.run_id, sa.func.count().label("trials")).group_by(_trial.c.run_id).subquery()
        )
        columns = (_run.c.id, _run.c.experiment, _run.c.started_at, _run.c.ended_at, _run.c.plan)
        query = (
            sa.select(*columns, trials.c.trials)
            .outerjoin(trials, trials.c.run_id == _run.c.id)
            .order_by(_run.c.started_at, _run.c.id)
        )
        with self._reading("a run") as connection:
            return [
                RunSummary(
                    id=str(row.id),
                    experiment=str(row.experiment),
                    started_at=str(row.started_at),
                    ended_at=None if row.ended_at is None else str(row.ended_at),
                    trials=row.trials or 0,
                    **rows.titles_of(row.plan),
                )
                for row in connection.execute(query)
            ]

    def progress(self, run_id: str) -> tuple[int, str | None]:
        """How many trials a run has, and when it ended. Raises UsageError where there is no such run."""
        ended = sa.select(_run.c.ended_at).where(_run.c.id == run_id)
        count = sa.select(sa.func.count()).select_from(_trial).where(_trial.c.run_id == run_id)
        with self._reading("a run") as connection:
            row = connection.execute(ended).first()
            if row is None:
                raise self._unknown(run_id)
            return connection.execute(count).scalar() or 0, row.ended_at

    def run(self, name: str = "latest") -> Run:
        """The run of that id, or the latest. Raises UsageError when there is none."""
        query = sa.select(_run)
        if name == "latest":
            query = query.order_by(_run.c.started_at.desc(), _run.c.id.desc()).limit(1)
        else:
            query = query.where(_run.c.id == name)
        with self._reading("a run") as connection:
            row = connection.execute(query).first()
            if row is not None:
                return rows.run_of(row)
        if name == "latest":
            raise self._empty()
        raise self._unknown(name)

    def sources(self, hashes: Sequence[str]) -> dict[str, str]:
        """Texts by their hash."""
        with self._reading("a source") as connection:
            result = connection.execute(sa.select(_source).where(_source.c.hash.in_(list(hashes))))
            return {row.hash: row.text for row in result}

    def rows_of(self, runs: Sequence[Run]) -> dict[str, list[dict[str, Any]]]:
        """The rows of all tables that belong to runs, by the tables' names: what `add_rows` takes."""
        ids = [run.id for run in runs]
        mine = sa.select(_trial.c.id).where(_trial.c.run_id.in_(ids))
        hashes = {
            digest
            for run in runs
            for contender in run.plan.get("contenders", {}).values()
            for digest in contender.get("files", {}).values()
        }
        queries = {
            _run.name: sa.select(_run).where(_run.c.id.in_(ids)).order_by(_run.c.started_at, _run.c.id),
            _source.name: sa.select(_source)
            .where(_source.c.hash.in_(sorted(hashes)))
            .order_by(_source.c.hash),
            _trial.name: sa.select(_trial).where(_trial.c.run_id.in_(ids)).order_by(_trial.c.id),
            _timeline.name: sa.select(_timeline)
            .where(_timeline.c.trial_id.in_(mine))
            .order_by(_timeline.c.trial_id),
        }
        with self._reading("a row") as connection:
            return {
                name: [dict(row._mapping) for row in connection.execute(query)]
                for name, query in queries.items()
            }

    def add_rows(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Add rows to an empty store. Raises StoreError where they are none of its tables."""
        try:
            with self._transaction() as connection:
                for table in (_run, _source, _trial, _timeline):
                    if rows_of_table := [_whole(dict(row), table) for row in tables[table.name]]:
                        connection.execute(table.insert(), rows_of_table)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StoreError(f"{self.where} does not hold the tables of runs") from error


class _Samples:
    """Reads the samples of a trial, decoded as the caller wants them."""

    def __init__(self, read: Callable[[Callable[[str], Any]], Any]) -> None:
        self._read = read

    def whole(self) -> tuple[Sample, ...]:
        samples: tuple[Sample, ...] = self._read(rows.samples_of)
        return samples

    def usage(self) -> tuple[Usage, ...]:
        usage: tuple[Usage, ...] = self._read(rows.usage_of)
        return usage


def _reader(where: str, path: Path | None) -> sa.Engine:
    """An engine whose connections cannot write."""
    if path is None:
        engine = sa.create_engine(where)
        return engine.execution_options(postgresql_readonly=True)
    # Without a log of writes nobody has the database open for writing; then SQLite does without the files of
    # its own that it would otherwise make beside it.
    flags = "mode=ro" if Path(f"{path}-wal").exists() else "mode=ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?{flags}"
    return sa.create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(uri, uri=True, check_same_thread=False),
        poolclass=sa.pool.NullPool,
    )


def _whole(row: dict[str, Any], table: sa.Table) -> dict[str, Any]:
    """A row that has all columns of its table. Raises ValueError."""
    if row.keys() != set(table.c.keys()):
        raise ValueError(f"a row of {table.name} has other columns")
    return row


def _busy(run: Run) -> UsageError:
    return UsageError(f"run {run.id} is in progress in another process: wait for its end")


def text_hash(text: str) -> str:
    """The hash under which a source text is kept."""
    return hashlib.sha256(text.encode()).hexdigest()


def _begin_writing(connection: sa.Connection) -> None:
    """What is read from here on stays so until it is written: another process may do the same just now, and
    Python's sqlite3 by itself begins a transaction at the first INSERT only."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _table_names(connection: sa.Connection) -> set[str]:
    return set(sa.inspect(connection).get_table_names())


def _tune_sqlite(connection: Any, _record: Any) -> None:
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")


def _first_line(error: object) -> str:
    text = str(error).strip()
    return one_line(text.splitlines()[0]) if text else type(error).__name__
