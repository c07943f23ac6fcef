"""Two-sided trials with engines beside the contender, without a cluster: what the probe makes of what engines
counted. tests/cluster/test_real_engines.py has real nodes."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import cast

import pytest
from msgspec.structs import replace

from ringside.cluster.engines import Engine, Engines, part_of
from ringside.cluster.session import Node
from ringside.cluster.worker import TwoSidedExecutor
from ringside.load.result import EnginePart
from ringside.model.design import Level
from ringside.model.results import Outcome
from ringside.probe.process import Probe
from ringside.probe.protocol import EngineRecord, LoadPlan, PartOfLoad
from tests.support.programs import carry_out, point, ready

HOST = "127.0.0.2"
READY_S = 60.0


class EnginesHere:
    """So many engines, without a cluster."""

    started_within_s = 0.0

    def __init__(self, count: int) -> None:
        self._count = count

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
            engine.prepare(part, {})
        for engine in engines:
            engine.start()
        on_begun([count])
        ended = []
        for number, engine in enumerate(engines):
            answer = engine.result(READY_S)
            assert answer
            ended.append((0, *part_of(Node("", f"node{number}", HOST, 1, True), answer)))
        return ended

    def go_on(self) -> None:
        pass

    def interrupt(self) -> None:
        pass


@pytest.mark.parametrize("levels", [{"kind": "io"}, {"rate": 20}])
def test_requests_are_joined_with_the_calls_of_their_upstreams(levels: dict[str, Level]) -> None:
    # All ask at one time, and no upstream takes a second: each window of the warm-up is soon over.
    at = point("fanout", requests=30, concurrency=30, tail=0, **levels)
    with closing(Probe()) as probe:
        executor = TwoSidedExecutor(probe, cast(Engines, EnginesHere(3)))
        trial = carry_out("fanout", ready("python-asyncio"), executor, at, host=HOST, remote=True)
    assert trial.outcome is Outcome.OK, trial.detail
    measured = trial.load("measured")
    assert measured.engines == 3
    upstreams = measured.upstreams
    assert upstreams.requests == measured.requests + measured.late_requests == 30
    whole_ns = upstreams.slowest.mean_ns + upstreams.overhead.mean_ns
    assert measured.histograms["service"].mean_ns == pytest.approx(whole_ns, rel=0.01)
