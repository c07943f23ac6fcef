"""Options of a load: held against each other, and made into the probe's request."""

import shlex
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from ringside.cli.main import cli
from ringside.errors import UsageError
from ringside.load import plan as load_plan
from ringside.load import target
from ringside.load.options import LoadSettings
from ringside.probe import protocol as ipc
from tests.support.cases import cases
from tests.support.loads import load_plan as plan_of

TARGETS = {
    "http": "http://h:81/a?b",
    "stream": "stream+http://h/{id}",
    "tcp": "tcp://h:1",
    "ws": "wss://h:1/x",
    "stream+ws": "stream+ws://h:1/{id}",
}


def plan(protocol: str = "http", **changed: Any) -> ipc.LoadPlan:
    return plan_of(TARGETS[protocol], **changed)


@pytest.mark.parametrize(("words", "headers"), cases(__file__, "options_of_each_protocol"))
def test_options_of_each_protocol(words: str, headers: tuple[str, ...]) -> None:
    command = cli.get_command(click.Context(cli), "load")
    with command.make_context("load", [*shlex.split(words), "--connections=5", "--json"]) as context:
        values = {name: value for name, value in context.params.items() if value is not None}
        settings = LoadSettings(**values)
        one, other = settings.targets[0], settings.other_target
        load_plan.check(settings, target.parse(one), target.parse(other) if other else None)
        request = load_plan.plan(settings, [target.parse(one)]).request or ipc.HttpRequest()
        assert (*map(": ".join, request.headers), *["(closes)"] * request.close) == headers


@pytest.mark.parametrize(
    ("protocol", "options", "fields"),
    [
        (
            "http",
            {},
            {"pacing": ipc.ClosedLoop(), "slack_s": None, "expect": ipc.ExpectedReply(), "connections": 64}
            | {
                "duration_s": 10,
                "line": None,
                "request": ipc.HttpRequest(target="/a?b", headers=(("Host", "h:81"),)),
            },
        ),
        ("http", {"rate_per_s": 5}, {"pacing": ipc.ConstantRate(5, 1), "slack_s": None}),
        (
            "http",
            {"rate_per_s": 5, "burst": 3, "slack_s": 0},
            {"pacing": ipc.ConstantRate(5, 3), "slack_s": 0},
        ),
        ("http", {"rate_per_s": 5, "poisson": True, "seed": 7}, {"pacing": ipc.PoissonRate(5, 7)}),
        (
            "http",
            {"steps": ((1, 2), (3, 4)), "slack_s": 1e-5},
            {"pacing": ipc.Staircase((ipc.StaircaseStep(1, 2), ipc.StaircaseStep(3, 4))), "slack_s": 1e-5}
            | {"duration_s": None},
        ),
        ("http", {"requests": 5}, {"requests": 5, "duration_s": None}),
        (
            "http",
            {"expect_status": 201, "expect_body": "a", "expect_contains": "é"},
            {"expect": ipc.ExpectedReply(201, "a", "Ã©")},
        ),
        ("http", {"expect_pattern": "[0-9]"}, {"expect": ipc.ExpectedReply(matches="[0-9]")}),
        (
            "http",
            {"headers": (("Accept", "ü"),), "close": True},
            {
                "request": ipc.HttpRequest(
                    target="/a?b", headers=(("Host", "h:81"), ("Accept", "Ã¼")), close=True
                )
            },
        ),
        # There is something random.
        ("http", {"seed": 3, "other_target": "http://h/"}, {}),
        ("tcp", {}, {"connections": 64, "line": "1"}),
        ("tcp", {"line": "30"}, {"line": "30"}),
        ("ws", {}, {"connections": 64}),
        ("stream", {}, {"connections": 100, "stream": ipc.StreamMessages()}),
        (
            "stream",
            {"framing": "line", "first": "Welcome: {id}", "chunk": "Chunk {k}", "interval_s": 2},
            {"stream": ipc.StreamMessages("line", "Welcome: {id}", "Chunk {k}", 2)},
        ),
        ("stream", {"due_field": "at "}, {"stream": ipc.StreamMessages(due_field="at ")}),
        ("stream+ws", {}, {"connections": 100, "stream": ipc.StreamMessages("message")}),
    ],
)
def test_options_become_the_plan(protocol: str, options: dict[str, Any], fields: dict[str, Any]) -> None:
    made = plan(protocol, **options)
    assert {name: getattr(made, name) for name in fields} == fields


def test_a_text_that_cannot_be_sent() -> None:
    with pytest.raises(UsageError, match="--chunk has a character that cannot be printed"):
        plan("stream", chunk="a\udcff")


def test_bodies_that_do_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"x" * 1000)
    request = ipc.HttpRequest(body_path=str(tmp_path / "body"))
    plain = ipc.LoadPlan("http", connections=50, request=request)
    secure = ipc.LoadPlan("http", connections=50, request=request, tls=ipc.Tls("h"))
    load_plan.check_memory(plain, 1000)
    load_plan.check_memory(secure, 51_000)
    load_plan.check_memory(msgspec.structs.replace(secure, http2=ipc.Http2(9)), 2000)
    load_plan.check_memory(ipc.LoadPlan("http", request=ipc.HttpRequest(body="x" * 100)), 1)
    for plan, available in ((plain, 999), (secure, 50_999)):
        with pytest.raises(UsageError, match="the body of 1,000 bytes would be in memory"):
            load_plan.check_memory(plan, available)
