"""Options of a load: held against each other, and made into the probe's request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.cli import params
from ringside.errors import UsageError
from ringside.load import plan as load_plan
from ringside.load import target
from ringside.load.options import LoadSettings
from ringside.probe.protocol import (
    ClosedLoop,
    ConstantRate,
    ExpectedReply,
    Http2,
    HttpRequest,
    LoadPlan,
    LoadRequest,
    PoissonRate,
    Staircase,
    StaircaseStep,
    StreamMessages,
    Tls,
)
from tests.support import ROOT
from tests.support.loads import load_plan as plan_of

TARGETS = {
    "http": "http://h:81/a?b",
    "stream": "stream+http://h/{id}",
    "tcp": "tcp://h:1",
    "ws": "wss://h:1/x",
    "stream+ws": "stream+ws://h:1/{id}",
}


def plan(protocol: str = "http", **changed: Any) -> LoadPlan:
    return plan_of(TARGETS[protocol], **changed)


@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("http", {"rate_per_s": 5, "headers": (("A", "b"),), "expect_body": ""}),
        ("stream", {"ramp_per_s": 5, "headers": (("A", "b"),), "framing": "line", "expect_status": 200}),
        ("tcp", {"rate_per_s": 5, "line": "", "expect_body": ""}),
        ("ws", {"rate_per_s": 5, "line": "", "headers": (("A", "b"),), "insecure": True}),
        ("stream+ws", {"ramp_per_s": 5, "line": "", "headers": (("A", "b"),), "first": ""}),
    ],
)
def test_options_of_each_protocol(protocol: str, options: dict[str, Any]) -> None:
    settings = LoadSettings(targets=(TARGETS[protocol],), connections=5, as_json=True, **options)
    load_plan.check(settings, target.parse(TARGETS[protocol]), None)


def test_schedules() -> None:
    assert plan().pacing == ClosedLoop()
    assert plan().slack_s is None
    assert plan(rate_per_s=5, slack_s=0.000_25).slack_s == 0.000_25
    assert plan(rate_per_s=5, slack_s=0).slack_s == 0
    assert plan(rate_per_s=5, slack_s=params.run_duration("10us")).slack_s == 1e-5
    assert plan(rate_per_s=5).pacing == ConstantRate(5, 1)
    assert plan(rate_per_s=5, burst=3).pacing == ConstantRate(5, 3)
    assert plan(rate_per_s=5, poisson=True, seed=7).pacing == PoissonRate(5, 7)
    steps = (StaircaseStep(1, 2), StaircaseStep(3, 4))
    assert plan(steps=((1, 2), (3, 4))).pacing == Staircase(steps)


def test_a_seed_needs_something_random() -> None:
    assert plan(seed=3, other_target=TARGETS["http"])
    assert plan(seed=3, body=b"{random:1:9}", has_placeholders=True)


def test_what_a_reply_must_be() -> None:
    assert plan().expect == ExpectedReply()
    expect = plan(expect_status=201, expect_body="a", expect_contains="é").expect
    assert expect == ExpectedReply(201, "a", "Ã©")
    assert plan(expect_pattern="[0-9]").expect == ExpectedReply(matches="[0-9]")
    assert len(plan(expect_contains="x" * (1 << 20)).expect.contains or "") == 1 << 20


def test_what_the_messages_of_a_stream_must_be() -> None:
    assert plan("stream").stream == StreamMessages()
    chosen = plan("stream", framing="line", first="Welcome: {id}", chunk="Chunk {k}", interval_s=2)
    assert chosen.stream == StreamMessages("line", "Welcome: {id}", "Chunk {k}", 2)
    assert plan("stream", due_field="at ").stream.due_field == "at "
    assert plan("stream+ws").stream.framing == "message"
    with pytest.raises(UsageError, match="--chunk has a character that cannot be printed"):
        plan("stream", chunk="a\udcff")


def test_defaults() -> None:
    assert [plan(protocol).connections for protocol in TARGETS] == [64, 100, 64, 64, 100]
    assert plan().duration_s == 10
    assert plan(requests=5).duration_s is None
    assert plan(steps=((1, 1),)).duration_s is None
    requests = [plan(**fields).request for fields in ({}, {"body": b"x"}, {"body": b"x", "method": "PUT"})]
    assert [request.method for request in requests if request] == ["GET", "POST", "PUT"]
    assert (plan().line, plan("tcp").line, plan("tcp", line="30").line) == (None, "1", "30")


def test_what_this_machine_cannot_do() -> None:
    load_plan.check_machine(plan(cpus=(0, 1)), [0, 1], 1024)
    with pytest.raises(UsageError, match="CPU 2 cannot be used; usable here: 0, 1"):
        load_plan.check_machine(plan(cpus=(0, 1, 2)), [0, 1], 1024)
    with pytest.raises(
        UsageError, match=r"20,000 connections .* limit is 20,000 .* up to 19,932 connections fit"
    ):
        load_plan.check_machine(plan(connections=20_000), [0], 20_000)
    load_plan.check_machine(plan(connections=19_932), [0], 20_000)


def test_bodies_that_do_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"x" * 1000)
    request = HttpRequest(body_path=str(tmp_path / "body"))
    plain = LoadPlan("http", connections=50, request=request)
    secure = LoadPlan("http", connections=50, request=request, tls=Tls("h"))
    load_plan.check_memory(plain, 1000)
    load_plan.check_memory(secure, 51_000)
    load_plan.check_memory(msgspec.structs.replace(secure, http2=Http2(9)), 2000)
    load_plan.check_memory(LoadPlan("http", request=HttpRequest(body="x" * 100)), 1)
    for plan, available in ((plain, 999), (secure, 50_999)):
        with pytest.raises(UsageError, match="the body of 1,000 bytes would be in memory"):
            load_plan.check_memory(plan, available)


def sent(load: LoadPlan) -> dict[str, Any]:
    """The request as the probe reads it."""
    request: dict[str, Any] = json.loads(LoadRequest(load).encode())
    assert request["version"] == 1
    fields: dict[str, Any] = request["load"]
    return fields


def test_an_http_request() -> None:
    load = plan(
        rate_per_s=10,
        headers=(("Accept", "ü"),),
        body="ü".encode(),
        expect_status=201,
        expect_contains="é",
        cpus=(1,),
        close=True,
    )
    assert sent(msgspec.structs.replace(load, addresses=("1.2.3.4:81",), progress_s=1.0)) == {
        "protocol": "http",
        "addresses": ["1.2.3.4:81"],
        "resend": True,
        "connections": 64,
        "cpus": [1],
        "pacing": {"kind": "constant", "rate_per_s": 10},
        "duration_s": 10,
        "timeout_s": 5,
        "stream": {},
        "expect": {"status": 201, "contains": "Ã©"},
        "progress_s": 1,
        "request": {
            "method": "POST",
            "target": "/a?b",
            "headers": [["Host", "h:81"], ["Accept", "Ã¼"]],
            "body": "Ã¼",
            "close": True,
        },
    }


def test_a_host_on_the_command_line_replaces_the_targets_own() -> None:
    assert plan(headers=(("hOST", "x"),)).request == HttpRequest(target="/a?b", headers=(("hOST", "x"),))


def test_other_requests() -> None:
    tcp = sent(plan("tcp", line="3ü", expect_body="832040"))
    assert (tcp["line"], tcp["expect"]) == ("3Ã¼", {"equals": "832040"})
    assert "request" not in tcp
    messages = {"first": "Welcome: {id}", "chunk": "Chunk {k} for {id}", "interval_s": 2}
    stream = sent(plan("stream", ramp_per_s=50.0, timeout_s=3.0, **messages))
    assert stream["stream"] == messages
    assert (stream["ramp_per_s"], stream["timeout_s"]) == (50, 3)
    assert stream["pacing"] == {"kind": "closed"}
    assert not stream.keys() & {"line", "requests"}


def test_keys_of_requests_are_in_the_contract() -> None:
    document = ROOT / "docs" / "PROTOCOL.md"
    page = document.read_text(encoding="utf-8").split("### Load\n")[1]
    for struct in (LoadPlan, HttpRequest, ExpectedReply, StreamMessages):
        for key in struct.__struct_fields__:
            assert f"`{key}`" in page or f'"{key}"' in page, key
