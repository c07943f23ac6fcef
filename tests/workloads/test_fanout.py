"""The requests of `fanout` to the probe, and its figures."""

import re

import pytest
from msgspec.structs import replace

from ringside.model.design import Level
from ringside.probe.protocol import (
    ClosedLoop,
    ConstantRate,
    ExpectedReply,
    LoadPlan,
    SecondOfLoad,
    StubUpstream,
    UpstreamCalls,
)
from ringside.workloads.fanout.workload import FANOUT
from tests.support.cases import cases
from tests.support.points import ok_trial, point
from tests.workloads.test_fib import load

WARM_UP = ["warm-up", *(f"warm-up-{number}" for number in range(2, 17))]


def plans(**levels: Level) -> dict[str, LoadPlan]:
    """The load of each step."""
    service = FANOUT.service(point(FANOUT, **levels), 5)
    return {step.name: step.loads[0].plan for step in service.steps}


def test_requests_and_evidence() -> None:
    steps = plans(requests=500, concurrency=50)
    assert {name: (plan.requests, plan.connections) for name, plan in steps.items()} == {
        "first": (1, 1),
        **dict.fromkeys(WARM_UP, (100, 50)),
        "measured": (500, 50),
    }
    for requests, window in ((150, 75), (40, 50), (1, 50)):
        assert plans(requests=requests, concurrency=50)["warm-up"].requests == window
    measured = steps["measured"]
    assert (measured.expect.status, measured.pacing, measured.duration_s) == (200, ClosedLoop(), None)
    pattern = measured.expect.matches
    assert pattern
    for right in ("200200200", "..200.200200", ".200.200.200"):
        assert re.fullmatch(pattern, right), right
    for wrong in ("200200", "200200200.", "200400200", "200200200200"):
        assert not re.fullmatch(pattern, wrong), wrong
    assert dict(measured.request.headers)["X-Request-Id"] == "measured-{n}"
    summed = plans(kind="cpu", work=10)["measured"]
    assert summed.expect == ExpectedReply(status=200, equals="45\n45\n45\n")
    mixed = plans(kind="mixed", work=10)["measured"].expect.matches
    assert mixed
    for right in ("200:45\n200:45\n200:45\n", "..200:45\n.200:45\n200:45\n"):
        assert re.fullmatch(mixed, right), right
    for wrong in ("200200200", "200:45\n200:45\n", "200:46\n200:45\n200:45\n", "400:45\n200:45\n200:45\n"):
        assert not re.fullmatch(mixed, wrong), wrong
    paced = plans(rate=100, requests=200)["measured"]
    assert (paced.pacing, paced.duration_s) == (ConstantRate(100), 2.0)


def test_arguments() -> None:
    arguments = FANOUT.arguments(point(FANOUT))
    assert arguments["upstreams"] == "{upstreams}"
    assert int(arguments["timeout_ms"]) > 5000
    assert "upstreams" not in FANOUT.arguments(point(FANOUT, kind="cpu"))
    assert FANOUT.arguments(point(FANOUT, kind="mixed")) == arguments


def test_its_upstreams() -> None:
    stub = FANOUT.service(point(FANOUT), 5).stub
    assert stub.seed == 5
    assert stub.upstreams == (StubUpstream(0.1, 0.5, tail_s=1.0),) * 3
    tailed = FANOUT.service(point(FANOUT, tail=1), 5).stub
    assert tailed.upstreams[0] == StubUpstream(0.1, 0.5, tail_s=1.0, tail_share=0.01)
    assert FANOUT.service(point(FANOUT, kind="cpu"), 5).stub is None
    assert FANOUT.service(point(FANOUT, kind="mixed"), 5).stub == stub


def test_clients_that_hang_up() -> None:
    service = FANOUT.service(point(FANOUT, requests=500, concurrency=50, vanish=50), 5)
    steps = {step.name: {load.name: load.plan for load in step.loads} for step in service.steps}
    assert list(steps) == ["first", *WARM_UP, "before", "measured", "after"]
    others, leaving = steps["measured"]["others"], steps["measured"]["leaving"]
    assert (others.connections, others.patience_s, others.duration_s) == (25, None, 2.0)
    assert (leaving.connections, leaving.patience_s, leaving.duration_s) == (25, 0.05, 2.0)
    assert steps["before"]["all"].connections == 50
    ids = [
        dict(plan.request.headers)["X-Request-Id"]
        for loads in steps.values()
        for plan in loads.values()
        if plan.request
    ]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("kind", "seconds", "said"), cases(__file__, "gateways_that_still_got_faster"))
def test_gateways_that_still_got_faster(kind: str, seconds: list[int], said: str) -> None:
    series = tuple(SecondOfLoad(float(t), requests) for t, requests in enumerate(seconds))
    upstreams = None if kind == "cpu" else UpstreamCalls(1, 1)
    one = replace(load("measured", "all", 0.1), series=series, upstreams=upstreams)
    one = replace(one, duration_ns=len(seconds) * 10**9)
    texts = [each.text for each in FANOUT.diagnostics([ok_trial(FANOUT, {"loads": (one,)}, kind=kind)])]
    assert [said in text for text in texts] == ([True] if said else [])
    assert FANOUT.diagnostics([ok_trial(FANOUT, {"loads": (one,)}, kind=kind, rate=9)]) == []
