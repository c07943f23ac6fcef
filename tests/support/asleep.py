"""Made-up trials of `sleepers`: memory and the time of starting grow with the tasks, and so does lateness
where a runtime cannot wake so many in a second."""

import dataclasses
import math
import random

from ringside.model.results import Trial
from ringside.probe.protocol import Sample, TrialOutcome
from ringside.workloads.sleepers.workload import SECOND_NS, instant_ns, numbers, reported_after

# Bytes per task, bytes without tasks, ns to start one, ns to wake one.
COSTS: dict[str, tuple[float, float, float, float]] = {
    "go": (2_700, 2.0e6, 400, 900),
    "erlang": (3_000, 2.4e7, 3_000, 1_500),
    "python-asyncio": (1_100, 2.2e7, 12_000, 9_000),
    "limit": (17, 1.3e6, 40, 200),
}
_OTHER = (5_000.0, 1.0e7, 5_000.0, 4_000.0)
# The memory of the host's kernel without the program.
KERNEL = 80_000_000
# The lateness of one task is at least this: a timer's tick.
_TICK_NS = 60_000.0


def ok(blank: Trial, seed: int, rng: random.Random, noise: float, moved: float) -> Trial:
    """The trial with figures. `noise`: standard deviation of their logarithm; `moved`: its mean."""
    point = blank.cell.point
    tasks, seconds = int(point["tasks"]), int(point["seconds"])
    task_bytes, base_bytes, start_ns, wake_ns = COSTS.get(blank.cell.contender, _OTHER)

    def about(value: float, times: float = 1.0) -> int:
        return max(1, round(value * math.exp(rng.gauss(0, noise * times) + moved)))

    held = about(base_bytes + task_bytes * tasks, 0.1)
    begun_ns = about(start_ns * tasks)
    cpu_ns = about((start_ns + wake_ns) * tasks + 2e7)
    # Whoever wakes them more slowly than they are due is as late at the end as that takes in all.
    behind_ns = max(0.0, wake_ns * tasks - SECOND_NS)
    median, p99, most = sorted(about(_TICK_NS * k + behind_ns * k / 3) for k in (1, 2, 3))
    in_order = numbers(tasks, seed)
    wakes = [instant_ns(in_order[after - 1], seconds) + most for after in reported_after(tasks)]
    end_ns = wakes[-1] + 30_000_000
    report = TrialOutcome(
        outcome="ok",
        exit_status=0,
        wall_ns=end_ns,
        paused_ns=1_000_000,
        cpu_user_ns=round(cpu_ns * 0.8),
        cpu_system_ns=round(cpu_ns * 0.2),
        peak_pss_bytes=round(held * 1.1),
        kernel_bytes=KERNEL,
        peak_threads=2,
        peak_processes=1,
        voluntary_switches=about(100, 3),
        involuntary_switches=about(9, 3),
        run_queue_ns=about(end_ns * 0.01, 5),
        result={"late_p50_ns": str(median), "late_p99_ns": str(p99), "late_max_ns": str(most)},
    )
    return dataclasses.replace(
        blank,
        report=report,
        phases={"start": (begun_ns,), "wake": tuple(wakes)},
        marks={
            "started": Sample(
                begun_ns, "started", pss_bytes=held, threads=2, kernel_bytes=KERNEL + held // 50
            )
        },
    )
