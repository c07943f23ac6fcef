"""Trials of fakes that attack (tests/fakes), by the real probe."""

import os
import sys
from functools import cache
from typing import Any

import msgspec
import pytest

from ringside.measure.host import Executor
from ringside.probe import protocol
from ringside.workloads.ring.workload import checksum, order
from tests.support import TESTS

FAKE = TESTS / "fakes" / "fake.py"


def request(
    how: str, *more: str, nodes: int = 4, messages: int = 5, trace: int = 0, **changes: Any
) -> protocol.TrialRequest:
    """`changes`: other limits, and other parts of the request."""
    lines = protocol.ExpectedLines(total=0)
    if trace:
        lines = protocol.ExpectedLines(nodes * messages, {":": 12, "*": 3, ">": 4, "@": 1})
    arguments = [f"nodes={nodes}", f"messages={messages}", f"how={how}", "hold=1", f"trace={trace}", *more]
    bounds = {"wall_s": 60, "memory_bytes": 2 << 30, "output_bytes": 1 << 20, "processes": 50}
    bounds |= {name: changes.pop(name) for name in protocol.Limits.__struct_fields__ if name in changes}
    made = protocol.TrialRequest(
        argv=(sys.executable, "-S", "-E", str(FAKE), *arguments),
        cwd="/",
        env={"PATH": os.environ["PATH"]},
        limits=protocol.Limits(**bounds),
        expect=protocol.Evidence(
            {"checksum": str(checksum(nodes, messages)), "order": str(order(nodes, messages))}, lines
        ),
        awaits=("spawned",),
    )
    return msgspec.structs.replace(made, **changes)


# With a probe that has its own namespaces, and with one that has none.
both_ways = pytest.mark.parametrize("namespaces", ["auto", "off"])


def attack(how: str, **more: Any) -> list[protocol.TrialMessage]:
    return Executor().trial(request(how, **more))


def last(messages: list[protocol.TrialMessage]) -> protocol.TrialOutcome:
    (*_, final) = messages
    assert isinstance(final, protocol.TrialOutcome)
    return final


def has_own_namespaces(messages: list[protocol.TrialMessage]) -> bool:
    (started,) = (each for each in messages if isinstance(each, protocol.Started))
    return not any(each.startswith("namespaces") for each in started.missing)


@cache
def can_have_namespaces() -> bool:
    return has_own_namespaces(attack("good"))
