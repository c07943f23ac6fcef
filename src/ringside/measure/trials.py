"""One trial: the request that goes to the probe, and the trial that its messages make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from ringside.errors import ProbeError
from ringside.measure.blocks import padding_bytes
from ringside.measure.plain_server import LOOPBACK, free_port, with_ready_line
from ringside.measure.toolchain import expand
from ringside.model import design
from ringside.model.catalogue import Ready, WorkloadEntry
from ringside.model.design import Cell, Input, Point
from ringside.model.results import Outcome, Span, Trial
from ringside.probe.protocol import (
    InputUse,
    Limits,
    LoadMessage,
    LoadOutcome,
    Phase,
    Sample,
    SpanMessage,
    Started,
    TrialMessage,
    TrialOutcome,
    TrialRequest,
)
from ringside.text import one_line
from ringside.workloads.base import Workload

# What a contender may take of the memory that is available, unless an experiment limits it.
_MEMORY_SHARE = 0.75


def request(
    ready: Ready,
    cell: Cell,
    workload: Workload,
    *,
    limits: design.Limits,
    cpus: Sequence[int],
    probe_cpus: Sequence[int],
    environment: Mapping[str, str],
    seed: int,
    memory_available_bytes: int,
    input: Input | None = None,
    reference: bool = False,
    host: str | None = None,
) -> TrialRequest:
    """The probe's request for one trial of a cell. `input`: the file that the workload has for the point.
    `reference`: time the fixed computation before. `host`: where a server listens for loads of engines on
    other machines. Raises UsageError where the workload's evidence does."""
    point = cell.point
    arguments = {**{key: str(level) for key, level in point.levels}, **workload.arguments(point)}
    arguments.setdefault("seed", str(seed))
    if input:
        arguments["input"] = str(input.path)
    service = workload.service(point, seed)
    if service and host:
        arguments["host"] = host
        service = msgspec.structs.replace(service, host=host, remote=True)
    return TrialRequest(
        argv=_argv(ready, ready.contender.workloads[workload.name], point, arguments),
        cwd=str(ready.contender.folder),
        env=dict(environment),
        limits=Limits(
            wall_s=limits.wall_s,
            memory_bytes=limits.memory_bytes or int(memory_available_bytes * _MEMORY_SHARE),
            output_bytes=limits.output_bytes or workload.output_bytes(point),
            processes=limits.processes,
        ),
        cpus=tuple(cpus),
        probe_cpus=tuple(probe_cpus),
        timeline=workload.timeline_view is not None,
        # A server's evidence is its answers.
        expect=None if service else workload.evidence(point, seed, input),
        service=service,
        inputs=(InputUse(str(input.path), cached=workload.input_cached(point)),) if input else (),
        awaits=workload.awaits(point),
        reference=reference,
        temporary=True,
    )


def _argv(ready: Ready, entry: WorkloadEntry, point: Point, arguments: Mapping[str, str]) -> tuple[str, ...]:
    names = {"runtime": ready.receipt.executable, "build": str(ready.build), **point.as_dict()}
    if entry.is_plain:
        host = arguments.get("host", LOOPBACK)
        port = free_port(host)
        command = expand(entry.command, {**arguments, **names, "port": port, "host": host})
        return with_ready_line(command, port)
    return (*expand(entry.command, names), *(f"{key}={value}" for key, value in arguments.items()))


def environment(base: Mapping[str, str], build: Path, seed: int, block: int, position: int) -> dict[str, str]:
    """A contender's whole environment: small, the same for all, and of a random size.

    HOME lies in the build folder and Python writes no bytecode beside the sources (a build may compile
    it), so that nothing is written elsewhere.
    """
    return {
        "PATH": base.get("PATH", "/usr/local/bin:/usr/bin:/bin"),
        "HOME": str(build),
        "LANG": "C.UTF-8",
        "TMPDIR": base.get("TMPDIR", "/tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ERL_CRASH_DUMP_BYTES": "0",
        "RINGSIDE_PADDING": "." * padding_bytes(seed, block, position),
    }


def with_messages(blank: Trial, messages: Sequence[TrialMessage], interference: str | None = None) -> Trial:
    """The trial with the probe's messages. `interference`: of another program with this one, in words. Raises
    ProbeError where the outcome is missing or unknown."""
    phases: dict[str, list[Phase]] = {}
    samples: list[Sample] = []
    loads: list[LoadMessage] = []
    spans: list[Span] = []
    missing: tuple[str, ...] = ()
    report: TrialOutcome | None = None
    for message in messages:
        match message:
            case Phase():
                phases.setdefault(message.name, []).append(message)
            case Sample():
                samples.append(message)
            case LoadMessage():
                loads.append(message)
            case SpanMessage():
                spans.append(Span(message.unit, message.begin_ns / 1e9, message.end_ns / 1e9))
            case Started():
                missing = message.missing
            case TrialOutcome():
                report = message
    if report is None:
        raise ProbeError("the probe ended without an outcome")
    if interference:
        report = msgspec.structs.replace(report, interference=(*report.interference, interference))
    return replace(
        blank,
        outcome=outcome_of(report),
        detail=report.detail,
        report=report,
        phases={name: tuple(phase.ns for phase in each) for name, each in phases.items()},
        phases_read_ns={name: tuple(phase.t_ns for phase in each) for name, each in phases.items()},
        marks={sample.mark: sample for sample in samples if sample.mark},
        samples=tuple(samples),
        loads=tuple(loads),
        spans=tuple(spans),
        missing=missing,
    )


def examined(trial: Trial, workload: Workload, seed: int) -> Trial:
    """The trial, or `wrong-evidence` where what an `ok` one reported cannot be true."""
    if trial.outcome is not Outcome.OK:
        return trial
    contradiction = workload.contradiction(trial, seed)
    if contradiction is None:
        return trial
    return replace(trial, outcome=Outcome.WRONG_EVIDENCE, detail=one_line(contradiction))


def outcome_of(report: TrialOutcome | LoadOutcome) -> Outcome:
    """How the trial ended. Raises ProbeError for an outcome that this version does not know."""
    try:
        return Outcome(report.outcome)
    except ValueError:
        raise ProbeError(f"the probe reported an unknown outcome: {one_line(report.outcome, 100)}") from None
