"""Made-up trials of `batch` and `jobs`: times over cores follow the Universal Scalability Law with known
parameters."""

import dataclasses
import math
import random

from ringside.model.results import Trial
from ringside.probe.protocol import CpuUse, Sample, Span, TrialOutcome
from ringside.workloads.base import Workload
from ringside.workloads.jobs.workload import workers

# Seconds of work for each case or job, contention and coherency.
LAWS: dict[str, tuple[float, float, float]] = {
    "limit": (8e-6, 0.03, 0.0),
    "go": (2.4e-5, 0.05, 0.004),
    "go-workers": (2.3e-5, 0.03, 0.002),
    "erlang": (3e-4, 0.08, 0.001),
    "python-processes": (1.2e-4, 0.1, 0.0),
    "python-threads": (1.3e-4, 1.0, 0.01),
    "python-sync": (1.2e-4, 1.0, 0.0),
}
_OTHER = (2e-4, 0.5, 0.0)


def seconds(contender: str, count: int, cores: int) -> float:
    each, contention, coherency = LAWS.get(contender, _OTHER)
    return each * count * (1 + contention * (cores - 1) + coherency * cores * (cores - 1)) / cores


def ok(blank: Trial, workload: Workload, rng: random.Random, noise: float, moved: float) -> Trial:
    """The trial with figures. `noise`: standard deviation of their logarithm; `moved`: its mean."""
    point, name = blank.cell.point, blank.cell.contender
    is_batch = workload.name == "batch"
    cores, count = int(point["cores"]), int(point["cases" if is_batch else "jobs"])
    slowdown = math.exp(rng.gauss(0, noise) + moved)
    wall_s = (0.02 + seconds(name, count, cores)) * slowdown
    each_s, *_ = LAWS.get(name, _OTHER)
    busy_s = min(wall_s * cores, each_s * count * slowdown)
    wall_ns = round(wall_s * 1e9)
    report = TrialOutcome(
        outcome="ok",
        exit_status=0,
        wall_ns=wall_ns,
        cpu_user_ns=round(busy_s * 0.95e9),
        cpu_system_ns=round(busy_s * 0.05e9),
        peak_pss_bytes=20_000_000 + 100 * count,
        peak_threads=cores + 3,
        voluntary_switches=100,
        involuntary_switches=10,
        run_queue_ns=wall_ns // 50,
        result={},
        cpus=tuple(CpuUse(cpu, wall_ns * 9 // (10 + cpu), wall_ns // 10) for cpu in range(cores)),
    )
    if is_batch:
        read_s = 0.85 * wall_s if cores > 4 else 0.1 * wall_s
        phases = {
            "work": 0.98 * wall_s,
            "read": read_s,
            "compute": busy_s * 0.8,
            "write": 0.02 * wall_s,
            "wait_empty": 0.5 * wall_s,
        }
        return _with_phases(dataclasses.replace(blank, report=report, input_bytes=2560 * count), phases)
    phases = {"submit": wall_s / 50, "makespan": wall_s * 0.97, "gap": 0.0102 * slowdown}
    if point["kind"] == "cpu":
        phases["alone"] = wall_s * 0.95 * min(cores, workers(point)) / count
    marks = {"submitted": Sample(1000, "submitted", pss_bytes=9_000_000 + 800 * count)}
    spans = _spans(wall_s, count, workers(point)) if point["trace"] == 1 else ()
    return _with_phases(dataclasses.replace(blank, report=report, marks=marks, spans=spans), phases)


def _spans(wall_s: float, jobs: int, workers: int) -> tuple[Span, ...]:
    """Each worker does its share of the jobs one after the other, with a pause of a tenth between them."""
    job_ns = wall_s * 1e9 * workers / jobs
    return tuple(
        Span(90_000 + job % workers, round(job // workers * job_ns), round((job // workers + 0.9) * job_ns))
        for job in range(jobs)
    )


def _with_phases(trial: Trial, seconds: dict[str, float]) -> Trial:
    return dataclasses.replace(trial, phases={name: (round(s * 1e9),) for name, s in seconds.items()})
