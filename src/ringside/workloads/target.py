"""The measurement `target`: rate, latency and lateness of servers under load."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from ringside.model.design import grouped
from ringside.model.results import Diagnostic, Outcome, Trial
from ringside.probe.protocol import EngineWarning, LoadMessage
from ringside.units import count
from ringside.workloads.base import Distribution, Measurement, told
from ringside.workloads.tables import metric_table

# The step of the load in a trial.
STEP = "measured"


class TargetLoad(Measurement):
    """A trial is one load at a server, the step `measured`. The run compares rate and latency of a closed
    loop, latency of an open one, lateness of streams."""

    name = "target"
    title = "Servers under load"
    resumable = False
    metrics = metric_table(Path(__file__).with_suffix(".md"))
    compared = ("rate", "latency_p50", "latency_p99")
    percentiles: ClassVar = {f"{name}_p99": (STEP, "all", name, 0.99) for name in ("latency", "lateness")}
    one_family = True
    distributions = (
        Distribution("Latency percentiles", "how long requests took", "Latency", STEP),
        Distribution(
            "Lateness percentiles", "how late messages came", "Lateness", STEP, histogram="lateness"
        ),
    )

    def figures(self, trial: Trial) -> dict[str, float]:
        load = trial.load(STEP)
        if load is None or not load.requests + load.late_requests + load.messages:
            return {}
        figures = {"rate": load.achieved_rate_per_s}
        for histogram in ("latency", "lateness"):
            if summary := load.latency(histogram):
                figures[f"{histogram}_p50"] = float(summary.p50_ns)
                figures[f"{histogram}_p99"] = float(summary.p99_ns)
        # 0 is below the resolution, and has no ratio.
        return {name: value for name, value in figures.items() if value}

    def decisive_loads(self, trial: Trial) -> Sequence[LoadMessage]:
        # A saturated engine is among the warnings below, for each target.
        return ()

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        """Failed runs and the load engine's warnings, each once, with its targets and the number of runs."""
        failures: dict[str, list[str]] = {}
        for trial in trials:
            name, load = trial.cell.contender, trial.load(STEP)
            if trial.outcome is Outcome.LOAD_FAILED or (load and load.outcome == Outcome.LOAD_FAILED):
                detail = trial.detail or (load.detail if load else "") or "the load failed"
                failures.setdefault(name, []).append(detail)
        loads = [(trial.cell.contender, load) for trial in trials if (load := trial.load(STEP))]
        given = grouped(((name, each.code), (each, load)) for name, load in loads for each in load.warnings)
        weak = []
        for name, details in failures.items():
            text = f"{name} failed in {count(len(details), 'run')}; first error: {details[0]}"
            weak.append(Diagnostic("load-failed", (name,), {"runs": len(details)}, text))
        alike: dict[tuple[str, str, str, int], list[str]] = {}
        for (name, code), warned in given.items():
            (warning, _), text = warned[0], _summed(warned[0][0], [load for _, load in warned])
            alike.setdefault((code, text, warning.remedy, len(warned)), []).append(name)
        for (code, text, remedy, runs), names in alike.items():
            where = f"{' and '.join(names)}, in {count(runs, 'run')}{' each' * (len(names) > 1)}"
            weak.append(Diagnostic(code, tuple(names), {"runs": runs}, f"{where}: {text}", remedy))
        return [*weak, *_bodies(loads)]


def _bodies(loads: Iterable[tuple[str, LoadMessage]]) -> Iterator[Diagnostic]:
    """Targets whose constant answers differ from the first target's. Varying answers say nothing."""
    answers = grouped((name, body) for name, load in loads for body in load.bodies)
    constant = {name: bodies[0] for name, bodies in answers.items() if len({*bodies}) == 1}
    reference = next(iter(constant), "")
    others = tuple(name for name, body in constant.items() if body != constant[reference])
    if others:
        lengths = ", ".join(f"{name} with {constant[name][0]:,} bytes" for name in (reference, *others))
        difference = f"the answers differ: {lengths}"
        yield told("unequal-output", others, {"reference": reference}, difference=difference)


def _summed(warning: EngineWarning, loads: Sequence[LoadMessage]) -> str:
    """The warning's text; what it counts in one run is the sum over the runs."""
    if warning.code == "errors":
        errors = sum(sum(load.errors.values()) for load in loads)
        return f"errors: {errors:,}; latencies include those that timed out, and leave out the others"
    if warning.code == "unfinished":
        unfinished = sum(load.unfinished for load in loads)
        return f"{unfinished:,} of the intended requests had no answer at the end"
    return warning.text


TARGET = TargetLoad()
