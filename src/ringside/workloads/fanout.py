"""The fan-out gateway: an HTTP request makes three calls at the same time. Its contract stands in
docs/PROTOCOL.md; it goes back to the post of 2016 on Go and Tornado."""

from __future__ import annotations

from typing import Any

from ringside.model.design import Metric, Point
from ringside.model.results import Trial
from ringside.workloads.base import CORES, PEAK, THREADS, Factor
from ringside.workloads.serving import (
    CPU,
    ENGINE,
    IDLE,
    PERCENTILES,
    RATE,
    RSS,
    TIMEOUT_S,
    Serving,
    load_of,
    percentile_curve,
    server_figures,
    service,
    step,
    times,
)

UPSTREAMS = 3
_MEDIAN_S, _SIGMA, _TAIL_S = 0.100, 0.5, 1.0
_TICK_MS = 50
# An upstream that is late because the host stands still is no failure of the gateway.
_TIMEOUT_MS = 30_000
_BODY = rf"\.*200(\.*200){{{UPSTREAMS - 1}}}"


class Fanout(Serving):
    """Three upstreams of the probe's own, or three loops of sums; a closed loop, or a fixed rate."""

    name = "fanout"
    title = "The fan-out gateway"
    factors = (
        Factor("kind", "io", "io: calls to three upstreams; cpu: three summing loops", choices=("io", "cpu")),
        Factor("requests", 100, "how many are measured", least=1, most=1_000_000),
        Factor("concurrency", 20, "connections", least=1, most=10_000),
        Factor(
            "rate",
            0,
            "requests per second, whatever the gateway does; 0: each connection asks when it is answered",
            least=0,
            most=1_000_000,
        ),
        Factor("tail", 0, "per cent of the upstreams' answers that take a second", least=0, most=100),
        Factor("work", 100_000, "kind=cpu: each loop sums the integers below this", least=1, most=10**9),
        CORES,
    )
    metrics = (
        *(
            Metric(
                f"latency_ms.{name}",
                "ms",
                f"Latency {name.replace('_', '.')}",
                f"the {name.replace('_', '.')} of times from the intended instant to the answer's end",
            )
            for name, _ in PERCENTILES
        ),
        Metric(
            "overhead_ms.p50",
            "ms",
            "Overhead p50",
            "median of what requests took beyond the slowest of their three upstreams",
        ),
        Metric(
            "overhead_ms.p99", "ms", "Overhead p99", "p99 of what requests took beyond their slowest upstream"
        ),
        RATE,
        CPU,
        Metric(
            "bytes_in_flight",
            "B",
            "Memory/request",
            "peak memory less that at rest, over the requests in flight",
        ),
        IDLE,
        PEAK,
        RSS,
        THREADS,
        Metric(
            "overlapped_percent",
            "%",
            "Overlap",
            "requests whose three calls were under way at the same time, as the upstreams saw it",
            smaller_is_better=False,
        ),
        ENGINE,
    )
    compared = ("latency_ms.p50", "latency_ms.p99", "cpu_per_request_s")
    beside = ("overhead_ms.p50", CPU.name, "bytes_in_flight", IDLE.name, PEAK.name, THREADS.name, ENGINE.name)
    curves = (percentile_curve("latency_ms.{}".format),)

    def arguments(self, point: Point) -> dict[str, str]:
        found = {"port": "0", "tick_ms": str(_TICK_MS), "timeout_ms": str(_TIMEOUT_MS)}
        if point["kind"] == "io":
            found["upstreams"] = "{upstreams}"
        return found

    def service(self, point: Point, seed: int) -> dict[str, Any]:
        requests, concurrency = int(point["requests"]), int(point["concurrency"])
        steps = [
            step("first", all=_get(point, "first", 1, 1)),
            step("warm-up", all=_get(point, "warm-up", concurrency, concurrency)),
            step("measured", all=_get(point, "measured", requests, concurrency, rate=int(point["rate"]))),
        ]
        return service(steps, _stub(point, seed) if point["kind"] == "io" else None)

    def work(self, point: Point) -> int:
        rate = int(point["rate"])
        seconds = int(point["requests"]) / (rate or 8 * int(point["concurrency"]))
        return 4 + round(2 * seconds)

    def figures(self, trial: Trial) -> dict[str, float]:
        found = server_figures(trial, "measured")
        load = load_of(trial, "measured")
        latency = times(load)
        found |= {f"latency_ms.{name}": latency[name] * 1e3 for name, _ in PERCENTILES if name in latency}
        if load and load["concurrency"] and PEAK.name in found and IDLE.name in found:
            grown = max(0.0, found[PEAK.name] - found[IDLE.name])
            found["bytes_in_flight"] = grown / int(trial.cell.point["concurrency"])
        if load and (upstreams := load.get("upstreams")) and upstreams["requests"]:
            found["overlapped_percent"] = 100.0 * upstreams["overlapped"] / upstreams["requests"]
            for name in ("p50", "p99"):
                found[f"overhead_ms.{name}"] = upstreams["overhead"][f"{name}_ns"] * 1e-6
        return found


def _get(point: Point, name: str, requests: int, connections: int, rate: int = 0) -> dict[str, Any]:
    body = {"matches": _BODY}
    if point["kind"] == "cpu":
        below = int(point["work"])
        body = {"equals": f"{below * (below - 1) // 2}\n" * UPSTREAMS}
    plan: dict[str, Any] = {
        "protocol": "http",
        "request": {"headers": [["Host", "127.0.0.1"], ["X-Request-Id", f"{name}-{{n}}"]]},
        "expect": {"status": 200, **body},
        "connections": connections,
        "requests": requests,
        "timeout_s": TIMEOUT_S,
    }
    if rate:
        plan["pacing"] = {"kind": "constant", "rate_per_s": rate}
        plan["duration_s"] = requests / rate
    return plan


def _stub(point: Point, seed: int) -> dict[str, Any]:
    delay: dict[str, Any] = {"kind": "lognormal", "median_s": _MEDIAN_S, "sigma": _SIGMA}
    if tail := int(point["tail"]):
        delay |= {"kind": "tailed", "tail_s": _TAIL_S, "tail_share": tail / 100}
    return {"upstreams": [{"delay": delay}] * UPSTREAMS, "seed": seed}


FANOUT = Fanout()
