"""What of a headline is the program's own, by figures of a cell."""

from __future__ import annotations

import pytest

from ringside.model.design import Level
from ringside.workloads import WORKLOADS
from tests.support.analyses import near
from tests.support.points import point

# A queue is full for nine tenths of the units' time, and two of five cores are idle.
FULL = {"wall_s": 1.0, "read_s": 0.2, "write_s": 0.1, "busy_share": 0.6, "wait_full_s": 0.9, "compute_s": 0.1}

# Half of the time of twenty clients; a request takes a millisecond of CPU time, and waits for all others.
POOL = {"cpu_per_request_s": 0.001, "latency_s.p50": 0.4, "overhead_s.p50": 0.2}


@pytest.mark.parametrize(
    ("workload", "headline", "levels", "figures", "share"),
    [
        ("fanout", "latency_s.p50", {}, {"latency_s.p50": 0.15, "overhead_s.p50": 0.0015}, 0.01),
        # Sums have no upstreams; CPU time is the program's.
        ("fanout", "latency_s.p50", {}, {"latency_s.p50": 0.005}, None),
        ("fanout", "cpu_per_request_s", {}, {"cpu_per_request_s": 0.1, "overhead_s.p50": 0.0015}, None),
        ("fanout", "overhead_s.p50", {}, POOL, 0.1),
        ("fanout", "latency_s.p99", {}, POOL, 0.1),
        ("fanout", "cpu_per_request_s", {}, POOL, None),
        # A busy gateway waits for its CPU; at a rate nobody knows how many clients there are.
        ("fanout", "overhead_s.p50", {}, POOL | {"cpu_per_request_s": 0.006}, None),
        ("fanout", "overhead_s.p50", {}, POOL | {"overhead_s.p50": 0.07}, None),
        ("fanout", "overhead_s.p50", {"rate": 100}, POOL, None),
        ("fib", "requests_per_s", {}, {"requests_per_s": 1e4, "cpu_per_request_s": 5e-5}, 0.5),
        ("fib", "requests_per_s", {}, {"requests_per_s": 1e4, "cpu_per_request_s": 2e-4}, None),
        ("jobs", "makespan_s", {"kind": "sleep"}, {"over_ideal": 1.25}, 0.2),
        ("jobs", "makespan_s", {"kind": "cpu"}, {"over_ideal": 1.25}, None),
        ("batch", "wall_s", {}, FULL, 0.6),
        ("batch", "cpu_s", {}, FULL, None),
        # Busy cores wait for no queue; and units wait for a place now and then.
        ("batch", "wall_s", {}, FULL | {"busy_share": 0.9}, None),
        ("batch", "wall_s", {}, FULL | {"compute_s": 0.3}, None),
        ("batch", "wall_s", {}, {"wall_s": 1.0}, None),
    ],
)
def test_the_share_of_the_program(
    workload: str, headline: str, levels: dict[str, Level], figures: dict[str, float], share: float | None
) -> None:
    measured = WORKLOADS[workload]
    own = measured.program_share(headline, point(measured, **levels), figures)
    assert (own and own[0]) == (None if share is None else near(share))
