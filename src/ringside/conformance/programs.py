"""The rules of programs that end by themselves."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ringside.conformance.common import check_arguments, check_evidence, side_by_side
from ringside.conformance.lines import Lines, parse
from ringside.conformance.sleepers import check_instants
from ringside.conformance.subject import PATIENCE_S, Subject, lines_until
from ringside.model.design import Level
from ringside.model.results import Outcome
from ringside.workloads.base import HOLD, REPEATS

# How long a program that should wait is watched.
_WATCH_S = 0.3


def check_program(subject: Subject) -> None:
    """Add what a program of this workload does against the contract. Where it does not work at all, nothing
    else is checked."""
    if not _begins(subject):
        return
    checks = subject.workload.checks
    required = [_without(_arguments(subject), key) for key in checks.required]
    wrong = [*checks.bad]
    for capability in subject.workload.capabilities:
        wrong += capability.bad if capability.name in subject.offered else ()
    bad = [[*_without(_arguments(subject), word.split("=")[0]), word] for word in wrong]
    check_arguments(subject, required + bad, is_server=False)
    before = len(subject.findings)
    check_evidence(subject, _points(subject), checks.phases)
    # Where that is wrong, what follows would only say it again.
    if len(subject.findings) == before:
        _repeats(subject)
        for check in _OWN.get(subject.workload.name, ()):
            check(subject)


def _begins(subject: Subject) -> bool:
    """What must be right before anything else is checked; unknown keys besides."""
    if not subject.workload.checks.waits:
        if not _works(subject) or not _holds(subject):
            return False
        _unknown_keys(subject)
        return True
    works, holds, unknown = side_by_side(subject, (_works, _holds, _unknown_keys))
    subject.findings += works or holds or unknown
    return not works and not holds


def _levels(subject: Subject) -> Mapping[str, Level]:
    return subject.workload.checks.small or {}


def _arguments(subject: Subject, **levels: Level) -> list[str]:
    """A small trial's arguments, without those that make the program wait."""
    point = subject.point(**{**_levels(subject), **levels})
    has_small = subject.workload.checks.small is not None
    arguments = {**_levels(subject), **levels} if has_small else dict(point.levels)
    if file := subject.workload.input(point):
        arguments["input"] = str(subject.inputs.get(file).path)
    return [f"{key}={value}" for key, value in arguments.items()]


def _without(arguments: Sequence[str], key: str) -> list[str]:
    return [word for word in arguments if not word.startswith(f"{key}=")]


def _expected(subject: Subject, **levels: Level) -> Mapping[str, str]:
    """The pairs of a small trial's result, with the seed 0."""
    point = subject.point(**{**_levels(subject), **levels})
    file = subject.workload.input(point)
    evidence = subject.workload.evidence(point, 0, subject.inputs.get(file) if file else None)
    return evidence.result


def _works(subject: Subject) -> bool:
    """The least of all: it ends well, with a result, and its protocol lines are such."""
    arguments = _arguments(subject)
    done, line = subject.run(*arguments), subject.by_hand(*arguments)
    lines = parse(done.stdout)
    if lines.problem:
        subject.report("lines", "lines of the contract only", lines.problem, line)
    elif lines.awaits:
        subject.report("hold", "no ::await without hold=1", f"::await name={lines.awaits[0]}", line)
    elif lines.result is None:
        subject.report("result", "::result …", f"no ::result; {done}", line)
    elif done.status != 0:
        subject.report("exit", "status 0 after ::result", done, line)
    return not subject.findings


def _holds(subject: Subject) -> bool:
    """With hold=1 it waits; what it printed before can be read meanwhile, and it goes on after a line."""
    if HOLD not in subject.offered:
        return True
    levels = subject.workload.checks.held
    point = subject.point(**{**_levels(subject), **levels})
    (name,) = subject.workload.awaits(point) or ("",)
    if not name:
        return True
    arguments = [*_arguments(subject, **levels), "hold=1"]
    line = subject.by_hand(*arguments)
    phase = subject.workload.checks.before_hold
    awaited = f"::await name={name}".encode()
    with subject.started(*arguments) as process:
        before, at_end = lines_until(process, awaited)
        shown = b" ".join(before).decode(errors="replace")
        assert process.stdout is not None
        if not before and not at_end:
            # It may wait behind a full buffer: does it go on when its line comes?
            subject.report("flush", f"{awaited.decode()} while it waits", "nothing on stdout", line)
        elif not before or not before[-1].startswith(awaited):
            subject.report("hold", awaited.decode(), shown or "nothing on stdout", line)
        elif select.select([process.stdout], [], [], _WATCH_S)[0] and os.read(process.stdout.fileno(), 1):
            subject.report("hold", "nothing more until a line comes on stdin", "it went on", line)
        elif phase and not any(each.startswith(f"::phase name={phase}".encode()) for each in before):
            subject.report("flush", f"::phase name={phase} before ::await", shown, line)
        else:
            stdout, stderr = process.communicate(b"\n", timeout=PATIENCE_S)
            if parse(stdout).result is None:
                wrote = stderr.decode(errors="replace")
                subject.report("hold", "::result after a line on stdin", f"no ::result {wrote}", line)
    return not subject.findings


def _unknown_keys(subject: Subject) -> None:
    arguments = [*_arguments(subject), "colour=red", "x-y.z=1=2"]
    done, expected = subject.run(*arguments), dict(_expected(subject))
    if done.status != 0 or parse(done.stdout).result is None:
        came = f"{done}"
        subject.report("args-unknown", f"::result {_pairs(expected)}", came, subject.by_hand(*arguments))


def _points(subject: Subject) -> list[tuple[Mapping[str, Level], int]]:
    sizes = list(subject.workload.checks.sizes)
    if subject.quick:
        return sizes[:2]
    base = sizes[0][0]
    cores = subject.executor.available_cpus()
    sizes.append(({**base, "cores": cores}, 5))
    return sizes


def _repeats(subject: Subject) -> None:
    """Three times the work in one process."""
    if REPEATS.name not in subject.offered:
        return
    arguments = _arguments(subject, repeats=3)
    done, line = subject.run(*arguments), subject.by_hand(*arguments)
    lines, expected = parse(done.stdout), _expected(subject, repeats=3)
    if done.status != 0 or not _has(lines, expected):
        came = f"::result {_pairs(lines.result)}" if lines.result else str(done)
        subject.report("repeats", f"::result {_pairs(expected)}", came, line)
        return
    for phase in sorted(subject.workload.checks.phases):
        if lines.times(phase) not in (0, 3):  # none at all breaks another rule
            came = f"{lines.times(phase)} lines of it"
            subject.report("repeats", f"3 lines ::phase name={phase}", came, line)
            return


def _has(lines: Lines, expected: Mapping[str, str]) -> bool:
    return lines.result is not None and expected.items() <= lines.result.items()


def _pairs(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def _trace_of_ring(subject: Subject) -> None:
    point = subject.point(nodes=4, messages=5, trace=1)
    if not subject.can(point):
        return
    trial, line = subject.trial(point)
    if trial.outcome is not Outcome.OK:
        subject.report(
            "ring-trace", "20 lines, of which 12 begin with `:` and 3 with `*`", trial.detail, line
        )


# The good input, and what may be wrong with one. Each is a text that the good one has, and what takes its
# place.
_GOOD_INPUT = "3\n2\n1 2\n3 4\n1\n5\n6\n2\n7 8\n9 10\n"
_BROKEN_INPUTS: Sequence[tuple[str, str, str]] = (
    ("cut off between two cases", "1\n5\n6\n2\n7 8\n9 10\n", ""),
    ("a letter for a number", "8", "x"),
    ("a case more than declared", "3\n2", "2\n2"),
    ("cut off in a number", "10\n", "1"),
    ("a case fewer than declared", "3\n2", "4\n2"),
    ("a number too few", "7 8\n", "7\n"),
    ("a number too many", "7 8\n", "7 8 9\n"),
    ("a negative size", "1\n5", "-1\n5"),
    ("a number out of range", "8", "100001"),
    ("a number beyond 64 bits", "8", "9223372036854775808"),
    ("a count beyond 64 bits", "3\n2", "9" * 30 + "\n2"),
    ("a large size", "1\n5", "1000000\n5"),
    ("a fraction", "8", "8.5"),
    ("empty", _GOOD_INPUT, ""),
)


def _broken_input(subject: Subject) -> None:
    path = subject.folder / "input.txt"
    for what, old, new in _BROKEN_INPUTS[: 3 if subject.quick else None]:
        text = _GOOD_INPUT.replace(old, new, 1)
        _write(path, text)
        done = subject.run(f"input={path}", "cores=1")
        if done.status != 2 or len(done.complaint) != 1 or parse(done.stdout).result is not None:
            line = subject.by_hand("input=/dev/stdin", "cores=1")
            escaped = text.replace("\n", "\\n")
            before = f"printf '{escaped}' | "
            line = line.replace(" && ", f" && {before}", 1)
            expected = f"status 2 and one line on stderr for an input with {what}"
            subject.report("batch-input", expected, done, line)
            return


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="latin-1")


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


_OWN: Mapping[str, Sequence[Callable[[Subject], None]]] = {
    "ring": (_trace_of_ring,),
    "batch": (_broken_input,),
    "jobs": (_workers,),
    "sleepers": (check_instants,),
}
