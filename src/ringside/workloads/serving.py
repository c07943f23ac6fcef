"""The shared part of server workloads: the probe's steps, and the figures of a trial under load."""

from collections.abc import Callable, Sequence
from statistics import median

from msgspec.structs import replace

from ringside import units
from ringside.model.design import Cell, Input, Point, grouped
from ringside.model.results import Diagnostic, Outcome, Trial
from ringside.probe.protocol import Evidence, LoadMessage, LoadPlan, NamedLoad, Service, Step, Stub, TimedMark
from ringside.stats.samples import PERCENTILES
from ringside.workloads.base import Workload, told
from ringside.workloads.phases import below
from ringside.workloads.tables import SHARED

READY_S = 60.0
IDLE_S = 0.3
# Longer than any honest answer takes; a hung server is reported through timeouts.
TIMEOUT_S = 60.0
_OUTPUT_BYTES = 64 * 1024
# A server is warm once the best windows of both halves of its warm-up differ by at most this share. It was
# warm if the second half of the measurement had at most this share more answers than the first. The second
# number is for servers with upstreams.
_FASTER, _FASTER_CALLING = 0.05, 0.1
WINDOWS = 16
RATE, CPU = SHARED["requests_per_s"], SHARED["cpu_per_request_s"]


class Serving(Workload):
    """A workload whose contender listens, and which the probe drives."""

    def arguments(self, point: Point) -> dict[str, str]:
        return {"port": "0"}

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        # The answers under load are the evidence.
        return Evidence()

    def least_latency_ns(self, point: Point, plan: LoadPlan) -> float:
        """The least time of an answer to a load's request on any machine."""
        return 0.0

    def refute(self, trial: Trial, seed: int) -> None:
        """Raise ValueError for answers that came sooner than any machine can compute them."""
        point = trial.cell.point
        service = self.service(point, seed)
        for step in service.steps if service else ():
            for each in step.loads:
                load = trial.load(step.name, each.name)
                latency = load.latency("latency") if load else None
                least_ns = self.least_latency_ns(point, each.plan)
                if latency and latency.min_ns < least_ns:
                    took = below(latency.min_ns, least_ns)
                    raise ValueError(f"the fastest answer of `{step.name}` took {took}")

    def output_bytes(self, point: Point) -> int:
        return _OUTPUT_BYTES

    def decisive_loads(self, trial: Trial) -> Sequence[LoadMessage]:
        # The loads of the last step: the measured one, or at rising rates the rate that was too high. An
        # engine that was busy in an earlier step, but kept up, limited nothing.
        return [load for load in trial.loads if load.step == trial.loads[-1].step]


def service(steps: Sequence[Step], stub: Stub | None = None) -> Service:
    return Service(ready_s=READY_S, idle_s=IDLE_S, steps=tuple(steps), stub=stub)


def step(
    name: str,
    *,
    last_above_p99_s: float | None = None,
    while_faster: float | None = None,
    marks: Sequence[TimedMark] = (),
    counts: bool = False,
    **loads: LoadPlan,
) -> Step:
    """A step with its loads, by their names. `counts`: the whole histograms of its loads are kept."""
    named = tuple(NamedLoad(load, replace(plan, counts=counts)) for load, plan in loads.items())
    return Step(name, named, last_above_p99_s, while_faster, tuple(marks))


def warm_up(window: Callable[[str], LoadPlan]) -> list[Step]:
    """Windows of a closed loop, by their names, until the server gets no faster."""
    names = ["warm-up", *(f"warm-up-{number}" for number in range(2, WINDOWS + 1))]
    return [step(name, while_faster=_FASTER, all=window(name)) for name in names]


def warm_up_figures(trial: Trial) -> dict[str, float]:
    """How fast a server is at first, and how long until it gets no faster."""
    first, windows = trial.load("first"), [load for load in trial.loads if load.step.startswith("warm-up")]
    if first is None or len(windows) < 2:
        return {}
    return {
        "cold_requests_per_s": windows[0].achieved_rate_per_s,
        "warm_after_s": (windows[-1].end_ns - first.begin_ns) * 1e-9,
    }


def still_faster(trials: Sequence[Trial]) -> list[Diagnostic]:
    """Servers that got faster during a measured closed loop, in the median of a cell's trials, by whole
    seconds. With upstreams the first second is left out: no upstream has answered in it."""
    gains: dict[Cell, list[float]] = {}
    least: dict[str, float] = {}
    for trial in trials:
        load = trial.load("measured")
        calls = bool(load and load.upstreams)
        seconds = load.series[calls : load.duration_ns // 10**9] if load else ()
        half = len(seconds) // 2
        earlier = sum(each.requests for each in seconds[:half])
        if earlier and trial.outcome is Outcome.OK:
            later = sum(each.requests for each in seconds[-half:])
            gains.setdefault(trial.cell, []).append(later / earlier)
            least[trial.cell.contender] = _FASTER_CALLING if calls else _FASTER
    by_name = grouped((cell.contender, median(each)) for cell, each in gains.items())
    faster = {name: gain for name, each in by_name.items() if (gain := max(each)) > 1 + least[name]}
    if not faster:
        return []
    shares = ", ".join(f"{name} by {units.percent(gain - 1)}" for name, gain in faster.items())
    factor = "requests" if any("requests" in cell.point.as_dict() for cell in gains) else "seconds"
    return [told("still-faster", faster, shares=shares, factor=factor)]


def percentiles_s(load: LoadMessage | None, histogram: str = "latency") -> dict[str, float]:
    """A histogram's p50 … p99_9 and max, in seconds; empty if nothing was recorded."""
    summary = load.latency(histogram) if load else None
    if summary is None:
        return {}
    return {name: getattr(summary, f"{name}_ns") * 1e-9 for name in (*PERCENTILES, "max")}


def high_percentiles(name: str, histogram: str = "latency") -> dict[str, tuple[str, str, str, float]]:
    """The sources of percentiles above the median; `name`: that of their metrics."""
    levels = {each: level for each, level in PERCENTILES.items() if level > 0.5}
    return {name.format(each): ("measured", "all", histogram, level) for each, level in levels.items()}


def step_figures(trial: Trial, step_name: str, load_name: str = "all") -> dict[str, float]:
    """Memory before, at its peak and after a step, the most threads, and how busy the load engine was."""
    peaks = ((name, getattr(trial.report, name, None)) for name in ("peak_pss_bytes", "peak_threads"))
    figures = {name: float(most) for name, most in peaks if most}
    idle, end = trial.marks.get("idle"), trial.marks.get(f"end {step_name}")
    if idle and idle.pss_bytes:
        figures["idle_pss_bytes"] = float(idle.pss_bytes)
    if end:
        figures["rss_bytes"] = float(end.rss_bytes)
    if (load := trial.load(step_name, load_name)) and load.busy_share_most is not None:
        figures["engine_share_percent"] = 100.0 * load.busy_share_most
    return figures


def server_figures(trial: Trial, step_name: str) -> dict[str, float]:
    """Rate, CPU per answer, memory, threads and the engine's share of a step with one load."""
    figures = step_figures(trial, step_name)
    if (load := trial.load(step_name)) is None:
        return figures
    figures["requests_per_s"] = load.achieved_rate_per_s
    cpu_s = cpu_of_an_answer(trial, step_name, load.requests + load.late_requests)
    if cpu_s is not None:
        figures["cpu_per_request_s"] = cpu_s
    return figures


def cpu_of_an_answer(trial: Trial, step_name: str, answers: int) -> float | None:
    """CPU seconds of the server for each of these answers of a step."""
    begin, end = trial.marks.get(f"begin {step_name}"), trial.marks.get(f"end {step_name}")
    return (end.cpu_ns - begin.cpu_ns) * 1e-9 / answers if begin and end and answers else None
