"""The rule of `restarts` that evidence cannot show: trials measure failures, not reports of them."""

from ringside.conformance.programs import RuleTests
from ringside.conformance.subject import Subject

_ARGUMENTS = ("units=3", "messages=20", "every=2", "seed=1")


def _quiet(subject: Subject) -> None:
    """Reports of errors, which some runtimes write unless they are told not to, take longer than restarts."""
    done = subject.run(*_ARGUMENTS)
    if done.complaint:
        subject.report("restarts-quiet", "nothing on stderr", done, subject.by_hand(*_ARGUMENTS))


CHECKS: RuleTests = (_quiet,)
