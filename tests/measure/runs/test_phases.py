"""Programs that misreport their phases, through the real probe: each mode of tests/fakes breaks one rule."""

from __future__ import annotations

import msgspec
import pytest

from ringside.measure.host import Executor
from ringside.measure.runs.trials import trial_from_messages, validated
from ringside.model.results import Outcome, Trial
from ringside.workloads.ring.workload import RING, checksum, order
from tests.support.attacks import request
from tests.support.points import ok_trial

NODES, MESSAGES = 1000, 4000  # of the fake's time: 400 ms


def ring(how: str) -> Trial:
    asked = request(how)
    points = {"nodes=": NODES, "messages=": MESSAGES}
    argv = [
        next((key + str(value) for key, value in points.items() if word.startswith(key)), word)
        for word in asked.argv
    ]
    evidence = {"checksum": str(checksum(NODES, MESSAGES)), "order": str(order(NODES, MESSAGES))}
    assert asked.expect is not None
    expect = msgspec.structs.replace(asked.expect, result=evidence)
    messages = Executor().trial(msgspec.structs.replace(asked, argv=tuple(argv), expect=expect))
    return validated(trial_from_messages(ok_trial(RING, {}), messages), RING, 1)


def test_an_honest_ring_is_accepted() -> None:
    trial = ring("good")
    assert (trial.outcome, trial.detail) == (Outcome.OK, "")


@pytest.mark.parametrize(
    "how", ["microseconds", "milliseconds", "more-than-the-trial", "time-that-goes-backwards"]
)
def test_a_ring_that_misreports_its_relay(how: str) -> None:
    trial = ring(f"reports-{how}")
    assert trial.outcome is Outcome.WRONG_EVIDENCE
    assert trial.detail.startswith("::phase name=relay") or "::phase name=relay ns=-" in trial.detail
