"""The workload `sleepers`: its factors, metrics, evidence and figures."""

from __future__ import annotations

from collections.abc import Mapping

from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.workloads.base import (
    CORES,
    LARGEST_SEED,
    Factor,
    ProgramChecks,
    ScalingLaw,
    Slope,
    Workload,
    hold,
)
from ringside.workloads.metric_table import metric_tables
from ringside.workloads.phases import CYCLE_NS, PhaseRule
from ringside.workloads.process import CPU_S, PEAK, THREADS, process_figures
from ringside.workloads.sleepers.evidence import (
    LATE,
    SECOND_NS,
    Observed,
    contradictions,
    lateness_ns,
    numbers,
    order,
)

_OUTPUT_BYTES = 1 << 20
# The keys of `::result` by the names in metrics.
_LATE_NAMES = dict(zip(("p50", "p99", "max"), LATE, strict=True))
# The work of a second of sleep, in tasks: what a slow runtime starts meanwhile.
_TASKS_PER_SECOND = 50_000
_REHEARSED = {"tasks": 1000, "seconds": 2}


class Sleepers(Workload):
    name = "sleepers"
    title = "Tasks that sleep"
    factors = (
        Factor("tasks", 10_000, "tasks that sleep at one time", least=1, most=1_000_000),
        Factor(
            "seconds",
            10,
            "from the beginning to the end of the last second, in which all tasks wake; they must have been "
            "started before it",
            least=2,
            most=3600,
        ),
        CORES,
    )
    capabilities = (
        hold(
            "waits while all tasks sleep, so that their memory is measured",
            *("held_bytes", "held_pss_bytes", "held_kernel_bytes"),
        ),
    )
    (metrics,) = metric_tables(__file__)
    compared = ("held_bytes", "late_s.p99", "start_ns", CPU_S.name)
    check_module = "ringside.workloads.sleepers.check"
    secondary = (
        "held_pss_bytes",
        "held_kernel_bytes",
        "late_s.p50",
        "late_s.max",
        "end_late_s",
        PEAK.name,
        THREADS.name,
    )
    phase_of: Mapping[str, str] = {"start_ns": "start", "end_late_s": "wake"}
    scaling_laws = (ScalingLaw("tasks", "start_s", regardless_of=("seconds",)),)
    scatters = (("held_bytes", "late_s.p99"),)
    slopes = (
        Slope(
            "bytes_per_task",
            "B",
            "Memory per task",
            "growth of the PSS over the tasks, while all of them sleep",
            over="tasks",
            metric="held_pss_bytes",
            regardless_of=("seconds",),
        ),
        Slope(
            "kernel_bytes_per_task",
            "B",
            "Kernel memory per task",
            "growth of what the host's kernel holds over the tasks: threads, and timers of its own",
            over="tasks",
            metric="held_kernel_bytes",
            regardless_of=("seconds",),
            is_own=False,
        ),
    )
    evidence_note = (
        "Every trial had to print the sum of all tasks' numbers and a hash of them in the order of the "
        "tasks' instants, have started all tasks before the first instant, and report no tenth of the "
        "numbers before, by the probe's clock, so many tasks were due."
    )

    phase_rules: Mapping[str, PhaseRule] = {"wake": PhaseRule(since="start")}
    checks = ProgramChecks(
        small={"tasks": 3, "seconds": 2},
        required=("tasks", "seconds"),
        bad=(
            *("tasks=0", "seconds=1", "tasks=abc", "tasks=", "seconds=", "seed=-1"),
            *("tasks=1000001", "seconds=3601", "tasks=-3", "seconds=2.5", "seed=4294967296", "cores=0"),
        ),
        sizes=(
            ({"tasks": 500, "seconds": 2}, LARGEST_SEED),
            ({"tasks": 1, "seconds": 2}, 0),
            ({"tasks": 23, "seconds": 3}, 2**31 - 3),
            ({"tasks": 4000, "seconds": 3}, 1),
        ),
        phases=frozenset({"start", "wake"}),
        before_hold="start",
        growing=("start", "tasks"),
        waits=True,
    )

    def arguments(self, point: Point) -> dict[str, str]:
        return {}

    def awaits(self, point: Point) -> tuple[str, ...]:
        return ("started",)

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        tasks = int(point["tasks"])
        result = {"sum": str(sum(numbers(tasks, seed))), "order": str(order(tasks, seed))}
        return Evidence(result, ExpectedLines(total=0))

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        return {"start": int(point["tasks"]) * CYCLE_NS / self.cores(point)}

    def contradiction(self, trial: Trial, seed: int) -> str | None:
        point = trial.cell.point
        observed = Observed(
            starts=trial.phases.get("start", ()),
            wakes=trial.phases.get("wake", ()),
            wakes_read=trial.phases_read_ns("wake"),
            result=(trial.report.result if trial.report else None) or {},
        )
        return next(contradictions(observed, int(point["tasks"]), int(point["seconds"]), seed), None)

    def output_bytes(self, point: Point) -> int:
        return _OUTPUT_BYTES

    def work(self, point: Point) -> int:
        return int(point["seconds"]) * _TASKS_PER_SECOND + int(point["tasks"])

    def rehearsal(self, point: Point) -> Point:
        """Few tasks that sleep for a short time: all code has run then."""
        return point.but(**{factor: min(int(point[factor]), most) for factor, most in _REHEARSED.items()})

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        figures = process_figures(trial.report)
        if start_ns := trial.phase_ns("start"):
            figures |= {"start_ns": start_ns / int(point["tasks"]), "start_s": start_ns / 1e9}
        if trial.report and trial.report.result and (late := lateness_ns(trial.report.result)):
            figures |= {f"late_s.{name}": late[key] / 1e9 for name, key in _LATE_NAMES.items()}
        if wakes := trial.phases.get("wake"):
            figures["end_late_s"] = max(0, wakes[-1] - int(point["seconds"]) * SECOND_NS) / 1e9
        held = trial.marks.get("started")
        if held and held.pss_bytes is not None:
            figures["held_pss_bytes"] = float(held.pss_bytes)
            before = trial.report.kernel_bytes if trial.report else None
            if before is not None and held.kernel_bytes is not None:
                kernel = max(0, held.kernel_bytes - before)
                figures |= {"held_kernel_bytes": float(kernel), "held_bytes": float(held.pss_bytes + kernel)}
        return figures


SLEEPERS = Sleepers()
