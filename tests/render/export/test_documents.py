"""The JSON documents and the formats of other tools, word by word, of made-up runs: who changes
one reads here what comes of it."""

import dataclasses
import json
import re
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import RunDiff, diff
from ringside.load.document import as_document
from ringside.model.design import Point
from ringside.model.results import Outcome
from ringside.probe.protocol import TrialOutcome
from ringside.render.export import documents, formats
from ringside.workloads.command import COMMAND
from tests.support import golden
from tests.support.analyses import Sloped, Values, analysis, point, scaled
from tests.support.executions import HERE, commands, compared, execution, targets
from tests.support.loads import HTTP, OPEN, STREAM, histogram, http_plan, load_plan, load_result
from tests.support.stores import CONTENDERS

WARNING = {"code": "a", "text": "text", "remedy": "remedy"}
P, Q = point(nodes=10), point(nodes=20)


def run(hops: Values, **changes: Any) -> RunAnalysis:
    """`go` has these hops, and half the memory of `erlang`."""
    values: dict[tuple[str, Point], dict[str, Values]] = {
        ("erlang", P): {"hop_ns": [100.0] * 7, "memory_bytes": scaled(100.0)},
        ("go", P): {"hop_ns": hops, "memory_bytes": scaled(50.0)},
    }
    return analysis(values, **changes)


def part(run: RunAnalysis, *keys: str) -> dict[str, Any]:
    values = documents.document(run)
    return {key: values[key] for key in keys}


def referenced(hop: float, reference_ns: int) -> RunAnalysis:
    report = TrialOutcome("ok", reference_ns=reference_ns, memory_reference_ns=2 * reference_ns)
    return analysis({("go", P): {"hop_ns": scaled(hop)}}, reports={"go": report})


def with_warm_up() -> RunAnalysis:
    """Two commands; the warm-up has no figures, and the memory of one was not observed."""
    warm_up = dataclasses.replace(execution(0, "A", 9.0), outcome=Outcome.INTERRUPTED)
    trials = [warm_up, *(execution(block, "A", wall) for block, wall in enumerate(scaled(0.1), 1))]
    trials += [
        execution(block, "B", wall, position=1, peak_memory_bytes=None)
        for block, wall in enumerate(scaled(0.2)[:2], 1)
    ]
    return compared(COMMAND, sorted(trials, key=lambda trial: trial.block))


def rounded(text: str) -> str:
    """Six digits are the same on every machine."""
    return re.sub(r"\d+\.\d{6,}", lambda number: f"{float(number[0]):.6g}", text)


def exports() -> dict[str, Any]:
    """Formats of other tools: of a time in ns, a time in s, a rate and a size, and of two commands."""
    metrics = {"hop_ns": 200.0, "cpu_s": 3.0, "rate": 5000.0, "memory_bytes": 4096.0}
    values = {("go", point(nodes=10, trace=0)): {name: scaled(value) for name, value in metrics.items()}}
    failed = [("erlang", point(nodes=10, trace=0))]
    run = analysis(values, metrics=list(metrics), failed=failed, baseline="go", name="ring")
    few = analysis({("go", P): {"hop_ns": [1.0, 3.0]}})
    scan = commands({("A", point(n=n)): scaled(n / 100) for n in (1, 2)}, {"A": "sleep 0.0{n}"})
    pair = commands({("A", HERE): scaled(0.1), ("B", HERE): scaled(0.2)}, {"B": "a | b"})
    return {
        **{
            name: json.loads(write(run))
            for name, write in formats.TEXT_FORMATS.items()
            if name != "hyperfine"
        },
        "bencher of few blocks": json.loads(formats.bencher(few)),
        "csv": formats.as_csv(run).splitlines(),
        **{
            f"vs as {name}": rounded(write(pair, "auto")).splitlines()
            for name, write in formats.VS_FORMATS.items()
            if name != "json"
        },
        "vs as hyperfine": json.loads(formats.hyperfine_json(pair)),
        "a scan as csv": rounded(formats.VS_FORMATS["csv"](scan, "auto")).splitlines(),
        "a scan as hyperfine": [
            each["parameters"] for each in json.loads(formats.hyperfine_json(scan))["results"]
        ],
    }


def apart(one: RunAnalysis, other: RunAnalysis, margin: float | None = None) -> RunDiff:
    other.run = dataclasses.replace(other.run, id="run-2")
    return diff(one, other, margin=margin)


def made() -> dict[str, Any]:
    faster, noisy = scaled(50.0), (100.0, 150.0, 80.0, 120.0, 60.0, 140.0, 90.0)
    slope = {("go", place): {"memory_bytes": [500.0 * int(place["nodes"])] * 7} for place in (P, Q)}
    scan = {("A", point(n=n)): scaled(n / 10) for n in (1, 2)}
    two = (referenced(100.0, 1000), referenced(150.0, 1020))
    failed = run(faster, failed=[("pony", P)], ended=False)
    fed = load_result(messages=7, requests=0, histograms={"lateness": histogram()}, sequence={"gaps": 1})
    both = run((100.0,) * 7, metrics=["hop_ns", "memory_bytes"], margin=0.01)
    return {
        "a run": documents.document(run(faster, contenders=CONTENDERS)),
        "failures": {
            **part(failed, "ended_at", "answers", "warnings"),
            "cell": part(failed, "cells")["cells"][-1],
        },
        "noise": part(run(noisy), "comparisons"),
        # None differs from the others, so each rank can be any; the other metric is exploratory.
        "equal values": part(both, "margin", "comparisons", "ranks"),
        "slopes": part(analysis(slope, measurement=Sloped()), "slopes"),
        "two runs without references": documents.diff_document(apart(run(faster), run(noisy))),
        "two runs": documents.diff_document(apart(*two, margin=0.02)),
        "vs": documents.vs_document(with_warm_up(), {"seed": 7, "blocks": None}),
        "load --vs": documents.load_document(
            targets(), {"blocks": 7, "seed": 7}, [{"block": 1, "name": "A"}]
        ),
        "load": as_document(
            HTTP, http_plan(), load_result(**OPEN, errors={"timeout": 5}, warnings=[WARNING])
        ),
        "load of streams": as_document(STREAM, load_plan(STREAM), fed),
        "exports": exports(),
        "vs with parameters": documents.vs_document(commands(scan), {})["commands"],
    }


def text() -> str:
    read = json.loads(documents.as_json(made()), parse_float=lambda digits: float(f"{float(digits):.6g}"))
    return documents.as_json(read)


def test_documents_read_as_they_did() -> None:
    golden.check("documents.json", text())
