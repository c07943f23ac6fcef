"""The evidence and the figures of `restarts`, and programs that only pretend to restart."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.measure.runs.trials import validated
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.workloads.restarts.workload import RESTARTS, expected
from tests.support.cases import cases, tables
from tests.support.points import ok_trial, point
from tests.support.programs import assert_wrong

UNITS, MESSAGES, EVERY, SEED = 5, 100, 10, 3
FAILURES, _ = expected(UNITS, MESSAGES, EVERY, SEED)
MS = 10**6
# Each pass takes 100 ms, in which each unit has 100 messages: an answer takes a millisecond.
PHASES = {"start": (MS,), "warm": (100 * MS,), "failing": (100 * MS,), "calm": (100 * MS,)}
TIMES = {
    f"{what}_{level}_ns": str(ns)
    for what, times in {
        "calm": (MS, 2 * MS, 3 * MS),
        "answer": (MS, 3 * MS, 4 * MS),
        "recovery": (2 * MS, 5 * MS, 6 * MS),
    }.items()
    for level, ns in zip(("p50", "p99", "max"), times, strict=True)
}


@given(st.integers(1, 6), st.integers(2, 30), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_evidence_is_that_of_the_contract(units: int, messages: int, every: int, seed: int) -> None:
    folds, answers, failures = [], 0, 0
    for unit in range(units):
        x, e, after_failure = 1 + (seed + unit) % 2147483646, 0, False
        handled: list[int] = []
        for message in range(3 * messages):
            x = 48271 * x % 2147483647
            is_last = message % messages == messages - 1
            in_second = messages <= message < 2 * messages
            if in_second and x < 2147483647 // every and not is_last and not after_failure:
                handled, after_failure, failures = [], True, failures + 1
                continue
            handled, after_failure, answers = [*handled, x], False, answers + 1
            h = sum(31 ** (len(handled) - 1 - i) * x for i, x in enumerate(handled))
            e = (31 * e + h % 2147483647 + len(handled)) % 2147483647
        folds.append(e)
    order = sum(31 ** (units - 1 - unit) * e for unit, e in enumerate(folds)) % 2147483647
    at = point(RESTARTS, units=units, messages=messages, every=every)
    assert RESTARTS.evidence(at, seed, None).result == {
        "answers": str(answers),
        "failures": str(failures),
        "fresh": str(failures),
        "order": str(order),
    }


def trial(phases: dict[str, tuple[int, ...]] | None = None, **times: str) -> Trial:
    report = TrialOutcome("ok", result=TIMES | times)
    changes: dict[str, Any] = {"phases": PHASES | (phases or {}), "report": report}
    return ok_trial(RESTARTS, changes, units=UNITS, messages=MESSAGES, every=EVERY)


def test_figures_of_a_trial() -> None:
    seen = validated(trial({"failing": (125 * MS,)}), RESTARTS, SEED)
    assert seen.outcome is Outcome.OK
    figures = RESTARTS.figures(seen)
    assert figures["recovery_s.p50"] == 0.002
    assert figures["recovery_s.max"] == 0.006
    assert figures["kept_share"] == pytest.approx(0.8)
    assert figures["others_over_calm"] == pytest.approx(1.5)
    assert figures["deliveries_per_s"] == pytest.approx(5000)
    assert figures["start_ns"] == pytest.approx(MS / UNITS)


@pytest.mark.parametrize(("changes", "reason"), cases(__file__, "times_that_cannot_be_true"))
def test_times_that_cannot_be_true(changes: dict[str, Any], reason: str) -> None:
    seen = validated(trial(**changes), RESTARTS, SEED)
    assert seen.outcome is Outcome.WRONG_EVIDENCE
    assert reason.format(answers=500 - 2 * FAILURES) in seen.detail


PRETENDERS = tables(__file__, "pretenders.toml")


@pytest.mark.parametrize("how", PRETENDERS)
def test_a_program_that_only_pretends_has_no_figures(how: str, tmp_path: Path) -> None:
    assert_wrong(PRETENDERS[how], tmp_path, "restarts", units=4, messages=60, every=4)
