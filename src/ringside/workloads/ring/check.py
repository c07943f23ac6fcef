"""The rules of `ring` that only it has."""

from collections.abc import Mapping, Sequence

from ringside.conformance.programs import RuleTests
from ringside.conformance.subject import Subject
from ringside.model.design import Level
from ringside.model.results import Outcome

_SMALL: Mapping[str, Level] = {"nodes": 4, "messages": 5, "trace": 1}
_TRACED: Sequence[Mapping[str, Level]] = (
    _SMALL,
    {**_SMALL, "mode": "token"},
    {**_SMALL, "repeats": 3},
    {**_SMALL, "repeats": 3, "mode": "token"},
    {"nodes": 2, "messages": 1, "trace": 1},
)


def _trace_of_ring(subject: Subject) -> None:
    points = [subject.point(**levels) for levels in _TRACED]
    for point in points[: 1 if subject.quick else None]:
        if subject.can(point):
            trial, line = subject.trial(point)
            if trial.outcome is not Outcome.OK:
                expected = "with nodes=4 messages=5, 20 lines: 12 begin with `:` and 3 with `*`"
                subject.report("ring-trace", expected, trial.detail, line)


CHECKS: RuleTests = (_trace_of_ring,)
