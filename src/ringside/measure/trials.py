"""One trial: the request that goes to the probe, and what its answers say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ringside.measure.inputs import answers_sha256
from ringside.measure.plan import padding_bytes
from ringside.measure.toolchain import expand
from ringside.model.catalogue import Ready
from ringside.model.design import Cell, Expectation, Input, Limits
from ringside.model.results import Outcome, Trial
from ringside.workloads.base import Workload, repeats

PROTOCOL = 1
SAMPLE_HZ = 20.0
# What a contender may take of the memory that is there, unless an experiment says otherwise.
_MEMORY_SHARE = 0.75


def request(
    ready: Ready,
    cell: Cell,
    workload: Workload,
    *,
    limits: Limits,
    cpus: Sequence[int],
    probe_cpus: Sequence[int],
    environment: Mapping[str, str],
    seed: int,
    memory_available_bytes: int,
    reads: Input | None = None,
) -> dict[str, Any]:
    """The probe's request for one trial of a cell (docs/PROTOCOL.md, contract 2). `reads`: the file that
    the workload has for the point."""
    point = cell.point
    names = {"runtime": ready.receipt.executable, "build": str(ready.build), **point.as_dict()}
    command = expand(ready.contender.workloads[workload.name].command, names)
    arguments = {**{key: str(level) for key, level in point.levels}, **workload.arguments(point)}
    arguments.setdefault("seed", str(seed))
    expected, inputs = workload.expectation(point, seed), []
    if reads:
        arguments["input"] = str(reads.path)
        expected = replace(expected, lines_sha256=answers_sha256(reads, repeats(point)))
        inputs = [{"path": str(reads.path), "cached": workload.input_cached(point)}]
    service = workload.service(point, seed)
    return {
        "version": PROTOCOL,
        "argv": command + [f"{key}={value}" for key, value in arguments.items()],
        "cwd": str(ready.contender.folder),
        "env": dict(environment),
        "cpus": list(cpus),
        "probe_cpus": list(probe_cpus),
        "limits": {
            "wall_s": limits.wall_s,
            "memory_bytes": limits.memory_bytes or int(memory_available_bytes * _MEMORY_SHARE),
            "output_bytes": limits.output_bytes or workload.output_bytes(point),
            "processes": limits.processes,
        },
        "sample_hz": SAMPLE_HZ,
        "timeline": workload.timeline,
        "cgroup": "auto",
        # A server's evidence is in what it answers.
        "expect": None if service else expectation_json(expected),
        "service": service,
        "inputs": inputs,
    }


def expectation_json(expected: Expectation) -> dict[str, Any]:
    """The expected evidence as the probe reads it."""
    lines = None
    if expected.lines_total is not None:
        lines = {
            "total": expected.lines_total,
            "starting": dict(expected.lines_starting),
            "sha256": expected.lines_sha256,
        }
    return {"result": dict(expected.result), "lines": lines}


def environment(base: Mapping[str, str], build: Path, seed: int, block: int, position: int) -> dict[str, str]:
    """A contender's whole environment: little, the same for all, and of a random size.

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


def parse(lines: Sequence[bytes], trial: Trial) -> Trial:
    """The trial with what the probe's lines say. The last line must be the outcome.

    Raises ValueError when a line is no JSON object or the outcome is missing.
    """
    phases: dict[str, list[int]] = {}
    marks: dict[str, Mapping[str, Any]] = {}
    samples: list[Mapping[str, Any]] = []
    loads: list[Mapping[str, Any]] = []
    spans: list[tuple[int, int, int]] = []
    missing: tuple[str, ...] = ()
    outcome: Mapping[str, Any] | None = None
    for line in lines:
        answer = json.loads(line)
        kind = answer["type"]
        if kind == "phase":
            phases.setdefault(answer["name"], []).append(answer["ns"])
        elif kind == "sample":
            samples.append(answer)
            if answer["mark"]:
                marks[answer["mark"]] = answer
        elif kind == "load":
            loads.append({key: value for key, value in answer.items() if key != "type"})
        elif kind == "span":
            spans.append((answer["unit"], answer["begin_ns"], answer["end_ns"]))
        elif kind == "started":
            missing = tuple(answer["missing"])
        elif kind == "outcome":
            outcome = answer
    if outcome is None:
        raise ValueError("the probe ended without an outcome")
    repeats = {name: each for name, each in phases.items() if len(each) > 1}
    return replace(
        trial,
        outcome=Outcome(outcome["outcome"]),
        detail=outcome["detail"],
        outcome_line={
            **outcome,
            **({"loads": loads} if loads else {}),
            **({"spans": spans} if spans else {}),
            **({"repeats": repeats} if repeats else {}),
        },
        phases={name: sum(each) for name, each in phases.items()},
        marks=marks,
        samples=tuple(samples),
        missing=missing,
    )
