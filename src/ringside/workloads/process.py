"""Figures of a program's process tree: the metrics that workloads have in common, and how they follow from
the probe's report."""

from __future__ import annotations

from ringside.model.design import Metric
from ringside.probe.protocol import TrialOutcome

CPU_S = Metric(
    "cpu_s",
    "s",
    "CPU",
    "CPU seconds of the whole process tree, start-up included",
    phrase="CPU time",
)
WALL_S = Metric(
    "wall_s",
    "s",
    "Wall",
    "seconds from start to end of the process, start-up included",
    phrase="wall time",
)
PEAK = Metric("peak_pss_bytes", "B", "Peak memory", "largest PSS of the process tree in any sample")
THREADS = Metric(
    "peak_threads",
    "",
    "Threads",
    "most kernel threads alive at one time",
    phrase="peak number of threads",
)
SWITCHES = Metric(
    "context_switches",
    "",
    "Switches",
    "context switches by the kernel, voluntary and involuntary",
    phrase="number of context switches",
)
BUSY = Metric(
    "busy_share",
    "",
    "Cores busy",
    "CPU time over wall time and cores: 1 is all of them busy all the time, start-up included",
    smaller_is_better=False,
    phrase="core utilisation",
)
BUSIEST = Metric(
    "busiest_core",
    "",
    "Busiest core",
    "the share of the trial in which the busiest of its cores was busy, with whatever process",
    smaller_is_better=False,
    phrase="utilisation of the busiest core",
)
IDLEST = Metric(
    "idlest_core",
    "",
    "Idlest core",
    "the share of the trial in which the least busy of its cores was busy, with whatever process",
    smaller_is_better=False,
    phrase="utilisation of the idlest core",
)
RUN_QUEUE = Metric(
    "run_queue_s",
    "s",
    "Queued",
    "time in which threads waited for a CPU, sampled: a lower bound",
    phrase="time in the run queue",
)


FIRST_ANSWER = Metric(
    "first_answer_s",
    "s",
    "First answer",
    "from the start of the process until its work was done for the first time, by the probe's clock",
    phrase="time until the first answer",
)
FIRST_OVER_STEADY = Metric(
    "first_over_steady",
    "",
    "First over steady",
    "the first of the repeats over their steady state",
    phrase="first repeat over the steady state",
)
STEADY_AFTER = Metric(
    "steady_after_s",
    "s",
    "Steady after",
    "from the start of the process until its work was done once at the speed of the steady state",
    phrase="time until the steady state",
)
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
