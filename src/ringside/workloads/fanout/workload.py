"""The workload `fanout`: its factors, metrics, loads, upstreams and figures."""

from collections.abc import Sequence

from msgspec.structs import replace

from ringside import units
from ringside.errors import UsageError
from ringside.model.design import Point
from ringside.model.results import Diagnostic, Trial
from ringside.probe import protocol
from ringside.stats.samples import PERCENTILES
from ringside.workloads import serving
from ringside.workloads.base import Figures, OwnShare
from ringside.workloads.fanout import vanish
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.tables import declared

UPSTREAMS = 3
# With the widest vectors that exist, two at a time.
_ADDITIONS_PER_CYCLE = 16
_MEDIAN_S, _SIGMA, _TAIL_S = 0.100, 0.5, 1.0
_TICK_MS = 50
# A gateway waits for something of its own if more than the first share of a latency is its overhead, and its
# CPU time explains less than the second share of that overhead.
_WAITING, _COMPUTED = 0.2, 0.5
# About what one client asks in a second.
_PER_CLIENT_S = 5
# An upstream that is late because the host stalls is no failure of the gateway.
_TIMEOUT_MS = 30_000
# Requests of each client in a window of the warm-up, at most; a window of few has half of what is measured.
_WINDOW = 2


@declared(__file__)
class Fanout(serving.Serving):
    """Three upstreams of the probe's own, or three loops of sums; a closed loop, or a fixed rate."""

    percentiles = serving.high_percentiles("latency_s.{}")

    def check(self, point: Point) -> None:
        if not point["vanish"]:
            return
        if point["kind"] == "cpu" or point["rate"]:
            raise UsageError("vanish is for kind=io and mixed, without a rate: leave these out")
        if not 0 < _vanishing(point) < int(point["concurrency"]):
            raise UsageError(
                f"vanish={point['vanish']}: of {point['concurrency']} clients at least one must hang up and "
                "one must stay: take a higher concurrency"
            )

    def arguments(self, point: Point) -> dict[str, str]:
        arguments = {"port": "0", "tick_ms": str(_TICK_MS), "timeout_ms": str(_TIMEOUT_MS)}
        if point["kind"] != "cpu":
            arguments["upstreams"] = "{upstreams}"
        return arguments

    def service(self, point: Point, seed: int) -> protocol.Service:
        requests, concurrency = point.numbers("requests", "concurrency")
        window = min(_WINDOW * concurrency, max(requests // 2, concurrency))
        steps = [
            serving.step("first", all=_plan(point, "first", 1, 1)),
            *serving.warm_up(lambda name: _plan(point, name, window, concurrency)),
        ]
        if point["vanish"]:
            seconds = requests / _PER_CLIENT_S / concurrency

            def staying(name: str, clients: int) -> protocol.LoadPlan:
                return replace(_plan(point, name, 1, clients), requests=None, duration_s=seconds)

            steps += vanish.steps(staying, concurrency, _vanishing(point))
        else:
            all_clients = _plan(point, "measured", requests, concurrency, int(point["rate"]))
            steps.append(serving.step("measured", counts=True, all=all_clients))
        upstream = protocol.StubUpstream(_MEDIAN_S, _SIGMA, _TAIL_S, int(point["tail"]) / 100)
        stub = protocol.Stub((upstream,) * UPSTREAMS, seed=seed) if point["kind"] != "cpu" else None
        return serving.service(steps, stub)

    def least_latency_ns(self, point: Point, plan: protocol.LoadPlan) -> float:
        return 0.0 if point["kind"] == "io" else sums_ns(int(point["work"]), self.cores(point))

    def work(self, point: Point) -> int:
        rate = int(point["rate"])
        seconds = int(point["requests"]) / (rate or 8 * int(point["concurrency"]))
        return 4 + round(2 * seconds * (3 if point["vanish"] else 1))

    def expects_warning(self, trial: Trial, code: str) -> bool:
        hangs_up = bool(trial.cell.point["vanish"]) and code in vanish.EXPECTED_WARNINGS
        return hangs_up or super().expects_warning(trial, code)

    def figures(self, trial: Trial) -> dict[str, float]:
        if trial.cell.point["vanish"]:
            return serving.step_figures(trial, "measured", "others") | vanish.figures(trial)
        figures, load = serving.server_figures(trial, "measured"), trial.load("measured")
        latencies_s = serving.percentiles_s(load)
        figures |= {f"latency_s.{name}": latencies_s[name] for name in PERCENTILES if name in latencies_s}
        if load and load.concurrency and "peak_pss_bytes" in figures and "idle_pss_bytes" in figures:
            grown = max(0.0, figures["peak_pss_bytes"] - figures["idle_pss_bytes"])
            figures["bytes_in_flight"] = grown / int(trial.cell.point["concurrency"])
        if load and load.upstreams and load.upstreams.requests:
            figures["overlapped_percent"] = 100.0 * load.upstreams.overlapped / load.upstreams.requests
            figures["overhead_s.p50"] = load.upstreams.overhead.p50_ns * 1e-9
            figures["overhead_s.p99"] = load.upstreams.overhead.p99_ns * 1e-9
        return figures

    def program_share(self, headline: str, point: Point, figures: Figures) -> OwnShare | None:
        if headline.startswith(("latency_s", "overhead_s")) and (bound := self._bound(point, figures)):
            return bound
        overhead = figures.get(headline.replace("latency_s", "overhead_s"))
        if not headline.startswith("latency_s") or overhead is None or not figures.get(headline):
            return None
        share = overhead / figures[headline]
        own = units.significant(share * 100, 2)
        return share, f"the upstreams' own delay is all but {own} % of the latency"

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        """Gateways that still got faster in a closed loop."""
        closed = [each for each in trials if not (each.cell.point["rate"] or each.cell.point["vanish"])]
        return serving.still_faster(closed)

    def _bound(self, point: Point, figures: Figures) -> OwnShare | None:
        """If a gateway is idle while requests wait: the share of its overhead that is CPU time."""
        latency_s, overhead_s = (figures.get(f"{name}_s.p50", 0.0) for name in ("latency", "overhead"))
        # If all clients wait for the CPU, each waits for the others' requests too.
        computed_s = figures.get("cpu_per_request_s", 0.0) * int(point["concurrency"]) / self.cores(point)
        is_waiting = overhead_s > _WAITING * latency_s > 0 and 0 < computed_s < _COMPUTED * overhead_s
        if not is_waiting or point["rate"] or point["kind"] == "cpu":
            return None
        explained, waiting = computed_s / overhead_s, units.percent(overhead_s / latency_s)
        text = f"requests wait {waiting} of their time, and its CPU time explains "
        return explained, f"{text}{units.percent(explained)} of that: its pool or queue is at its bound"


def sums_ns(work: int, cores: int) -> float:
    """The least time of three sums on any machine."""
    return UPSTREAMS * (work - 1) / _ADDITIONS_PER_CYCLE / cores * CYCLE_NS


def _vanishing(point: Point) -> int:
    return round(int(point["concurrency"]) * int(point["vanish"]) / 100)


def _plan(point: Point, name: str, requests: int, connections: int, rate_per_s: int = 0) -> protocol.LoadPlan:
    """A number of requests; at a rate, or each connection's next when it has its answer."""
    total = int(point["work"]) * (int(point["work"]) - 1) // 2
    if point["kind"] == "cpu":
        expect = protocol.ExpectedReply(status=200, equals=f"{total}\n" * UPSTREAMS)
    else:
        piece = "200" if point["kind"] == "io" else f"200:{total}\n"
        expect = protocol.ExpectedReply(status=200, matches=rf"\.*{piece}(\.*{piece}){{{UPSTREAMS - 1}}}")
    return protocol.LoadPlan(
        protocol="http",
        request=protocol.HttpRequest(headers=(("Host", "127.0.0.1"), ("X-Request-Id", f"{name}-{{n}}"))),
        expect=expect,
        connections=connections,
        requests=requests,
        duration_s=requests / rate_per_s if rate_per_s else None,
        pacing=protocol.ConstantRate(rate_per_s) if rate_per_s else protocol.ClosedLoop(),
        timeout_s=serving.TIMEOUT_S,
    )


FANOUT = Fanout()
