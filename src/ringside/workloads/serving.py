"""What workloads of servers share: the probe's steps, and the figures of a trial under load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ringside.model.design import Expectation, Metric, Point
from ringside.model.results import Trial
from ringside.workloads.base import PEAK, THREADS, Curve, Workload

READY_S = 60.0
IDLE_S = 0.5
# Longer than any honest answer takes; what hangs is seen by its timeouts.
TIMEOUT_S = 60.0
_OUTPUT_BYTES = 64 * 1024
# By their names in the probe's answers; the place of each on an axis of nines, -log10(1 - q).
PERCENTILES = (("p50", 0.30103), ("p90", 1.0), ("p95", 1.30103), ("p99", 2.0), ("p99_9", 3.0))

RATE = Metric(
    "requests_per_s", "/s", "Answers", "right answers per second while measured", smaller_is_better=False
)
CPU = Metric(
    "cpu_per_request_s",
    "s",
    "CPU/request",
    "the server's CPU seconds over answers, while measured; beside another load that load's CPU too",
)
IDLE = Metric("idle_pss_bytes", "B", "Idle memory", "PSS of the process tree before the first request")
RSS = Metric(
    "rss_bytes",
    "B",
    "RSS",
    "resident memory of the process tree after the load, shared pages in each process",
)
ENGINE = Metric(
    "engine_share_percent",
    "%",
    "Engine",
    "how busy the probe's busiest thread of load was, of one core's time; looking for what is due next is "
    "left out",
)


class Serving(Workload):
    """A workload whose contender listens, and which the probe drives."""

    def arguments(self, point: Point) -> dict[str, str]:
        return {"port": "0"}

    def expectation(self, point: Point, seed: int) -> Expectation:
        return Expectation({})

    def output_bytes(self, point: Point) -> int:
        return _OUTPUT_BYTES


def percentile_curve(
    metric_of: Callable[[str], str],
    title: str = "Latency percentiles",
    what: str = "how long requests took",
) -> Curve:
    """Times over percentiles; `metric_of` names the metric of each."""
    return Curve(
        title,
        f"{what}, from the median to one in a thousand; medians over blocks",
        "percentile",
        tuple((place, name.replace("_", "."), metric_of(name)) for name, place in PERCENTILES),
    )


def service(steps: Sequence[Mapping[str, Any]], stub: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The probe's `service`."""
    found: dict[str, Any] = {"ready_s": READY_S, "idle_s": IDLE_S, "steps": list(steps)}
    if stub:
        found["stub"] = dict(stub)
    return found


def step(name: str, **loads: Mapping[str, Any]) -> dict[str, Any]:
    """A step with its loads, by their names."""
    return {"name": name, "loads": [{"name": load, "plan": dict(plan)} for load, plan in loads.items()]}


def load_of(trial: Trial, step_name: str, name: str = "all") -> Mapping[str, Any] | None:
    """What the probe said of a load of that step."""
    for load in trial.outcome_line.get("loads", ()):
        if (load["step"], load["name"]) == (step_name, name):
            found: Mapping[str, Any] = load
            return found
    return None


def times(load: Mapping[str, Any] | None, histogram: str = "latency") -> dict[str, float]:
    """A histogram's figures in seconds by quantile: p50 … p99_9, max, mean."""
    spread = ((load or {}).get("histograms") or {}).get(histogram) or {}
    return {
        key.removesuffix("_ns"): value * 1e-9
        for key, value in spread.items()
        if key.endswith("_ns") and isinstance(value, int | float)
    }


def server_figures(trial: Trial, step_name: str, name: str = "all") -> dict[str, float]:
    """Rate, CPU per answer, memory, threads and the engine's share of a step's load."""
    found: dict[str, float] = {}
    outcome, load = trial.outcome_line, load_of(trial, step_name, name)
    for metric, key in ((PEAK, "peak_pss_bytes"), (THREADS, "peak_threads")):
        if outcome.get(key):
            found[metric.name] = float(outcome[key])
    if idle := trial.marks.get("idle", {}).get("pss_bytes"):
        found[IDLE.name] = float(idle)
    begin, end = trial.marks.get(f"begin {step_name}"), trial.marks.get(f"end {step_name}")
    if end:
        found[RSS.name] = float(end["rss_bytes"])
    if load is None:
        return found
    found[RATE.name] = float(load["achieved_rate_per_s"])
    found[ENGINE.name] = 100.0 * float(load.get("busy_share_most", load["cpu_share_most"]))
    answered = load["requests"] + load["late_requests"]
    if begin and end and answered:
        found[CPU.name] = (end["cpu_ns"] - begin["cpu_ns"]) * 1e-9 / answered
    return found
