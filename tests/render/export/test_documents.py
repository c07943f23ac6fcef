"""Keys and values of JSON documents, format 2."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ringside.analysis.run import RunAnalysis
from ringside.analysis.run_diff import diff
from ringside.probe.protocol import TrialOutcome
from ringside.render.export import documents
from ringside.store.plans import PlannedContender
from ringside.workloads.base import Slope
from tests.support.analyses import HOST, MEMORY, Exact, analysis, near, point, scaled

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
            family="actors",
            model="actors",
            language="Erlang",
            queue="unbounded",
            scheduler="preemptive",
            parallel=True,
            runtime="otp",
            runs_on="Erlang",
            command=("{runtime}", "ring.erl"),
            files={"ring.erl": "hash"},
            version="27",
            receipt="OTP 27",
            executable="/usr/bin/erl",
            origin="Debian 13 erlang-base 1:27",
            content="c",
        ),
        "go": PlannedContender("Go", unavailable="go: not found", remedy="apt-get install go", log="$ make"),
    }
    values = document(contenders=contenders)
    cells, comparisons = values.pop("cells"), values.pop("comparisons")
    assert values == {
        "format": 2,
        "run": "run-1",
        "experiment": "example",
        "title": "An example",
        "workload": "exact",
        "started_at": "2030-01-02T03:04:05Z",
        "ended_at": "2030-01-02T03:05:00Z",
        "seed": 7,
        "blocks": 7,
        "margin": 0.05,
        "host": HOST,
        "control": None,
        "answers": [
            "go is first: time per hop 50.0 ns (48.5–52.0)",
            "erlang takes 2.00 times (2.00–2.00) as long as go",
        ],
        "contenders": {
            "erlang": {
                "title": "Erlang",
                "family": "actors",
                "model": "actors",
                "language": "Erlang",
                "class": "idiomatic",
                "queue": "unbounded",
                "scheduler": "preemptive",
                "parallel": True,
                "idiom": "",
                "tuning": [],
                "unequal": [],
                "runtime": "otp",
                "runs_on": "Erlang",
                "command": ["{runtime}", "ring.erl"],
                "version": "27",
                "receipt": "OTP 27",
                "executable": "/usr/bin/erl",
                "origin": "Debian 13 erlang-base 1:27",
                "released": "2024-05-17",
                "content": "c",
            },
            "go": {
                "title": "Go",
                "family": "",
                "model": "",
                "language": "",
                "class": "idiomatic",
                "queue": "",
                "scheduler": "",
                "parallel": False,
                "idiom": "",
                "tuning": [],
                "unequal": [],
                "runtime": "",
                "runs_on": "",
                "command": [],
                "unavailable": "go: not found",
                "version": None,
                "remedy": "apt-get install go",
                "log": ["$ make"],
            },
        },
        "ranks": [{"point": {"nodes": 10}, "metric": "hop_ns", "ranks": {"go": [1, 1], "erlang": [2, 2]}}],
        "slopes": [],
        "machines": None,
        "warnings": [],
    }
    assert cells[0] == {
        "contender": "erlang",
        "point": {"nodes": 10},
        "outcomes": {"ok": 7},
        "reason": "",
        "missing": {},
        "repeats": None,
        "stderr": [],
        "repeat": None,
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
        "word": "faster",
        "obstacle": None,
        "blocks_needed": None,
        "contradicted": None,
        "overstated": False,
        "stalls": None,
        "exploratory": False,
    }


def test_verdicts_have_a_word_of_their_metric_and_secondary_metrics_are_exploratory() -> None:
    values = {
        (name, P): {"hop_ns": scaled(100.0), "memory_bytes": scaled(memory)}
        for name, memory in (("erlang", 100.0), ("go", 50.0))
    }
    run = analysis(values, metrics=["hop_ns", "memory_bytes"], margin=0.01)
    document = documents.document(run)
    assert document["margin"] == 0.01
    assert [
        tuple(row[key] for key in ("metric", "verdict", "word", "exploratory"))
        for row in document["comparisons"]
    ] == [("hop_ns", "inconclusive", "inconclusive", False), ("memory_bytes", "faster", "less", True)]


def test_an_inconclusive_comparison_says_why() -> None:
    noisy = (100.0, 150.0, 80.0, 120.0, 60.0, 140.0, 90.0)
    run = analysis({("erlang", P): {"hop_ns": [100.0] * 7}, ("go", P): {"hop_ns": noisy}})
    (row,) = documents.document(run)["comparisons"]
    assert (row["verdict"], row["obstacle"]) == ("inconclusive", None)
    assert row["blocks_needed"] > 7
    same = analysis({(name, P): {"hop_ns": [100.0] * 7} for name in ("erlang", "go")})
    (row,) = documents.document(same)["comparisons"]
    assert (row["verdict"], row["obstacle"], row["blocks_needed"]) == ("inconclusive", "same-values", None)
    # None differs from the others, so each rank can be any.
    (ranks,) = documents.document(same)["ranks"]
    assert ranks["ranks"] == {"erlang": [1, 2], "go": [1, 2]}


def test_failures_and_warnings() -> None:
    values = document(failed=[("pony", P)], ended=False)
    assert values["ended_at"] is None
    assert values["cells"][-1] == {
        "contender": "pony",
        "point": {"nodes": 10},
        "outcomes": {"crashed": 7},
        "reason": "crashed: exit status 3",
        "missing": {},
        "repeats": None,
        "stderr": [],
        "repeat": None,
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
    assert (values["format"], values["suite"], len(values["runs"])) == (2, "suite-1", 2)


def test_two_runs() -> None:
    first, second = (analysis({("go", P): {"hop_ns": scaled(hop)}}) for hop in (100.0, 150.0))
    values = json.loads(documents.as_json(documents.diff_document(diff(first, second))))
    assert [warning["code"] for warning in values.pop("warnings")] == ["single-runs", "no-reference"]
    (comparison,) = values.pop("comparisons")
    assert comparison.pop("ratio") > 1.49
    assert comparison == {
        "contender": "go",
        "point": {"nodes": 10},
        "metric": "hop_ns",
        "low": None,
        "high": None,
        "n": 7,
        "verdict": "inconclusive",
        "word": "inconclusive",
        "obstacle": "no-reference",
        "blocks_needed": None,
        "contradicted": None,
    }
    assert values == {
        "format": 2,
        "one": "run-1",
        "other": "run-1",
        "margin": 0.05,
        "machine": {},
        "changed": [],
    }


def test_two_runs_with_references() -> None:
    def run(hop: float, reference_ns: int) -> RunAnalysis:
        report = TrialOutcome("ok", reference_ns=reference_ns, memory_reference_ns=2 * reference_ns)
        return analysis({("go", P): {"hop_ns": scaled(hop)}}, reports={"go": report})

    values = documents.diff_document(diff(run(100.0, 1000), run(150.0, 1020), margin=0.02))
    values = json.loads(documents.as_json(values))
    assert values["margin"] == 0.02
    shift = {"ratio": near(1.02), "low": near(1.02), "high": near(1.02), "n": 7}
    assert values["machine"] == {"computing": shift, "memory": shift}
    (comparison,) = values["comparisons"]
    assert (comparison["verdict"], comparison["word"], comparison["obstacle"]) == ("slower", "slower", None)
    # Wider by the whole shift of the machine.
    assert comparison["low"] < 1.5 / 1.02
    assert [warning["code"] for warning in values["warnings"]] == ["single-runs"]
