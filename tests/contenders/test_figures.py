"""Every contender through the real probe: its trials have all figures. The rules that they keep are those of
`ringside check`."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ringside.measure.host.executor import Executor
from ringside.measure.runs import plan
from ringside.measure.runs.inputs import Inputs
from ringside.model.design import Level
from ringside.model.results import Outcome, Trial
from ringside.workloads import WORKLOADS
from tests.support.programs import carry_out, having, point, ready

Levels = Mapping[str, Level]
# An address of this machine on which none listens by default; upstreams of a gateway are on 127.0.0.1.
OTHER_HOST = "127.0.0.2"
SERVED = {"idle_pss_bytes", "rss_bytes", "peak_threads", "engine_share_percent"}
# For each workload a small trial and figures that it has, those that are sampled while it waits among them.
SMALL: dict[str, tuple[Levels, set[str]]] = {
    "ring": ({"nodes": 200, "messages": 13}, {"hop_ns", "spawn_ns", "held_pss_bytes", "cpu_s", "wall_s"}),
    "batch": (
        {"cases": 300, "size": 20},
        {"wall_s", "cpu_s", "work_s", "read_share", "busy_share", "compute_s", "write_s"},
    ),
    "jobs": (
        {"jobs": 7, "duration_ms": 60, "workers": 3},
        {"makespan_s", "gap_s", "jobs_per_s", "over_ideal", "waiting_pss_bytes"},
    ),
    "sleepers": (
        {"tasks": 500, "seconds": 2},
        {
            "held_bytes",
            "held_kernel_bytes",
            "held_pss_bytes",
            "start_ns",
            "late_s.p50",
            "late_s.p99",
            "late_s.max",
            "end_late_s",
        },
    ),
    "restarts": (
        {"units": 20, "messages": 50, "every": 5},
        {
            *("recovery_s.p50", "recovery_s.p99", "kept_share", "answer_s.p99", "calm_s.p99", "cpu_s"),
            *("others_over_calm", "deliveries_per_s", "start_ns"),
        },
    ),
    "accounts": (
        {"accounts": 30, "units": 5, "transfers": 200, "auditors": 2, "every": 20},
        {
            *("transfer_ns", "transfer_s.p50", "transfer_s.p99", "audit_s.p50", "cpu_per_transfer_s"),
            *("waits_per_1000", "preempted_per_1000", "held_pss_bytes"),
        },
    ),
    "fib": ({"seconds": 1}, {*SERVED, "requests_per_s", "latency_s", "p99_s", "cpu_per_request_s"}),
    "fanout": (
        {"requests": 10, "concurrency": 5},
        {
            *(*SERVED, "latency_s.p50", "overhead_s.p50", "overlapped_percent", "bytes_in_flight"),
            "cpu_per_request_s",
        },
    ),
    "feed": (
        {"connections": 50, "ramp": 500, "interval_ms": 100, "seconds": 1},
        {*(*SERVED, "bytes_per_connection", "cpu_per_kchunk_s", "late_s.p99"), "kernel_bytes_per_connection"},
    ),
}
# Longer ones, of all loads.
LARGE: dict[str, tuple[Levels, ...]] = {
    "batch": ({"cases": 200_000},),
    "sleepers": ({"tasks": 50_000, "seconds": 60},),
    "fib": (
        {"load": "single", "n": 20},
        {"load": "mixed", "clients": 2, "n": 20},
        {"load": "rate", "clients": 8},
    ),
    "fanout": (
        {"kind": "cpu", "requests": 10, "concurrency": 5},
        {"rate": 10, "requests": 10, "concurrency": 5},
        {"tail": 50, "requests": 10, "concurrency": 5},
    ),
    "feed": (
        {"connections": 50, "ramp": 500, "interval_ms": 100, "vanish": 50, "seconds": 3},
        {"connections": 50, "ramp": 500, "interval_ms": 10, "slow": 20, "seconds": 25},
        {"connections": 10_000, "ramp": 2000, "interval_ms": 5000, "seconds": 10},
    ),
}
# Half a gigabyte of input is never in memory at one time.
MOST_BATCH_BYTES = 200e6


@pytest.fixture(scope="module")
def executor() -> Executor:
    return Executor()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return Inputs(tmp_path_factory.mktemp("inputs"))


def made(workload: str, name: str, levels: Levels, executor: Executor, inputs: Inputs) -> Trial:
    at, of = point(workload, **levels), WORKLOADS[workload]
    file = of.input(at)
    host = OTHER_HOST if of.is_service else None
    trial = carry_out(workload, ready(name), executor, at, inputs.get(file) if file else None, host=host)
    assert trial.outcome is Outcome.OK, f"{name} {at}: {trial.detail} {trial.report}"
    assert trial.report
    assert trial.report.left_behind == 0
    assert not any(load.errors for load in trial.loads)
    return trial


@pytest.mark.parametrize(("workload", "name"), [(each, name) for each in SMALL for name in having(each)])
def test_a_small_trial_has_all_figures(workload: str, name: str, executor: Executor, inputs: Inputs) -> None:
    levels, figures = SMALL[workload]
    try:
        trial = made(workload, name, levels, executor, inputs)
    except AssertionError:
        # A host may stall for longer than a server's grace, or the second before the first instant.
        trial = made(workload, name, levels, executor, inputs)
    assert figures <= set(WORKLOADS[workload].figures(trial))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("workload", "name", "levels"),
    [(each, name, levels) for each in LARGE for name in having(each) for levels in LARGE[each]],
)
def test_large_trials_and_all_loads(
    workload: str, name: str, levels: Levels, executor: Executor, inputs: Inputs
) -> None:
    if reason := plan.past_limit(ready(name).contender, WORKLOADS[workload], point(workload, **levels)):
        pytest.skip(reason)
    trial = made(workload, name, levels, executor, inputs)
    if workload == "batch":
        assert WORKLOADS[workload].figures(trial)["peak_pss_bytes"] < MOST_BATCH_BYTES


def test_every_workload_has_a_trial() -> None:
    assert set(SMALL) == set(WORKLOADS)
