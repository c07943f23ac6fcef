"""The rules of `jobs` that only it has."""

from __future__ import annotations

from collections.abc import Sequence

from ringside.conformance.common import Stdout, parse
from ringside.conformance.programs import Checks
from ringside.conformance.subject import Subject

_GRAIN_NS = 1_000_000


def _workers(subject: Subject) -> None:
    """Spans show how many jobs were in progress at one time. A host may stall: three tries."""
    # The spans show how many are in progress.
    if "trace" not in subject.offered:
        return
    levels = {"jobs": 6, "kind": "sleep", "duration_ms": 150, "workers": 2}
    arguments = [*(f"{key}={value}" for key, value in levels.items()), "trace=1"]
    line = subject.by_hand(*arguments)
    most = 0
    for _ in range(3):
        lines = parse(subject.run(*arguments).stdout)
        if not _are_true(lines, 6, least_ns=149_000_000):
            expected = "6 lines ::span of 150 ms or more each, within the makespan"
            subject.report("jobs-trace", expected, lines.spans, line)
            return
        most = _most_at_one_time(lines.spans)
        if most > 2:
            break
        if most == 2:
            beats = int((lines.result or {}).get("beats", "0"))
            if beats == 0:
                subject.report("jobs-beats", "beats=B, about 45 of them", f"beats={beats}", line)
            return
    subject.report("jobs-workers", "2 jobs at most at one time, and 2 at some time", f"{most}", line)


def _are_true(lines: Stdout, jobs: int, least_ns: int = 0) -> bool:
    """Whether each job has its span, which lies within the makespan and is not too short."""
    makespan_ns = sum(ns for name, ns in lines.phases if name == "makespan")
    return len(lines.spans) == jobs and all(
        # Some are handed over before the program's first look at its clock has ended.
        begin + least_ns <= end <= makespan_ns + _GRAIN_NS
        for _, begin, end in lines.spans
    )


def _other_kinds(subject: Subject) -> None:
    """Spans of jobs that compute or do nothing; a job that computes is done five times alone."""
    for kind in ("cpu", "noop"):
        traced = ("trace=1",) if "trace" in subject.offered else ()
        arguments = ("jobs=7", f"kind={kind}", "rounds=3000", "workers=3", *traced)
        lines, line = parse(subject.run(*arguments).stdout), subject.by_hand(*arguments)
        if traced and not _are_true(lines, 7):
            expected = "7 lines ::span that begin before they end, within the makespan"
            subject.report("jobs-trace", expected, lines.spans, line)
        if lines.times("alone") != (5 if kind == "cpu" else 0):
            expected = "5 lines ::phase name=alone with kind=cpu, none else"
            subject.report("phases", expected, f"{lines.times('alone')} with kind={kind}", line)


def _most_at_one_time(spans: Sequence[tuple[int, int, int]]) -> int:
    edges = sorted([(end, -1) for _, _, end in spans] + [(begin, 1) for _, begin, _ in spans])
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


CHECKS: Checks = (_workers, _other_kinds)
