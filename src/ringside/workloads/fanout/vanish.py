"""`vanish`: clients that hang up in the middle of their requests, and the work still done for them."""

from collections.abc import Callable

from msgspec.structs import replace

from ringside.model.results import Trial
from ringside.probe.protocol import LoadPlan, Step
from ringside.workloads.serving import cpu_of_an_answer, percentiles_s, step

# How long such clients wait: half of the median of one upstream, and less than nearly all of three take.
PATIENCE_S = 0.05
BEFORE = "before"
_AFTER = "after"
EXPECTED_WARNINGS = frozenset({"errors"})


def steps(staying: Callable[[str, int], LoadPlan], clients: int, vanishing: int) -> list[Step]:
    """All clients stay; then some hang up again and again while the others stay; then all stay again.
    `staying`: the load of this name by so many clients."""
    leaving = replace(staying("leaving", vanishing), patience_s=PATIENCE_S)
    others = staying("others", clients - vanishing)
    return [
        step(BEFORE, all=staying(BEFORE, clients)),
        step("measured", counts=True, others=others, leaving=leaving),
        step(_AFTER, all=staying(_AFTER, clients)),
    ]


def figures(trial: Trial) -> dict[str, float]:
    """The figures of clients that stayed, and the work done for those that hung up."""
    figures: dict[str, float] = {}
    others, leaving = trial.load("measured", "others"), trial.load("measured", "leaving")
    before = trial.load(BEFORE)
    if others is None or leaving is None or before is None:
        return figures
    figures["requests_per_s"] = others.achieved_rate_per_s
    latencies_s = percentiles_s(others)
    figures |= {f"latency_s.{name}": value for name, value in latencies_s.items() if name != "max"}
    if leaving.upstreams and (ended := leaving.upstreams.orphans.answered + leaving.upstreams.orphans.cut):
        figures["orphaned_percent"] = 100 * leaving.upstreams.orphans.answered / ended
    if others.upstreams and before.upstreams:
        figures["overhead_s.p50"] = others.upstreams.overhead.p50_ns * 1e-9
        figures["overhead_s.p99"] = others.upstreams.overhead.p99_ns * 1e-9
        figures["overhead_before_s.p99"] = before.upstreams.overhead.p99_ns * 1e-9
    cpu_s = cpu_of_an_answer(trial, "measured", others.requests + others.late_requests + leaving.requests)
    before_s = cpu_of_an_answer(trial, BEFORE, before.requests + before.late_requests)
    if cpu_s:
        figures["cpu_per_request_s"] = cpu_s
    if cpu_s and before_s:
        figures["cpu_over_before"] = cpu_s / before_s
    settled, after = trial.marks.get(f"end {BEFORE}"), trial.marks.get(f"end {_AFTER}")
    if settled and after and settled.pss_bytes and after.pss_bytes:
        figures["leftover_bytes"] = float(max(0, after.pss_bytes - settled.pss_bytes))
    return figures
