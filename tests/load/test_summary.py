"""A load's result for a person, of made-up results: whoever changes it reads here what comes of it."""

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
from tests.support import golden
from tests.support.cases import cases
from tests.support.loads import HTTP, MS, OPEN, STREAM, histogram, http_plan, load_plan, load_result


def shown(target: Target, plan: LoadPlan, result: LoadResult, width: int = 100) -> str:
    file = io.StringIO()
    summary.show(target, plan, result, Console(file=file, width=width, highlight=False, markup=False))
    return file.getvalue()


RATED = http_plan(rate_per_s=65)
LOADS: dict[str, tuple[Target, LoadPlan, LoadResult]] = {
    "a closed loop": (HTTP, http_plan(), load_result()),
    "an open loop": (HTTP, RATED, load_result(**OPEN)),
    "all were answered": (HTTP, RATED, load_result(**OPEN | {"unfinished": 0})),
    "some were never sent": (HTTP, RATED, load_result(**OPEN | {"unsent": 9})),
    "a thread that polls": (HTTP, RATED, load_result(**OPEN | {"cpu_share_most": 0.9})),
    "lateness alone": (HTTP, RATED, load_result(histograms={"lateness": histogram()})),
    "a load that failed": (HTTP, RATED, load_result(outcome="load-failed", detail="no port")),
    "errors": (HTTP, RATED, load_result(errors={"timeout": 2, "reset": 30, "send": 0})),
    "a warning of errors": (
        HTTP,
        RATED,
        load_result(
            errors={"status": 1033},
            warnings=[{"code": "errors", "text": "errors: 1033 at [fe80::1]:8080", "remedy": ""}],
        ),
    ),
    "no TLS": (replace_target(HTTP, is_secure=True), http_plan(), load_result(errors={"tls": 2})),
    "TLS where HTTP was expected": (HTTP, http_plan(), load_result(errors={"tls": 2})),
    "streams": (
        STREAM,
        load_plan(STREAM, ramp_per_s=50.0),
        load_result(
            messages=70, requests=0, histograms={"lateness": histogram()}, sequence={"gaps": 3, "swaps": 0}
        ),
    ),
}


def made() -> str:
    """The lines of each load that no earlier load has."""
    made: dict[str, None] = {}
    for name, load in LOADS.items():
        made |= dict.fromkeys([f"# {name}", *shown(*load).splitlines()])
    return "\n".join(made) + "\n"


def test_summaries_read_as_they_did() -> None:
    golden.check("loads.txt", made())


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
