"""The store of runs (docs/STORE.md). A trial is committed before the next one begins. Users name runs by an
id, the id of a suite, an experiment's or a suite's name for the latest of it, or `latest`."""

import datetime
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import msgspec

from ringside.errors import StoreError, UsageError
from ringside.files import FileLock, is_locked
from ringside.model.design import Cell, grouped
from ringside.model.results import Outcome, Run, RunState, StoredSamples, Trial, Usage
from ringside.probe.protocol import Sample
from ringside.store import rows
from ringside.store.connection import COLUMNS, AdvisoryLock, Database, insertion, placeholders
from ringside.store.samples import samples_of, samples_text, usage_of
from ringside.text import one_line


def now() -> str:
    """The time as it is stored: UTC, ISO 8601, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def stamp(time: str | None = None) -> str:
    """A time, or now, as it begins the ids of runs: `20260918-174158`."""
    time = time or now()
    return f"{time[:10].replace('-', '')}-{time[11:19].replace(':', '')}"


# A process that checks whether a run is in progress takes its lock for an instant.
_HOLD_PATIENCE_S = 0.3
# How many trials of a cell, some 10 kB each, one query reads: analyses go by cell; one each would be slow.
_BATCH = 50
# How many trials a run has besides warm-ups.
_TRIALS = "(SELECT count(*) FROM trial WHERE run_id = run.id AND block > 0) AS trials"
# The beginning of an id, such as `20260918-174158-`.
_STAMP = 16


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run without its plan. `title` and `workload`: those of its experiment; `suite`: the id of its suite;
    all three empty where the plan cannot be read. `trials`: how many are no warm-ups."""

    id: str
    experiment: str
    started_at: str
    ended_at: str | None
    trials: int
    title: str
    workload: str
    suite: str


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: how many trials it has besides warm-ups, and its state."""

    trials: int
    state: RunState


class Store(Database):
    """An open store. Every method commits before it returns, and raises StoreError when it cannot.

    A run, or a suite, that a process adds to is locked: by a file beside the database, or by a lock of
    PostgreSQL; in a database in memory by none."""

    def __init__(self, where: str | Path | None, *, create: bool = True, read_only: bool = False) -> None:
        super().__init__(where, create=create, read_only=read_only)
        # By the id of a run or suite.
        self._held: dict[str, FileLock | AdvisoryLock] = {}

    def state(self, run_id: str, ended_at: str | None) -> RunState:
        """The state of a run that ended at that time (None: it has not)."""
        if ended_at is not None:
            return RunState.DONE
        return RunState.IN_PROGRESS if self.is_held(run_id) else RunState.CUT_OFF

    def _unknown(self, name: str) -> UsageError:
        return UsageError(
            f"there is no run `{one_line(name, 120)}` in {self.where}: "
            f"`{shlex.join(('ringside', 'list', 'runs', '--store', self.where))}` names them"
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
        values = {
            "experiment": experiment,
            "started_at": started,
            "seed": seed,
            "plan": json.dumps(plan),
            "host": json.dumps(host),
        }
        with self._writing():
            self.wait_for_writers()
            taken = self.execute("SELECT id FROM run WHERE id LIKE ?", (f"{stem}%",))
            name = _free(stem, "-", {row["id"] for row in taken})
            for source in sources.items():
                self.execute(f"{insertion('source', ('hash', 'text'))} ON CONFLICT (hash) DO NOTHING", source)
            self._insert("run", {"id": name, **values})
        return Run(name, experiment, started, None, seed, plan, host)

    def _insert(self, table: str, row: Mapping[str, Any]) -> None:
        self.execute(insertion(table, row), tuple(row.values()))

    @contextmanager
    def _writing(self, run: Run | None = None) -> Iterator[None]:
        """A transaction that writes a new run, or what belongs to a run. A file that was removed since it was
        opened is written again first, with all that it held. Where another file has taken its place,
        everything goes into a third one, and a StoreError names that."""
        is_replaced = self.follow_file()
        with self.transaction(writes=True):
            if run and (held := self._held.get(run.id)):
                self._check_held(run.id, held, is_moved=is_replaced)
            yield
        if is_replaced:
            raise StoreError(
                f"the store {self.where} was replaced by another file; all that it held, and the run in "
                f"progress, is in {self.path}: name that with --store"
            )

    def _change(self, run: Run, column: str, value: str) -> None:
        with self._writing(run):
            self.execute(f"UPDATE run SET {column} = ? WHERE id = ?", (value, run.id))

    def end_run(self, run: Run) -> None:
        """Note that all that was planned has been done."""
        self._change(run, "ended_at", now())

    def set_plan(self, run: Run, plan: Mapping[str, Any]) -> Run:
        """The run with another plan."""
        self._change(run, "plan", json.dumps(plan))
        return replace(run, plan=plan)

    def add_machine(self, run: Run, name: str, facts: Mapping[str, Any]) -> Run:
        """The run with a further machine that measures in it: `host["machines"]` has the facts of each by its
        name. Those of the first are the run's own, too."""
        host = {**(run.host or facts), "machines": {**run.host.get("machines", {}), name: dict(facts)}}
        self._change(run, "host", json.dumps(host))
        return replace(run, host=host)

    def set_aside(self, run: Run, block: int, cells: Sequence[Cell], reason: str) -> None:
        """Have the trials of these cells in a block repeated: they become interrupted, for that reason."""
        of_cell = "run_id = ? AND block = ? AND contender = ? AND point = ?"
        with self._writing(run):
            for cell in cells:
                key = (run.id, block, cell.contender, rows.point_text(cell.point))
                values = (str(Outcome.INTERRUPTED), reason, *key)
                self.execute(f"UPDATE trial SET outcome = ?, detail = ? WHERE {of_cell}", values)

    def add_trial(self, run: Run, trial: Trial) -> None:
        """Keep a trial, with its samples."""
        values = {"run_id": run.id, **rows.trial_values(trial)}
        with self._writing(run):
            statement = f"{insertion('trial', values)} RETURNING id"
            (added,) = self.execute(statement, tuple(values.values()))
            if samples := tuple(trial.samples):
                self._insert("timeline", {"trial_id": added["id"], "samples": samples_text(samples)})

    def trials(self, run: Run, *, samples: bool = False) -> list[Trial]:
        """All trials of a run in the order in which they were carried out; with their samples only on
        request: these are then read when they are used, as long as the store is open."""
        query = "SELECT * FROM trial WHERE run_id = ? ORDER BY id"
        with self.reading(f"a trial of run {run.id}"):
            trials = {row["id"]: rows.trial_of(row) for row in self.execute(query, (run.id,))}
        if not samples:
            return list(trials.values())
        by_cell = grouped((trial.cell, key) for key, trial in trials.items())
        batches = (
            tuple(keys[start : start + _BATCH])
            for keys in by_cell.values()
            for start in range(0, len(keys), _BATCH)
        )
        batch_of = {key: batch for batch in batches for key in batch}
        usages = lru_cache(maxsize=1)(self._usages)

        def usage(key: int) -> Usage:
            return usages(batch_of[key]).get(key) or Usage.of(())

        return [
            replace(trial, samples=StoredSamples(partial(self._samples, key), partial(usage, key)))
            for key, trial in trials.items()
        ]

    def _usages(self, batch: tuple[int, ...]) -> dict[int, Usage]:
        query = f"SELECT * FROM timeline WHERE trial_id IN ({placeholders(batch)})"
        with self.reading("the samples of a trial"):
            return {row["trial_id"]: usage_of(row["samples"]) for row in self.execute(query, batch)}

    def _samples(self, trial_id: int) -> tuple[Sample, ...]:
        with self.reading("the samples of a trial"):
            query = "SELECT samples FROM timeline WHERE trial_id = ?"
            return next((samples_of(row["samples"]) for row in self.execute(query, (trial_id,))), ())

    def runs(self) -> list[Run]:
        """All runs, the latest last."""
        with self.reading("a run"):
            found = self.execute("SELECT * FROM run ORDER BY started_at, id")
            return [rows.run_of(row) for row in found]

    def summaries(self) -> list[RunSummary]:
        """All runs without their plans, the latest last. A run whose plan cannot be read is one of them."""
        query = f"SELECT id, experiment, started_at, ended_at, plan, {_TRIALS} FROM run"
        with self.reading("a run"):
            found = self.execute(f"{query} ORDER BY started_at, id")
            return [msgspec.convert(row | rows.titles_of(row["plan"]), RunSummary) for row in found]

    def progress(self, run_id: str) -> RunProgress:
        """How far a run is. Raises UsageError for another id."""
        with self.reading("a run"):
            found = [*self.execute(f"SELECT ended_at, {_TRIALS} FROM run WHERE id = ?", (run_id,))]
        if not found:
            raise self._unknown(run_id)
        return RunProgress(found[0]["trials"], self.state(run_id, found[0]["ended_at"]))

    def run(self, name: str = "latest") -> Run:
        """The run of that id, or the latest. Raises UsageError when there is none."""
        is_latest = name == "latest"
        which = "ORDER BY started_at DESC, id DESC LIMIT 1" if is_latest else "WHERE id = ?"
        with self.reading("a run"):
            found = self.execute(f"SELECT * FROM run {which}", () if is_latest else (name,))
            for row in found:
                return rows.run_of(row)
        raise self.empty() if is_latest else self._unknown(name)

    def sources(self, hashes: Sequence[str]) -> dict[str, str]:
        """Texts by their hash."""
        query = f"SELECT * FROM source WHERE hash IN ({placeholders(hashes)})"
        with self.reading("a source"):
            return {row["hash"]: row["text"] for row in self.execute(query, tuple(hashes))}

    def rows_of(self, runs: Sequence[Run]) -> dict[str, list[dict[str, Any]]]:
        """The rows of all tables that belong to runs, by the tables' names: what `add_rows` takes."""
        ids = tuple(run.id for run in runs)
        hashes = tuple(sorted(set().union(*map(rows.hashes_of, runs))))
        of_runs = f"run_id IN ({placeholders(ids)})"
        queries = {
            "run": (f"id IN ({placeholders(ids)}) ORDER BY started_at, id", ids),
            "source": (f"hash IN ({placeholders(hashes)}) ORDER BY hash", hashes),
            "trial": (f"{of_runs} ORDER BY id", ids),
            "timeline": (f"trial_id IN (SELECT id FROM trial WHERE {of_runs}) ORDER BY trial_id", ids),
        }
        with self.reading("a row"):
            return {
                table: [*self.execute(f"SELECT * FROM {table} WHERE {condition}", values)]
                for table, (condition, values) in queries.items()
            }

    def add_rows(self, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Add rows to an empty store. Raises StoreError if they are none of its tables."""
        try:
            with self.transaction(writes=True):
                for table in ("run", "source", "trial", "timeline"):
                    for row in tables[table]:
                        if [*row] != COLUMNS[table]:
                            raise ValueError(f"a row of {table} has other columns")
                        self._insert(table, row)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise StoreError(f"{self.where} does not hold the tables of runs") from error

    @contextmanager
    def hold(self, run_id: str) -> Iterator[None]:
        """Keep others from adding to the run, or to the suite, of that id. Raises UsageError if another
        process already does, StoreError if the database fails."""
        try:
            if lock := self._lock(run_id):
                with self.transaction():
                    if not self._acquire(lock):
                        raise UsageError(f"run {run_id} is in progress in another process: wait for its end")
                    self._held[run_id] = lock
            yield
        finally:
            if held := self._held.pop(run_id, None):
                held.release(removes=True)

    def _check_held(self, run_id: str, held: FileLock | AdvisoryLock, *, is_moved: bool) -> None:
        """Take a run's lock again if connection or file, and it, were lost. Raises StoreError if taken."""
        if is_moved and (lock := self._lock(run_id)):
            held.release(removes=True)
            held = self._held[run_id] = lock
        if held.is_lost() and not self._acquire(held):
            raise StoreError(
                f"the lock of run {run_id} was lost, and another process has it: nothing more is written"
            )

    def _lock(self, run_id: str) -> FileLock | AdvisoryLock | None:
        if self.is_postgresql:
            return AdvisoryLock(self, run_id)
        return FileLock(self.path.with_name(f"{self.path.name}-{run_id}.lock")) if self.path else None

    def _acquire(self, lock: FileLock | AdvisoryLock) -> bool:
        try:
            return lock.acquire(_HOLD_PATIENCE_S)
        except OSError as error:
            # Only a file's lock raises it.
            raise StoreError(
                f"the lock {getattr(lock, 'path', '')} cannot be made: {error.strerror}"
            ) from error

    def is_held(self, run_id: str) -> bool:
        """Whether another process of this machine is adding to the run. Writes nothing: the lock is not made,
        and given back at once. Raises StoreError if the database fails."""
        lock = self._lock(run_id)
        if isinstance(lock, AdvisoryLock):
            with self.transaction():
                return lock.is_taken()
        return lock is not None and is_locked(lock.path)


def runs_of(store: Store, name: str) -> list[Run]:
    """The run of that id, or the latest of that experiment; all runs of the suite of that id, or of the
    latest of that name; for `latest` those of the latest run's suite; the oldest first. Raises UsageError."""
    try:
        run = store.run(name)
    except UsageError:
        summaries = store.summaries()
        ids = _members(summaries, name) or _members(summaries, _latest(summaries, name))
        if not ids:
            raise
    else:
        suite = run.suite.get("id") if name == "latest" else None
        if not suite:
            return [run]
        ids = _members(store.summaries(), suite)
    # Load only these: an unreadable run must not break the rest.
    return [store.run(id) for id in ids]


def suite_of(runs: Sequence[Run], name: str) -> str | None:
    """The id of the suite that `name` means and that has these runs; None if it means one run."""
    is_one = len(runs) == 1 and name in (runs[0].id, runs[0].experiment)
    return None if is_one else runs[0].suite.get("id")


def free_suite_id(store: Store, id: str) -> str:
    """The id, or one with a number behind it where another suite began in the same second."""
    return _free(id, ".", {run.suite for run in store.summaries()})


def _free(id: str, sign: str, taken: Collection[str]) -> str:
    ids = chain([id], (f"{id}{sign}{number}" for number in count(2)))
    return next(each for each in ids if each not in taken)


def single_run(store: Store, name: str, fits: Callable[[Run], bool] = lambda run: True) -> Run:
    """The run of that id, or the one of a suite that fits; the first if none does. Raises UsageError, also
    where several do."""
    runs = runs_of(store, name)
    runs = [run for run in runs if fits(run)] or runs[:1]
    if len(runs) > 1:
        ids = ", ".join(run.id for run in runs)
        raise UsageError(f"{name} is a suite of runs: name one of {ids}")
    return runs[0]


def _latest(summaries: Sequence[RunSummary], name: str) -> str:
    """The id of the latest run of that experiment, or suite of that name; empty if there is none."""
    for run in reversed(summaries):
        if re.fullmatch(rf"{re.escape(name)}(-x\d+)?(\.\d+)?", run.suite[_STAMP:]):
            return run.suite
        if run.experiment == name:
            return run.id
    return ""


def _members(summaries: Sequence[RunSummary], id: str) -> list[str]:
    """The ids of the runs that a run's or a suite's id means."""
    return [run.id for run in summaries if id and id in (run.id, run.suite)]


def text_hash(text: str) -> str:
    """The hash under which a source text is kept."""
    return hashlib.sha256(text.encode()).hexdigest()
