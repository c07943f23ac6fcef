"""Background jobs: J of them, W at one time, while other work goes on (docs/PROTOCOL.md, `jobs`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ringside.errors import UsageError
from ringside.model.design import Expectation, Level, Metric, Point
from ringside.model.results import Trial
from ringside.workloads.base import (
    BUSIEST,
    BUSY,
    CORES,
    CPU_S,
    IDLEST,
    PEAK,
    REPEATS,
    RUN_QUEUE,
    SWITCHES,
    THREADS,
    WALL_S,
    Factor,
    Law,
    Slope,
    Workload,
    core_figures,
    phase_ns,
    process_figures,
    repeated,
    repeats,
)

FACTOR, MODULUS = 48271, 2147483647
ORDER_BASE = 31
# Each span is a protocol line, of which a trial may have two thousand.
_MOST_TRACED = 1900
_OTHER_OUTPUT_BYTES = 1 << 20


def answer(job: int, kind: str, rounds: int, seed: int) -> int:
    """What job `job` must find: x0·48271^R mod p with x0 = 1 + (seed + job) mod (p - 1), R = 1 unless it
    computes."""
    begin = 1 + (seed + job) % (MODULUS - 1)
    return begin * pow(FACTOR, rounds if kind == "cpu" else 1, MODULUS) % MODULUS


def order(jobs: int, kind: str, rounds: int, seed: int, repeats: int = 1) -> int:
    """H of the contract: h ← (31·h + v) mod p over all answers in order, of all repeats."""
    power = pow(FACTOR, rounds if kind == "cpu" else 1, MODULUS)
    once = 0
    for job in range(jobs):
        value = (1 + (seed + job) % (MODULUS - 1)) * power % MODULUS
        once = (ORDER_BASE * once + value) % MODULUS
    found = 0
    for _ in range(repeats):
        found = (pow(ORDER_BASE, jobs, MODULUS) * found + once) % MODULUS
    return found


@dataclass(frozen=True, slots=True)
class _Workers(Factor):
    """A number, or as many as there are cores."""

    def check(self, level: Level) -> Level:
        return level if level == "cores" else Factor.check(self, level)


def workers(point: Point) -> int:
    """How many jobs are under way at one time."""
    return int(point["cores"] if point["workers"] == "cores" else point["workers"])


class Jobs(Workload):
    name = "jobs"
    title = "Background jobs"
    factors = (
        Factor("jobs", 2, "jobs to be done", least=1, most=1_000_000),
        Factor(
            "kind",
            "sleep",
            "sleep: they wait; cpu: they compute; noop: they do nothing",
            choices=("sleep", "cpu", "noop"),
        ),
        Factor("duration_ms", 1000, "how long a job of kind sleep waits", least=0, most=3_600_000),
        Factor("rounds", 1_000_000, "how much a job of kind cpu computes", least=1, most=1_000_000_000),
        _Workers("workers", 2, "jobs under way at one time: a number, or `cores`", least=1, most=1024),
        REPEATS,
        Factor("trace", 0, "1: the program tells which unit did which job, and when", choices=(0, 1)),
        CORES,
    )
    metrics = (
        Metric(
            "over_ideal",
            "",
            "Over the ideal",
            "from the first job's start to the last answer, over the least time that workers and cores allow "
            "(jobs that compute: by the time that one took alone)",
        ),
        Metric(
            "makespan_s",
            "s",
            "Makespan",
            "from the first job's start to the last answer; of repeats the median of the later half",
        ),
        Metric(
            "first_makespan_s", "s", "First makespan", "that of the first repeat, where there are several"
        ),
        Metric("jobs_per_s", "/s", "Jobs per second", "jobs over the makespan", smaller_is_better=False),
        Metric(
            "gap_s", "s", "Longest gap", "the longest time between two heartbeats, which are due every 10 ms"
        ),
        Metric("submit_s", "s", "Handing over", "time in which the main unit handed over all jobs"),
        Metric("alone_s", "s", "One alone", "a job that computes, done in the foreground before all else"),
        CPU_S,
        WALL_S,
        Metric("waiting_pss_bytes", "B", "Memory, waiting", "PSS when all jobs have been handed over"),
        BUSY,
        BUSIEST,
        IDLEST,
        PEAK,
        THREADS,
        SWITCHES,
        RUN_QUEUE,
    )
    compared = ("makespan_s", "cpu_s")
    repeated_metric = "makespan_s"
    beside = ("over_ideal", "gap_s", "jobs_per_s", "peak_pss_bytes")
    laws = (Law("cores", "makespan_s"), Law("jobs", "makespan_s"))
    slopes = (
        Slope(
            "bytes_per_job",
            "B",
            "Memory per waiting job",
            "growth of the PSS over the jobs that have been handed over and sleep or wait for their turn",
            over="jobs",
            figure="waiting_pss_bytes",
            regardless_of=("trace",),
        ),
    )

    def check(self, point: Point) -> None:
        if point["trace"] == 1 and int(point["jobs"]) > _MOST_TRACED:
            raise UsageError(f"trace=1 takes {_MOST_TRACED} jobs at most, not {point['jobs']}")
        if point["trace"] == 1 and repeats(point) > 1:
            raise UsageError("trace=1 tells of one time only: take it without repeats")

    def arguments(self, point: Point) -> dict[str, str]:
        # Only those that sleep are still there when the probe looks.
        hold = {"hold": "1"} if point["kind"] == "sleep" else {}
        return {"workers": str(workers(point)), **hold}

    def expectation(self, point: Point, seed: int) -> Expectation:
        jobs, kind, rounds = int(point["jobs"]), str(point["kind"]), int(point["rounds"])
        times = repeats(point)
        result = {
            "answers": str(times * jobs),
            "order": str(order(jobs, kind, rounds, seed, times)),
        }
        return Expectation(result, lines_total=0)

    def output_bytes(self, point: Point) -> int:
        return _OTHER_OUTPUT_BYTES

    def work(self, point: Point) -> int:
        jobs = int(point["jobs"])
        if point["kind"] == "sleep":
            return math.ceil(jobs / workers(point)) * int(point["duration_ms"]) * 100_000 + jobs
        return jobs * (int(point["rounds"]) if point["kind"] == "cpu" else 1)

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        found = process_figures(trial.outcome_line)
        found |= core_figures(trial.outcome_line, int(point["cores"]))
        for phase in ("makespan", "gap", "submit", "alone"):
            if (took_ns := phase_ns(trial, phase)) is not None:
                found[f"{phase}_s"] = took_ns / 1e9
        if each := self.repeats_of(trial):
            found["first_makespan_s"] = each[0]
        makespan = found.get("makespan_s")
        if makespan:
            found["jobs_per_s"] = int(point["jobs"]) / makespan
            if ideal := _ideal_s(point, found):
                found["over_ideal"] = makespan / ideal
        waiting = trial.marks.get("submitted", {}).get("pss_bytes")
        if isinstance(waiting, int):
            found["waiting_pss_bytes"] = float(waiting)
        return found

    def repeats_of(self, trial: Trial) -> tuple[float, ...]:
        return tuple(took_ns / 1e9 for took_ns in repeated(trial, "makespan"))


def _ideal_s(point: Point, figures: dict[str, float]) -> float | None:
    """The least makespan: turns of sleeping jobs on all workers; of computing ones on all cores, or workers
    where there are fewer. None where jobs do nothing."""
    jobs, cores = int(point["jobs"]), int(point["cores"])
    if point["kind"] == "sleep":
        return math.ceil(jobs / workers(point)) * int(point["duration_ms"]) / 1000
    if point["kind"] == "cpu" and "alone_s" in figures:
        return math.ceil(jobs / min(workers(point), cores)) * figures["alone_s"]
    return None


JOBS = Jobs()
