"""Points of workloads and trials at them, for tests that start nothing."""

import dataclasses
from typing import Any

from ringside.model.design import Cell, Level, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import CpuUse, TrialOutcome
from ringside.workloads.base import Workload

# Every figure has another value.
REPORT = TrialOutcome(
    "ok",
    wall_ns=5_000_000_000,
    cpu_user_ns=2_000_000_000,
    cpu_system_ns=1_000_000_000,
    peak_pss_bytes=11,
    peak_memory_bytes=12,
    peak_threads=13,
    voluntary_switches=17,
    involuntary_switches=19,
    run_queue_ns=23_000_000_000,
    cpus=(CpuUse(0, 9, 1, 0), CpuUse(1, 3, 3, 6), CpuUse(2, 0, 0, 0)),
)

# Each workload's part of it.
PROCESS = {
    **{"cpu_s": 3, "wall_s": 5, "peak_pss_bytes": 11, "peak_threads": 13, "context_switches": 36},
    "run_queue_s": 23,
}


def point(workload: Workload, **levels: Level) -> Point:
    """The workload's defaults with other levels for some factors. Raises UsageError as a run would."""
    checked = {name: workload.factor(name).check(level) for name, level in levels.items() if name != "cores"}
    cores = {"cores": levels["cores"]} if "cores" in levels else {}
    defaults = {factor.name: factor.default for factor in workload.factors}
    resolved = Point(tuple({**defaults, **checked, **cores}.items()))
    workload.check(resolved)
    return resolved


def ok_trial(workload: Workload, changes: dict[str, Any] | None = None, /, **levels: Level) -> Trial:
    """An `ok` trial at a point, without figures but for the fields in `changes`."""
    blank = Trial(1, 0, Cell("go", point(workload, **levels)), Outcome.OK, "")
    return dataclasses.replace(blank, **(changes or {}))
