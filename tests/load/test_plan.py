"""Options of a load: held against each other, and made into the probe's request."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ringside.cli import load_plan, params
from ringside.cli.load_options import LoadSettings
from ringside.errors import UsageError
from ringside.load import target
from ringside.probe.protocol import (
    ClosedLoop,
    ConstantRate,
    ExpectedReply,
    HttpRequest,
    LoadPlan,
    LoadRequest,
    PoissonRate,
    Staircase,
    StaircaseStep,
    StreamMessages,
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
# A value for each option that is not for all kinds of targets.
GIVEN: dict[str, dict[str, Any]] = {
    "--rate": {"rate_per_s": 5},
    "--burst": {"burst": 5},
    "--slack": {"slack_s": 0.001},
    "--ramp": {"ramp_per_s": 5},
    "--requests": {"requests": 5},
    "--method": {"method": "GET"},
    "--header": {"headers": (("A", "b"),)},
    "--line": {"line": ""},
    "--framing": {"framing": "line"},
    "--first": {"first": ""},
    "--interval": {"interval_s": 1},
    "--expect-status": {"expect_status": 200},
    "--expect-body": {"expect_body": ""},
    "--cacert": {"cacert": ROOT},
    "--insecure": {"insecure": True},
    "--streams": {"streams": 2},
}


def plan(protocol: str = "http", **changed: Any) -> LoadPlan:
    return plan_of(TARGETS[protocol], **changed)


def check(protocol: str, *options: str) -> None:
    given = {name: value for option in options for name, value in GIVEN[option].items()}
    settings = LoadSettings(targets=(TARGETS[protocol],), connections=5, as_json=True, **given)
    load_plan.check(settings, target.parse(TARGETS[protocol]), None)


@pytest.mark.parametrize(
    ("protocol", "option", "message"),
    [
        ("http", "--line", "--line is not for an http target"),
        ("http", "--interval", "--interval is not for an http target"),
        ("tcp", "--header", "--header is not for a tcp target"),
        ("tcp", "--expect-status", "--expect-status is not for a tcp target"),
        ("stream", "--rate", "--ramp says how fast"),
        ("stream", "--burst", "--ramp says how fast"),
        ("stream", "--slack", "--ramp says how fast"),
        ("stream", "--requests", "give --duration"),
        ("stream", "--expect-body", "--first and --chunk"),
        ("stream", "--line", "--line is not for a stream"),
        ("ws", "--method", "--method is not for a WebSocket"),
        ("ws", "--framing", "--framing is not for a WebSocket"),
        ("stream+ws", "--framing", "--framing is not for a stream of a WebSocket"),
        ("stream+ws", "--rate", "--ramp says how fast"),
        ("http", "--cacert", "--cacert is for TLS"),
        ("http", "--streams", "--streams is for HTTP/2"),
    ],
)
def test_options_of_another_protocol(protocol: str, option: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check(protocol, option)


@pytest.mark.parametrize("protocol", TARGETS)
def test_options_of_each_protocol(protocol: str) -> None:
    suited = {
        "http": ["--rate", "--header", "--expect-body"],
        "stream": ["--ramp", "--header", "--framing", "--expect-status"],
        "tcp": ["--rate", "--line", "--expect-body"],
        "ws": ["--rate", "--line", "--header", "--expect-body", "--insecure"],
        "stream+ws": ["--ramp", "--line", "--header", "--first"],
    }
    check(protocol, *suited[protocol])


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"steps": ((1, 1),), "rate_per_s": 1}, "leave out --rate"),
        ({"steps": ((1, 1),), "burst": 5}, "leave out --rate, --burst"),
        ({"steps": ((1, 1),), "poisson": True}, "leave out --rate, --burst and --poisson"),
        ({"poisson": True}, "--poisson needs a rate"),
        ({"burst": 5}, "--burst needs a rate"),
        ({"burst": 5, "rate_per_s": 1, "poisson": True}, "leave one out"),
    ],
)
def test_schedules_that_contradict_themselves(schedule: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(**schedule)


def test_slack_is_for_schedules() -> None:
    assert plan(rate_per_s=5, slack_s=0.000_25).slack_s == 0.000_25
    assert plan().slack_s is None
    with pytest.raises(UsageError, match="--slack needs a schedule: add --rate N"):
        plan(slack_s=0.001)
    assert plan(rate_per_s=5, slack_s=0).slack_s == 0
    assert plan(rate_per_s=5, slack_s=params.run_duration("10us")).slack_s == 1e-5
    for slack_s in (0.000_001, 0.2):
        with pytest.raises(UsageError, match="--slack is out of range: from 10us to 100ms, or 0"):
            plan(rate_per_s=5, slack_s=slack_s)


def test_schedules() -> None:
    assert plan().pacing == ClosedLoop()
    assert plan(rate_per_s=5).pacing == ConstantRate(5, 1)
    assert plan(rate_per_s=5, burst=3).pacing == ConstantRate(5, 3)
    assert plan(rate_per_s=5, poisson=True, seed=7).pacing == PoissonRate(5, 7)
    steps = (StaircaseStep(1, 2), StaircaseStep(3, 4))
    assert plan(steps=((1, 2), (3, 4))).pacing == Staircase(steps)


def test_a_seed_needs_something_random() -> None:
    assert plan(seed=3, other_target=TARGETS["http"])
    assert plan(seed=3, body=b"{random:1:9}", has_placeholders=True)
    with pytest.raises(UsageError, match="--seed is for --poisson"):
        plan(seed=3)


def test_what_a_reply_must_be() -> None:
    assert plan().expect == ExpectedReply()
    expect = plan(expect_status=201, expect_body="a", expect_contains="é").expect
    assert expect == ExpectedReply(201, "a", "Ã©")
    assert plan(expect_pattern="[0-9]").expect == ExpectedReply(matches="[0-9]")
    for other in ({"expect_body": ""}, {"expect_contains": "x"}):
        with pytest.raises(UsageError, match="--expect-pattern excludes the other two"):
            plan(expect_pattern="x", **other)
    assert len(plan(expect_contains="x" * (1 << 20)).expect.contains or "") == 1 << 20
    with pytest.raises(UsageError, match="--expect-contains is longer than 1 MiB"):
        plan(expect_contains="x" * (1 << 20) + "x")


def test_what_the_messages_of_a_stream_must_be() -> None:
    assert plan("stream").stream == StreamMessages()
    chosen = plan("stream", framing="line", first="Welcome: {id}", chunk="Chunk {k}", interval_s=2)
    assert chosen.stream == StreamMessages("line", "Welcome: {id}", "Chunk {k}", 2)
    assert plan("stream", due_field="at ").stream.due_field == "at "
    assert plan("stream+ws").stream.framing == "message"
    with pytest.raises(UsageError, match="leave one out"):
        plan("stream", interval_s=1, due_field="x")
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


def test_plans_that_cannot_be() -> None:
    assert plan(threads=2, connections=2).threads == 2
    with pytest.raises(UsageError, match="--threads 3 is more than 2 connections: each thread needs one"):
        plan(threads=3, connections=2)
    with pytest.raises(UsageError, match="--line is one line"):
        plan("tcp", line="a\nb")


def test_what_this_machine_cannot_do() -> None:
    load_plan.check_machine(plan(cpus=(0, 1)), [0, 1], 1024)
    with pytest.raises(UsageError, match="CPU 2 cannot be used; usable here: 0, 1"):
        load_plan.check_machine(plan(cpus=(0, 1, 2)), [0, 1], 1024)
    with pytest.raises(
        UsageError, match=r"20,000 connections .* limit is 20,000 .* up to 19,932 connections fit"
    ):
        load_plan.check_machine(plan(connections=20_000), [0], 20_000)
    load_plan.check_machine(plan(connections=19_932), [0], 20_000)


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
