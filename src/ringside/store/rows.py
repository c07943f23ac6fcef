"""Trials and runs as rows of the store, and back. The column `outcome_line` holds the probe's outcome and,
beside its keys, what else is known of the trial: loads, spans, repeats, the memory limit, the size of its
input, the machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from ringside.model.design import Cell, Level, Point
from ringside.model.results import Outcome, Run, Span, Trial
from ringside.probe.protocol import Bytes, Count, LoadMessage, Sample, TrialOutcome, Usage, plain

_NS = 1e9


def trial_values(trial: Trial) -> dict[str, Any]:
    """The columns of a trial's row, without its run."""
    return {
        "block": trial.block,
        "position": trial.position,
        "contender": trial.cell.contender,
        "point": point_text(trial.cell.point),
        "outcome": str(trial.outcome),
        "detail": trial.detail,
        "started_at": trial.started_at,
        "cpus": json.dumps(trial.cpus),
        "outcome_line": json.dumps(_outcome_values(trial)),
        "phases": json.dumps({name: sum(each) for name, each in trial.phases.items()}),
        "marks": json.dumps({name: plain(sample) for name, sample in trial.marks.items()}),
        "missing": json.dumps(trial.missing),
    }


def point_text(point: Point) -> str:
    """The column of a point."""
    return json.dumps(point.as_dict())


def samples_text(samples: Sequence[Sample]) -> str:
    """The samples of a trial as one text."""
    return msgspec.json.encode(samples).decode()


_WHOLE = msgspec.json.Decoder(tuple[Sample, ...])
_USAGE = msgspec.json.Decoder(tuple[Usage, ...])


def samples_of(text: str) -> tuple[Sample, ...]:
    """The samples of such a text. Raises ValueError where it is none."""
    return _WHOLE.decode(text)


def usage_of(text: str) -> tuple[Usage, ...]:
    """The samples of such a text, as far as figures need them. Raises ValueError where it is none."""
    return _USAGE.decode(text)


class _Columns(msgspec.Struct, frozen=True):
    """The columns of a row that hold what they should: SQLite keeps anything in any column."""

    block: Count
    position: Count
    contender: str
    point: dict[str, Level]
    outcome: Outcome
    detail: str
    started_at: str
    cpus: tuple[int, ...]
    phases: dict[str, Count]
    marks: dict[str, dict[str, Any]]
    missing: tuple[str, ...]


class _Ours(msgspec.Struct, frozen=True):
    """The keys of `outcome_line` that are not the probe's."""

    loads: tuple[dict[str, Any], ...] = ()
    spans: tuple[tuple[int, int, int], ...] = ()
    repeats: dict[str, tuple[Count, ...]] = {}
    memory_limit_bytes: Bytes | None = None
    input_bytes: Bytes | None = None
    machine: str = ""


def trial_of(row: Any) -> Trial:
    """The trial of a row, without its samples. Raises ValueError where the row is none."""
    values: dict[str, Any] = _json(row.outcome_line, dict[str, Any])
    report = {key: value for key, value in values.items() if key not in _Ours.__struct_fields__}
    ours = msgspec.convert(values, _Ours)
    texts = ("point", "cpus", "phases", "marks", "missing")
    kept = {name: getattr(row, name) for name in _Columns.__struct_fields__}
    columns = msgspec.convert({**kept, **{name: _json(kept[name], Any) for name in texts}}, _Columns)
    marks = {
        # A mark of the earliest versions lacks its type.
        name: msgspec.convert({**mark, "type": "sample"}, Sample)
        for name, mark in columns.marks.items()
    }
    return Trial(
        block=columns.block,
        position=columns.position,
        cell=Cell(columns.contender, Point(tuple(columns.point.items()))),
        outcome=columns.outcome,
        detail=columns.detail,
        started_at=columns.started_at,
        cpus=columns.cpus,
        report=msgspec.convert({**report, "type": "outcome"}, TrialOutcome) if "outcome" in report else None,
        phases={name: ours.repeats.get(name, (total,)) for name, total in columns.phases.items()},
        marks=marks,
        loads=tuple(
            msgspec.convert({"outcome": "ok", **load, "type": "load"}, LoadMessage) for load in ours.loads
        ),
        spans=tuple(Span(unit, begin_ns / _NS, end_ns / _NS) for unit, begin_ns, end_ns in ours.spans),
        missing=columns.missing,
        memory_limit_bytes=ours.memory_limit_bytes,
        input_bytes=ours.input_bytes,
        machine=ours.machine,
    )


def run_of(row: Any) -> Run:
    """The run of a row. Raises ValueError where the row is none."""
    kept = {name: getattr(row, name) for name in ("id", "experiment", "started_at", "ended_at", "seed")}
    values = {name: _json(getattr(row, name), dict[str, Any]) for name in ("plan", "host")}
    return msgspec.convert({**kept, **values}, Run)


class _TitledExperiment(msgspec.Struct):
    title: str = ""


class _TitledPlan(msgspec.Struct):
    """What a list shows of a plan; the rest is skipped, not read."""

    experiment: _TitledExperiment = msgspec.field(default_factory=_TitledExperiment)
    suite: dict[str, Any] | None = None


def titles_of(plan: Any) -> dict[str, str]:
    """The title of a plan's experiment, and the id of its suite; empty texts where it cannot be read."""
    try:
        kept = _json(plan, _TitledPlan)
    except ValueError:
        return {"title": "", "suite": ""}
    return {"title": kept.experiment.title, "suite": str((kept.suite or {}).get("id") or "")}


def _json(text: Any, type: Any) -> Any:
    """The value of a column that holds JSON. Raises ValueError, also for numbers and characters that JSON
    does not have."""
    if not isinstance(text, str):
        raise ValueError("a column holds no text")
    try:
        return msgspec.json.decode(text, type=type)
    except RecursionError:
        raise ValueError("a column is nested too deeply") from None


def _outcome_values(trial: Trial) -> dict[str, Any]:
    values: dict[str, Any] = plain(trial.report) if trial.report else {}
    values.pop("type", None)
    if trial.loads:
        values["loads"] = [_without_type(plain(load)) for load in trial.loads]
    if trial.spans:
        values["spans"] = [
            (span.unit, round(span.begin_s * _NS), round(span.end_s * _NS)) for span in trial.spans
        ]
    if repeats := {name: each for name, each in trial.phases.items() if len(each) > 1}:
        values["repeats"] = repeats
    for name in ("memory_limit_bytes", "input_bytes"):
        if (value := getattr(trial, name)) is not None:
            values[name] = value
    if trial.machine:
        values["machine"] = trial.machine
    return values


def _without_type(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != "type"}
