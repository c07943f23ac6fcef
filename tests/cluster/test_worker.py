"""Two-sided trials with engines beside the contender, without a cluster: what the probe makes of what engines
counted. tests/cluster/test_real_engines.py has real nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
import pytest
from msgspec.structs import replace

from ringside.cluster.engines import Engine, Engines, part_of
from ringside.cluster.session import Node
from ringside.cluster.worker import TwoSidedExecutor
from ringside.errors import ProbeError
from ringside.load.result import EnginePart
from ringside.measure.runs import trials
from ringside.model.design import Cell, ExperimentLimits, Level
from ringside.model.results import Outcome, Trial
from ringside.probe.process import Probe
from ringside.probe.protocol import EngineRecord, LoadPlan, PartOfLoad
from ringside.workloads import workload
from tests.support.programs import point, ready

HOST = "127.0.0.2"
READY_S = 60.0


class EnginesHere:
    """So many engines, without a cluster. `change`: what becomes of a record on its way."""

    started_within_s = 0.0

    def __init__(self, count: int, change: Callable[[dict[str, Any]], None]) -> None:
        self._count = count
        self._change = change

    def step(
        self,
        plans: Sequence[LoadPlan],
        on_begun: Callable[[Sequence[int]], None],
        *,
        service_times: bool = False,
    ) -> list[tuple[int, EnginePart, EngineRecord]]:
        (plan,) = plans
        count = min(self._count, plan.connections)
        engines = [Engine() for _ in range(count)]
        for number, engine in enumerate(engines):
            part = replace(plan, part=PartOfLoad(number, count, service_times))
            engine.prepare(part, None)
        for engine in engines:
            engine.start()
        on_begun([count])
        ended = []
        for number, engine in enumerate(engines):
            answer = engine.result(READY_S)
            assert answer
            part_of_load, record = part_of(Node("", f"node{number}", HOST, 1, True), answer)
            counted = msgspec.json.decode(record.record)
            self._change(counted)
            changed = replace(record, record=msgspec.Raw(msgspec.json.encode(counted)))
            ended.append((0, part_of_load, changed))
        return ended

    def go_on(self) -> None:
        pass

    def call_off(self) -> None:
        pass


def carry_out(
    count: int, change: Callable[[dict[str, Any]], None] = lambda record: None, /, **levels: Level
) -> Trial:
    """A trial of a gateway, whose load so many engines have."""
    of, gateway = workload("fanout"), ready("python-asyncio")
    cell = Cell("python-asyncio", point("fanout", **levels))
    probe = Probe()
    executor = TwoSidedExecutor(probe, cast(Engines, EnginesHere(count, change)))
    cpus, probe_cpus = executor.cpus(1)
    request = trials.request(
        gateway,
        cell,
        of,
        limits=ExperimentLimits(wall_s=200),
        cpus=cpus,
        probe_cpus=probe_cpus,
        environment=trials.environment(os.environ, gateway, 1, 2, 3),
        seed=1,
        memory_available_bytes=8 << 30,
        host=HOST,
    )
    try:
        return trials.trial_from_messages(Trial(1, 0, cell, Outcome.INTERRUPTED, ""), executor.trial(request))
    finally:
        probe.close()


@pytest.mark.parametrize("levels", [{"kind": "io"}, {"kind": "mixed", "work": 1000}, {"rate": 20}])
def test_requests_are_joined_with_the_calls_of_their_upstreams(levels: dict[str, Level]) -> None:
    trial = carry_out(3, requests=30, concurrency=10, **levels)
    assert trial.outcome is Outcome.OK, trial.detail
    measured = trial.load("measured")
    assert measured is not None
    assert measured.engines == 3
    upstreams = measured.upstreams
    assert upstreams is not None
    assert upstreams.requests == measured.requests + measured.late_requests == 30
    whole_ns = upstreams.slowest.mean_ns + upstreams.overhead.mean_ns
    assert measured.histograms["service"].mean_ns == pytest.approx(whole_ns, rel=0.01)


def lacking(record: dict[str, Any]) -> None:
    """It does not have the service times."""
    del record["service_times"]


def garbled(record: dict[str, Any]) -> None:
    """Its service times are no pairs of numbers."""
    record["service_times"] = "\x1b[2J"


@pytest.mark.parametrize(
    ("change", "reason"),
    [(lacking, "record 1 of load 0: service times of 0 requests"), (garbled, "invalid type: string")],
)
def test_a_record_that_cannot_be_is_one_line(change: Callable[[dict[str, Any]], None], reason: str) -> None:
    with pytest.raises(ProbeError, match=reason) as failed:
        carry_out(2, change, requests=4, concurrency=2)
    assert "\n" not in str(failed.value)
    assert "\x1b" not in str(failed.value)
