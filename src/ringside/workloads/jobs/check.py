"""The rules of `jobs` that only it has."""

from __future__ import annotations

from collections.abc import Sequence

from ringside.conformance.common import parse
from ringside.conformance.programs import OwnRules
from ringside.conformance.subject import Subject

RULES = {
    "jobs-workers": "at most W jobs are in progress at one time, and W jobs can be",
    "jobs-beats": "a heartbeat goes on while jobs are in progress",
    "jobs-trace": "with `trace=1` a program prints a `::span` for each job",
}


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
        if len(lines.spans) != 6 or any(begin > end for _, begin, end in lines.spans):
            subject.report("jobs-trace", "6 lines ::span that begin before they end", lines.spans, line)
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


def _most_at_one_time(spans: Sequence[tuple[int, int, int]]) -> int:
    edges = sorted([(end, -1) for _, _, end in spans] + [(begin, 1) for _, begin, _ in spans])
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most


CHECKS = OwnRules(RULES, (_workers,))
