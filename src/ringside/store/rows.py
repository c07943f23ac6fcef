"""A trial as a row of the store, and back. The column `outcome_line` holds the probe's outcome and, beside
its keys, what else is known of the trial: loads, spans, repeats, the memory limit, the size of its input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Span, Trial
from ringside.probe.protocol import LoadMessage, Sample, TrialOutcome, plain

_NS = 1e9
# Keys of `outcome_line` that are not the probe's.
_OURS = ("loads", "spans", "repeats", "memory_limit_bytes", "input_bytes")


def trial_values(trial: Trial) -> dict[str, Any]:
    """The columns of a trial's row, without its run."""
    return {
        "block": trial.block,
        "position": trial.position,
        "contender": trial.cell.contender,
        "point": json.dumps(trial.cell.point.as_dict()),
        "outcome": str(trial.outcome),
        "detail": trial.detail,
        "started_at": trial.started_at,
        "cpus": json.dumps(trial.cpus),
        "outcome_line": json.dumps(_outcome_values(trial)),
        "phases": json.dumps({name: sum(each) for name, each in trial.phases.items()}),
        "marks": json.dumps({name: plain(sample) for name, sample in trial.marks.items()}),
        "missing": json.dumps(trial.missing),
    }


def samples_text(samples: Sequence[Sample]) -> str:
    """The samples of a trial as one text."""
    return msgspec.json.encode(samples).decode()


def samples_of(text: str) -> tuple[Sample, ...]:
    """The samples of such a text. Raises ValueError where it is none."""
    return msgspec.json.decode(text, type=tuple[Sample, ...])


def trial_of(row: Any) -> Trial:
    """The trial of a row, without its samples. Raises ValueError where the row is none."""
    values: Mapping[str, Any] = json.loads(row.outcome_line)
    report = {key: value for key, value in values.items() if key not in _OURS}
    repeats = values.get("repeats", {})
    marks = {
        # A mark of the earliest versions lacks its type.
        name: msgspec.convert({**mark, "type": "sample"}, Sample)
        for name, mark in json.loads(row.marks).items()
    }
    return Trial(
        block=row.block,
        position=row.position,
        cell=Cell(row.contender, Point(tuple(json.loads(row.point).items()))),
        outcome=Outcome(row.outcome),
        detail=row.detail,
        started_at=row.started_at,
        cpus=tuple(json.loads(row.cpus)),
        report=msgspec.convert({**report, "type": "outcome"}, TrialOutcome) if "outcome" in report else None,
        phases={name: tuple(repeats.get(name, (total,))) for name, total in json.loads(row.phases).items()},
        marks=marks,
        loads=tuple(
            msgspec.convert({"outcome": "ok", **load, "type": "load"}, LoadMessage)
            for load in values.get("loads", ())
        ),
        spans=tuple(
            Span(unit, begin_ns / _NS, end_ns / _NS) for unit, begin_ns, end_ns in values.get("spans", ())
        ),
        missing=tuple(json.loads(row.missing)),
        memory_limit_bytes=values.get("memory_limit_bytes"),
        input_bytes=values.get("input_bytes"),
    )


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
    return values


def _without_type(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != "type"}
