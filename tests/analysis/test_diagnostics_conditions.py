"""Weak points of a run: the conditions of single diagnostics."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from ringside.analysis.diagnostics import (
    cores_shared,
    drifted,
    engine_warnings,
    noisy_neighbour,
    references,
    two_sided,
)
from ringside.model.design import Cell
from ringside.model.results import Diagnostic, Outcome, Trial
from ringside.probe.protocol import CpuUse, EngineWarning, LoadMessage, Pressure, TrialOutcome
from ringside.store.plans import read_plan
from ringside.workloads.fib.workload import FIB
from ringside.workloads.ring.workload import RING
from tests.support.analyses import near, planned
from tests.support.points import point

HERE = point(RING)
REPORT = TrialOutcome("ok")


def trial(block: int = 1, name: str = "x", **report: Any) -> Trial:
    changed = msgspec.structs.replace(REPORT, **report)
    return Trial(block, 0, Cell(name, HERE), Outcome.OK, "", cpus=(1,), report=changed)


def seconds(busy: float, idle: float, stolen: float = 0.0, cpu: int = 1) -> CpuUse:
    return CpuUse(cpu, round(busy * 1e9), round(idle * 1e9), round(stolen * 1e9))


# Eight seconds of CPU time in ten of wall time.
OWN: dict[str, Any] = {"cpu_user_ns": 7_000_000_000, "cpu_system_ns": 10**9, "wall_ns": 10**10}
FULL = (seconds(10.0, 0.0),)
IO = {"io_pressure": 0.2}
SHORT: dict[str, Any] = {
    "cpu_user_ns": 0,
    "cpu_system_ns": 0,
    "pressure": Pressure(io_ns=10**9, memory_ns=10**9),
}


@pytest.mark.parametrize(
    ("trials", "values"),
    [
        ([], {}),
        ([trial(), trial(**OWN)], {}),
        ([trial(**OWN, cpus=(seconds(8.9, 1.1),))], {}),
        ([trial(**OWN, pressure=Pressure(cpu_ns=9 * 10**9, memory_ns=None, io_ns=10**9))], {}),
        ([trial(**OWN, cpus=(seconds(8.5, 0.5, 1.0),))], {"steal": 0.1}),
        ([trial(**OWN, cpus=FULL)], {"others": 0.2}),
        # What the driver and the probe use is nobody else's, but on CPUs of its own the probe takes nothing.
        ([trial(**OWN, cpus=FULL, probe_shared_cpu_ns=2 * 10**9)], {}),
        ([trial(**OWN, cpus=FULL, driver_cpu_ns=1_500_000_000)], {}),
        ([trial(**OWN, cpus=FULL, probe_cpu_ns=2 * 10**9)], {"others": 0.2}),
        # Just the limit.
        ([trial(**OWN, cpus=(seconds(8.0, 1.8, 0.2),))], {}),
        # On two CPUs the same is a tenth, which is not above the limit.
        ([trial(**OWN, cpus=(seconds(5.0, 5.0), seconds(5.0, 5.0, cpu=2)))], {}),
        ([trial(**OWN, cpus=(seconds(9.0, 5.0, 0.5), seconds(1.0, 5.0, cpu=2)))], {"steal": 0.5 / 20.5}),
        ([trial(**OWN, pressure=Pressure(9, 0, 2 * 10**9)), trial(**OWN, pressure=Pressure())], IO),
        (
            [trial(**OWN, pressure=Pressure(0, 5 * 10**9, 30 * 10**9), cpus=(seconds(8, 0, 2),))],
            {"steal": 0.2, "memory_pressure": 0.5, "io_pressure": 1.0},
        ),
        # Shares are of all trials together; what a trial took of CPUs that were not observed is not its own.
        ([trial(**OWN, cpus=(seconds(8.0, 2.0),)), trial(**OWN, cpus=(seconds(8, 1, 1),))], {"steal": 0.05}),
        ([trial(**OWN), trial(**OWN, cpus=FULL)], {"others": 0.2}),
        # Less than two seconds show nothing.
        ([trial(**SHORT, wall_ns=1_999_999_999, cpus=(seconds(1.0, 0.0, 0.999_999),))], {}),
        (
            [trial(**SHORT, wall_ns=2 * 10**9, cpus=(seconds(1.0, 0.0, 1.0),))],
            {"steal": 0.5, "others": 0.5, "memory_pressure": 0.5, "io_pressure": 0.5},
        ),
    ],
)
def test_neighbours_are_named_by_their_share(trials: list[Trial], values: dict[str, float]) -> None:
    expected = [Diagnostic("noisy-neighbour", values=near(values))] if values else []
    assert list(noisy_neighbour(trials)) == expected


def test_programs_of_several_threads_lose_most_on_a_busy_machine() -> None:
    used = {"x": 10**10, "y": 12 * 10**9}
    trials = [
        trial(name=name, wall_ns=10**10, cpu_user_ns=ns, cpu_system_ns=0, cpus=(seconds(20.0, 0.0),))
        for name, ns in used.items()
    ]
    assert [each.subjects for each in noisy_neighbour(trials)] == [("y",)]


def test_drift_comes_from_the_reference_computation() -> None:
    def drifts(*times_ns: int) -> list[Diagnostic]:
        return [*drifted([trial(block, reference_ns=ns) for block, ns in enumerate(times_ns)])]

    assert drifts() == drifts(1000) == drifts(1000, 1040) == drifts(1000, 1062) == []
    assert drifts(1000, 1200) == [Diagnostic("drift", values={"share": near(1.2**0.8 - 1)})]
    assert [each.code for each in drifts(1000, 1064)] == ["drift"]


def test_the_references_of_each_block() -> None:
    unreported = dataclasses.replace(trial(5), report=None)
    trials = [trial(1, reference_ns=7), trial(1), trial(2, reference_ns=9, memory_reference_ns=21), trial(3)]
    trials += [unreported, trial(4, reference_ns=0), trial(3, memory_reference_ns=22)]
    assert references(trials) == {"computing": {1: 7.0, 2: 9.0}, "memory": {2: 21.0, 3: 22.0}}
    assert references(trials[:2]) == {"computing": {1: 7.0}}
    assert references([]) == references([unreported, trial(1)]) == {}


BOUND = (EngineWarning("generator-bound"),)
OTHER = (EngineWarning("rate-not-kept"),)


def loaded(*loads: tuple[str, str, tuple[EngineWarning, ...]], name: str = "x") -> Trial:
    messages = tuple(LoadMessage(step=step, name=each, warnings=warnings) for step, each, warnings in loads)
    return dataclasses.replace(trial(), cell=Cell(name, point(FIB)), loads=messages)


@pytest.mark.parametrize(
    ("loads", "bound"),
    [
        ([("first", "all", OTHER), ("measured", "all", BOUND)], True),
        # Two loads at one time.
        ([("measured", "short", BOUND), ("measured", "long", OTHER)], True),
        # Of rising rates the last, which the server could not keep.
        ([("rate 1", "all", BOUND), ("rate 2", "all", OTHER)], False),
        ([("measured", "all", OTHER)], False),
        ([], False),
    ],
)
def test_a_load_engine_that_was_the_bottleneck(
    loads: Sequence[tuple[str, str, tuple[EngineWarning, ...]]], bound: bool
) -> None:
    expected = [Diagnostic("generator-bound", ("x",))] if bound else []
    warnings = engine_warnings(FIB, [loaded(*loads)])
    assert [each for each in warnings if each.code == "generator-bound"] == expected


def test_other_warnings_of_the_load_engine_are_quoted_by_kind() -> None:
    """For each contender in the words of its first trial, with the first remedy of the kind."""

    def warned(name: str, *warnings: EngineWarning) -> Trial:
        return loaded(("measured", "all", (*BOUND, *warnings)), name=name)

    trials = [
        warned("go", EngineWarning("rate-not-kept", "half of it", "ask for less")),
        warned("go", EngineWarning("rate-not-kept", "a third of it", "other")),
        warned("erlang", EngineWarning("rate-not-kept", "all but a tenth"), EngineWarning("odd", "why")),
    ]
    kept = ("go (half of it)", "erlang (all but a tenth)")
    assert list(engine_warnings(FIB, trials)) == [
        Diagnostic("generator-bound", ("erlang", "go")),
        Diagnostic(
            "engine-rate-not-kept",
            kept,
            text=f"the load engine reported: {', '.join(kept)}",
            remedy="ask for less",
        ),
        Diagnostic("engine-odd", ("erlang (why)",), text="the load engine reported: erlang (why)"),
    ]


def test_cores_are_shared_where_a_contender_had_all_of_them() -> None:
    run = planned(["x"], [HERE])

    def on(*cpus: int, host: Mapping[str, Any] = {"cpus_usable": [0, 1]}) -> list[Diagnostic]:
        trials = [trial(), dataclasses.replace(trial(), cpus=cpus)]
        return list(cores_shared(dataclasses.replace(run, host=host), trials))

    assert on(0, 1) == [Diagnostic("cores-shared")]
    assert on(0, 1, 2) == [Diagnostic("cores-shared")]
    assert on(0) == on(1) == on() == []
    assert on(0, 1, host={}) == on(0, 1, host={"cpus_usable": None}) == []


def test_each_machine_has_cores_of_its_own() -> None:
    """One that is not among the run's machines has those of the run's host."""
    machines = {"east": {"cpus_usable": [0, 2]}, "west": {}}
    run = dataclasses.replace(planned(["x"], [HERE]), host={"cpus_usable": [0, 1, 2], "machines": machines})

    def shared(machine: str, *cpus: int) -> bool:
        on_it = dataclasses.replace(trial(), machine=machine, cpus=cpus)
        return list(cores_shared(run, [on_it, trial()])) == [Diagnostic("cores-shared")]

    assert shared("east", 2, 0)
    assert not shared("east", 0, 1)
    assert not shared("west", 0, 1, 2)
    assert shared("north", 0, 1, 2)
    assert not shared("north", 0, 2)


def test_a_load_from_elsewhere_is_always_said() -> None:
    here = read_plan(planned(["x"], [HERE])).experiment
    load = LoadMessage(step="s", name="n", engines=2, started_within_ns=7)
    later = msgspec.structs.replace(load, started_within_ns=9)
    trials = [dataclasses.replace(trial(), loads=(load,)), dataclasses.replace(trial(), loads=(later, load))]
    assert list(two_sided(here, trials)) == []
    elsewhere = dataclasses.replace(here, engines=2)
    assert list(two_sided(elsewhere, trials)) == [
        Diagnostic("two-sided", values={"engines": 2, "within_ns": 9})
    ]
    assert [each.values["within_ns"] for each in two_sided(elsewhere, [])] == [0]
