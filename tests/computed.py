"""Trials of `batch` and `jobs` as the probe tells them, made up: times over cores follow the Universal
Scalability Law with known parameters."""

from __future__ import annotations

import dataclasses
import math
import random

from ringside.model.results import Trial
from ringside.workloads.base import Workload
from ringside.workloads.jobs import workers

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
    at, name = blank.cell.point, blank.cell.contender
    cores, count = int(at["cores"]), int(at["cases" if workload.name == "batch" else "jobs"])
    times = math.exp(rng.gauss(0, noise) + moved)
    wall_s = (0.02 + seconds(name, count, cores)) * times
    each, *_ = LAWS.get(name, _OTHER)
    busy_s = min(wall_s * cores, each * count * times)
    wall_ns = round(wall_s * 1e9)
    outcome = {
        "outcome": "ok",
        "detail": "",
        "exit_status": 0,
        "signal": None,
        "wall_ns": wall_ns,
        "paused_ns": 0,
        "cpu_user_ns": round(busy_s * 0.95e9),
        "cpu_system_ns": round(busy_s * 0.05e9),
        "peak_pss_bytes": 20_000_000 + 100 * count,
        "peak_threads": cores + 3,
        "voluntary_switches": 100,
        "involuntary_switches": 10,
        "run_queue_ns": wall_ns // 50,
        "result": {},
        "stderr_tail": "",
        "left_behind": 0,
        "input_bytes": 2560 * count,
        "cpus": [
            {"cpu": cpu, "busy_ns": wall_ns * 9 // (10 + cpu), "idle_ns": wall_ns // 10, "stolen_ns": 0}
            for cpu in range(cores)
        ],
    }
    if workload.name == "batch":
        read_s = 0.85 * wall_s if cores > 4 else 0.1 * wall_s
        phases = {"read": read_s, "compute": busy_s * 0.8, "write": 0.02 * wall_s, "wait_empty": 0.5 * wall_s}
    else:
        phases = {"submit": wall_s / 50, "makespan": wall_s * 0.97, "gap": 0.0102 * times}
        if at["kind"] == "cpu":
            phases["alone"] = wall_s * 0.95 * min(cores, workers(at)) / count
        if at["trace"] == 1:
            took, many = wall_ns * workers(at) // count, workers(at)
            outcome["spans"] = [
                (90_000 + job % many, job // many * took, job // many * took + took * 9 // 10)
                for job in range(count)
            ]
    marks = {"submitted": {"pss_bytes": 9_000_000 + 800 * count}} if workload.name == "jobs" else {}
    return dataclasses.replace(
        blank,
        outcome_line=outcome,
        phases={phase: round(value * 1e9) for phase, value in phases.items()},
        marks=marks,
    )
