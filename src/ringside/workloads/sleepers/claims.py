"""What the comparison of 2024 concluded from a million tasks that sleep, as tests of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringside import units
from ringside.model.design import Point
from ringside.model.results import Finding
from ringside.workloads.claims import (
    AnalysedRun,
    Band,
    ClaimTest,
    Part,
    at_least,
    find,
    judge,
    judge_values,
    logs,
    not_tested,
    ratio_claim,
)

_EXPERIMENT = "sleepers-million"
_MILLION = 1_000_000
# "More than twice as much".
_TWICE = 2.0
# A task that is later than this did not end on time.
_ON_TIME_S = 1.0
# About 0.4 KB, with what a million tasks leave between two of them.
_TOKIO_BYTES = 600.0


def _million(point: Point) -> bool:
    return int(point["tasks"]) == _MILLION


def goroutines_twice_virtual_threads(runs: Sequence[AnalysedRun]) -> Finding:
    """The peak memory of a million goroutines over that of a million virtual threads."""
    return ratio_claim(
        runs,
        _EXPERIMENT,
        "sleepers",
        "peak_pss_bytes",
        "go",
        "java-virtual-threads",
        at_least(_TWICE),
        applies=_million,
        where="with a million tasks",
    )


def too_slow_for_a_million(runs: Sequence[AnalysedRun]) -> Finding:
    """The p99 of lateness with a million tasks, of both."""
    names = ("java-virtual-threads", "python-asyncio")
    matching = find(runs, _EXPERIMENT, "sleepers", names, _million)
    if matching is None:
        return not_tested(f"no run has {' and '.join(names)} with a million tasks", _EXPERIMENT)
    run, points = matching
    return judge(
        run,
        [Part(name, logs(run, "late_s.p99", name, points)) for name in names],
        at_least(_ON_TIME_S, "the source has no figure; a second is late"),
        lambda name, late: f"{name}: p99 lateness {units.with_interval(late, 's')} with a million tasks",
    )


def tokio_takes_few_bytes(runs: Sequence[AnalysedRun]) -> Finding:
    """The growth of memory from the fewest tasks to the most, in each block."""
    matching = find(runs, _EXPERIMENT, "sleepers", ("rust-tokio",))
    if matching is None or len({point["tasks"] for point in matching[1]}) < 2:
        return not_tested("no run has rust-tokio at several numbers of tasks", _EXPERIMENT)
    run, points = matching
    fewest, most = (choose(points, key=lambda point: int(point["tasks"])) for choose in (min, max))
    low, high = (run.values("held_pss_bytes", "rust-tokio", point) for point in (fewest, most))
    growth = int(most["tasks"]) - int(fewest["tasks"])
    values = {block: (high[block] - low[block]) / growth for block in sorted(low.keys() & high.keys())}
    return judge_values(
        run,
        values,
        Band(
            high=_TOKIO_BYTES,
            words=f"up to {units.quantity(_TOKIO_BYTES, 'B')}",
            why="about 0.4 KB, and what a million tasks leave between two of them",
        ),
        lambda interval: (
            f"rust-tokio takes {units.with_interval(interval, 'B')} for each further task, from "
            f"{fewest['tasks']} to {most['tasks']}"
        ),
        "B",
    )


CLAIMS: Mapping[str, ClaimTest] = {
    "2024-million-tasks/goroutines-twice-virtual-threads": goroutines_twice_virtual_threads,
    "2024-million-tasks/too-slow-for-a-million": too_slow_for_a_million,
    "2024-million-tasks/tokio-takes-few-bytes": tokio_takes_few_bytes,
}
