"""The workload `sleepers`: its factors, metrics, evidence and figures."""

from collections.abc import Mapping
from functools import lru_cache

from ringside.model.design import Input, Point
from ringside.model.results import Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.units import count
from ringside.workloads.base import Workload
from ringside.workloads.evidence import FACTOR, MODULUS, first_number, fold, reported_ns, times_figures
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import held_figures, process_figures
from ringside.workloads.tables import declared

SECOND_NS = 1_000_000_000
# The instants lie in the last second.
SPREAD_NS = SECOND_NS
# The collector reports its progress this many times, or after each number if there are fewer.
REPORTS = 10


@lru_cache(maxsize=2)
def numbers(tasks: int, seed: int) -> tuple[int, ...]:
    """The numbers of all tasks in the order of their instants; none comes twice."""
    x, drawn = first_number(seed), []
    for _ in range(tasks):
        x = FACTOR * x % MODULUS
        drawn.append(x)
    return tuple(sorted(drawn))


def instant_ns(number: int, seconds: int) -> int:
    """When the task with this number wakes, in nanoseconds since the beginning."""
    return (seconds - 1) * SECOND_NS + number * SPREAD_NS // MODULUS


@lru_cache(maxsize=16)
def order(tasks: int, seed: int) -> int:
    """H of the contract: h ← (31·h + x) mod p over the numbers in the order of their instants."""
    return fold(numbers(tasks, seed))


def reported_after(tasks: int) -> list[int]:
    """After how many numbers the collector reports: a tenth of them, two tenths and so on, rounded up."""
    shares = min(REPORTS, tasks)
    return [-(-share * tasks // shares) for share in range(1, shares + 1)]


def _seconds(ns: int) -> str:
    return f"{ns / SECOND_NS:.3f} s"


# The work of a second of sleep, in tasks: what a slow runtime starts meanwhile.
_TASKS_PER_SECOND = 50_000


@declared(__file__)
class Sleepers(Workload):
    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        tasks = int(point["tasks"])
        result = {"sum": str(sum(numbers(tasks, seed))), "order": str(order(tasks, seed))}
        return Evidence(result, ExpectedLines(total=0))

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        return {"start": int(point["tasks"]) * CYCLE_NS / self.cores(point)}

    def refute(self, trial: Trial, seed: int) -> None:
        """Raise ValueError if N tasks did not all sleep at one time, or did not wake at their instants."""
        point, starts, wakes = trial.cell.point, trial.phases.get("start", ()), trial.phases.get("wake", ())
        tasks, seconds = int(point["tasks"]), int(point["seconds"])
        in_order, reports = numbers(tasks, seed), reported_after(tasks)
        first_ns = instant_ns(in_order[0], seconds)
        for name, lines, expected in (("start", starts, 1), ("wake", wakes, len(reports))):
            if len(lines) != expected:
                raise ValueError(f"{len(lines)} lines ::phase name={name} instead of {expected}")
        if starts[0] > first_ns:
            raise ValueError(
                f"{count(tasks, 'task')} took {_seconds(starts[0])} to start, and the first was due after "
                f"{_seconds(first_ns)}: they were not all asleep at one time"
            )
        # By both clocks: the program begins to count after its process has started.
        for after, by_program, by_probe in zip(reports, wakes, trial.phases_read_ns("wake"), strict=True):
            due, there = instant_ns(in_order[after - 1], seconds), min(by_program, by_probe)
            if there < due:
                raise ValueError(
                    f"{count(after, 'number')} of {tasks:,} had come after {_seconds(there)}, and that many "
                    f"tasks were due after {_seconds(due)}: some woke early"
                )
        *_, latest_ns = reported_ns(trial.result, "late")
        if latest_ns > wakes[-1] - first_ns:
            raise ValueError(
                f"a task was {_seconds(latest_ns)} late, and all numbers were there "
                f"{_seconds(wakes[-1] - first_ns)} after the first instant"
            )

    def work(self, point: Point) -> int:
        return int(point["seconds"]) * _TASKS_PER_SECOND + int(point["tasks"])

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        figures = process_figures(trial.report) | held_figures(trial, "started", "held_pss_bytes")
        figures |= times_figures(trial.result, ["late"])
        if start_ns := trial.phase_ns("start"):
            figures |= {"start_ns": start_ns / int(point["tasks"]), "start_s": start_ns / 1e9}
        if wakes := trial.phases.get("wake"):
            figures["end_late_s"] = max(0, wakes[-1] - int(point["seconds"]) * SECOND_NS) / 1e9
        held = trial.marks["started"].kernel_bytes if "held_pss_bytes" in figures else None
        before = trial.report.kernel_bytes if trial.report else None
        if before is not None and held is not None:
            kernel = float(max(0, held - before))
            figures |= {"held_kernel_bytes": kernel, "held_bytes": figures["held_pss_bytes"] + kernel}
        return figures


SLEEPERS = Sleepers()
