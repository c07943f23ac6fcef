"""The store: SQLite by default, another database by URL (docs/STORE.md). A trial is committed before
the next one begins."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ringside.errors import StoreError, UsageError
from ringside.model.design import Cell, Experiment, Limits, Point, Show
from ringside.model.results import Outcome, Trial

FORMAT = 1

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
    sa.Column("seed", sa.Integer, nullable=False),
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
    sa.Column("id", sa.Integer, primary_key=True),
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
_timeline = sa.Table(
    "timeline",
    _metadata,
    sa.Column("trial_id", sa.ForeignKey("trial.id"), primary_key=True),
    sa.Column("samples", sa.Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Run:
    """What is kept of one execution of an experiment, trials apart. `plan` holds the resolved experiment,
    the contenders as they were (with hashes of their sources) and the points; `host` the machine's facts."""

    id: str
    experiment: str
    started_at: str
    ended_at: str | None
    seed: int
    plan: Mapping[str, Any]
    host: Mapping[str, Any]


def now() -> str:
    """The time as it is stored: UTC, ISO 8601, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def stamp(time: str | None = None) -> str:
    """A time, or now, as it stands in front of the ids of runs: `20260918-174158`."""
    time = time or now()
    return f"{time[:10].replace('-', '')}-{time[11:19].replace(':', '')}"


class Store:
    """An open store. Every method commits before it returns, and raises StoreError when it cannot."""

    def __init__(self, where: str | Path) -> None:
        """`where`: a path of an SQLite file (made when missing) or a database URL of SQLAlchemy's."""
        self.where = str(where)
        if "://" not in self.where:
            path = Path(self.where)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(
                    f"the store's folder {path.parent} cannot be made: {error.strerror}"
                ) from error
        try:
            url = self.where if "://" in self.where else f"sqlite:///{self.where}"
            self._engine = sa.create_engine(url)
        except (sa.exc.ArgumentError, ImportError) as error:
            raise StoreError(f"the store {self.where} cannot be opened: {_first_line(error)}") from error
        if self._engine.dialect.name == "sqlite":
            sa.event.listen(self._engine, "connect", _tune_sqlite)
        with self._begin() as connection:
            _metadata.create_all(connection)
            found = connection.execute(sa.select(_meta.c.value).where(_meta.c.key == "format")).scalar()
            if found is None:
                connection.execute(_meta.insert().values(key="format", value=str(FORMAT)))
        if found is not None and found != str(FORMAT):
            raise StoreError(
                f"the store {self.where} has format {found[:20]}, this ringside knows {FORMAT}: "
                "use the ringside that wrote it, or another store with --store"
            )
        # One connection for all trials: opening one for each costs more than the commit.
        self._connection = self._engine.connect()

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise self._error(error) from error

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        try:
            with self._connection.begin():
                yield self._connection
        except sa.exc.SQLAlchemyError as error:
            raise self._error(error) from error

    def _error(self, error: sa.exc.SQLAlchemyError) -> StoreError:
        reason = _first_line(getattr(error, "orig", None) or error)
        hint = {
            "database or disk is full": "free some space, then `ringside run --resume` goes on",
            "file is not a database": "name another one with --store",
            "attempt to write a readonly database": "make it writable or name another one with --store",
        }.get(reason, "check the path or URL given by --store")
        return StoreError(f"the store {self.where}: {reason}; {hint}")

    def begin_run(
        self,
        experiment: str,
        seed: int,
        plan: Mapping[str, Any],
        host: Mapping[str, Any],
        sources: Mapping[str, str],
    ) -> Run:
        """A new run. `sources` are texts by their hash (`text_hash`), which the plan refers to."""
        started = now()
        stem = f"{stamp(started)}-{experiment}"
        with self._transaction() as connection:
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

    def end_run(self, run: Run) -> None:
        """Note that all that was planned has been done."""
        with self._transaction() as connection:
            connection.execute(_run.update().where(_run.c.id == run.id).values(ended_at=now()))

    def add_trial(self, run: Run, trial: Trial) -> None:
        """Keep a trial, with its samples."""
        with self._transaction() as connection:
            result = connection.execute(
                _trial.insert().values(
                    run_id=run.id,
                    block=trial.block,
                    position=trial.position,
                    contender=trial.cell.contender,
                    point=json.dumps(trial.cell.point.as_dict()),
                    outcome=str(trial.outcome),
                    detail=trial.detail,
                    started_at=trial.started_at,
                    cpus=json.dumps(trial.cpus),
                    outcome_line=json.dumps(trial.outcome_line),
                    phases=json.dumps(trial.phases),
                    marks=json.dumps(trial.marks),
                    missing=json.dumps(trial.missing),
                )
            )
            if (key := result.inserted_primary_key) and trial.samples:
                connection.execute(
                    _timeline.insert().values(trial_id=key[0], samples=json.dumps(trial.samples))
                )

    def trials(self, run: Run, *, samples: bool = False) -> list[Trial]:
        """All trials of a run in the order in which they were made; with their samples only where asked."""
        mine = _trial.c.run_id == run.id
        query = sa.select(_trial).where(mine).order_by(_trial.c.id)
        with self._transaction() as connection:
            found = [(row.id, _as_trial(row)) for row in connection.execute(query)]
            if not samples:
                return [trial for _, trial in found]
            kept = sa.select(_timeline).join(_trial).where(mine)
            texts = {row.trial_id: row.samples for row in connection.execute(kept)}
        return [replace(trial, samples=tuple(json.loads(texts.get(key, "[]")))) for key, trial in found]

    def runs(self) -> list[Run]:
        """All runs, the latest last."""
        with self._transaction() as connection:
            rows = connection.execute(sa.select(_run).order_by(_run.c.started_at, _run.c.id))
            return [_as_run(row) for row in rows]

    def run(self, name: str = "latest") -> Run:
        """The run of that id, or the latest. Raises UsageError when there is none."""
        query = sa.select(_run)
        if name == "latest":
            query = query.order_by(_run.c.started_at.desc(), _run.c.id.desc()).limit(1)
        else:
            query = query.where(_run.c.id == name)
        with self._transaction() as connection:
            row = connection.execute(query).first()
        if row is None and name == "latest":
            raise UsageError(f"the store {self.where} holds no run yet: `ringside run showdown` makes one")
        if row is None:
            raise UsageError(f"there is no run `{name}` in {self.where}: `ringside list runs` names them")
        return _as_run(row)

    def sources(self, hashes: Sequence[str]) -> dict[str, str]:
        """Texts by their hash."""
        with self._transaction() as connection:
            rows = connection.execute(sa.select(_source).where(_source.c.hash.in_(list(hashes))))
            return {row.hash: row.text for row in rows}


def experiment_of(run: Run) -> Experiment:
    """The experiment as it was when the run began."""
    kept = dict(run.plan["experiment"])
    kept["limits"] = Limits(**kept["limits"])
    show = kept["show"]
    kept["show"] = Show(
        tuple(show["metrics"]), show["sweep"], tuple((pair[0], pair[1]) for pair in show["ratios"])
    )
    kept["contenders"] = tuple(kept["contenders"])
    kept["factors"] = {factor: tuple(levels) for factor, levels in kept["factors"].items()}
    kept["at"] = tuple(kept.get("at", ()))
    return Experiment(**kept)


def without_interrupted(trials: Sequence[Trial]) -> list[Trial]:
    """The trials that count: an interrupted one that was made again is left out."""
    again = {(made.block, made.cell) for made in trials if made.outcome is not Outcome.INTERRUPTED}
    return [
        made
        for made in trials
        if made.outcome is not Outcome.INTERRUPTED or (made.block, made.cell) not in again
    ]


def text_hash(text: str) -> str:
    """The name under which a source text is kept."""
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value: Any) -> dict[str, Any]:
    """A dataclass of the model as JSON values."""
    return {key: _plain(item) for key, item in asdict(value).items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _tune_sqlite(connection: Any, _record: Any) -> None:
    # WAL and NORMAL: a commit outlives ringside's own death; a power cut may take the last trials, whole.
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")


def _first_line(error: object) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _as_run(row: Any) -> Run:
    return Run(
        id=row.id,
        experiment=row.experiment,
        started_at=row.started_at,
        ended_at=row.ended_at,
        seed=row.seed,
        plan=json.loads(row.plan),
        host=json.loads(row.host),
    )


def _as_trial(row: Any) -> Trial:
    return Trial(
        block=row.block,
        position=row.position,
        cell=Cell(row.contender, Point(tuple(json.loads(row.point).items()))),
        outcome=Outcome(row.outcome),
        detail=row.detail,
        started_at=row.started_at,
        cpus=tuple(json.loads(row.cpus)),
        outcome_line=json.loads(row.outcome_line),
        phases=json.loads(row.phases),
        marks=json.loads(row.marks),
        missing=tuple(json.loads(row.missing)),
    )
