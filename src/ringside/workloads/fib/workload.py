"""The workload `fib`: its factors, metrics, loads and figures."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec.structs import replace

from ringside import units
from ringside.errors import UsageError
from ringside.model.design import Experiment, Point
from ringside.model.results import Diagnostic, Trial
from ringside.probe.protocol import ClosedLoop, ConstantRate, ExpectedReply, LoadPlan, Service
from ringside.stats.samples import PERCENTILES
from ringside.workloads import serving
from ringside.workloads.base import Figures, OwnShare, told
from ringside.workloads.fib import overload
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.tables import declared

# The metrics compared under some loads, the headline first.
_SHOWN: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("mixed",): ("short_p99_s", "short_p99_alone_s"),
    ("overload",): ("goodput_percent", "lost_percent", "recovered_s"),
    ("rate",): ("sustained_per_s",),
}
# The highest rate counts at which the p99 stays under this.
_SUSTAINED_S = 0.010
# The engine's warnings of a rate that is too high.
_BROKEN_WARNINGS = frozenset({"rate-not-kept", "unfinished", "errors", "lag"})
# Above this a server is overloaded, and further rates only cost time.
_BROKEN_S = 0.100
# The longest warm-up, in which compilers of virtual machines finish.
_MAX_WARM_UP_S = 4.0
_MIXED_RATE_PER_S = 200
# Before the load, connections of short requests are opened and asked once: how long, and how many a second.
_LEAD_S, _LEAD_PER_S = 0.25, 2000
# The percentiles that are metrics at each rate.
_OVER_RATES = ("p50", "p99")
_SINGLE_REQUESTS = 10
# A server that uses less of one core than this mostly waits for its clients.
_BUSY = 0.5


@declared(__file__)
class Fib(serving.Serving):
    """Requests for small numbers, for large ones, for both, and at rising rates."""

    percentiles: ClassVar = {
        **serving.high_percentiles("{}_s"),
        "short_p99_s": ("measured", "all", "latency", 0.99),
        "short_p99_alone_s": ("alone", "all", "latency", 0.99),
    }

    def check(self, point: Point) -> None:
        if point["load"] == "single" and point["clients"] != 1:
            raise UsageError("load=single has one client: leave out `clients`")
        if point["load"] == "mixed" and int(point["clients"]) < 2:
            raise UsageError("load=mixed needs clients=2 or more: it is for servers of several connections")

    def shown(self, experiment: Experiment) -> tuple[str, ...]:
        loads = tuple(map(str, experiment.factors.get("load", ())))
        return experiment.show.metrics or _SHOWN.get(loads, self.compared)

    def service(self, point: Point, seed: int) -> Service:
        load, clients, n = str(point["load"]), int(point["clients"]), int(point["n"])
        seconds = float(point["seconds"])
        warm_up_s = min(_MAX_WARM_UP_S, seconds / 2)
        first = serving.step("first", all=_plan(1, requests=1))
        if load == "rate":
            slowly = serving.step("warm-up", all=_plan(n, clients, warm_up_s, rate_per_s=RATES[0]))
            plans = {rate: _plan(n, clients, seconds, rate_per_s=rate) for rate in RATES}
            rising = [
                serving.step(f"rate {rate}", all=plans[rate], last_above_p99_s=_BROKEN_S) for rate in RATES
            ]
            return serving.service([first, slowly, *rising])
        closed = _plan(n, clients, seconds)
        window_s = min(_MAX_WARM_UP_S, 4 * seconds) / serving.WINDOWS
        windows = serving.warm_up(lambda _: replace(closed, duration_s=window_s))
        if load == "overload":
            capacity = serving.step(overload.CAPACITY, all=closed)
            return serving.service([first, *windows, capacity, overload.step_of(closed, seconds)])
        if load == "mixed":
            lead_s = _LEAD_S + clients / _LEAD_PER_S
            short = replace(_plan(1, clients, seconds, rate_per_s=_MIXED_RATE_PER_S), lead_s=lead_s)
            slowly = serving.step("warm-up", all=replace(short, duration_s=warm_up_s))
            alone = serving.step("alone", counts=True, all=short)
            long = replace(closed, connections=1, lead_s=lead_s)
            beside = serving.step("measured", counts=True, all=short, long=long)
            return serving.service([first, slowly, alone, beside])
        if load == "single":
            windows = [serving.step("warm-up", all=_plan(n, requests=1))]
            closed = _plan(n, requests=_SINGLE_REQUESTS)
        return serving.service([first, *windows, serving.step("measured", counts=True, all=closed)])

    def expects_warning(self, trial: Trial, code: str) -> bool:
        if trial.cell.point["load"] == "overload" and code in overload.EXPECTED_WARNINGS:
            return True
        # The ramp stops at the first rate that the server cannot keep.
        rising = trial.cell.point["load"] == "rate" and code in _BROKEN_WARNINGS
        return rising or super().expects_warning(trial, code)

    def work(self, point: Point) -> int:
        # Time in half seconds: measuring, and start and end of the server.
        steps = {"rate": 12, "mixed": 2, "overload": 7}.get(str(point["load"]), 1)
        return 4 + round(2 * float(point["seconds"]) * steps)

    def least_latency_ns(self, point: Point, plan: LoadPlan) -> float:
        return recursion_ns(int(plan.line or 1))

    def figures(self, trial: Trial) -> dict[str, float]:
        point, load = trial.cell.point, trial.load("measured")
        if point["load"] == "rate":
            return _rate_figures(trial)
        if point["load"] == "overload":
            return serving.step_figures(trial, "measured") | overload.figures(trial)
        latencies_s = serving.percentiles_s(load)
        figures = {f"{name}_s": latencies_s[name] for name in PERCENTILES if name in latencies_s}
        # The median has the name that the post's figures have.
        figures = {"latency_s" if name == "p50_s" else name: value for name, value in figures.items()}
        if point["load"] == "mixed":
            # The CPU time of this step is that of two loads.
            figures |= serving.step_figures(trial, "measured")
            alone_s = serving.percentiles_s(trial.load("alone"))
            both = {"short_p99_s": latencies_s, "short_p99_alone_s": alone_s}
            return figures | {name: each["p99"] for name, each in both.items() if "p99" in each}
        figures |= serving.server_figures(trial, "measured") | serving.warm_up_figures(trial)
        if "requests_per_s" in figures:
            figures["requests_per_s_per_client"] = figures["requests_per_s"] / int(point["clients"])
        return figures

    def program_share(self, headline: str, point: Point, figures: Figures) -> OwnShare | None:
        if headline not in ("requests_per_s", "requests_per_s_per_client"):
            return None
        if not 0 < (busy := _busy(figures)) < 1:
            return None
        text = f"the server was busy for {units.percent(busy)} of one core, the rest are waits for clients"
        return busy, text

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        """Closed loops in which no server was busy for half of a core's time, or one still got faster."""
        weak = overload.diagnostics(self.medians(trials, overload.answered_share))
        closed = [trial for trial in trials if trial.cell.point["load"] == "hammer"]
        weak += serving.still_faster(closed)
        most = max(self.medians(trials, _busy).values(), default=1.0)
        return weak if most >= _BUSY else [*weak, told("idle-servers", most=units.percent(most))]


RATES = Fib.series["rates"]


def _busy(figures: Figures) -> float:
    """The share of one core's time that the server used; 0 where that is not known."""
    return figures.get("requests_per_s", 0.0) * figures.get("cpu_per_request_s", 0.0)


def _plan(
    n: int,
    clients: int = 1,
    seconds: float | None = None,
    *,
    rate_per_s: float | None = None,
    requests: int | None = None,
) -> LoadPlan:
    """fib(n) by this many connections, for a time or a number of requests."""
    return LoadPlan(
        protocol="tcp",
        line=str(n),
        expect=ExpectedReply(equals=str(fibonacci(n))),
        connections=clients,
        duration_s=seconds,
        requests=requests,
        pacing=ClosedLoop() if rate_per_s is None else ConstantRate(rate_per_s),
        timeout_s=serving.TIMEOUT_S,
    )


def _rate_figures(trial: Trial) -> dict[str, float]:
    """The median and the p99 at each rate that was tried, and the highest that was sustained."""
    sustained, last = 0, RATES[0]
    figures: dict[str, float] = {}
    for rate in RATES:
        load = trial.load(f"rate {rate}")
        latencies_s = serving.percentiles_s(load)
        p99_s = latencies_s.get("p99")
        if load is None or p99_s is None:
            break
        last = rate
        figures |= {f"{name}_s_at_{rate}": latencies_s[name] for name in _OVER_RATES}
        if p99_s < _SUSTAINED_S and load.requests >= 0.99 * (load.intended or 0):
            sustained = rate
    server = serving.step_figures(trial, f"rate {last}")
    return {**server, **figures, "sustained_per_s": float(sustained)}


def recursion_ns(n: int) -> float:
    """The least time of the recursion on any machine: it adds a 1 fib(n) times."""
    return fibonacci(n) * CYCLE_NS


def fibonacci(n: int) -> int:
    """The n-th number, the first and the second being 1."""
    before, last = 0, 1
    for _ in range(n - 1):
        before, last = last, before + last
    return last


FIB = Fib()
