"""A load's result for a person."""

from __future__ import annotations

import io
from dataclasses import replace as replace_target
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from ringside.load import summary
from ringside.load.result import LoadResult
from ringside.load.target import Target
from ringside.probe.protocol import LoadPlan
from tests.support.cases import cases
from tests.support.loads import HTTP, MS, OPEN, STREAM, histogram, http_plan, load_plan, load_result


def shown(target: Target, plan: LoadPlan, result: LoadResult, width: int = 100) -> str:
    file = io.StringIO()
    summary.show(target, plan, result, Console(file=file, width=width, highlight=False, markup=False))
    return file.getvalue()


def test_a_closed_loop() -> None:
    text = shown(HTTP, http_plan(), load_result())
    for part in (
        "closed loop, 64 connections, 2.00 s, 2 threads",
        "100, 50.0 per second",
        "200: 98, 302: 2",
        "66 opened, at most 64 at one time, 4 closed by the server while idle",
        "12.5 requests on average",
        "4.00 KiB in, 2.00 KiB out",
        "busiest thread 25% of a core, 100 µs of CPU per request, 4.00 MiB",
        "slack: sleeps end late here",
        "coordinated omission",
    ):
        assert part in text, part
    for part in ("service", "≥", "unfinished", "late  "):
        assert part not in text, part


def test_an_open_loop() -> None:
    text = " ".join(shown(HTTP, http_plan(rate_per_s=65), load_result(**OPEN)).split())
    for part in (
        "open loop, 65 requests per second",
        "100 of 130 intended, 50.0 per second of 65.0 intended (76.9%)",
        "late 7 answered after the end",
        "unfinished 23 without an answer",
        "93.5 µs of CPU per request",
        "latency ≥1.50 ≥2.00",
        "service 3.00 4.00",
        "schedule error 0.0150 0.0200",
        "≥: among these are the ages of 23 requests without an answer",
    ):
        assert part in text, part
    for part in ("coordinated omission", "to poll for"):
        assert part not in text, part


@pytest.mark.parametrize(
    ("changed", "parts", "missing"),
    [
        ({}, ["Latency, up to"], "while a request was being sent"),
        (OPEN | {"unfinished": 0}, [], "≥"),
        (OPEN | {"unsent": 9}, ["23 without an answer at the end, 9 of them never sent"], None),
        (OPEN | {"cpu_share_most": 0.9}, ["25% of a core, 65% more to poll for what is due next"], None),
        ({"histograms": {"lateness": histogram()}}, [], "up to"),
        ({"outcome": "load-failed", "detail": "no port"}, ["The load failed: no port"], None),
        # The most frequent come first.
        (
            {"errors": {"timeout": 2, "reset": 30, "send": 0}},
            ["errors 32, see below", "the server reset the connection", "no whole reply within --timeout"],
            "while a request was being sent",
        ),
        (
            {"errors": {"status": 1033}}
            | {"warnings": [{"code": "errors", "text": "errors: 1033", "remedy": ""}]},
            ["Errors: 1,033"],
            "1033",
        ),
    ],
)
def test_what_a_result_says(changed: dict[str, Any], parts: list[str], missing: str | None) -> None:
    text = " ".join(shown(HTTP, http_plan(rate_per_s=65), load_result(**changed), 160).split())
    places = [text.find(part) for part in parts]
    assert places == sorted(places)
    assert -1 not in places
    assert missing is None or missing not in text


def test_no_tls_is_explained_by_what_the_target_asked_for() -> None:
    secure = replace_target(HTTP, is_secure=True)
    failed = load_result(errors={"tls": 2})
    assert "the server does not speak TLS there" in shown(secure, http_plan(), failed, 160)
    assert "speaks TLS where HTTP was expected" in shown(HTTP, http_plan(), failed, 160)


def test_streams() -> None:
    streams = load_result(
        messages=70, requests=0, histograms={"lateness": histogram()}, sequence={"gaps": 3, "swaps": 0}
    )
    text = shown(STREAM, load_plan(STREAM, ramp_per_s=50.0), streams)
    for part in (
        "100 streams, opened at 50 per second",
        "70, 35.0 per second",
        "messages missing",
        "lateness",
    ):
        assert part in text, part
    for part in ("answered", "in flight", "swaps", "coordinated omission"):
        assert part not in text, part


def test_text_of_servers_and_of_the_engine_does_nothing() -> None:
    bad = "\x1b[31m\n[bold]\u202e"
    hostile = load_result(
        outcome="load-failed",
        detail=bad,
        errors={bad: 3, "timeout": 1},
        statuses={bad: 2},
        warnings=[{"code": "x", "text": bad, "remedy": bad}],
    )
    text = shown(HTTP, http_plan(), hostile)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]" in text


@pytest.mark.parametrize(("schedule", "expected"), cases(__file__, "when_requests_were_due"))
def test_when_requests_were_due(schedule: dict[str, Any], expected: str) -> None:
    assert expected in summary.how(HTTP, http_plan(**schedule), load_result())


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_the_summary_fits(width: int) -> None:
    text = shown(HTTP, http_plan(rate_per_s=60), load_result(errors={"timeout": 5}, **OPEN), width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "≥5.00" in text
    assert "ages of 28 requests without" in " ".join(text.split()) or width < 80


def test_bars() -> None:
    drawn = summary.bar_lines([(MS, 900), (2 * MS, 0), (10 * MS, 1)], 60)
    assert len(drawn) == 11
    assert drawn[0].startswith("   1 ms █████")
    assert drawn[0].split()[-2:] == ["900", "99.89%"]
    assert drawn[-1].split() == ["10", "ms", "▏", "1", "0.11%"]
    assert summary.bar_lines([], 60) == []
    assert summary.bar_lines([(0, 1)], 60)
