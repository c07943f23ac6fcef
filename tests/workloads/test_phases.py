"""Phases that a program reports, against the times at which the probe read their lines."""

from __future__ import annotations

from typing import Any

import pytest

from ringside.measure.trials import examined
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import Phase, Pressure, Sample, TrialOutcome
from ringside.workloads.jobs import JOBS
from ringside.workloads.phases import Pause, PhaseRule, phase_contradictions
from ringside.workloads.ring import RING
from tests.support.points import ok_trial

MS = 1_000_000
RULES = RING.phase_rules


def refusal(*lines: Phase, waited_ns: int | None = 0, paused_ms: int = 0) -> str:
    pauses = [Pause(101 * MS, paused_ms * MS)]
    return next(phase_contradictions(lines, RULES, pauses, waited_ns), "")


def ring(relay_ms: float, read_ms: float = 600, **known: Any) -> str:
    """A spawn that ends at 100 ms, and a relay."""
    spawn = Phase(100 * MS, "spawn", 5 * MS)
    return refusal(spawn, Phase(int(read_ms * MS), "relay", int(relay_ms * MS)), **known)


@pytest.mark.parametrize("relay_ms", [500, 511, 481])
def test_what_both_clocks_show_is_accepted(relay_ms: float) -> None:
    assert ring(relay_ms) == ""


@pytest.mark.parametrize(
    ("relay_ms", "how"),
    [
        (0.5, "microseconds as nanoseconds"),
        (500e-6, "milliseconds as nanoseconds"),
        (450, "a clock that is slow by a tenth"),
        (575, "a clock that is fast by a seventh"),
        (580, "it overlaps the spawn"),
        (0, "time that went backwards, less than nothing cut off"),
    ],
)
def test_each_way_to_be_wrong(relay_ms: float, how: str) -> None:
    refused = ring(relay_ms)
    expected = f"::phase name=relay: {relay_ms:,.3f} ms by the program's clock, and 500.000 ms"
    assert refused.startswith(expected), how


def test_a_phase_that_is_longer_than_the_trial() -> None:
    line = Phase(100 * MS, "spawn", 104 * MS)
    assert refusal(line) == "::phase name=spawn: 104.000 ms, and the program had run for 100.000 ms"
    # The longest number that the probe accepts.
    assert refusal(Phase(1, "\x1b[2J", 2**63 - 1)).startswith("::phase name=·[2J: 9,223,372")
    # What several units did at one time may be longer.
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


def test_a_repeat_begins_when_the_one_before_has_ended() -> None:
    first = Phase(100 * MS, "spawn", 5 * MS), Phase(200 * MS, "relay", 99 * MS)
    assert refusal(*first, Phase(220 * MS, "spawn", 19 * MS)) == ""
    assert "20.000 ms by the probe's since the line of relay" in refusal(
        *first, Phase(220 * MS, "spawn", 80 * MS)
    )


def jobs(gap_ms: float, makespan_ms: float = 1010, beats: str = "99", read_ms: float = 1100) -> Trial:
    lines = (
        Phase(100 * MS, "submit", 10 * MS),
        Phase(int(read_ms * MS), "makespan", int(makespan_ms * MS)),
        Phase(int(read_ms * MS), "gap", int(gap_ms * MS)),
    )
    report = TrialOutcome("ok", result={"beats": beats}, paused_ns=0, pressure=Pressure(cpu_ns=0))
    changes = {"phase_lines": lines, "phases": {line.name: (line.ns,) for line in lines}, "report": report}
    return examined(ok_trial(JOBS, changes, jobs=10, kind="noop"), JOBS, 1)


def test_makespan_and_gap_of_jobs() -> None:
    assert jobs(10.1).outcome is Outcome.OK
    assert jobs(10.1, beats="x").outcome is Outcome.OK
    assert "99 beats in 1,000.000 ms" in jobs(0.0101).detail
    # A makespan in microseconds is shorter than its submit.
    wrong = jobs(10.1, makespan_ms=1.01)
    assert (wrong.outcome, wrong.detail[:22]) == (Outcome.WRONG_EVIDENCE, "::phase name=makespan:")


def test_the_pause_of_a_trial_is_that_of_its_mark() -> None:
    lines = (Phase(100 * MS, "spawn", 5 * MS), Phase(600 * MS, "relay", 200 * MS))
    for paused_ms, outcome in ((300, Outcome.OK), (0, Outcome.WRONG_EVIDENCE)):
        report = TrialOutcome("ok", paused_ns=paused_ms * MS, pressure=Pressure(cpu_ns=0))
        marks = {"spawned": Sample(101 * MS, mark="spawned")}
        trial = ok_trial(RING, {"phase_lines": lines, "report": report, "marks": marks})
        assert examined(trial, RING, 1).outcome is outcome
