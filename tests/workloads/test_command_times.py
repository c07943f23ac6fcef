"""The figures and the diagnostics of `ringside vs`."""

import dataclasses

from msgspec.structs import replace

from ringside.model.design import Cell, Point
from ringside.model.results import Diagnostic, Outcome, Trial
from ringside.probe.protocol import KernelCounter, ProgramOutput
from ringside.workloads.command import COMMAND
from tests.support.points import REPORT

SLOW_NS = 20_000_000
POINT = Point(())


def execution(
    command: str,
    block: int = 1,
    *,
    xxh3: str | None = "same",
    wall_ns: int = SLOW_NS,
    outcome: Outcome = Outcome.OK,
    detail: str = "",
    point: Point = POINT,
) -> Trial:
    report = replace(REPORT, wall_ns=wall_ns, output=ProgramOutput(xxh3=xxh3))
    return Trial(block, 0, Cell(command, point), outcome, detail, report=report)


def codes(*trials: Trial) -> dict[str, Diagnostic]:
    return {diagnostic.code: diagnostic for diagnostic in COMMAND.diagnostics(trials)}


def test_equal_commands_have_no_weak_points() -> None:
    assert COMMAND.diagnostics([execution(name, block) for block in (1, 2) for name in "BA"]) == []


def test_output_that_differs() -> None:
    trials = [execution("fast"), execution("best", xxh3="other"), execution("also")]
    diagnostic = codes(*trials)["unequal-output"]
    assert diagnostic.subjects == ("best",)
    assert diagnostic.values == {"reference": "also"}
    assert diagnostic.text == "output of `best` differs from that of `also`"
    assert diagnostic.remedy


def test_output_that_changes_between_executions_is_not_compared() -> None:
    trials = [
        execution("A"),
        execution("B", xxh3="first"),
        execution("A", 2),
        execution("B", 2, xxh3="second"),
    ]
    diagnostics = codes(*trials)
    assert diagnostics.keys() == {"varying-output"}
    assert diagnostics["varying-output"].subjects == ("B",)
    assert (
        diagnostics["varying-output"].text
        == "output of `B` changes between executions, so it was not compared"
    )


def test_each_point_has_an_output_of_its_own() -> None:
    points = [Point((("n", level),)) for level in "ab"]
    trials = [
        execution(name, block, xxh3=str(point), point=point)
        for block in (1, 2)
        for name in "AB"
        for point in points
    ]
    assert codes(*trials) == {}
    (other, *_) = points
    diagnostics = codes(*trials, execution("C", xxh3="other", point=other))
    assert diagnostics["unequal-output"].subjects == ("C",)
    assert codes(*trials, execution("B", 3, point=other)).keys() == {"varying-output"}


def test_failures_that_were_counted() -> None:
    trials = [
        *(execution("A", block, detail="exit status 1") for block in range(1, 7)),
        *(execution("B", block) for block in range(1, 7)),
        *(execution("C", block, detail="exit status 1" if block == 2 else "") for block in range(1, 7)),
    ]
    diagnostic = codes(*trials)["failures"]
    assert diagnostic.subjects == ("A", "C")
    assert diagnostic.values == {"counts": {"A": 6, "C": 1}}
    assert (
        diagnostic.text
        == "`A` failed in 6 of 6 executions, `C` failed in 1 of 6 executions, which are included"
    )
    left_out = codes(execution("A", outcome=Outcome.CRASHED, detail="exit status 1"))["failures"]
    assert left_out.remedy == "find out why: nothing is left to compare"


def test_commands_whose_start_takes_most_of_the_time() -> None:
    walls = {"A": (1, 4_999_999, 9_000_000), "B": (1, 5_000_001, 9_000_000)}
    trials = [execution(name, n, wall_ns=ns) for name, each in walls.items() for n, ns in enumerate(each, 1)]
    diagnostic = codes(*trials)["short"]
    assert diagnostic.subjects == ("A",)
    assert diagnostic.text == "`A` took under 5 ms: most of that is the start of a process"


def printing(command: str, reading_ns: int, stdout_bytes: int = 1 << 30) -> Trial:
    trial = execution(command)
    assert trial.report
    output = replace(trial.report.output, stdout_bytes=stdout_bytes)
    return dataclasses.replace(trial, report=replace(trial.report, output=output, reading_ns=reading_ns))


def test_output_whose_reading_slows_a_command() -> None:
    """The reader was called other programs."""
    slowed, not_slowed = SLOW_NS // 5, SLOW_NS // 20
    said = codes(printing("A", slowed), printing("B", not_slowed), printing("C", slowed, 1000))["read-output"]
    assert (said.subjects, said.values) == (("A",), {"shares": {"A": 0.2}})
    assert said.text == (
        "Ringside read the output of `A` (20 % of its time): a program waits for its reader, so it "
        "takes longer"
    )
    assert "--output null" in said.remedy
    assert codes(printing("B", not_slowed)) == {}


def test_memory_that_nobody_saw_is_said() -> None:
    def of(name: str, block: int, why: str) -> Trial:
        trial = execution(name, block)
        assert trial.report
        report = replace(trial.report, peak_memory_bytes=None if why else 1, peak_memory_unknown=why)
        return dataclasses.replace(trial, report=report)

    diagnostic = codes(of("A", 1, ""), of("A", 2, "several"), of("B", 1, ""))["unseen-memory"]
    assert diagnostic.subjects == ("A",)
    assert diagnostic.text == "no peak memory in 1 of 2 executions of `A` (several)"
    assert codes(of("B", 1, "")) == {}


def test_warm_ups_do_not_count() -> None:
    assert codes(execution("A", 0, detail="exit status 1", wall_ns=1)) == {}
    assert codes(execution("A"), execution("A", 0, xxh3="cold")) == {}


def test_counters_and_what_is_not_counted() -> None:
    def counted(**counters: KernelCounter) -> Trial:
        return dataclasses.replace(execution("A"), report=replace(REPORT, counters=counters))

    whole, scaled = KernelCounter(2_000_000_000), KernelCounter(6, 0.5)
    absent = KernelCounter(None, why="no PMU")
    trial = counted(task_clock_ns=whole, cycles=scaled, instructions=absent, cache_misses=absent)
    figures = COMMAND.figures(trial)
    assert (figures["task_clock_s"], figures["cycles"]) == (2.0, 6.0)
    assert figures.keys().isdisjoint({"instructions", "context_switches", "page_faults"})
    diagnostic = codes(trial)["counters"]
    assert diagnostic.text == "counted in turns, and scaled: cycles; no PMU: instructions, cache misses"
    assert codes(counted(task_clock_ns=whole)) == {}
