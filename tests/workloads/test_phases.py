"""Phases that a program reports, against the times at which the probe read their lines."""

from collections.abc import Sequence
from typing import Any

import pytest

from ringside.measure.runs.trials import validated
from ringside.model.design import Level
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LatencySummary, LoadMessage, Phase, Pressure, Sample, TrialOutcome
from ringside.workloads import WORKLOADS
from ringside.workloads.base import Workload
from ringside.workloads.batch.workload import BATCH
from ringside.workloads.jobs.workload import JOBS
from ringside.workloads.phases import Pause, PhaseRule, impossible_phases, phase_contradictions
from ringside.workloads.ring.workload import RING
from tests.support.cases import cases
from tests.support.points import ok_trial, point

MS = 1_000_000
RULES = RING.phase_rules


def refusal(*lines: Phase, waited_ns: int | None = 0, idle_ns: int = 0, paused_ms: int = 0) -> str:
    pauses = [Pause(101 * MS, paused_ms * MS)]
    return next(phase_contradictions(lines, RULES, pauses, waited_ns, idle_ns), "")


def ring(relay_ms: float, read_ms: float = 600, **known: Any) -> str:
    """A spawn that ends at 100 ms, and a relay."""
    spawn = Phase(100 * MS, "spawn", 5 * MS)
    return refusal(spawn, Phase(int(read_ms * MS), "relay", int(relay_ms * MS)), **known)


@pytest.mark.parametrize("relay_ms", [500, 511, 481])
def test_what_both_clocks_show_is_accepted(relay_ms: float) -> None:
    assert ring(relay_ms) == ""


@pytest.mark.parametrize(("relay_ms", "how"), cases(__file__, "each_way_to_be_wrong"))
def test_each_way_to_be_wrong(relay_ms: float, how: str) -> None:
    refused = ring(relay_ms)
    expected = f"::phase name=relay: {relay_ms:,.3f} ms by the program's clock, and 500.000 ms"
    assert refused.startswith(expected), how


def test_a_phase_that_is_longer_than_the_trial() -> None:
    line = Phase(100 * MS, "spawn", 104 * MS)
    assert refusal(line) == "::phase name=spawn: 104.000 ms, and the program had run for 100.000 ms"
    # The longest number that the probe accepts.
    assert refusal(Phase(1, "\x1b[2J", 2**63 - 1)).startswith("::phase name=·[2J: 9,223,372")
    # The time of several units together may be longer.
    summed = {"compute": PhaseRule(summed=True)}
    assert not list(phase_contradictions([Phase(100 * MS, "compute", 390 * MS)], summed))


def test_the_wait_for_the_probe_is_no_part_of_a_phase() -> None:
    assert ring(400, paused_ms=100) == ""
    assert "and 400.000 ms by the probe's" in ring(500, paused_ms=100)


def test_a_reader_that_was_late_makes_no_program_wrong() -> None:
    assert ring(545) == ""
    # Nor does a program that waits for a CPU: half of the time must be there all the same.
    assert ring(260, waited_ns=10**9) == ""
    assert ring(260, waited_ns=None) == ""
    assert ring(200, waited_ns=10**9) != ""
    assert ring(0.5, waited_ns=10**9) != ""
    # Unless it had no CPU for longer than that, by its CPU time and by the waits of the host.
    assert ring(200, waited_ns=10**9, idle_ns=300 * MS) == ""
    assert ring(200, waited_ns=200 * MS, idle_ns=300 * MS) != ""
    assert ring(200, waited_ns=None, idle_ns=300 * MS) != ""


def repeats(relays_ms: Sequence[float]) -> str:
    """Repeats of a ring; each relay's line is read 100 ms after its spawn's."""
    lines = []
    for number, relay_ms in enumerate(relays_ms):
        lines.append(Phase((200 * number + 100) * MS, "spawn", 5 * MS))
        lines.append(Phase((200 * number + 200) * MS, "relay", int(relay_ms * MS)))
    return refusal(*lines)


def test_a_stall_in_one_of_ten_repeats_makes_no_program_wrong() -> None:
    assert repeats([100] * 5 + [16] + [100] * 4) == ""
    assert "16.000 ms" in repeats([100] * 5 + [16] + [100] * 3)
    assert "16.000 ms" in repeats([16] + [100] * 9), "the first is a figure of its own"
    assert "155.000 ms" in repeats([100] * 5 + [155] + [100] * 4), "no stall makes a phase longer"
    assert repeats([0.1] * 10) != ""


def test_a_repeat_begins_when_the_one_before_has_ended() -> None:
    first = Phase(100 * MS, "spawn", 5 * MS), Phase(200 * MS, "relay", 99 * MS)
    assert refusal(*first, Phase(220 * MS, "spawn", 19 * MS)) == ""
    assert "20.000 ms by the probe's since the line of relay" in refusal(
        *first, Phase(220 * MS, "spawn", 80 * MS)
    )


def test_after_a_line_that_came_late_a_phase_began_before_it() -> None:
    def works(*lines: tuple[float, float]) -> str:
        phases = [Phase(int(read_ms * MS), "work", int(work_ms * MS)) for read_ms, work_ms in lines]
        return next(phase_contradictions(phases, BATCH.phase_rules, (), 0), "")

    assert works((200, 100), (480, 120), (500, 170)) == ""
    assert works((200, 100), (480, 120), (500, 170), (600, 260)) != "", "that one was not late"
    assert works((200, 100), (480, 120), (500, 240)) != "", "nor was any so late"
    assert works((200, 100), (350, 150), (370, 170)) != ""
    assert works(*((100 * number, 200) for number in range(1, 9))) != "", "a clock at another rate"


def jobs(gap_ms: float, makespan_ms: float = 1010, beats: str = "99", read_ms: float = 1100) -> Trial:
    lines = (
        Phase(100 * MS, "submit", 10 * MS),
        Phase(int(read_ms * MS), "makespan", int(makespan_ms * MS)),
        Phase(int(read_ms * MS), "gap", int(gap_ms * MS)),
    )
    report = TrialOutcome("ok", result={"beats": beats}, paused_ns=0, pressure=Pressure(cpu_ns=0))
    changes = {"phase_lines": lines, "phases": {line.name: (line.ns,) for line in lines}, "report": report}
    return validated(ok_trial(JOBS, changes, jobs=10, kind="noop"), JOBS, 1)


def test_makespan_and_gap_of_jobs() -> None:
    assert jobs(10.1).outcome is Outcome.OK
    assert jobs(10.1, beats="x").outcome is Outcome.OK
    assert "99 beats in 1,000.000 ms" in jobs(0.0101).detail
    # A makespan in microseconds is shorter than its submit.
    wrong = jobs(10.1, makespan_ms=1.01)
    assert (wrong.outcome, wrong.detail[:22]) == (Outcome.WRONG_EVIDENCE, "::phase name=makespan:")


def refused(workload: Workload, phases: dict[str, float], input_bytes: int | None = None, **at: Level) -> str:
    """The reason for which a trial with these phases, in milliseconds, is `wrong-evidence`."""
    lines = tuple(Phase(10**12, name, round(ms * MS)) for name, ms in phases.items())
    changes = {"phase_lines": lines, "input_bytes": input_bytes}
    trial = validated(ok_trial(workload, changes, **at), workload, 1)
    return trial.detail if trial.outcome is Outcome.WRONG_EVIDENCE else ""


CPU: dict[str, Level] = {"kind": "cpu", "jobs": 8, "rounds": 300_000, "workers": 4}


@pytest.mark.parametrize(
    ("name", "phase", "low_ns", "high_ns", "input_bytes", "at"),
    cases(__file__, "a_phase_that_is_shorter_than_its_work"),
)
def test_a_phase_that_is_shorter_than_its_work(
    name: str, phase: str, low_ns: int, high_ns: int, input_bytes: int, at: dict[str, Level]
) -> None:
    workload = WORKLOADS[name]
    wrong = refused(workload, {phase: low_ns / MS}, input_bytes, **at)
    if low_ns:
        assert wrong.startswith(f"::phase name={phase}: {low_ns:,} ns, and no machine does its work in less")
    assert "no machine" not in refused(workload, {phase: high_ns / MS}, input_bytes, **at)


def test_loops_that_a_compiler_left_out() -> None:
    """The output of `limit` with rounds=300000: four of five jobs alone were not done."""
    lines = [Phase(MS, "alone", ns) for ns in (54, 33, 36, 32, 1_244_302)]
    least_ns = JOBS.least_ns(point(JOBS, **CPU), None)
    assert list(impossible_phases(lines, least_ns)) == [
        f"::phase name=alone: {ns} ns, and no machine does its work in less than 75,000 ns"
        for ns in (54, 33, 36, 32)
    ]


def test_all_jobs_alone_are_reported() -> None:
    for times, reason in ((4, "4 lines ::phase name=alone instead of 5"), (0, "0 lines")):
        with pytest.raises(ValueError, match=reason):
            JOBS.refute(ok_trial(JOBS, {"phases": {"alone": (MS,) * times}}, **CPU), 1)
    JOBS.refute(ok_trial(JOBS, {"phases": {"alone": (MS,) * 5}}, **CPU), 1)


@pytest.mark.parametrize(("name", "at", "least_ns"), cases(__file__, "an_early_answer"))
def test_an_answer_that_comes_before_it_is_computed(name: str, at: dict[str, Level], least_ns: int) -> None:
    for min_ns, outcome in ((least_ns + 1, Outcome.OK), (least_ns - 1, Outcome.WRONG_EVIDENCE)):
        if min_ns < 0:
            continue
        latency = LatencySummary(count=9, min_ns=min_ns)
        load = LoadMessage(step="measured", name="all", histograms={"latency": latency})
        trial = validated(ok_trial(WORKLOADS[name], {"loads": (load,)}, **at), WORKLOADS[name], 1)
        assert trial.outcome is outcome
        if outcome is Outcome.WRONG_EVIDENCE:
            expected = f"the fastest answer of `measured` took {min_ns:,} ns, and no machine"
            assert trial.detail.startswith(expected)


def test_the_pause_of_a_trial_is_that_of_its_mark() -> None:
    lines = (Phase(100 * MS, "spawn", 5 * MS), Phase(600 * MS, "relay", 200 * MS))
    for paused_ms, outcome in ((300, Outcome.OK), (0, Outcome.WRONG_EVIDENCE)):
        report = TrialOutcome("ok", paused_ns=paused_ms * MS, pressure=Pressure(cpu_ns=0))
        marks = {"spawned": Sample(101 * MS, mark="spawned")}
        trial = ok_trial(RING, {"phase_lines": lines, "report": report, "marks": marks})
        assert validated(trial, RING, 1).outcome is outcome
