"""Trials and runs as rows of the store, and back. The column `outcome_line` holds the probe's outcome and,
beside its keys, what else is known of the trial."""

from __future__ import annotations

import functools
import json
from typing import Any

import msgspec
from msgspec import structs

from ringside.model.design import Cell, Level, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import Bytes, Count, LoadMessage, Sample, Span, TrialOutcome


class _TrialColumns(msgspec.Struct, frozen=True):
    """The columns of a row whose values have the right types: SQLite keeps anything in any column."""

    block: Count
    position: Count
    contender: str
    outcome: Outcome
    detail: str
    started_at: str


class _ExtraFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """The keys of `outcome_line` that are not the probe's; `outcome` is set where it has those, too."""

    outcome: str = ""
    loads: tuple[LoadMessage, ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()
    repeats: dict[str, tuple[Count, ...]] = {}
    read_ns: dict[str, tuple[Count, Count]] = {}
    memory_limit_bytes: Bytes | None = None
    input_bytes: Bytes | None = None
    machine: str = ""
    outputs: dict[str, float] = {}


def trial_values(trial: Trial) -> dict[str, Any]:
    """The columns of a trial's row, without its run."""
    extra = _ExtraFields(
        spans=tuple((span.unit, span.begin_ns, span.end_ns) for span in trial.spans),
        repeats={name: each for name, each in trial.phases.items() if len(each) > 1},
        read_ns=dict(trial.read_ns),
        memory_limit_bytes=trial.memory_limit_bytes,
        input_bytes=trial.input_bytes,
        machine=trial.machine,
        outputs=dict(trial.outputs),
    )
    line = {**(_untyped(trial.report) if trial.report else {}), **msgspec.to_builtins(extra)}
    if trial.loads:
        line["loads"] = [_untyped(load) for load in trial.loads]
    return {
        "block": trial.block,
        "position": trial.position,
        "contender": trial.cell.contender,
        "point": point_text(trial.cell.point),
        "outcome": str(trial.outcome),
        "detail": trial.detail,
        "started_at": trial.started_at,
        "cpus": _compact(trial.cpus),
        "outcome_line": _compact(line),
        "phases": _compact({name: sum(each) for name, each in trial.phases.items()}),
        "marks": _compact({name: msgspec.to_builtins(sample) for name, sample in trial.marks.items()}),
        "missing": _compact(trial.missing),
    }


def _untyped(message: TrialOutcome | LoadMessage) -> dict[str, Any]:
    """A message of the probe without its type, which its column implies."""
    return {key: value for key, value in msgspec.to_builtins(message).items() if key != "type"}


def _compact(value: object) -> str:
    """Without spaces, so that the rows of short trials share a page."""
    return msgspec.json.encode(value).decode()


def point_text(point: Point) -> str:
    """The column of a point."""
    return json.dumps(point.as_dict())


def trial_of(row: dict[str, Any]) -> Trial:
    """The trial in a row, without its samples. Raises ValueError if the row is invalid."""
    columns = structs.asdict(msgspec.convert(row, _TrialColumns))
    extra = structs.asdict(_json(row["outcome_line"], _ExtraFields))
    is_reported, repeats = extra.pop("outcome") != "", extra.pop("repeats")
    phases: dict[str, int] = _json(row["phases"], dict[str, Count])
    return Trial(
        cell=_cell(columns.pop("contender"), row["point"]),
        cpus=_shared_json(row["cpus"], tuple[int, ...]),
        report=_json(row["outcome_line"], TrialOutcome) if is_reported else None,
        phases={name: repeats.get(name, (total,)) for name, total in phases.items()},
        marks=_json(row["marks"], dict[str, Sample]),
        spans=tuple(Span(*span) for span in extra.pop("spans")),
        missing=_shared_json(row["missing"], tuple[str, ...]),
        **columns,
        **extra,
    )


@functools.lru_cache(maxsize=1024)
def _cell(contender: str, point: Any) -> Cell:
    """Trials of a run have few different cells, and share them."""
    return Cell(contender, Point(tuple(_json(point, dict[str, Level]).items())))


class _Facts(msgspec.Struct, frozen=True):
    """The facts of a machine that Ringside uses. Others are only shown; all may be missing."""

    cpu_model: str | None = None
    cpus: Count | None = None
    cpus_usable: tuple[Count, ...] | None = None
    memory_bytes: Bytes | None = None
    kernel: str | None = None
    hypervisor: str | None = None
    # How many, their names, or the facts of each by its name.
    engines: Count | list[str] | dict[str, _Facts] | None = None
    machines: dict[str, _Facts] | None = None


def run_of(row: dict[str, Any]) -> Run:
    """The run in a row. Raises ValueError if the row is invalid."""
    values = row | {name: _json(row[name], dict[str, Any]) for name in ("plan", "host")}
    msgspec.convert(values["host"], _Facts)
    return msgspec.convert(values, Run)


class _ContenderFiles(msgspec.Struct):
    files: dict[str, str] = {}


def hashes_of(run: Run) -> set[str]:
    """The hashes of the sources of a run's contenders; none if its plan cannot be read."""
    try:
        contenders = msgspec.convert(run.plan.get("contenders", {}), dict[str, _ContenderFiles])
    except msgspec.ValidationError:
        return set()
    return {digest for contender in contenders.values() for digest in contender.files.values()}


class _TitledPlan(msgspec.Struct):
    """The part of a plan that a list shows; the rest is skipped, not read."""

    experiment: dict[str, Any] = {}
    suite: dict[str, Any] | None = None


def titles_of(plan: Any) -> dict[str, str]:
    """Title and workload of a plan's experiment, and its suite's id; empty if it cannot be read."""
    try:
        kept = _json(plan, _TitledPlan)
    except ValueError:
        return {"title": "", "workload": "", "suite": ""}
    of_experiment = {key: str(kept.experiment.get(key, "")) for key in ("title", "workload")}
    return {**of_experiment, "suite": str((kept.suite or {}).get("id") or "")}


def _json(text: Any, type: Any) -> Any:
    """The value of a column of JSON. Raises ValueError, also for numbers and characters JSON lacks."""
    if not isinstance(text, str):
        raise ValueError("a column holds no text")
    try:
        return _decoder(type).decode(text)
    except RecursionError:
        raise ValueError("a column is nested too deeply") from None


@functools.lru_cache(maxsize=1024)
def _shared_json(text: Any, type: Any) -> Any:
    """The same for immutable values. Trials have few different ones, and share them."""
    return _json(text, type)


_decoder = functools.cache(msgspec.json.Decoder)
