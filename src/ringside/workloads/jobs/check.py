"""Tests the rules of `jobs` that only it has."""

from itertools import accumulate

from ringside.conformance.programs import RuleTests
from ringside.conformance.subject import Subject
from ringside.model.results import Trial

_GRAIN_NS = 1_000_000


def _workers(subject: Subject) -> None:
    """Spans show how many jobs were in progress at one time. A host may stall: three tries."""
    if "trace" not in subject.offered:
        return
    point = subject.point(jobs=6, kind="sleep", duration_ms=150, workers=2, trace=1)
    most, line = 0, ""
    for _ in range(3):
        trial, line = subject.trial(point)
        if not _are_true(trial, least_ns=149_000_000):
            expected = "6 lines ::span of 150 ms or more each, within the makespan"
            subject.report("jobs-trace", expected, trial.spans, line)
            return
        edges = [edge for span in trial.spans for edge in ((span.begin_ns, 1), (span.end_ns, -1))]
        most = max(accumulate(step for _, step in sorted(edges)), default=0)
        if most == 2:
            if not int(trial.result.get("beats", "0")):
                subject.report("jobs-beats", "beats=B, about 45 of them", "beats=0", line)
            return
        if most > 2:
            break
    subject.report("jobs-workers", "2 jobs at once, never more", most, line)


def _are_true(trial: Trial, least_ns: int = 0) -> bool:
    """Whether each job has its span, which lies within the makespan and is not too short."""
    makespan_ns = sum(trial.phases.get("makespan", ()))
    return len(trial.spans) == trial.cell.point["jobs"] and all(
        # Some are handed over before the program's first look at its clock has ended.
        span.begin_ns + least_ns <= span.end_ns <= makespan_ns + _GRAIN_NS
        for span in trial.spans
    )


def _other_kinds(subject: Subject) -> None:
    """Spans of jobs that compute or do nothing; only a job that computes is done alone."""
    trace = int("trace" in subject.offered)
    for kind in ("cpu", "noop"):
        trial, line = subject.trial(subject.point(jobs=7, kind=kind, rounds=3000, workers=3, trace=trace))
        if trace and not _are_true(trial):
            expected = "7 lines ::span that begin before they end, within the makespan"
            subject.report("jobs-trace", expected, trial.spans, line)
        times = len(trial.phases.get("alone", ()))
        if times != (5 if kind == "cpu" else 0):
            expected = "5 lines ::phase name=alone with kind=cpu, none else"
            subject.report("phases", expected, f"{times} with kind={kind}", line)


CHECKS: RuleTests = (_workers, _other_kinds)
