"""Figures of a program's process tree: the metrics that workloads have in common, and how they follow from
the probe's report."""

from __future__ import annotations

from ringside.probe.protocol import TrialOutcome
from ringside.workloads.tables import SHARED

CPU_S = SHARED["cpu_s"]
WALL_S = SHARED["wall_s"]
PEAK = SHARED["peak_pss_bytes"]
THREADS = SHARED["peak_threads"]
SWITCHES = SHARED["context_switches"]
BUSY = SHARED["busy_share"]
BUSIEST = SHARED["busiest_core"]
IDLEST = SHARED["idlest_core"]
RUN_QUEUE = SHARED["run_queue_s"]


FIRST_ANSWER = SHARED["first_answer_s"]
FIRST_OVER_STEADY = SHARED["first_over_steady"]
STEADY_AFTER = SHARED["steady_after_s"]
# What workloads have whose programs can repeat their work (`analysis/cells.py` computes them).
COLD_START = (FIRST_ANSWER, FIRST_OVER_STEADY, STEADY_AFTER)


def process_figures(report: TrialOutcome | None, times: int = 1) -> dict[str, float]:
    """CPU and wall time, context switches and time in the run queue, each for one of `times` repeats; peak
    memory and threads. Figures that the probe did not observe are left out."""
    if report is None:
        return {}
    figures = {
        CPU_S.name: _seconds(_total(report.cpu_user_ns, report.cpu_system_ns)),
        WALL_S.name: _seconds(report.wall_ns),
        # 0: the process ended before the first sample.
        PEAK.name: report.peak_pss_bytes or None,
        THREADS.name: report.peak_threads or None,
        SWITCHES.name: _total(report.voluntary_switches, report.involuntary_switches),
        RUN_QUEUE.name: _seconds(report.run_queue_ns),
    }
    whole = {PEAK.name, THREADS.name}
    return {
        name: value / (1 if name in whole else times) for name, value in figures.items() if value is not None
    }


def core_figures(report: TrialOutcome | None, cores: int) -> dict[str, float]:
    """How busy the program kept its cores, and how busy the busiest and the idlest of them were."""
    if report is None:
        return {}
    figures = {}
    own = process_figures(report)
    if CPU_S.name in own and own.get(WALL_S.name):
        figures[BUSY.name] = own[CPU_S.name] / (own[WALL_S.name] * cores)
    shares = [
        cpu.busy_ns / total for cpu in report.cpus if (total := cpu.busy_ns + cpu.idle_ns + cpu.stolen_ns)
    ]
    if shares:
        figures |= {BUSIEST.name: max(shares), IDLEST.name: min(shares)}
    return figures


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _total(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
