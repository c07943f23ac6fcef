"""The store of runs (docs/STORE.md). A trial is committed before the next one begins."""

from __future__ import annotations

import datetime
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from ringside.errors import StoreError, UsageError
from ringside.model.design import Cell
from ringside.model.results import KeptSamples, Outcome, Run, RunState, Trial, Usage
from ringside.probe.protocol import LoadMessage, Sample, SecondOfLoad
from ringside.store import rows
from ringside.store.connection import Database, begin_writing, is_lost
from ringside.store.locks import RunLocks
from ringside.store.samples import samples_of, samples_text, usage_of
from ringside.store.tables import (
    INSERT_TIMELINE,
    INSERT_TRIAL,
    RUN,
    SOURCE,
    TIMELINE,
    TRIAL,
    insert_trial_text,
)
from ringside.text import one_line

T = TypeVar("T")


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
        """As `Database`."""
        self._database = Database(where, create=create, read_only=read_only)
        self._locks = RunLocks(self._database)
        self.where = self._database.where

    def close(self) -> None:
        self._database.close()

    def hold(self, run: Run) -> AbstractContextManager[None]:
        """Keep others from adding to a run. Raises UsageError where another process already does."""
        return self._locks.hold(run.id)

    def hold_suite(self, suite_id: str) -> AbstractContextManager[None]:
        """Keep others from beginning runs of a suite. Raises UsageError where another process does."""
        return self._locks.hold(suite_id)

    def refuse_held(self, run: Run) -> None:
        """Raise UsageError where another process is adding to the run; `hold` does so as well."""
        self._locks.refuse_held(run.id)

    def is_held(self, run_id: str) -> bool:
        """Whether another process of this machine is adding to the run."""
        return self._locks.is_held(run_id)

    def state(self, run_id: str, ended_at: str | None) -> RunState:
        """The state of a run that ended then, or has not."""
        if ended_at is not None:
            return RunState.DONE
        return RunState.IN_PROGRESS if self.is_held(run_id) else RunState.CUT_OFF

    def _unknown(self, name: str) -> UsageError:
        return UsageError(
            f"there is no run `{one_line(name, 120)}` in {self.where}: `ringside list runs` names them"
        )

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
        with self._database.writing() as connection:
            begin_writing(connection)
            taken = set(connection.execute(sa.select(RUN.c.id).where(RUN.c.id.startswith(stem))).scalars())
            name = next(
                candidate
                for candidate in (stem, *(f"{stem}-{number}" for number in range(2, 10_000)))
                if candidate not in taken
            )
            for digest, text in sources.items():
                known = connection.execute(sa.select(SOURCE.c.hash).where(SOURCE.c.hash == digest)).first()
                if known is None:
                    connection.execute(SOURCE.insert().values(hash=digest, text=text))
            connection.execute(
                RUN.insert().values(
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
    def _writing(self, run: Run) -> Iterator[sa.Connection]:
        """A transaction that writes to a run."""
        with self._database.writing() as connection:
            self._locks.check(connection, run.id)
            yield connection

    def _change(self, run: Run, **values: Any) -> None:
        with self._writing(run) as connection:
            connection.execute(RUN.update().where(RUN.c.id == run.id).values(values))

    def end_run(self, run: Run) -> None:
        """Note that all that was planned has been done."""
        self._change(run, ended_at=now())

    def set_plan(self, run: Run, plan: Mapping[str, Any]) -> Run:
        """The run with another plan."""
        self._change(run, plan=json.dumps(plan))
        return replace(run, plan=plan)

    def add_machine(self, run: Run, name: str, facts: Mapping[str, Any]) -> Run:
        """The run with a further machine that measures in it: `host["machines"]` has the facts of each by its
        name. Those of the first are the run's own, too."""
        machines = {**run.host.get("machines", {}), name: dict(facts)}
        host = {**(run.host or facts), "machines": machines}
        self._change(run, host=json.dumps(host))
        return replace(run, host=host)

    def set_aside(self, run: Run, block: int, cells: Sequence[Cell], reason: str) -> None:
        """Have the trials of these cells in a block count no more: they are interrupted for that reason, and
        will be carried out again."""
        values = {"outcome": str(Outcome.INTERRUPTED), "detail": reason}
        with self._writing(run) as connection:
            for cell in cells:
                connection.execute(TRIAL.update().where(*_of_cell(run, block, cell)).values(values))

    def add_trial(self, run: Run, trial: Trial) -> None:
        """Keep a trial, with its samples. Where the connection was lost since the last one, another is tried:
        a server that was started again costs no trial."""
        try:
            with self._writing(run) as connection:
                _insert(connection, run, trial)
        except StoreError as loss:
            if not is_lost(loss.__cause__):
                raise
            mine = (*_of_cell(run, trial.block, trial.cell), TRIAL.c.started_at == trial.started_at)
            try:
                with self._writing(run) as connection:
                    # It may have been lost just after the commit.
                    if connection.execute(sa.select(TRIAL.c.id).where(*mine)).first() is None:
                        _insert(connection, run, trial)
            except StoreError as error:
                # The server does not answer, or the run's lock is gone.
                raise (loss if error.__cause__ else error) from error.__cause__

    def trials(self, run: Run, *, samples: bool = False) -> list[Trial]:
        """All trials of a run in the order in which they were carried out; with their samples only on
        request: these, and the seconds of loads (`Trial.seconds`), are then read when they are used, as long
        as the store is open."""
        query = sa.select(TRIAL).where(TRIAL.c.run_id == run.id).order_by(TRIAL.c.id)
        with self._database.reading(f"a trial of run {run.id}") as connection:
            trials = [(row.id, rows.trial_of(row, seconds=not samples)) for row in connection.execute(query)]
        if not samples:
            return [trial for _, trial in trials]
        by_cell: dict[Cell, list[int]] = {}
        for key, trial in trials:
            by_cell.setdefault(trial.cell, []).append(key)
        usages = _Usages(self._database, by_cell.values())
        return [
            replace(trial, samples=KeptSamples(_Samples(self._database, key, usages)))
            for key, trial in trials
        ]

    def runs(self) -> list[Run]:
        """All runs, the latest last."""
        with self._database.reading("a run") as connection:
            result = connection.execute(sa.select(RUN).order_by(RUN.c.started_at, RUN.c.id))
            return [rows.run_of(row) for row in result]

    def summaries(self) -> list[RunSummary]:
        """All runs without their plans, the latest last. A run whose plan cannot be read is one of them."""
        trials = (
            sa.select(TRIAL.c.run_id, sa.func.count().label("trials")).group_by(TRIAL.c.run_id).subquery()
        )
        columns = (RUN.c.id, RUN.c.experiment, RUN.c.started_at, RUN.c.ended_at, RUN.c.plan)
        query = (
            sa.select(*columns, trials.c.trials)
            .outerjoin(trials, trials.c.run_id == RUN.c.id)
            .order_by(RUN.c.started_at, RUN.c.id)
        )
        with self._database.reading("a run") as connection:
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
        ended = sa.select(RUN.c.ended_at).where(RUN.c.id == run_id)
        count = sa.select(sa.func.count()).select_from(TRIAL).where(TRIAL.c.run_id == run_id)
        with self._database.reading("a run") as connection:
            row = connection.execute(ended).first()
            if row is None:
                raise self._unknown(run_id)
            return connection.execute(count).scalar() or 0, row.ended_at

    def run(self, name: str = "latest") -> Run:
        """The run of that id, or the latest. Raises UsageError when there is none."""
        query = sa.select(RUN)
        if name == "latest":
            query = query.order_by(RUN.c.started_at.desc(), RUN.c.id.desc()).limit(1)
        else:
            query = query.where(RUN.c.id == name)
        with self._database.reading("a run") as connection:
            row = connection.execute(query).first()
            if row is not None:
                return rows.run_of(row)
        if name == "latest":
            raise self._database.empty()
        raise self._unknown(name)

    def sources(self, hashes: Sequence[str]) -> dict[str, str]:
        """Texts by their hash."""
        with self._database.reading("a source") as connection:
            result = connection.execute(sa.select(SOURCE).where(SOURCE.c.hash.in_(list(hashes))))
            return {row.hash: row.text for row in result}

    def rows_of(self, runs: Sequence[Run]) -> dict[str, list[dict[str, Any]]]:
        """The rows of all tables that belong to runs, by the tables' names: what `add_rows` takes."""
        ids = [run.id for run in runs]
        mine = sa.select(TRIAL.c.id).where(TRIAL.c.run_id.in_(ids))
        hashes = set().union(*map(rows.hashes_of, runs))
        queries = {
            RUN.name: sa.select(RUN).where(RUN.c.id.in_(ids)).order_by(RUN.c.started_at, RUN.c.id),
            SOURCE.name: sa.select(SOURCE).where(SOURCE.c.hash.in_(sorted(hashes))).order_by(SOURCE.c.hash),
            TRIAL.name: sa.select(TRIAL).where(TRIAL.c.run_id.in_(ids)).order_by(TRIAL.c.id),
            TIMELINE.name: sa.select(TIMELINE)
            .where(TIMELINE.c.trial_id.in_(mine))
            .order_by(TIMELINE.c.trial_id),
        }
        with self._database.reading("a row") as connection:
            return {
                name: [dict(row._mapping) for row in connection.execute(query)]
                for name, query in queries.items()
            }

    def add_rows(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Add rows to an empty store. Raises StoreError where they are none of its tables."""
        try:
            with self._database.transaction() as connection:
                for table in (RUN, SOURCE, TRIAL, TIMELINE):
                    if rows_of_table := [_whole(dict(row), table) for row in tables[table.name]]:
                        connection.execute(table.insert(), rows_of_table)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StoreError(f"{self.where} does not hold the tables of runs") from error


def _of_cell(run: Run, block: int, cell: Cell) -> tuple[sa.ColumnElement[bool], ...]:
    """What the trials of a cell in a block have in common."""
    return (
        TRIAL.c.run_id == run.id,
        TRIAL.c.block == block,
        TRIAL.c.contender == cell.contender,
        TRIAL.c.point == rows.point_text(cell.point),
    )


def _insert(connection: sa.Connection, run: Run, trial: Trial) -> None:
    values = {"run_id": run.id, **rows.trial_values(trial)}
    driver: Any = connection.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        key = driver.execute(insert_trial_text(), values).lastrowid
    else:
        (key,) = connection.execute(INSERT_TRIAL, values).inserted_primary_key or (None,)
    if trial.samples:
        connection.execute(INSERT_TIMELINE, {"trial_id": key, "samples": samples_text(trial.samples)})


# Trials whose usage is read by one query: some 10 kB each.
_BATCH = 50


class _Usages:
    """Reads the usage of trials, those of some trials of a cell together: an analysis goes cell by cell, and
    a query for each trial would take longer than what it finds. Only the latest batch is kept, and of it what
    was not asked for yet."""

    def __init__(self, database: Database, cells: Iterable[Sequence[int]]) -> None:
        """`cells`: the ids of the trials of each."""
        self._database = database
        batches = (ids[start : start + _BATCH] for ids in cells for start in range(0, len(ids), _BATCH))
        self._batches = {trial_id: batch for batch in batches for trial_id in batch}
        self._latest: dict[int, Usage] = {}

    def of(self, trial_id: int) -> Usage:
        if trial_id not in self._latest:
            batch = self._batches[trial_id]
            with self._database.reading("the samples of a trial") as connection:
                rows_read = connection.execute(_BATCH_OF_SAMPLES, {"keys": batch})
                read = {row.trial_id: usage_of(row.samples) for row in rows_read}
            self._latest = dict.fromkeys(batch, usage_of("[]")) | read
        return self._latest.pop(trial_id)


# Made once: a query is compiled, or looked up by all its parts, each time that it is made.
_SAMPLES = sa.select(TIMELINE.c.samples).where(TIMELINE.c.trial_id == sa.bindparam("key"))
_BATCH_OF_SAMPLES = sa.select(TIMELINE).where(TIMELINE.c.trial_id.in_(sa.bindparam("keys", expanding=True)))
_OUTCOME_LINE = sa.select(TRIAL.c.outcome_line).where(TRIAL.c.id == sa.bindparam("key"))


class _Samples:
    """Reads the samples of a trial, decoded as the caller wants them, and the seconds of its loads."""

    def __init__(self, database: Database, trial_id: int, usages: _Usages) -> None:
        self._database, self._trial_id, self._usages = database, trial_id, usages

    def whole(self) -> tuple[Sample, ...]:
        return self._read(_SAMPLES, "[]", samples_of)

    def usage(self) -> Usage:
        return self._usages.of(self._trial_id)

    def seconds(self, load: LoadMessage) -> tuple[SecondOfLoad, ...]:
        return self._read(_OUTCOME_LINE, "{}", lambda text: rows.seconds_of(text, load.step, load.name))

    def _read(self, query: sa.Select[Any], none: str, decode: Callable[[str], T]) -> T:
        with self._database.reading("the samples of a trial") as connection:
            return decode(connection.execute(query, {"key": self._trial_id}).scalar() or none)


def _whole(row: dict[str, Any], table: sa.Table) -> dict[str, Any]:
    """A row that has all columns of its table. Raises ValueError."""
    if row.keys() != set(table.c.keys()):
        raise ValueError(f"a row of {table.name} has other columns")
    return row


def text_hash(text: str) -> str:
    """The hash under which a source text is kept."""
    return hashlib.sha256(text.encode()).hexdigest()
