"""Every contender that listens, through the real probe: a short load, answers checked, figures whole."""

from __future__ import annotations

import os

import msgspec
import pytest

from ringside.measure import trials
from ringside.measure.executor import LocalExecutor
from ringside.model.design import Cell, Limits, Point
from ringside.model.results import Outcome, Trial
from ringside.workloads import workload
from tests.contenders.test_ring import CATALOGUE, ready
from tests.support.servers import having

SERVERS = [(name, one) for name in ("fib", "fanout", "feed") for one in having(name)]
LEVELS = {
    "fib": {"seconds": 1},
    "fanout": {"requests": 10, "concurrency": 5},
    "feed": {"connections": 50, "ramp": 500, "interval_ms": 100, "seconds": 1},
}
COMMON = {"idle_pss_bytes", "rss_bytes", "peak_threads", "engine_share_percent"}
FIGURES = {
    "fib": {"requests_per_s", "latency_s", "p99_s", "cpu_per_request_s"},
    "fanout": {
        "latency_ms.p50",
        "overhead_ms.p50",
        "overlapped_percent",
        "bytes_in_flight",
        "cpu_per_request_s",
    },
    "feed": {"bytes_per_connection", "cpu_per_kchunk_s", "late_ms.p99", "kernel_bytes_per_connection"},
}


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor()


# An address of this machine that none listens on by default.
OTHER_HOST = "127.0.0.2"


def make(
    executor: LocalExecutor, name: str, contender: str, host: str | None = None, **levels: int | str
) -> Trial:
    """A trial by the probe; with a `host` the server gets it, and the load goes there."""
    of = workload(name)
    base = {factor.name: factor.default for factor in of.factors}
    cell = Cell(contender, Point(tuple((base | LEVELS[name] | levels).items())))
    one = ready(contender)
    cpus, probe_cpus = executor.cpus(1)
    request = trials.request(
        one,
        cell,
        of,
        limits=Limits(wall_s=200),
        cpus=cpus,
        probe_cpus=probe_cpus,
        environment=trials.environment(os.environ, one.build, 1, 2, 3),
        seed=1,
        memory_available_bytes=8 << 30,
        host=host,
    )
    if request.service and request.service.remote:
        here = msgspec.structs.replace(request.service, remote=False)
        request = msgspec.structs.replace(request, service=here)
    return trials.with_messages(Trial(1, 0, cell, Outcome.INTERRUPTED, ""), executor.trial(request))


@pytest.mark.parametrize(("name", "contender"), SERVERS)
def test_a_short_load(executor: LocalExecutor, name: str, contender: str) -> None:
    # Upstreams of a gateway are on 127.0.0.1 all the same.
    trial = make(executor, name, contender, OTHER_HOST)
    if trial.outcome in (Outcome.TIMED_OUT, Outcome.LOAD_FAILED):
        # A machine may stand still for longer than a server's grace: once more, not twice.
        trial = make(executor, name, contender, OTHER_HOST)
    assert trial.outcome is Outcome.OK, f"{trial.detail} {trial.report}"
    assert FIGURES[name] | COMMON <= set(workload(name).figures(trial))
    assert trial.report
    assert trial.report.left_behind == 0
    assert not any(load.errors for load in trial.loads)


@pytest.mark.soak
@pytest.mark.parametrize(("name", "contender"), SERVERS)
def test_every_load(executor: LocalExecutor, name: str, contender: str) -> None:
    one = CATALOGUE.contender(contender).workloads[name].most.get("clients")
    points: list[dict[str, int | str]] = [{"kind": "cpu"}, {"rate": 10}, {"tail": 50}]
    if name == "feed":
        points = [{"vanish": 50, "seconds": 3}, {"slow": 20, "interval_ms": 10, "seconds": 25}]
    if name == "fib":
        points = [{"load": "single", "n": 20}]
        if one != 1:
            points += [{"load": "mixed", "clients": 2, "n": 20}, {"load": "rate", "clients": 8}]
    for levels in points:
        trial = make(executor, name, contender, None, **levels)
        assert trial.outcome is Outcome.OK, f"{levels}: {trial.detail} {trial.report}"
