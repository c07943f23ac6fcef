"""The fibonacci service: lines over TCP, each answered by naive recursion. Its contract stands in
docs/PROTOCOL.md; it goes back to the post of 2015 on Python and Go, and by it to a talk of that year."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringside.errors import UsageError
from ringside.model.design import Metric, Point
from ringside.model.results import Trial
from ringside.workloads.base import CORES, PEAK, THREADS, Curve, Factor
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

# Far apart where no server breaks, nearer to each other above; the last are for machines to come.
RATES = (
    *(250, 500, 1000, 2000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 32_000),
    *(48_000, 64_000, 96_000, 128_000, 192_000, 256_000),
)
# The highest rate counts at which the p99 stays under this.
_SUSTAINED_S = 0.010
# Past this the next rates only cost time.
_BROKEN_S = 0.100
_WARM_UP_S = 1.0
_MIXED_RATE_PER_S = 200
_SINGLE_REQUESTS = 10


def _metric(percentile: str) -> str:
    """The metric of a percentile: the median has the name that the post's figures have."""
    return "latency_s" if percentile == "p50" else f"{percentile}_s"


class Fib(Serving):
    """Requests for small numbers, for large ones, for both, and at rising rates."""

    name = "fib"
    title = "The fibonacci service"
    factors = (
        Factor(
            "load",
            "hammer",
            "hammer: each client asks again when it has its answer; single: so, ten requests by one client; "
            "mixed: fib(1) at 200 per second while one connection asks fib(n) without pause; rate: fib(n) at "
            "rising rates",
            choices=("hammer", "single", "mixed", "rate"),
        ),
        Factor("clients", 1, "connections; in mixed those of the short requests", least=1, most=10_000),
        Factor("n", 1, "the number asked for; in mixed by the long requests", least=1, most=90),
        Factor("seconds", 2, "how long each step is measured", least=1, most=3600),
        CORES,
    )
    metrics = (
        RATE,
        Metric(
            "requests_per_s_per_client",
            "/s",
            "Answers/client",
            "right answers per second and connection",
            smaller_is_better=False,
        ),
        Metric("latency_s", "s", "Latency", "median time from a request's intended instant to its answer"),
        *(
            Metric(f"{name}_s", "s", name.replace("_", "."), f"the {name.replace('_', '.')} of latencies")
            for name, _ in PERCENTILES[1:]
        ),
        Metric(
            "short_p99_s",
            "s",
            "Short p99, beside",
            "p99 of fib(1) while one connection asks fib(n) without pause",
        ),
        Metric("short_p99_alone_s", "s", "Short p99, alone", "p99 of fib(1) with nothing beside it"),
        Metric(
            "sustained_per_s",
            "/s",
            "Sustained rate",
            "highest of the rates tried at which the p99 is under 10 ms and 99 % are answered in time",
            smaller_is_better=False,
        ),
        CPU,
        IDLE,
        PEAK,
        RSS,
        THREADS,
        ENGINE,
        *(
            Metric(f"p99_s_at_{rate}", "s", f"p99 at {rate:,}/s", f"p99 at {rate:,} per second")
            for rate in RATES
        ),
    )
    compared = ("requests_per_s", "latency_s", "cpu_per_request_s")
    beside = (CPU.name, IDLE.name, PEAK.name, THREADS.name, ENGINE.name)
    curves = (
        percentile_curve(_metric),
        Curve(
            "Latency against rate",
            "the p99 at each arrival rate; a line ends where its server broke down",
            "requests per second",
            tuple((float(rate), f"{rate:,}", f"p99_s_at_{rate}") for rate in RATES),
            where={"load": "rate"},
            logarithmic=True,
        ),
        Curve(
            "Short requests, alone and beside a long one",
            "the p99 of fib(1) by itself, and while one connection asks fib(n) without pause: a line that "
            "rises is a long request that holds the short ones back",
            "",
            ((0.0, "alone", "short_p99_alone_s"), (1.0, "beside", "short_p99_s")),
            where={"load": "mixed"},
        ),
    )

    def check(self, point: Point) -> None:
        if point["load"] == "single" and point["clients"] != 1:
            raise UsageError("load=single has one client: leave out `clients`")
        if point["load"] == "mixed" and int(point["clients"]) < 2:
            raise UsageError("load=mixed needs clients=2 or more: it is for servers of several connections")

    def service(self, point: Point, seed: int) -> dict[str, Any]:
        load, clients, n = str(point["load"]), int(point["clients"]), int(point["n"])
        seconds = float(point["seconds"])
        first = step("first", all=_ask(1, requests=1))
        if load == "rate":
            steps = [
                {
                    **step(f"rate {rate}", all=_ask(n, clients, seconds, rate=rate)),
                    "last_above_p99_s": _BROKEN_S,
                }
                for rate in RATES
            ]
            return service([first, step("warm-up", all=_ask(n, clients, _WARM_UP_S, rate=RATES[0])), *steps])
        if load == "mixed":
            short = _ask(1, clients, seconds, rate=_MIXED_RATE_PER_S)
            alone, beside = step("alone", all=short), step("measured", all=short, long=_ask(n, 1, seconds))
            return service([first, step("warm-up", all={**short, "duration_s": _WARM_UP_S}), alone, beside])
        if load == "single":
            warm, measured = _ask(n, requests=1), _ask(n, requests=_SINGLE_REQUESTS)
        else:
            warm, measured = _ask(n, clients, _WARM_UP_S), _ask(n, clients, seconds)
        return service([first, step("warm-up", all=warm), step("measured", all=measured)])

    def rehearsal(self, point: Point) -> Point:
        """A second of it, and of rising rates only what comes before them: all code has run then."""
        return point.but(seconds=1, load="hammer" if point["load"] == "rate" else point["load"])

    def work(self, point: Point) -> int:
        # Time, in half seconds: what is measured, and start and end of the server.
        steps = {"rate": 12, "mixed": 2}.get(str(point["load"]), 1)
        return 4 + 2 * int(point["seconds"]) * steps

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        if point["load"] == "rate":
            return _rates(trial)
        found = server_figures(trial, "measured")
        latency = times(load_of(trial, "measured"))
        if RATE.name in found:
            found["requests_per_s_per_client"] = found[RATE.name] / int(point["clients"])
        found |= {_metric(name): latency[name] for name, _ in PERCENTILES if name in latency}
        if point["load"] == "mixed":
            # Its rate and its CPU are those of two loads: no figures of a request.
            for name in (CPU.name, RATE.name, "requests_per_s_per_client"):
                found.pop(name, None)
            alone = times(load_of(trial, "alone"))
            for metric, spread in (("short_p99_s", latency), ("short_p99_alone_s", alone)):
                if "p99" in spread:
                    found[metric] = spread["p99"]
        return found


def _ask(
    n: int,
    clients: int = 1,
    seconds: float | None = None,
    *,
    rate: float | None = None,
    requests: int | None = None,
) -> dict[str, Any]:
    """A plan: fib(n) by so many connections, for a time or a number of requests."""
    plan: dict[str, Any] = {
        "protocol": "tcp",
        "line": str(n),
        "expect": {"equals": str(fibonacci(n))},
        "connections": clients,
        "timeout_s": TIMEOUT_S,
    }
    for key, value in (("duration_s", seconds), ("requests", requests)):
        if value is not None:
            plan[key] = value
    if rate is not None:
        plan["pacing"] = {"kind": "constant", "rate_per_s": rate}
    return plan


def _rates(trial: Trial) -> dict[str, float]:
    """The p99 at each rate that was tried, and the highest that was sustained."""
    best, last = 0, ""
    found: dict[str, float] = {}
    for rate in RATES:
        load = load_of(trial, f"rate {rate}")
        p99 = times(load).get("p99")
        if load is None or p99 is None:
            break
        last = f"rate {rate}"
        found[f"p99_s_at_{rate}"] = p99
        if p99 < _SUSTAINED_S and _kept(load):
            best = rate
    figures = server_figures(trial, last)
    for name in (RATE.name, CPU.name):
        figures.pop(name, None)
    return {**figures, **found, "sustained_per_s": float(best)}


def _kept(load: Mapping[str, Any]) -> bool:
    return bool(load["requests"] >= 0.99 * (load["intended"] or 0))


def fibonacci(n: int) -> int:
    """The n-th number, 1 and 2 being 1."""
    before, last = 0, 1
    for _ in range(n - 1):
        before, last = last, before + last
    return last


FIB = Fib()
