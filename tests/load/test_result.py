"""The engine's messages as one value, and the document of `--json`."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from ringside.errors import ProbeError
from ringside.load import document, result, summary
from ringside.probe.protocol import (
    ClosedLoop,
    ConstantRate,
    LoadOutcome,
    LoadProgress,
    PoissonRate,
    Staircase,
    StaircaseStep,
    engine_message,
)
from tests.support import ROOT
from tests.support.loads import HTTP, MS, OPEN, STREAM, histogram, http_plan, lines, load_result, outcome

PAGE = (ROOT / "docs" / "PROTOCOL.md").read_text(encoding="utf-8").split("### Load\n")[1]


def test_a_result_has_figures_counts_and_how_the_engine_began() -> None:
    whole = load_result()
    assert (whole.figures.requests, whole.figures.concurrency) == (100, 12.5)
    assert whole.counts == {"latency": ((MS, 90), (7 * MS, 10)), "service": ((2 * MS, 100),)}
    assert whole.started is not None
    assert (whole.started.io, whole.started.threads) == ("epoll", 2)


def test_a_load_that_failed_at_once_has_no_figures() -> None:
    failed = result.from_messages(
        [engine_message(b'{"type": "outcome", "outcome": "load-failed", "detail": "no port"}')]
    )
    assert (failed.figures.outcome, failed.figures.detail) == ("load-failed", "no port")
    assert (failed.is_answered, failed.started) == (False, None)
    assert document.as_document(HTTP, http_plan(), failed)["latency_ms"] is None


def test_an_answer_without_an_outcome() -> None:
    messages = [engine_message(line) for line in lines()[:-1]]
    assert isinstance(messages[1], LoadProgress)
    with pytest.raises(ProbeError, match="no outcome"):
        result.from_messages(messages)


@pytest.mark.parametrize(
    ("counts", "is_lower_bound"),
    [
        ({"intended": 130, "unfinished": 23, "late_requests": 7}, True),
        ({"intended": 107, "unfinished": 0, "late_requests": 7}, False),
        ({"intended": None, "unfinished": 23, "late_requests": 0}, False),
        ({"intended": 107, "unfinished": 0, "errors": {"timeout": 5}}, True),
        ({"intended": None, "unfinished": 0, "errors": {"timeout": 5}}, True),
        ({"intended": None, "unfinished": 0, "errors": {"reset": 5}}, False),
        ({"intended": 107, "errors": {"connect-timeout": 5}, "connects_timed_out": 5}, True),
    ],
)
def test_latencies_are_lower_bounds_where_requests_without_an_answer_are_among_them(
    counts: dict[str, Any], is_lower_bound: bool
) -> None:
    whole = load_result(**counts)
    assert whole.is_lower_bound is is_lower_bound
    assert document.as_document(HTTP, http_plan(), whole)["latency_is_lower_bound"] is is_lower_bound


@pytest.mark.parametrize("name", ["requests", "late_requests", "messages"])
def test_anything_that_came_back_is_an_answer(name: str) -> None:
    nothing = {"requests": 0, "late_requests": 0, "messages": 0, "unfinished": 5}
    assert not load_result(**nothing).is_answered
    assert load_result(**nothing | {name: 1}).is_answered


def test_the_silence_of_a_stream_is_no_lateness() -> None:
    late = {"latency": histogram(), "lateness": histogram()}
    assert not load_result(histograms=late, errors={"timeout": 5}).is_lower_bound


def test_lateness_matters_most_where_there_is_any() -> None:
    assert load_result().main_histogram == "latency"
    both = {"latency": histogram(), "lateness": histogram()}
    assert load_result(histograms=both).main_histogram == "lateness"
    assert load_result(histograms=both | {"lateness": {"count": 0}}).main_histogram == "latency"


def test_a_document() -> None:
    warning = {"code": "a", "text": "text", "remedy": "remedy"}
    whole = load_result(**OPEN, errors={"timeout": 5}, warnings=[warning])
    whole_document = document.as_document(HTTP, http_plan(), whole)
    few = {"unsupported": ["p95", "p99", "p99_9"]}
    milliseconds = {"mean": 1.5, "p50": 2, "p90": 3, "p95": 4, "p99": 5, "p99_9": 6, "max": 7}
    assert whole_document == {
        "format": 1,
        "target": "http://127.0.0.1:1/",
        "outcome": "ok",
        "detail": "",
        "protocol": "http",
        "pacing": {"kind": "closed"},
        "slack_ms": None,
        "duration_s": 2,
        "intended_rate": 65,
        "achieved_rate": 50,
        "intended": 130,
        "requests": 100,
        "late_requests": 7,
        "unfinished": 23,
        "unsent": 0,
        "errors": {"timeout": 5},
        "statuses": {"200": 98, "302": 2},
        "latency_is_lower_bound": True,
        "latency_ms": few | milliseconds,
        "service_ms": few | {name: value * 2 for name, value in milliseconds.items()},
        "queue_ms": None,
        "connect_ms": few | {name: value / 2 for name, value in milliseconds.items()},
        "handshake_ms": None,
        "first_byte_ms": None,
        "schedule_error_ms": few | {name: value / 100 for name, value in milliseconds.items()},
        "bytes_in": 4096,
        "bytes_out": 2048,
        "reads": 100,
        "stamped_reads": 99,
        "connections": {"opened": 66, "most_open": 64, "open_at_end": 63, "idle_closes": 4},
        "security": None,
        "first_wrong": None,
        "concurrency": 12.5,
        "io": "epoll",
        "threads": 2,
        "missing": ["io_uring: not permitted"],
        "cpu_s": 0.01,
        "cpu_share_most": 0.25,
        "busy_share_most": 0.25,
        "peak_memory_bytes": 4 << 20,
        "series": [
            {"t_s": 0, "requests": 60, "errors": 1, "max_ms": 7},
            {"t_s": 1, "requests": 40, "errors": 0, "max_ms": None},
        ],
        "thresholds": [],
        "warnings": [warning],
    }
    assert isinstance(whole_document["series"][0]["t_s"], int)
    assert json.loads(json.dumps(whole_document)) == whole_document


@pytest.mark.parametrize(
    ("duration_s", "second"),
    [
        # Requests went on.
        (6, 2),
        # They did not: the last ones are waited for.
        (2, None),
    ],
)
def test_answers_cease_only_while_requests_go_on(duration_s: int, second: int | None) -> None:
    series = [{"t_s": second, "requests": 9 * (second < 2), "errors": 0} for second in range(7)]
    one = load_result(duration_ns=duration_s * 1_000_000_000, series=series, errors={"timeout": 45})
    assert one.silent_from_s == second
    assert ("answers-ceased" in [each.code for each in one.figures.warnings]) is bool(second)


def test_the_document_of_a_stream() -> None:
    lateness = {"lateness": histogram()}
    streams = load_result(messages=7, histograms=lateness, sequence={"gaps": 1}, requests=0)
    stream_document = document.as_document(STREAM, http_plan(), streams)
    assert stream_document["chunk_lateness_ms"]["p50"] == 2
    assert (stream_document["messages"], stream_document["sequence"]) == (7, {"gaps": 1})
    assert (stream_document["latency_ms"], stream_document["pacing"]) == (None, None)


@pytest.mark.parametrize(
    ("pacing", "expected"),
    [
        (ClosedLoop(), {"kind": "closed"}),
        (ConstantRate(60), {"kind": "constant", "rate_per_s": 60, "burst": 1}),
        (PoissonRate(60, 3), {"kind": "poisson", "rate_per_s": 60, "seed": 3}),
        (
            Staircase((StaircaseStep(5, 1), StaircaseStep(6, 2))),
            {
                "kind": "staircase",
                "steps": [{"rate_per_s": 5, "duration_s": 1}, {"rate_per_s": 6, "duration_s": 2}],
            },
        ),
    ],
)
def test_the_schedule_in_a_document_has_all_its_keys(pacing: Any, expected: dict[str, Any]) -> None:
    whole_document = document.as_document(HTTP, replace(http_plan(), pacing=pacing), load_result())
    assert json.loads(json.dumps(whole_document))["pacing"] == expected


def test_every_kind_of_error_and_fault_has_a_meaning() -> None:
    kinds = re.findall(r"`([a-z0-9-]+)`", PAGE.split("Kinds of errors:")[1].split("Warnings:")[0])
    assert set(kinds) == set(summary.ERRORS)
    faults = re.findall(r'"([a-z]+)"', PAGE.split("`messages`, `sequence`")[1].split("|\n")[0])
    assert set(faults) == set(summary.SEQUENCE)


def test_keys_of_the_outcome_are_in_the_contract() -> None:
    for key in LoadOutcome.__struct_fields__:
        assert f"`{key}`" in PAGE, key
    assert outcome().keys() - {"type"} == set(LoadOutcome.__struct_fields__)
    for key in histogram():
        assert f'"{key}"' in PAGE, key
