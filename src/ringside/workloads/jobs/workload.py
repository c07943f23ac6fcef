"""The workload `jobs`: its factors, metrics, evidence and figures."""

import math
from collections.abc import Mapping, Sequence

from ringside.errors import UsageError
from ringside.model.design import Input, Point
from ringside.model.results import Diagnostic, Trial
from ringside.probe.protocol import Evidence, ExpectedLines
from ringside.units import count, significant
from ringside.workloads import evidence
from ringside.workloads.base import Figures, OwnShare, Workload, repeats, told
from ringside.workloads.evidence import FACTOR, MODULUS, first_number
from ringside.workloads.phases import CYCLE_NS
from ringside.workloads.process import core_figures, held_figures, repeat_figures
from ringside.workloads.tables import declared


def answer(job: int, kind: str, rounds: int, seed: int) -> int:
    """x0·48271^R mod p with x0 = 1 + (seed + job) mod (p - 1); R = 1 unless the job computes."""
    return first_number(seed + job) * pow(FACTOR, rounds if kind == "cpu" else 1, MODULUS) % MODULUS


def order(jobs: int, kind: str, rounds: int, seed: int, repeats: int = 1) -> int:
    """H of the contract over all answers in order, of all repeats."""
    power = pow(FACTOR, rounds if kind == "cpu" else 1, MODULUS)
    once = evidence.fold(first_number(seed + job) * power % MODULUS for job in range(jobs))
    return evidence.fold_again(once, jobs, repeats)


# How often a program does a job in the foreground before all else.
TIMES_ALONE = 5


# A round multiplies and takes a remainder; each round needs the result of the previous one.
_CYCLES_PER_ROUND = 2
# Each span is a protocol line; a trial may have two thousand.
_MAX_TRACED_JOBS = 1900
# A makespan below the ideal by less is noise.
_MIN_OVER_IDEAL = 0.98


def workers(point: Point) -> int:
    """How many jobs are under way at one time."""
    return int(point["cores"] if point["workers"] == "cores" else point["workers"])


@declared(__file__)
class Jobs(Workload):
    def check(self, point: Point) -> None:
        if point["trace"] == 1 and int(point["jobs"]) > _MAX_TRACED_JOBS:
            raise UsageError(f"trace=1 takes {_MAX_TRACED_JOBS} jobs at most, not {point['jobs']}")
        if point["trace"] == 1 and repeats(point) > 1:
            raise UsageError("trace=1 cannot be combined with repeats: leave out one of them")

    def arguments(self, point: Point) -> dict[str, str]:
        return {"workers": str(workers(point))}

    def awaits(self, point: Point) -> tuple[str, ...]:
        # Jobs of the other kinds may be done before the probe takes its sample.
        return ("submitted",) if point["kind"] == "sleep" else ()

    def evidence(self, point: Point, seed: int, input: Input | None) -> Evidence:
        jobs, kind, rounds = int(point["jobs"]), str(point["kind"]), int(point["rounds"])
        times = repeats(point)
        result = {"answers": str(times * jobs), "order": str(order(jobs, kind, rounds, seed, times))}
        if kind == "cpu":
            # Each job alone begins with the answer of the one before: none can be left out.
            result["alone"] = str(answer(0, "cpu", TIMES_ALONE * rounds, seed))
        return Evidence(result, ExpectedLines(total=0))

    def work(self, point: Point) -> int:
        jobs = int(point["jobs"])
        if point["kind"] == "sleep":
            return math.ceil(jobs / workers(point)) * int(point["duration_ms"]) * 100_000 + jobs
        return jobs * (int(point["rounds"]) if point["kind"] == "cpu" else 1)

    def least_ns(self, point: Point, input_bytes: int | None) -> Mapping[str, float]:
        jobs, places = int(point["jobs"]), workers(point)
        if point["kind"] == "cpu":
            alone_ns = int(point["rounds"]) * _CYCLES_PER_ROUND * CYCLE_NS
            turns = math.ceil(jobs / min(places, self.cores(point)))
            return {"alone": alone_ns, "makespan": turns * alone_ns}
        if point["kind"] == "sleep":
            # A loop's timers count from when it last looked at the clock: a turn can be shorter than a sleep.
            turn_ns = max(0.0, int(point["duration_ms"]) * 0.5e6 - 1e6)
            return {"makespan": math.ceil(jobs / places) * turn_ns}
        return {"makespan": jobs * CYCLE_NS}

    def refute(self, trial: Trial, seed: int) -> None:
        """Raise ValueError if jobs alone are missing, or gaps too short: n beats leave n gaps."""
        alone = len(trial.phases.get("alone", ()))
        if trial.cell.point["kind"] == "cpu" and alone != TIMES_ALONE:
            raise ValueError(f"{count(alone, 'line')} ::phase name=alone instead of {TIMES_ALONE}")
        beats, gaps = evidence.whole_number(trial.result.get("beats", "")), trial.phases.get("gap", ())
        if beats is None or not gaps:
            return
        beaten_ns = sum(trial.phases.get("makespan", ())) - sum(trial.phases.get("submit", ()))
        if (beats + len(gaps)) * max(gaps) < 0.98 * beaten_ns:
            most, passed = evidence.milliseconds(max(gaps)), evidence.milliseconds(beaten_ns)
            raise ValueError(f"::phase name=gap: {most} at most, and {beats:,} beats in {passed}")

    def figures(self, trial: Trial) -> dict[str, float]:
        point = trial.cell.point
        figures = repeat_figures(self, trial) | core_figures(trial.report, self.cores(point))
        figures |= held_figures(trial, "submitted", "waiting_pss_bytes")
        for phase in ("makespan", "gap", "submit", "alone"):
            if (phase_ns := trial.phase_ns(phase)) is not None:
                figures[f"{phase}_s"] = phase_ns / 1e9
        if makespan_s := figures.get("makespan_s"):
            figures["jobs_per_s"] = int(point["jobs"]) / makespan_s
            least_s = self.least_ns(point, None).get("alone", 0.0) / 1e9
            # Older runs may contain jobs that the compiler eliminated.
            if figures.get("alone_s", least_s) >= least_s and (ideal_s := _ideal_s(point, figures)):
                figures["over_ideal"] = makespan_s / ideal_s
        return figures

    def program_share(self, headline: str, point: Point, figures: Figures) -> OwnShare | None:
        over_ideal = figures.get("over_ideal", 0.0)
        if point["kind"] != "sleep" or headline not in ("makespan_s", "over_ideal") or over_ideal <= 1:
            return None
        share = 1 - 1 / over_ideal
        return share, f"the jobs' sleep is all but {significant(share * 100, 2)} % of the time"

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        """Contenders with a makespan below the least one, computed from a job that runs alone."""
        over_ideal = self.medians(trials, lambda figures: figures.get("over_ideal"))
        below = dict.fromkeys(cell.contender for cell, ratio in over_ideal.items() if ratio < _MIN_OVER_IDEAL)
        return [told("below-ideal", below, names=", ".join(below))] if below else []


def _ideal_s(point: Point, figures: Mapping[str, float]) -> float | None:
    """The least makespan: turns of sleeping jobs on workers, of computing ones on cores; None for others."""
    jobs, cores = point.numbers("jobs", "cores")
    if point["kind"] == "sleep":
        return math.ceil(jobs / workers(point)) * int(point["duration_ms"]) / 1000
    if point["kind"] == "cpu" and "alone_s" in figures:
        return math.ceil(jobs / min(workers(point), cores)) * figures["alone_s"]
    return None


JOBS = Jobs()
