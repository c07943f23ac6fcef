"""Weak points of a run: the conditions of single diagnostics, and diagnostics of whole runs; each is raised
alone by its own cause."""

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from ringside.analysis.cells import CellAnalysis
from ringside.analysis.diagnostics import (
    cores_shared,
    diagnose,
    drifted,
    engine_warnings,
    noisy_neighbour,
    references,
    two_sided,
)
from ringside.analysis.examination import Observations
from ringside.model.design import Cell
from ringside.model.results import Comparison, Diagnostic, Interval, Obstacle, Outcome, Run, Trial, Verdict
from ringside.probe.protocol import CpuUse, EngineWarning, LoadMessage, Pressure, TrialOutcome
from ringside.store.plans import read_plan
from ringside.workloads.base import Measurement
from ringside.workloads.command import COMMAND
from ringside.workloads.fib.workload import FIB
from ringside.workloads.ring.workload import RING
from ringside.workloads.target import TARGET
from tests.support.analyses import Exact, Planted, near, ok, planned
from tests.support.cases import cases
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
        # The driver and the probe own their CPU time, but on its own CPUs the probe takes nothing.
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
        # The last of the rising rates, which the server could not keep.
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
    """In the words of the first trial that had it, with its remedy."""

    def warned(name: str, *warnings: EngineWarning) -> Trial:
        return loaded(("measured", "all", (*BOUND, *warnings)), name=name)

    trials = [
        warned("go", EngineWarning("rate-not-kept", "half of it", "ask for less")),
        warned("go", EngineWarning("rate-not-kept", "a third of it", "other")),
        warned("erlang", EngineWarning("rate-not-kept", "all but a tenth"), EngineWarning("odd", "why")),
    ]
    assert list(engine_warnings(FIB, trials)) == [
        Diagnostic("generator-bound", ("erlang", "go")),
        Diagnostic(
            "engine-rate-not-kept",
            ("go", "erlang"),
            text="with go the load engine reported: half of it; also with erlang",
            remedy="ask for less",
        ),
        Diagnostic("engine-odd", ("erlang",), text="with erlang the load engine reported: why"),
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


# --- of whole runs ---


def compared(name: str, obstacle: Obstacle | None = None, metric: str = "wall_s") -> Comparison:
    ratio = Interval(1.1, 0.9, 1.2, 7)
    return Comparison(HERE, metric, name, "y", ratio, Verdict.INCONCLUSIVE, 0.06, obstacle)


class Quiet(Exact):
    """A measurement without a contract."""


def diagnosed(
    trials: Sequence[Trial],
    measurement: Measurement = RING,
    *,
    run: Run | None = None,
    cells: Mapping[Cell, CellAnalysis] | None = None,
    comparisons: Sequence[Comparison] = (),
    blocks_done: int = 6,
    is_held: bool = False,
    modes: Mapping[Cell, tuple[float, float]] | None = None,
) -> list[Diagnostic]:
    run = run or planned(["x"], [HERE])
    plan = read_plan(run)
    known = dict(cells or {})
    for each in comparisons:
        for cell in (Cell(each.contender, each.point), Cell(each.baseline, each.point)):
            known.setdefault(cell, CellAnalysis(cell, {Outcome.CRASHED: 1}, {}, {}))
    figures = Planted(
        {},
        measurement,
        run=run,
        plan=plan,
        experiment=plan.experiment,
        metrics=tuple(map(measurement.metric, measurement.shown(plan.experiment))),
        trials=trials,
        cells=known,
        comparisons={("any", HERE): dict(enumerate(comparisons))},
        examination=SimpleNamespace(blocks=blocks_done, observations=Observations(measurement, trials)),
    )
    known_modes = figures.examination.observations.modes(figures.headline.name) if modes is None else modes
    return list(diagnose(figures, known_modes, is_held=is_held))


@pytest.mark.parametrize(("planned_blocks", "end", "needed"), cases(__file__, "too_few_blocks"))
def test_too_few_blocks(planned_blocks: int, end: dict[str, Any], needed: int) -> None:
    run = planned(["x"], [HERE], blocks=planned_blocks, **end)
    assert diagnosed([], run=run, blocks_done=5) == [
        Diagnostic("too-few-blocks", values={"blocks": 5, "needed": needed, "option": "--blocks"})
    ]
    assert diagnosed([], run=run, blocks_done=6) == []
    # If nothing can run, more blocks would not help.
    gone = Trial(0, 0, Cell("x", HERE), Outcome.UNAVAILABLE, "no compiler")
    crashed = Trial(1, 0, Cell("y", HERE), Outcome.CRASHED, "exit status 1")
    assert diagnosed([gone, gone], run=run, blocks_done=0) == []
    assert [each.code for each in diagnosed([gone, crashed], run=run, blocks_done=0)] == ["too-few-blocks"]


def test_an_unfinished_run() -> None:
    run = planned(["x"], [HERE], ended=False)
    (unfinished,) = diagnosed([], run=run)
    assert (unfinished.code, unfinished.values["run"]) == ("unfinished", "run-1")
    assert diagnosed([], run=run, is_held=True) == []
    # Runs of `vs` and `load --vs` cannot be resumed.
    for measurement in (COMMAND, TARGET):
        assert diagnosed([], measurement, run=run) == []


def test_pairs_with_obstacles_are_named_by_what_it_is() -> None:
    """Once each, however many points and metrics; what concerns all pairs has a code of its own."""
    comparisons = [
        compared("b", Obstacle.SAME_VALUES, "rate"),
        compared("c", Obstacle.FAILED_BLOCKS),
        compared("a"),
        compared("a", Obstacle.SAME_VALUES),
        compared("b", Obstacle.SAME_VALUES),
        compared("d", Obstacle.NO_STEADY_STATE),
        compared("e", Obstacle.WARMING_UP),
        *(compared(f"e {each}", each) for each in (Obstacle.TOO_FEW_BLOCKS, Obstacle.UNFINISHED)),
        compared("f", Obstacle.NO_REFERENCE),
    ]
    assert diagnosed([], comparisons=comparisons) == [
        Diagnostic("same-values", ("b / y", "a / y")),
        Diagnostic("failed-blocks", ("c / y",)),
        Diagnostic("no-steady-state", ("d / y",)),
        Diagnostic("warming-up", ("e / y",)),
    ]


def test_differences_as_small_as_between_builds_are_named() -> None:
    ratios = ((1.02, 1.01, 1.03), (0.98, 0.97, 0.99), (1.04, 1.03, 1.05), (2.0, 1.1, 3.6))
    comparisons = [
        dataclasses.replace(
            compared(f"{number}", None, metric), verdict=Verdict.SLOWER, ratio=Interval(*ratio, 9)
        )
        for number, ratio in enumerate(ratios)
        for metric in ("hop_ns", "rate")
    ]
    assert diagnosed([], comparisons=comparisons) == [Diagnostic("one-session", ("0 / y", "1 / y"))]


def test_what_was_not_observed_is_no_failure() -> None:
    """As the memory of programs that ended before the first sample."""
    b, y = Cell("b", HERE), Cell("y", HERE)
    fine = {cell: CellAnalysis(cell, {Outcome.OK: 1}, {}, {}) for cell in (b, y)}
    some_failed = {**fine, b: CellAnalysis(b, {Outcome.CRASHED: 1}, {}, {})}
    for metric, cells, is_reported in (
        ("memory", fine, False),
        ("hop_ns", fine, True),
        ("memory", some_failed, True),
    ):
        unobserved = [compared("b", Obstacle.FAILED_BLOCKS, metric)]
        diagnostics = diagnosed([], cells=cells, comparisons=unobserved)
        assert [each.code for each in diagnostics] == ["failed-blocks"] * is_reported


def test_two_modes_of_the_headline() -> None:
    """Forty blocks: half of them at twice the time. In the other metric there is one mode."""
    trials = [
        ok(block, name, place, hop_ns=high if block % 2 else 100.0, cpu_s=1.0)
        for name, place, high in (
            ("x", HERE, 200.0),
            ("x", point(RING, nodes=2), 300.0),
            ("x", point(RING, nodes=3), 250.0),
            ("y", HERE, 100.0),
        )
        for block in range(1, 41)
    ]
    (diagnostic,) = diagnosed(trials, Quiet())
    assert (diagnostic.code, diagnostic.subjects) == ("bimodal", ("x",))
    assert diagnostic.values == {"ratios": {"x": near(3.0)}}

    class ByCpu(Exact):
        compared = ("cpu_s", "hop_ns")

    assert diagnosed(trials, ByCpu()) == []


def test_a_machine_with_two_speeds_is_not_blamed_on_programs() -> None:
    """In 20 blocks the machine is 35 % slower in 8, whatever runs; `x` has two modes of its own."""
    dice = random.Random(1)
    speeds = [1.35 if block % 5 in (0, 2) else 1.0 for block in range(20)]

    def codes(own: float) -> list[tuple[str, tuple[str, ...]]]:
        trials = [
            ok(block, name, HERE, hop_ns=100 * speed * dice.lognormvariate(0, 0.01) * mode)
            for block, speed in enumerate(speeds, 1)
            for name, mode in (("x", own if block % 3 else 1.0), ("w", 1.0), ("y", 1.0), ("z", 1.0))
        ]
        return [(each.code, each.subjects) for each in diagnosed(trials, Quiet())]

    assert codes(1.0) == []
    assert codes(3.0) == [("bimodal", ("x",))]


def test_machines_may_differ_and_each_is_looked_at_by_itself() -> None:
    """The speed of `east` changed most, but the levels of machines are not compared; nor are modes."""

    def on(machine: str, block: int, name: str, hop_ns: float, reference_ns: int) -> Trial:
        report = trial(block, name, reference_ns=reference_ns).report
        return dataclasses.replace(ok(block, name, HERE, hop_ns=hop_ns), machine=machine, report=report)

    trials = []
    for block in range(1, 61):
        machine = ("east", "west", "south")[block % 3]
        reference = {"east": 100 + block, "west": 900 + block, "south": 4000}[machine]
        times = {"east": 1.0, "west": 2.0, "south": 4.0}[machine]
        trials.append(on(machine, block, "x", 100.0 * times, reference))
        trials.append(on(machine, block, "y", (300.0 if block % 2 else 100.0) * times, reference))
    drifts, bimodal = diagnosed(trials, Quiet())
    assert drifts == Diagnostic("drift", values={"share": near(0.41953, rel=1e-4)})
    assert bimodal == Diagnostic("bimodal", ("y",), {"ratios": {"y": near(3.0)}})


def limited(name: str, peak_bytes: int | None, limit_bytes: int | None = 1000) -> Trial:
    return dataclasses.replace(trial(name=name, peak_pss_bytes=peak_bytes), memory_limit_bytes=limit_bytes)


@pytest.mark.parametrize(
    ("trials", "diagnostics"),
    [
        (
            [trial(name="z", left_behind=2), trial(name="y", left_behind=1), trial(name="w")],
            [Diagnostic("left-behind", ("y", "z"))],
        ),
        (
            [
                trial(name="z", left_files=2),
                trial(name="z", left_files=3),
                trial(name="y", left_files=1, signal=15),
                trial(name="killed", left_files=5, signal=9),
            ],
            [Diagnostic("left-files", ("y", "z"), {"counts": {"y": 1, "z": 3}})],
        ),
        (
            [*(limited(name, peak) for name, peak in (("z", 801), ("y", 950), ("z", 801)))],
            [Diagnostic("memory-cap-near", ("y", "z"), {"share": 0.8})],
        ),
        ([limited("x", 800), limited("x", None), limited("x", 9, None)], []),
        (
            [
                trial(name="z", unmapped_bytes=11 << 20, peak_pss_bytes=100 << 20),
                trial(name="y", unmapped_bytes=20 << 20, peak_pss_bytes=300 << 20),
                trial(name="x", unmapped_bytes=20 << 20, peak_pss_bytes=None),
                trial(name="w", peak_pss_bytes=300 << 20),
            ],
            [Diagnostic("uncounted-memory", ("x", "z"), {"sizes": {"x": 20 << 20, "z": 11 << 20}})],
        ),
        (
            [trial(name="y", interference=("SIGTERM", "limits")), trial(name="z", interference=("x",))],
            [Diagnostic("interference", ("y (SIGTERM; limits)", "z (x)"))],
        ),
    ],
)
def test_what_programs_did(trials: list[Trial], diagnostics: list[Diagnostic]) -> None:
    assert diagnosed([*trials, dataclasses.replace(trials[0], report=None)]) == diagnostics


def test_without_a_contract_cpus_do_not_matter() -> None:
    """`vs --cpus 0` names the CPUs that a command may use; the probe is not meant to have others."""
    everywhere = dataclasses.replace(trial(), cpus=(0, 1, 2, 3))
    codes = [each.code for each in diagnosed([everywhere])]
    assert codes == ["cores-shared"]
    assert diagnosed([everywhere], COMMAND) == []


class Talking(Exact):
    """It has a diagnostic of its own for each trial that was measured."""

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        return [Diagnostic(f"own-{each.block}", text="its own") for each in trials]


def test_a_load_without_a_report_counts_and_the_measurement_has_the_last_word() -> None:
    """Warm-ups and trials without either do not."""
    load = dataclasses.replace(trial(4), report=None, loads=(LoadMessage(step="s", name="all"),))
    empty = dataclasses.replace(trial(5), report=None)
    codes = [each.code for each in diagnosed([trial(0), trial(3, left_behind=1), load, empty], Talking())]
    assert codes == ["left-behind", "own-3", "own-4"]


def test_the_order_of_codes() -> None:
    """Codes about verdicts come first."""
    cell = Cell("x", point(FIB))
    bound = LoadMessage(step="measured", name="all", warnings=BOUND)
    trials = [
        dataclasses.replace(
            trial(
                block,
                reference_ns=10 * block,
                left_behind=1,
                peak_pss_bytes=90,
                pressure=Pressure(io_ns=10**10),
                **OWN,
            ),
            cell=cell,
            loads=(bound,),
            missing=("cgroup",),
            cpus=(0, 1, 2, 3),
            memory_limit_bytes=100,
        )
        for block in (1, 2)
    ]
    diagnostics = diagnosed(
        trials,
        FIB,
        run=planned(["x"], [HERE], ended=False),
        comparisons=[compared("x", Obstacle.FAILED_BLOCKS)],
        modes={cell: (1.0, 2.0)},
        blocks_done=2,
    )
    assert " ".join(each.code for each in diagnostics) == (
        "failed-blocks unfinished noisy-neighbour drift bimodal "
        "generator-bound cores-shared memory-cap-near left-behind accounting"
    )
    assert diagnostics[1].values["done"] == 2
    assert math.isclose(diagnostics[3].values["share"], 2**0.8 - 1)
