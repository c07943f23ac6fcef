"""Shared by the workloads of servers: figures of a step under load, and the loads that decide."""

import pytest
from msgspec.structs import replace

from ringside.probe.protocol import Evidence, LatencySummary, LoadMessage, Sample
from ringside.workloads import serving
from ringside.workloads.fanout.workload import FANOUT
from ringside.workloads.feed.workload import FEED
from ringside.workloads.fib.workload import FIB
from tests.support.points import ok_trial, point

LATENCY = LatencySummary(
    count=9,
    mean_ns=3.5,
    stdev_ns=2.5,
    min_ns=1,
    p50_ns=2_000,
    p90_ns=3_000,
    p95_ns=5_000,
    p99_ns=7_000,
    p99_9_ns=11_000,
    max_ns=13_000,
)
LOAD = LoadMessage(
    step="measured",
    name="all",
    requests=30,
    late_requests=10,
    achieved_rate_per_s=15.0,
    cpu_share_most=0.4,
    busy_share_most=0.3,
    histograms={"latency": LATENCY, "connect": LatencySummary()},
)
MARKS = {
    "idle": Sample(1, "idle", cpu_ns=1, rss_bytes=101, pss_bytes=103),
    "begin measured": Sample(2, None, cpu_ns=2_000_000_000, rss_bytes=107, pss_bytes=109),
    "end measured": Sample(3, None, cpu_ns=6_000_000_000, rss_bytes=113, pss_bytes=127),
}


def test_the_cold_start_of_a_server() -> None:
    first = replace(LOAD, step="first", begin_ns=10**9)
    cold = replace(LOAD, step="warm-up", achieved_rate_per_s=5.0)
    warm = replace(LOAD, step="warm-up-2", end_ns=2_500_000_000)
    trial = ok_trial(FIB, {"loads": (first, cold, warm, LOAD)})
    assert serving.warm_up_figures(trial) == pytest.approx({"cold_requests_per_s": 5, "warm_after_s": 1.5})
    # From older stores, and from loads at a rate: one window, whose end is a time that was chosen.
    assert serving.warm_up_figures(ok_trial(FIB, {"loads": (first, cold, LOAD)})) == {}


def test_engines_of_older_stores_reported_cpu_time_only() -> None:
    for share, expected in ((None, {}), (0.0, {"engine_share_percent": 0})):
        trial = ok_trial(FIB, {"loads": (replace(LOAD, busy_share_most=share),)})
        assert serving.step_figures(trial, "measured") == expected


def test_percentiles_in_seconds() -> None:
    assert serving.percentiles_s(LOAD) == pytest.approx(
        {"p50": 2e-6, "p90": 3e-6, "p95": 5e-6, "p99": 7e-6, "p99_9": 11e-6, "max": 13e-6}
    )
    # Nothing was recorded, or nothing could be.
    assert serving.percentiles_s(LOAD, "connect") == {}
    assert serving.percentiles_s(LOAD, "lateness") == {}
    assert serving.percentiles_s(None) == {}


@pytest.mark.parametrize("workload", [FIB, FANOUT, FEED])
def test_the_loads_of_the_last_step_decide(workload: serving.Serving) -> None:
    earlier, long = replace(LOAD, step="warm-up"), replace(LOAD, name="long")
    trial = ok_trial(workload, {"loads": (earlier, LOAD, long)})
    assert workload.decisive_loads(trial) == [LOAD, long]
    assert workload.decisive_loads(ok_trial(workload)) == []


@pytest.mark.parametrize("workload", [FIB, FANOUT, FEED])
def test_the_answers_are_the_evidence(workload: serving.Serving) -> None:
    assert workload.evidence(point(workload), 1, None) == Evidence()
    assert workload.arguments(point(workload))["port"] == "0"
