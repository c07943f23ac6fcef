"""Thresholds of a load: how they are written, and what they are held against."""

import dataclasses
import json
import time

import pytest

from ringside.load import thresholds
from ringside.load.result import Threshold
from ringside.probe.protocol import SlotOfLoad, StaircaseStep
from tests.support.cases import cases
from tests.support.command_line import in_process, load_document
from tests.support.loads import MS, OPEN, histogram, load_result
from tests.support.odd_server import OK, answering, one_at_a_time, serving


@pytest.mark.parametrize(("text", "figure", "sign", "limit", "unit"), cases(__file__, "conditions"))
def test_conditions(text: str, figure: str, sign: str, limit: float, unit: str) -> None:
    assert thresholds.parse(text) == Threshold(text, figure, sign, limit, unit)


def value_of(text: str, **changed: object) -> float | None:
    return thresholds.check(thresholds.parse(text), load_result(**changed)).value


def test_figures_of_conditions() -> None:
    # From the engine's summary: 1 to 7 milliseconds.
    for milliseconds, figure in enumerate(("min", "p50", "p90", "p95", "p99", "p99.9", "max"), 1):
        assert value_of(f"{figure}>1ms") == milliseconds * MS
    # From the counts: 90 of a millisecond, 10 of seven.
    assert value_of("p89.99>1ms") == MS
    assert value_of("p90.01>1ms") == value_of("p99.99>1ms") == 7 * MS
    assert value_of("rate<1") == 50
    assert value_of("errors>0") == 0
    assert value_of("errors>0", errors={"reset": 15, "timeout": 10}) == 25
    assert value_of("errors>0%", errors={"reset": 15, "timeout": 10}) == 100 * 25 / 125
    assert value_of("errors>0%", errors={"reset": 15}, late_requests=50, messages=85) == 100 * 15 / 250
    nothing = {"requests": 0, "histograms": {}}
    assert value_of("p99>1ms", **nothing) is value_of("errors>1%", **nothing) is None
    # Half of them were never answered.
    silent = {"requests": 50, "unfinished": 50, "unsent": 20}
    assert value_of("errors>0", **silent) == value_of("errors>0%", **silent) == 50
    assert value_of("unfinished>1%", **silent) == 50
    assert value_of("unsent>1%", **silent) == value_of("unsent>1", **silent) == 20
    stream = {"histograms": {"latency": histogram(), "lateness": histogram(10 * MS)}}
    assert value_of("p50>1ms", **stream) == 20 * MS


def test_figures_of_steps() -> None:
    """A step that nothing answered, or that never began, does not keep its limit."""
    slots = {10: SlotOfLoad(100, 98, 3 * MS, 4 * MS, 5 * MS), 20: SlotOfLoad(100, 0), 30: SlotOfLoad(0, 0)}
    # The first rate comes again, and is better.
    again = (StaircaseStep(10, 1.0), SlotOfLoad(100, 100, MS, MS, MS))
    steps = (*((StaircaseStep(rate, 1.0), slot) for rate, slot in slots.items()), again)
    results = [dataclasses.replace(load_result(), steps=each) for each in (steps, steps[::-1])]

    def check(text: str) -> thresholds.Check:
        first, second = (thresholds.check(thresholds.parse(text), result) for result in results)
        assert first == second
        return first

    assert [check(f"{name}@10>2ms").value for name in ("p50", "p99", "max")] == [3 * MS, 4 * MS, 5 * MS]
    for unit in ("", "%"):
        assert [check(f"errors@{rate}>1{unit}").value for rate in (10, 20, 30, 40)] == [2, 100, None, None]
    assert check("errors@10>1%").sentence().startswith("errors are 2 %, above 1 %")
    assert check("p99@10>3ms").sentence().startswith("p99 is at least 4.00 ms, above 3.00 ms")
    assert all("p99 was not measured" in check(f"p99@{rate}>9s").sentence() for rate in (20, 30, 40))
    assert "errors were not measured" in check("errors@30>0").sentence()


def test_sides_of_a_limit() -> None:
    crossed = ("p99>4ms", "p99>=5ms", "p99<=5ms", "p99<6ms")
    for text in (*crossed, "p99>5ms", "p99<5ms"):
        check = thresholds.check(thresholds.parse(text), load_result())
        assert check.is_crossed is check.document()["crossed"] is (text in crossed), text


def test_sentences() -> None:
    def sentence(text: str, **changed: object) -> str:
        return thresholds.check(thresholds.parse(text), load_result(**changed)).sentence()

    many = {"histograms": {"latency": histogram() | {"count": 1000}}}
    assert sentence("p99>4ms", **many) == "p99 is 5.00 ms, above 4.00 ms (--fail-if 'p99>4ms')"
    few = "; fewer than 10 requests lie beyond it"
    assert sentence("p99>4ms") == f"p99 is 5.00 ms, above 4.00 ms{few} (--fail-if 'p99>4ms')"
    assert few not in sentence("p90>1ms") + sentence("max>1ms")
    assert "8.00 ms; to demand that, turn the sign: >= (" in sentence("max<8ms")
    assert sentence("p99>4ms", **OPEN).startswith("p99 is at least 5.00 ms")
    assert sentence("rate<60") == "rate is 50 per second, below 60 per second (--fail-if 'rate<60')"
    assert sentence("errors>1%", errors={"reset": 25}) == "errors are 20 %, above 1 % (--fail-if 'errors>1%')"
    assert "max was not measured, since nothing was answered as expected" in sentence("max>1s", histograms={})


def test_a_load_that_crosses_thresholds(http: str) -> None:
    arguments = (f"{http}/", "--requests", "20", "--connections", "2")
    done = in_process("load", *arguments, "--fail-if", "p99>1ns", "--fail-if", "rate<0.001", status=1)
    line, passed = done.stderr.splitlines()
    assert ", not below " in passed
    assert line.startswith("ringside: p99 is ")
    assert "above 1.00 ns; fewer than 10 requests lie beyond it (--fail-if 'p99>1ns')" in line
    assert "Times in milliseconds" in done.stdout
    fine = in_process("load", *arguments, "--fail-if", "max>1000s", "--fail-if", "errors>0", "--json")
    checks = json.loads(fine.stdout)["thresholds"]
    assert [(check["figure"], check["unit"], check["crossed"]) for check in checks] == [
        ("max", "ms", False),
        ("errors", "", False),
    ]
    assert checks[0]["limit"] == 1_000_000
    assert fine.stderr.count(", not above ") == 2


def test_the_rate_of_a_server_that_keeps_up_is_the_intended_one() -> None:
    """With a long latency some replies come after the end; a queue that grows is something else."""

    def delayed(*_: bytes) -> bytes:
        time.sleep(0.3)
        return OK

    rate = ("--rate", "100", "--duration", "1s", "--connections", "100")
    with serving(answering(delayed)) as port:
        load = load_document(f"http://127.0.0.1:{port}/", *rate, "--fail-if", "rate<99")
        assert load["late_requests"] > 10
    with serving(one_at_a_time(0.02)) as port:
        load = load_document(f"http://127.0.0.1:{port}/", *rate)
        assert load["achieved_rate"] < 80
