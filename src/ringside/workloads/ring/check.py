"""The rules of `ring` that only it has."""

from __future__ import annotations

from ringside.conformance.programs import OwnRules
from ringside.conformance.subject import Subject
from ringside.model.results import Outcome

RULES = {
    "ring-trace": "with `trace=1` every unit prints a line for each message",
}


def _trace_of_ring(subject: Subject) -> None:
    point = subject.point(nodes=4, messages=5, trace=1)
    if not subject.can(point):
        return
    trial, line = subject.trial(point)
    if trial.outcome is not Outcome.OK:
        subject.report(
            "ring-trace", "20 lines, of which 12 begin with `:` and 3 with `*`", trial.detail, line
        )


CHECKS = OwnRules(RULES, (_trace_of_ring,))
