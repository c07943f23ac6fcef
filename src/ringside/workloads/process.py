"""Figures of a program's process tree: metrics that workloads share, from the probe's report."""

from ringside.model.results import Trial
from ringside.probe.protocol import TrialOutcome
from ringside.workloads.base import Workload
from ringside.workloads.tables import SHARED

WALL_S = SHARED["wall_s"]
PEAK, THREADS = SHARED["peak_pss_bytes"], SHARED["peak_threads"]
# Metrics of workloads whose programs can repeat their work (`analysis/cells.py` computes them).
FIRST_ANSWER, FIRST_OVER_STEADY = SHARED["first_answer_s"], SHARED["first_over_steady"]
STEADY_AFTER = SHARED["steady_after_s"]


def process_figures(report: TrialOutcome | None, times: int = 1) -> dict[str, float]:
    """The probe's figures: CPU, wall time, switches and waits per repeat; peak memory and threads."""
    if report is None:
        return {}
    figures = {
        "cpu_s": _total(report.cpu_user_ns, report.cpu_system_ns, 1e9 * times),
        "wall_s": _total(report.wall_ns, 0, 1e9 * times),
        # 0: the process ended before the first sample.
        "peak_pss_bytes": report.peak_pss_bytes or None,
        "peak_threads": report.peak_threads or None,
        "context_switches": _total(report.voluntary_switches, report.involuntary_switches, times),
        "run_queue_s": _total(report.run_queue_ns, 0, 1e9 * times),
    }
    return {name: value for name, value in figures.items() if value is not None}


def repeat_figures(workload: Workload, trial: Trial) -> dict[str, float]:
    """The process figures of one repeat, and the repeated metric of the first."""
    repeats = workload.repeats_of(trial)
    first = {f"first_{workload.repeated_metric}": repeats[0]} if repeats else {}
    return process_figures(trial.report, len(repeats) or 1) | first


def held_figures(trial: Trial, mark: str, metric: str) -> dict[str, float]:
    """The PSS at a mark."""
    held = trial.marks.get(mark)
    return {metric: float(held.pss_bytes)} if held and held.pss_bytes is not None else {}


def core_figures(report: TrialOutcome | None, cores: int) -> dict[str, float]:
    """How busy the program kept its cores, and how busy the busiest and the idlest of them were."""
    if report is None:
        return {}
    figures, own = {}, process_figures(report)
    if "cpu_s" in own and own.get("wall_s"):
        figures["busy_share"] = own["cpu_s"] / (own["wall_s"] * cores)
    times = ((cpu.busy_ns, cpu.busy_ns + cpu.idle_ns + cpu.stolen_ns) for cpu in report.cpus)
    shares = [busy_ns / all_ns for busy_ns, all_ns in times if all_ns]
    return figures | ({"busiest_core": max(shares), "idlest_core": min(shares)} if shares else {})


def _total(first: int | None, second: int | None, over: float) -> float | None:
    return None if first is None or second is None else (first + second) / over
