"""Weak points of a run: each code is raised by what it is about, and by nothing else."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from ringside.analysis.cells import CellAnalysis, analyse_cell
from ringside.analysis.diagnostics import (
    cores_shared,
    diagnose,
    drifted,
    engine_warnings,
    generator_bound,
    memory_limit_near,
    noisy_neighbour,
    references,
    two_sided,
)
from ringside.model.design import Cell, Show
from ringside.model.results import Comparison, Diagnostic, Interval, Obstacle, Outcome, Run, Trial, Verdict
from ringside.probe.protocol import CpuUse, EngineWarning, LoadMessage, Pressure, TrialOutcome
from ringside.store.plans import read_plan
from ringside.workloads.base import Measurement
from ringside.workloads.command import COMMAND
from ringside.workloads.fib import FIB
from ringside.workloads.ring import RING
from ringside.workloads.target import TARGET
from tests.analyses import Exact, near, ok, planned
from tests.points import point

HERE = point(RING)
REPORT = TrialOutcome("ok")


def trial(block: int = 1, name: str = "x", **report: Any) -> Trial:
    changed = msgspec.structs.replace(REPORT, **report)
    return Trial(block, 0, Cell(name, HERE), Outcome.OK, "", cpus=(1,), report=changed)


def seconds(busy: float, idle: float, stolen: float = 0.0, cpu: int = 1) -> CpuUse:
    return CpuUse(cpu, round(busy * 1e9), round(idle * 1e9), round(stolen * 1e9))


def noise(*trials: Trial) -> list[Diagnostic]:
    return list(noisy_neighbour(trials))


# Eight seconds of CPU time in ten of wall time.
OWN: dict[str, Any] = {"cpu_user_ns": 7_000_000_000, "cpu_system_ns": 10**9, "wall_ns": 10**10}


def test_a_quiet_machine_has_no_neighbours() -> None:
    assert noise(trial(**OWN, cpus=(seconds(8.9, 1.1),))) == []
    assert noise(trial(), trial(**OWN)) == []
    assert noise() == []
    nothing = Pressure(cpu_ns=9 * 10**9, memory_ns=None, io_ns=10**9)
    assert noise(trial(**OWN, pressure=nothing)) == []


@pytest.mark.parametrize(
    ("report", "values"),
    [
        ({"cpus": (seconds(8.5, 0.5, 1.0),)}, {"steal": 0.1}),
        ({"cpus": (seconds(10.0, 0.0),)}, {"others": 0.2}),
        # Just the limit.
        ({"cpus": (seconds(8.0, 1.8, 0.2),)}, {}),
        # On two CPUs the same is a tenth, which is not above the limit.
        ({"cpus": (seconds(5.0, 5.0), seconds(5.0, 5.0, cpu=2))}, {}),
        ({"cpus": (seconds(9.0, 5.0, 0.29), seconds(1.0, 5.0, cpu=2))}, {}),
        ({"cpus": (seconds(9.0, 5.0, 0.5), seconds(1.0, 5.0, cpu=2))}, {"steal": 0.5 / 20.5}),
        ({"pressure": Pressure(memory_ns=3_000_000_000, io_ns=0)}, {"memory_pressure": 0.3}),
        ({"pressure": Pressure(9, None, 2_000_000_000)}, {"io_pressure": 0.2}),
        (
            {"pressure": Pressure(0, 5_000_000_000, 30_000_000_000), "cpus": (seconds(8, 0, 2),)},
            {"steal": 0.2, "memory_pressure": 0.5, "io_pressure": 1.0},
        ),
    ],
)
def test_neighbours_are_named_by_their_share(report: dict[str, Any], values: dict[str, float]) -> None:
    diagnostics = noise(trial(**OWN, **report))
    assert diagnostics == ([Diagnostic("noisy-neighbour", values=near(values))] if values else [])


def test_shares_are_of_all_trials_together() -> None:
    calm = trial(**OWN, cpus=(seconds(8.0, 2.0),))
    noisy = trial(**OWN, cpus=(seconds(8.0, 1.0, 1.0),), pressure=Pressure(memory_ns=3_000_000_000))
    assert noise(calm, noisy) == [
        Diagnostic("noisy-neighbour", values=near({"steal": 0.05, "memory_pressure": 0.15}))
    ]
    # What a trial took of CPUs that were not observed does not count as its own.
    assert noise(trial(**OWN), trial(**OWN, cpus=(seconds(10.0, 0.0),))) == [
        Diagnostic("noisy-neighbour", values=near({"others": 0.2}))
    ]


def test_too_little_time_shows_nothing() -> None:
    short: dict[str, Any] = {"cpu_user_ns": 0, "cpu_system_ns": 0, "wall_ns": 1_999_999_999}
    pressure = Pressure(io_ns=10**9, memory_ns=10**9)
    assert noise(trial(**short, cpus=(seconds(1.0, 0.0, 0.999_999),), pressure=pressure)) == []
    (diagnostic,) = noise(
        trial(**{**short, "wall_ns": 2 * 10**9}, cpus=(seconds(1.0, 0.0, 1.0),), pressure=pressure)
    )
    assert diagnostic.values == {"steal": 0.5, "others": 0.5, "memory_pressure": 0.5, "io_pressure": 0.5}


def test_drift_comes_from_the_reference_computation() -> None:
    assert list(drifted([10.0, 10.4])) == []
    assert list(drifted([10.0])) == []
    assert list(drifted([])) == []
    assert list(drifted([10.0, 12.0, 11.0])) == [Diagnostic("drift", values={"share": near(0.2)})]
    assert [each.code for each in drifted([10.51, 10.0])] == ["drift"]


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
    return dataclasses.replace(trial(name=name), loads=messages)


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
    assert list(generator_bound(FIB, [loaded(*loads)])) == expected


def test_each_contender_whose_engine_was_the_bottleneck_is_named_once() -> None:
    load = ("measured", "all", BOUND)
    trials = [loaded(load, name=name) for name in ("go", "erlang", "go")]
    trials.append(loaded(("measured", "all", OTHER), name="limit"))
    assert list(generator_bound(FIB, trials)) == [Diagnostic("generator-bound", ("erlang", "go"))]


def test_other_warnings_of_the_load_engine_are_quoted_by_kind() -> None:
    """For each contender in the words of its first trial, with the first remedy of the kind."""

    def warned(name: str, *warnings: EngineWarning) -> Trial:
        of_any = loaded(("measured", "all", (*BOUND, *warnings)))
        return dataclasses.replace(of_any, cell=Cell(name, point(FIB)))

    trials = [
        warned("go", EngineWarning("rate-not-kept", "half of it", "ask for less")),
        warned("go", EngineWarning("rate-not-kept", "a third of it", "other")),
        warned("erlang", EngineWarning("rate-not-kept", "all but a tenth"), EngineWarning("odd", "why")),
    ]
    kept = ("go (half of it)", "erlang (all but a tenth)")
    assert list(engine_warnings(FIB, trials)) == [
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


def test_memory_near_its_limit() -> None:
    def used(peak: int | None, limit: int | None = 1000, name: str = "x") -> Trial:
        return dataclasses.replace(trial(name=name, peak_pss_bytes=peak), memory_limit_bytes=limit)

    unreported = dataclasses.replace(used(1), report=None)
    trials = [
        used(801, name="z"),
        used(950, name="y"),
        used(801, name="z"),
        used(800),
        used(None),
        used(9, None),
    ]
    assert list(memory_limit_near([*trials, unreported])) == [
        Diagnostic("memory-cap-near", ("y", "z"), {"share": 0.8})
    ]
    assert list(memory_limit_near([used(800), unreported])) == []


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
) -> list[Diagnostic]:
    run = run or planned(["x"], [HERE])
    experiment = read_plan(run).experiment
    return list(
        diagnose(
            run,
            experiment,
            measurement,
            trials,
            cells or {},
            comparisons,
            blocks_done=blocks_done,
        )
    )


def test_nothing_is_wrong_with_a_quiet_run() -> None:
    assert diagnosed([trial(block) for block in range(1, 7)]) == []


@pytest.mark.parametrize(("planned_blocks", "needed"), [(3, 7), (7, 7), (9, 9)])
def test_too_few_blocks(planned_blocks: int, needed: int) -> None:
    run = planned(["x"], [HERE], blocks=planned_blocks)
    assert diagnosed([], run=run, blocks_done=5) == [
        Diagnostic("too-few-blocks", values={"blocks": 5, "needed": needed})
    ]
    assert diagnosed([], run=run, blocks_done=6) == []


@pytest.mark.parametrize("end", [{"until_decided": True}, {"until": 0.02}, {"time_s": 60.0}])
def test_blocks_of_a_run_that_may_end_early_are_a_limit(end: dict[str, Any]) -> None:
    run = planned(["x"], [HERE], blocks=40, **end)
    assert diagnosed([], run=run, blocks_done=2) == [
        Diagnostic("too-few-blocks", values={"blocks": 2, "needed": 7})
    ]


def test_where_nothing_can_run_more_blocks_would_not_help() -> None:
    gone = Trial(0, 0, Cell("x", HERE), Outcome.UNAVAILABLE, "no compiler")
    crashed = Trial(1, 0, Cell("y", HERE), Outcome.CRASHED, "exit status 1")
    assert diagnosed([gone, gone], blocks_done=0) == []
    for trials in ([gone, crashed], [crashed, gone], []):
        assert [each.code for each in diagnosed(trials, blocks_done=0)] == ["too-few-blocks"]


def test_an_unfinished_run() -> None:
    run = planned(["x"], [HERE], ended=False)
    assert diagnosed([], run=run) == [Diagnostic("unfinished", values={"run": "run-2"})]
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
        *(compared(f"e {each}", each) for each in (Obstacle.TOO_FEW_BLOCKS, Obstacle.UNFINISHED)),
        compared("f", Obstacle.NO_REFERENCE),
    ]
    assert diagnosed([], comparisons=comparisons) == [
        Diagnostic("same-values", ("b / y", "a / y")),
        Diagnostic("failed-blocks", ("c / y",)),
        Diagnostic("no-steady-state", ("d / y",)),
    ]


def test_what_was_not_observed_is_no_failure() -> None:
    """As the memory of programs that ended before the first sample."""
    fine = analysed([ok(1, name, HERE, hop_ns=1.0) for name in "by"])
    failed = dataclasses.replace(ok(2, "b", HERE), outcome=Outcome.CRASHED)
    some_failed = {**fine, **analysed([ok(1, "b", HERE, hop_ns=1.0), failed])}
    for metric, cells, is_reported in (
        ("memory", fine, False),
        ("hop_ns", fine, True),
        ("memory", some_failed, True),
    ):
        unobserved = [compared("b", Obstacle.FAILED_BLOCKS, metric)]
        diagnostics = diagnosed([], cells=cells, comparisons=unobserved)
        assert [each.code for each in diagnostics] == ["failed-blocks"] * is_reported


def analysed(trials: Sequence[Trial]) -> dict[Cell, CellAnalysis]:
    return {
        cell: analyse_cell(cell, [each for each in trials if each.cell == cell], Exact())
        for cell in dict.fromkeys(each.cell for each in trials)
    }


def test_an_effect_on_the_next_trial() -> None:
    """Whichever runs after `go` takes twice as long, in the headline that the experiment shows."""
    trials = []
    names, last = ["go", "erlang", "limit"], ""
    for block in range(1, 31):
        for position, name in enumerate(random.Random(block).sample(names, 3)):
            cpu_s = (2.0 if last == "go" else 1.0) * (1 + random.Random(f"{block} {name}").random() / 50)
            report = trial(block, name).report
            measured = dataclasses.replace(ok(block, name, HERE, hop_ns=5.0, cpu_s=cpu_s), report=report)
            trials.append(dataclasses.replace(measured, position=position))
            last = name
    by_hop, by_cpu = planned(names, [HERE]), planned(names, [HERE], show=Show(metrics=("cpu_s",)))
    cells = analysed(trials)
    assert diagnosed(trials, Quiet(), run=by_hop, cells=cells) == []
    diagnostic, *others = diagnosed(trials, Quiet(), run=by_cpu, cells=cells)
    assert (diagnostic.code, diagnostic.subjects) == ("carry-over", ("go",))
    # Two levels, one of them after `go`, are two modes of the same headline.
    assert {other.code for other in others} <= {"bimodal"}
    assert diagnostic.values == {"effects": {"go": near(1.0, abs=0.15)}}


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
    cells = analysed(trials)
    (diagnostic,) = diagnosed(trials, Quiet(), cells=cells)
    assert (diagnostic.code, diagnostic.subjects) == ("bimodal", ("x",))
    assert diagnostic.values == {"ratios": {"x": near(3.0)}}

    class ByCpu(Exact):
        compared = ("cpu_s", "hop_ns")

    assert diagnosed(trials, ByCpu(), cells=cells) == []


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
    drifts, bimodal = diagnosed(trials, Quiet(), cells=analysed(trials))
    assert drifts == Diagnostic("drift", values={"share": near(160 / 103 - 1)})
    assert bimodal == Diagnostic("bimodal", ("y",), {"ratios": {"y": near(3.0)}})


def test_processes_left_behind_and_ends_that_take_long() -> None:
    trials = [
        trial(name="z", left_behind=2),
        trial(name="y", left_behind=1, ending_ns=2_000_000_001),
        trial(name="x", ending_ns=2_000_000_000),
        trial(name="w"),
    ]
    assert diagnosed(trials) == [Diagnostic("left-behind", ("y", "z")), Diagnostic("slow-end", ("y",))]


def test_programs_that_act_on_the_probe() -> None:
    trials = [
        trial(name="y", interference=("SIGTERM", "limits")),
        trial(name="x"),
        trial(name="z", interference=("x",)),
    ]
    assert diagnosed(trials) == [Diagnostic("interference", ("y (SIGTERM; limits)", "z (x)"))]


def test_accounting_that_was_not_available() -> None:
    missing = [
        dataclasses.replace(trial(block), missing=texts)
        for block, texts in ((1, ("taskstats", "cgroup")), (2, ("cgroup",)), (3, ()))
    ]
    assert diagnosed(missing) == [Diagnostic("accounting", values={"missing": ("cgroup", "taskstats")})]


def test_without_a_contract_cpus_and_accounting_do_not_matter() -> None:
    """`vs --cpus 0` names the CPUs that a command may use; the probe is not meant to have others."""
    everywhere = dataclasses.replace(trial(), cpus=(0, 1, 2, 3), missing=("cgroup",))
    codes = [each.code for each in diagnosed([everywhere])]
    assert codes == ["cores-shared", "accounting"]
    assert diagnosed([everywhere], COMMAND) == []


def test_warm_ups_and_trials_without_a_report_show_nothing() -> None:
    warm_up = trial(0, left_behind=1, reference_ns=10)
    unreported = dataclasses.replace(trial(1), report=None, missing=("cgroup",))
    assert diagnosed([warm_up, unreported, trial(1, reference_ns=20)]) == []


class Talking(Exact):
    """It has a diagnostic of its own for each trial that was measured."""

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        return [Diagnostic(f"own-{each.block}", text="its own") for each in trials]


def test_a_load_without_a_report_counts_and_the_measurement_has_the_last_word() -> None:
    load = dataclasses.replace(trial(4), report=None, loads=(LoadMessage(step="s", name="all"),))
    empty = dataclasses.replace(trial(5), report=None)
    codes = [each.code for each in diagnosed([trial(0), trial(3, left_behind=1), load, empty], Talking())]
    assert codes == ["left-behind", "own-3", "own-4"]


def test_the_order_of_codes() -> None:
    """What concerns verdicts comes first."""
    cell = Cell("x", point(FIB))
    bound = LoadMessage(step="measured", name="all", warnings=BOUND)
    trials = [
        dataclasses.replace(
            trial(
                block,
                reference_ns=10 * block,
                left_behind=1,
                ending_ns=3 * 10**9,
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
    modes = {block: 1.0 + block % 2 for block in range(40)}
    cells = {cell: CellAnalysis(cell, {}, {}, {FIB.compared[0]: modes})}
    diagnostics = diagnosed(
        trials,
        FIB,
        run=planned(["x"], [HERE], ended=False),
        cells=cells,
        comparisons=[compared("x", Obstacle.FAILED_BLOCKS)],
        blocks_done=2,
    )
    assert [each.code for each in diagnostics] == [
        "too-few-blocks",
        "failed-blocks",
        "unfinished",
        "noisy-neighbour",
        "drift",
        "bimodal",
        "generator-bound",
        "cores-shared",
        "memory-cap-near",
        "left-behind",
        "slow-end",
        "accounting",
    ]
    assert diagnostics[0].values["blocks"] == 2
    assert math.isclose(diagnostics[4].values["share"], 1.0)
