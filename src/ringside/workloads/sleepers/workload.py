"""The workload `sleepers`: its factors, metrics, evidence and figures."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.base import Workload
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import held_figures, process_figures
from ringside.workloads.sleepers.evidence import LATE, SECOND_NS, contradictions, lateness_ns, numbers, order
from ringside.workloads.tables import declared

_OUTPUT_BYTES = 1 << 20
# The keys of `::result` by the names in metrics.
_LATE_NAMES = dict(zip(("p50", "p99", "max"), LATE, strict=True))
# The work of a second of sleep, in tasks: what a slow runtime starts meanwhile.
_TASKS_PER_SECOND = 50_000
_REHEARSED = {"tasks": 1000, "seconds": 2}


@declared(__file__)
class Sleepers(Workload):
    def awaits(self, point: Point) -> tuple[str, ...]:
        return ("started",)

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        tasks = int(point["tasks"])
        result = {"sum": str(sum(numbers(tasks, seed))), "order": str(order(tasks, seed))}
        return Evidence(result, ExpectedLines(total=0))

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        return {"start": int(point["tasks"]) * CYCLE_NS / self.cores(point)}

    def contradiction(self, trial: Trial, seed: int) -> str | None:
        return next(contradictions(trial, seed), None)

    def work(self, point: Point) -> int:
        return int(point["seconds"]) * _TASKS_PER_SECOND + int(point["tasks"])

    def rehearsal(self, point: Point) -> Point:
        """Few tasks that sleep for a short time: all code has run then."""
        return point.but(**{factor: min(int(point[factor]), most) for factor, most in _REHEARSED.items()})

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        figures = process_figures(trial.report) | held_figures(trial, "started", "held_pss_bytes")
        if start_ns := trial.phase_ns("start"):
            figures |= {"start_ns": start_ns / int(point["tasks"]), "start_s": start_ns / 1e9}
        if trial.report and trial.report.result and (late := lateness_ns(trial.report.result)):
            figures |= {f"late_s.{name}": late[key] / 1e9 for name, key in _LATE_NAMES.items()}
        if wakes := trial.phases.get("wake"):
            figures["end_late_s"] = max(0, wakes[-1] - int(point["seconds"]) * SECOND_NS) / 1e9
        held = trial.marks["started"].kernel_bytes if "held_pss_bytes" in figures else None
        before = trial.report.kernel_bytes if trial.report else None
        if before is not None and held is not None:
            kernel = float(max(0, held - before))
            figures |= {"held_kernel_bytes": kernel, "held_bytes": figures["held_pss_bytes"] + kernel}
        return figures


SLEEPERS = Sleepers()
