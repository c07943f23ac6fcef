"""Made-up executions of commands, and the analysis of what `vs` or `load --vs` measured."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ringside.analysis.run import RunAnalysis
from ringside.model.design import Cell, Point, Show
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LatencySummary, LoadMessage, ProgramOutput, TrialOutcome
from ringside.store.plans import PlannedContender
from ringside.workloads.base import Measurement
from ringside.workloads.command import COMMAND
from ringside.workloads.target import TARGET
from tests.support.analyses import NOISE, analyse, planned

HERE = Point(())


def execution(
    block: int, name: str, wall_s: float, place: Point = HERE, *, position: int = 0, **report: Any
) -> Trial:
    """One with a CPU time of nine tenths of its wall time. `report`: what else the probe reported."""
    facts = {
        "exit_status": 0,
        "wall_ns": round(wall_s * 1e9),
        "cpu_user_ns": round(wall_s * 8e8),
        "cpu_system_ns": round(wall_s * 1e8),
        "peak_memory_bytes": 1 << 20,
        "peak_process_bytes": 1 << 20,
        "output": ProgramOutput(xxh3="x"),
        **report,
    }
    return Trial(block, position, Cell(name, place), Outcome.OK, "", report=TrialOutcome("ok", **facts))


def compared(
    measurement: Measurement, trials: Sequence[Trial], titles: Mapping[str, str] | None = None, **show: Any
) -> RunAnalysis:
    """The analysis of these trials, whose first contender is the baseline. `titles`: of contenders whose
    title is not `sleep NAME`."""
    names = tuple(dict.fromkeys(trial.cell.contender for trial in trials))
    points = tuple(dict.fromkeys(trial.cell.point for trial in trials))
    contenders = {
        name: PlannedContender((titles or {}).get(name, f"sleep {name}"), command=("sleep", name))
        for name in names
    }
    of: dict[str, Any] = {"name": "vs", "title": "vs", "workload": measurement.name, "show": Show(**show)}
    return analyse(planned(names, points, contenders=contenders, **of), trials, measurement)


def commands(
    walls_s: Mapping[tuple[str, Point], Sequence[float]], titles: Mapping[str, str] | None = None
) -> RunAnalysis:
    """The analysis of commands with these wall times by block."""
    trials = [
        execution(block, name, wall_s, place)
        for (name, place), each in walls_s.items()
        for block, wall_s in enumerate(each, 1)
    ]
    return compared(COMMAND, trials, titles)


def load(block: int, name: str, speed: float, messages: int = 0) -> Trial:
    """A load at this speed; some of B's requests fail."""
    message = LoadMessage(
        step="measured",
        name="all",
        requests=100,
        unfinished=2 if name == "B" else 0,
        errors={"reset": 3, "timeout": 1} if name == "B" else {},
        messages=messages,
        achieved_rate_per_s=1000.0 * speed,
        histograms={"latency": LatencySummary(count=9, p50_ns=round(1e6 / speed), p99_ns=round(8e6 / speed))},
    )
    return Trial(block, 0, Cell(name, HERE), Outcome.OK, "", loads=(message,))


def targets(messages: int = 0) -> RunAnalysis:
    """The analysis of two servers, after a warm-up that has no figures."""
    trials = [
        load(block, name, speed * relative, messages)
        for name, speed in (("A", 1.0), ("B", 1.25))
        for block, relative in enumerate(NOISE, 1)
    ]
    trials.insert(0, dataclasses.replace(load(0, "A", 9.0), outcome=Outcome.INTERRUPTED))
    return compared(TARGET, trials, {"A": "http://a/", "B": "http://b/"})
