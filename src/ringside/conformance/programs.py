"""The rules of programs that end by themselves."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Mapping, Sequence

from ringside.conformance.common import Stdout, check_arguments, check_evidence, in_time, parse, side_by_side
from ringside.conformance.subject import PATIENCE_S, Subject, lines_until
from ringside.model.design import Level
from ringside.model.results import Outcome
from ringside.workloads.base import HOLD, REPEATS

# How long a program that should wait is watched.
_WATCH_S = 0.3
# Levels of a factor with which a phase grows. No larger one is tried after a phase that takes so long, or a
# program that takes so much memory. So much time outside the phase, so many times its own, is no stall.
_GROWING = (10, 1000, 10_000, 100_000)
_SEEN_NS, _MOST_BYTES = 20_000_000, 200_000_000
_UNSEEN_NS, _UNSEEN_TIMES = 200_000_000, 10


# What tests the rules that only one workload of programs has.
Checks = Sequence[Callable[[Subject], None]]


def check_program(subject: Subject, own: Checks = ()) -> None:
    """Add what a program of this workload does against the contract. Where it does not work at all, nothing
    else is checked. `own`: the workload's own checks."""
    if not _begins(subject):
        return
    checks = subject.workload.checks
    bad = [*checks.bad]
    for capability in subject.workload.capabilities:
        bad += capability.bad if capability.name in subject.offered else ()
    check_arguments(subject, _arguments(subject), checks.required, bad, is_server=False)
    before = len(subject.findings)
    check_evidence(subject, _points(subject), checks.phases)
    # Where that is wrong, what follows would only say it again.
    if len(subject.findings) == before:
        _repeats(subject)
        _grows(subject)
        for check in own:
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
    cores = subject.executor.capacity().cpus
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


def _grows(subject: Subject) -> None:
    """More and more work, until its phase takes a while: the time before the phase began grows only where the
    phase took longer than it said. A host may stall: three tries."""
    growing, line = subject.workload.checks.growing, ""
    if growing is None or subject.quick:
        return
    phase, factor = growing

    def attempt() -> None:
        nonlocal line
        least_before_ns: int | None = None
        for level in _GROWING:
            point = subject.point(**{**_levels(subject), factor: level})
            if not subject.can(point):
                break
            trial, line = subject.trial(point)
            reported = next((each for each in trial.phase_lines if each.name == phase), None)
            if trial.outcome is not Outcome.OK or reported is None:
                break
            before_ns = reported.t_ns - reported.ns
            least_before_ns = before_ns if least_before_ns is None else least_before_ns
            unseen_ns = before_ns - least_before_ns
            if unseen_ns > max(_UNSEEN_NS, _UNSEEN_TIMES * reported.ns):
                came = (
                    f"{reported.ns / 1e6:,.3f} ms with {factor}={level:,}, and {unseen_ns / 1e6:,.0f} ms more"
                )
                raise ValueError(f"{came} before its line than with {factor}={_GROWING[0]}")
            peak_bytes = (trial.report and trial.report.peak_pss_bytes) or 0
            if reported.ns > _SEEN_NS or peak_bytes > _MOST_BYTES:
                break

    try:
        in_time(attempt)
    except ValueError as problem:
        subject.report("growth", f"a phase {phase} that is as long as it takes", problem, line)


def _has(lines: Stdout, expected: Mapping[str, str]) -> bool:
    return lines.result is not None and expected.items() <= lines.result.items()


def _pairs(values: Mapping[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())
