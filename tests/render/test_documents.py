"""Keys and values of JSON documents, format 1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ringside.analysis.run_diff import diff
from ringside.render import documents
from ringside.store.plans import PlannedContender
from ringside.workloads.base import Slope
from tests.analyses import HOST, MEMORY, Exact, analysis, point, scaled

P, Q = point(nodes=10), point(nodes=20)
INTERVAL = {"median": 100.0, "low": 97.0, "high": 104.0, "n": 7}


class Sloped(Exact):
    slopes = (Slope("per_node", "B", "Memory per node", "growth over nodes", "nodes", MEMORY.name),)


def document(**changes: Any) -> dict[str, Any]:
    values = {("erlang", P): {"hop_ns": scaled(100.0)}, ("go", P): {"hop_ns": scaled(50.0)}}
    read: dict[str, Any] = json.loads(documents.as_json(documents.document(analysis(values, **changes))))
    return read


def test_a_run() -> None:
    contenders = {
        "erlang": PlannedContender(
            "Erlang",
            model="actors",
            language="Erlang",
            queue="unbounded",
            scheduler="preemptive",
            parallel=True,
            runtime="otp",
            runs_on="OTP",
            command=("{runtime}", "ring.erl"),
            files={"ring.erl": "hash"},
            version="27",
            receipt="OTP 27",
            executable="/usr/bin/erl",
            content="c",
        ),
        "go": PlannedContender("Go", unavailable="go: not found", remedy="apt-get install go", log="$ make"),
    }
    values = document(contenders=contenders)
    cells, comparisons = values.pop("cells"), values.pop("comparisons")
    assert values == {
        "format": 1,
        "run": "run-1",
        "experiment": "example",
        "title": "An example",
        "workload": "exact",
        "started_at": "2030-01-02T03:04:05Z",
        "ended_at": "2030-01-02T03:05:00Z",
        "seed": 7,
        "blocks": 7,
        "host": HOST,
        "contenders": {
            "erlang": {
                "title": "Erlang",
                "model": "actors",
                "language": "Erlang",
                "queue": "unbounded",
                "scheduler": "preemptive",
                "parallel": True,
                "runtime": "otp",
                "runs_on": "OTP",
                "command": ["{runtime}", "ring.erl"],
                "version": "27",
                "receipt": "OTP 27",
                "executable": "/usr/bin/erl",
                "content": "c",
            },
            "go": {
                "title": "Go",
                "model": "",
                "language": "",
                "queue": "",
                "scheduler": "",
                "parallel": False,
                "runtime": "",
                "runs_on": "",
                "command": [],
                "unavailable": "go: not found",
                "remedy": "apt-get install go",
            },
        },
        "slopes": [],
        "warnings": [],
    }
    assert cells[0] == {
        "contender": "erlang",
        "point": {"nodes": 10},
        "outcomes": {"ok": 7},
        "reason": "",
        "metrics": {"hop_ns": {"unit": "ns", **INTERVAL}},
    }
    (comparison,) = comparisons
    assert 0 < comparison.pop("p") < 0.05
    assert comparison == {
        "point": {"nodes": 10},
        "metric": "hop_ns",
        "contender": "go",
        "baseline": "erlang",
        "ratio": pytest.approx(0.5),
        "low": pytest.approx(0.5),
        "high": pytest.approx(0.5),
        "n": 7,
        "verdict": "faster",
    }


def test_failures_and_warnings() -> None:
    values = document(failed=[("pony", P)], ended=False)
    assert values["ended_at"] is None
    assert values["cells"][-1] == {
        "contender": "pony",
        "point": {"nodes": 10},
        "outcomes": {"crashed": 7},
        "reason": "crashed: exit status 3",
        "metrics": {},
    }
    assert values["warnings"] == [
        {
            "code": "unfinished",
            "text": "the run was interrupted: its figures come from the blocks measured before that",
            "remedy": "continue it with `ringside run --resume run-1`",
        }
    ]


def test_slopes() -> None:
    values = {("go", place): {"memory_bytes": [500.0 * int(place["nodes"])] * 7} for place in (P, Q)}
    assert documents.document(analysis(values, measurement=Sloped()))["slopes"] == [
        {
            "contender": "go",
            "metric": "per_node",
            "over": "nodes",
            "point": {},
            "unit": "B",
            "median": 500.0,
            "low": 500.0,
            "high": 500.0,
            "n": 7,
        }
    ]


def test_a_suite() -> None:
    run = analysis({("go", P): {"hop_ns": scaled(1.0)}})
    values = documents.suite_document("suite-1", [run, run])
    assert (values["format"], values["suite"], len(values["runs"])) == (1, "suite-1", 2)


def test_two_runs() -> None:
    first, second = (analysis({("go", P): {"hop_ns": scaled(hop)}}) for hop in (100.0, 150.0))
    values = json.loads(documents.as_json(documents.diff_document(diff(first, second))))
    assert [warning["code"] for warning in values.pop("warnings")] == ["no-reference"]
    (comparison,) = values.pop("comparisons")
    assert comparison.pop("ratio") > 1.49
    assert comparison == {
        "contender": "go",
        "point": {"nodes": 10},
        "metric": "hop_ns",
        "low": None,
        "high": None,
        "n": comparison["n"],
        "verdict": "too-few-blocks",
    }
    assert values == {"format": 1, "one": "run-1", "other": "run-1", "drift": None, "changed": []}
