"""Made-up trials of servers: a load message for each load that the probe would drive, with random figures."""

import dataclasses
import functools
import itertools
import math
import random
from collections import Counter

from msgspec.structs import replace

from ringside.model.results import Trial
from ringside.probe import protocol
from ringside.workloads.base import Workload

# Median of a request in seconds, which is also its CPU time.
_SPEEDS = {"limit": 40e-6, "go": 60e-6, "erlang": 90e-6, "python-sync": 70e-6, "python-coroutines": 3e-3}
# When a load of streams begins.
BEGIN_NS = 2_000_000_000
# Median delay of a gateway's slowest upstream.
_DELAY_S = 0.15


def ok(blank: Trial, workload: Workload, rng: random.Random, noise: float, moved: float) -> Trial:
    """The trial with figures. `noise`: standard deviation of their logarithm; `moved`: its mean."""
    service = workload.service(blank.cell.point, 1)
    assert service
    factor = math.exp(rng.gauss(0, noise) + moved)
    base_s = _SPEEDS.get(blank.cell.contender, 200e-6) * factor
    delay_s = _DELAY_S if service.stub else 0.0
    loads: list[protocol.LoadMessage] = []
    marks, samples = {"idle": _sample(0, 0, "idle")}, []
    cpu_ns = 50_000_000
    for step in service.steps:
        begin = marks[f"begin {step.name}"] = _sample(BEGIN_NS, cpu_ns)
        for load in step.loads:
            plan = load.plan
            if plan.protocol == "stream":
                loads.append(_stream(step.name, load.name, plan, base_s))
                half_seconds = range(2 * round(plan.duration_s or 0) + 1)
                samples = [_held(plan, number / 2, base_s, begin) for number in half_seconds]
                marks |= {mark.name: _held(plan, mark.at_s, base_s, begin) for mark in step.marks}
                cpu_ns = marks[step.marks[-1].name].cpu_ns
                continue
            request_s = base_s + delay_s + (8e-3 if plan.line == "30" else 0.0)
            if isinstance(plan.pacing, protocol.ConstantRate):
                # Near its capacity a server is slow.
                request_s *= 1 + (plan.pacing.rate_per_s * base_s / 0.8) ** 8
            # Loads of one step delay each other.
            request_s *= len(step.loads)
            loads.append(_load(step.name, load.name, plan, request_s, base_s, bool(service.stub)))
            cpu_ns += round(1e9 * base_s * loads[-1].requests)
        marks[f"end {step.name}"] = replace(_sample(3 * BEGIN_NS, cpu_ns), rss_bytes=4_000_000)
    report = protocol.TrialOutcome(
        outcome="ok",
        exit_status=0,
        wall_ns=10**10,
        cpu_user_ns=cpu_ns,
        cpu_system_ns=cpu_ns // 3,
        peak_pss_bytes=round(4e6 * factor),
        peak_threads=7,
        voluntary_switches=100,
        involuntary_switches=10,
        run_queue_ns=1000,
        threads=tuple(protocol.ThreadUse(tid, "worker", cpu_ns // 2) for tid in (11, 12)) if samples else (),
    )
    return dataclasses.replace(blank, report=report, marks=marks, samples=tuple(samples), loads=tuple(loads))


# The figures of a histogram, of which each differs: the share of requests up to it, and times of the median.
_SHAPE = {
    **{"min": (0.0, 0.5), "p50": (0.5, 1.0), "p90": (0.9, 1.6), "p95": (0.95, 2.0), "p99": (0.99, 4.0)},
    **{"p99_9": (0.999, 9.0), "max": (1.0, 20.0)},
}


def summary(median_s: float) -> protocol.LatencySummary:
    """A histogram of this shape."""
    figures = {f"{name}_ns": round(median_s * times * 1e9) for name, (_, times) in _SHAPE.items()}
    return protocol.LatencySummary(1000, median_s * 1.2e9, median_s * 0.7e9, **figures)


@functools.cache
def _times(n: int) -> tuple[float, ...]:
    """n times of a median of 1 with the percentiles of `summary`."""
    times = []
    for place in range(n):
        share = (place + 0.5) / n
        (low, at_low), (high, at_high) = next(
            pair for pair in itertools.pairwise(_SHAPE.values()) if pair[0][0] <= share <= pair[1][0]
        )
        times.append(at_low * (at_high / at_low) ** ((share - low) / (high - low)))
    return tuple(times)


def counts(median_s: float, n: int) -> str:
    """The histogram of n times with the percentiles of `summary`, as the probe writes it."""
    by_value = Counter(round(float(f"{median_s * times * 1e9:.2g}")) for times in _times(n))
    return " ".join(f"{value} {by_value[value]}" for value in sorted(by_value))


def _sample(t_ns: int, cpu_ns: int, mark: str | None = None) -> protocol.Sample:
    return protocol.Sample(
        t_ns,
        mark,
        processes=1,
        threads=5,
        cpu_ns=cpu_ns,
        rss_bytes=2_000_000,
        pss_bytes=1_500_000,
        kernel_bytes=50_000_000,
        tcp_bytes=3_000_000,
    )


def _open(plan: protocol.LoadPlan, at_s: float) -> int:
    assert plan.ramp_per_s
    return int(min(plan.connections, plan.ramp_per_s * at_s))


def _held(plan: protocol.LoadPlan, at_s: float, base_s: float, begin: protocol.Sample) -> protocol.Sample:
    """A sample while feeds are held. For each open connection the server has a byte for each 10 ns that a
    chunk takes, and the kernel 2 KiB, a quarter of it in buffers of TCP."""
    assert plan.stream.interval_s
    chunks = plan.connections * at_s / plan.stream.interval_s
    cpu_ns = begin.cpu_ns + round(1e9 * base_s * chunks)
    connections = _open(plan, at_s)
    return replace(
        begin,
        t_ns=begin.t_ns + round(at_s * 1e9),
        cpu_ns=cpu_ns,
        pss_bytes=(begin.pss_bytes or 0) + round(connections * base_s * 1e8),
        kernel_bytes=(begin.kernel_bytes or 0) + 1536 * connections,
        tcp_bytes=(begin.tcp_bytes or 0) + 512 * connections,
        cpu_by_thread=((11, round(cpu_ns * 0.7)), (12, round(cpu_ns * 0.3))),
    )


def _stream(step: str, name: str, plan: protocol.LoadPlan, base_s: float) -> protocol.LoadMessage:
    assert plan.duration_s
    assert plan.stream.interval_s
    chunks = round(plan.connections * plan.duration_s / plan.stream.interval_s)
    return protocol.LoadMessage(
        step=step,
        name=name,
        duration_ns=round(plan.duration_s * 1e9),
        begin_ns=BEGIN_NS,
        end_ns=BEGIN_NS + round(plan.duration_s * 1e9),
        series=tuple(
            protocol.SecondOfLoad(
                float(second),
                requests=round(chunks / plan.duration_s),
                max_ns=round(base_s * 5e9),
                open=_open(plan, second + 1),
            )
            for second in range(round(plan.duration_s))
        ),
        achieved_rate_per_s=chunks / plan.duration_s,
        messages=chunks,
        cpu_share_most=0.3,
        busy_share_most=0.1,
        concurrency=float(plan.connections),
        streams=protocol.StreamCounts(fed=plan.connections, chunks=chunks, behind=3),
        histograms={
            "lateness": summary(base_s),
            "connect": summary(2.5 * base_s),
            "first_byte": summary(7 * base_s),
        },
        counts={"lateness": counts(base_s, 1000)} if plan.counts else {},
    )


def _load(
    step: str, name: str, plan: protocol.LoadPlan, request_s: float, base_s: float, stub: bool
) -> protocol.LoadMessage:
    duration_s = plan.duration_s or 1.0
    rate_per_s = plan.connections / request_s
    if isinstance(plan.pacing, protocol.ConstantRate):
        rate_per_s = plan.pacing.rate_per_s
    requests = plan.requests or max(1, round(rate_per_s * duration_s))
    calls = protocol.UpstreamCalls(requests, requests, overhead=summary(base_s), slowest=summary(_DELAY_S))
    return protocol.LoadMessage(
        step=step,
        name=name,
        duration_ns=round(duration_s * 1e9),
        requests=requests,
        intended=requests if plan.is_open_loop else None,
        achieved_rate_per_s=requests / duration_s,
        cpu_share_most=0.4,
        busy_share_most=0.2,
        concurrency=float(plan.connections),
        histograms={"latency": summary(request_s)},
        counts={"latency": counts(request_s, 1000)} if plan.counts else {},
        upstreams=calls if stub else None,
    )
