"""The rules of programs that end by themselves."""

import os
import select
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from ringside.conformance.common import check_arguments, check_evidence, in_time, side_by_side
from ringside.conformance.subject import Subject, end_of, lines_until, results_of
from ringside.model.design import Level, Point
from ringside.model.results import Outcome
from ringside.workloads.base import HOLD, REPEATS

# How long a program that should wait is watched.
_WATCH_S = 0.3
# Levels of the factor that a phase grows with. After a phase of _SEEN_NS, or a program of _MOST_BYTES, no
# larger level is tried. No stall explains time outside a phase of _UNSEEN_NS and _UNSEEN_TIMES its length.
_GROWING = (10, 1000, 10_000, 100_000, 1_000_000)
_SEEN_NS, _MOST_BYTES = 200_000_000, 200_000_000
_UNSEEN_NS, _UNSEEN_TIMES = 200_000_000, 10
# The tests of rules that only one workload of programs has.
RuleTests = Sequence[Callable[[Subject], None]]


def check_program(subject: Subject, own: RuleTests) -> None:
    """Add findings for each rule that a program breaks. If it does not work at all, checks nothing else."""
    works, holds, unknown = side_by_side(subject, (_works, _holds, _unknown_keys))
    subject.findings += works or holds or unknown
    if works or holds:
        return
    checks = subject.workload.checks
    bad = [*checks.bad]
    for capability in subject.workload.capabilities:
        bad += capability.bad if capability.name in subject.offered else ()
    check_arguments(subject, _arguments(subject), checks.required, bad)
    before = len(subject.findings)
    points = [*checks.sizes, ({**checks.sizes[0][0], "cores": subject.executor.capacity().cpus}, 5)]
    check_evidence(subject, points[: 2 if subject.quick else None], checks.phases)
    # If that is wrong, the other checks would only repeat it.
    if len(subject.findings) == before:
        for check in (_repeats, _grows, *own):
            check(subject)


def _point(subject: Subject, **levels: Level) -> Point:
    return subject.point(**{**(subject.workload.checks.small or {}), **levels})


def _arguments(subject: Subject, **levels: Level) -> list[str]:
    """A small trial's arguments, without those that make the program wait."""
    small, point = subject.workload.checks.small, _point(subject, **levels)
    arguments = dict(point.levels) if small is None else {**small, **levels}
    if input := subject.input(point):
        arguments["input"] = str(input.path)
    return [f"{key}={value}" for key, value in arguments.items()]


def _works(subject: Subject) -> None:
    """The minimum: it ends well, with a result."""
    arguments = _arguments(subject)
    done, line = subject.run(*arguments), subject.by_hand(*arguments)
    results = results_of(done.stdout)
    if b"\n::await" in b"\n" + done.stdout:
        subject.report("hold", "no ::await without hold=1", "::await", line)
    elif not results:
        subject.report("result", "::result …", f"no ::result; {done}", line)
    elif len(results) > 1:
        subject.report("lines", "one ::result", f"{len(results)} of them", line)
    elif done.status != 0:
        subject.report("exit", "status 0 after ::result", done, line)


def _holds(subject: Subject) -> None:
    """With hold=1 it waits; what it printed before can be read meanwhile, and it goes on after a line."""
    levels = subject.workload.checks.held
    names = subject.workload.awaits(_point(subject, **levels)) if HOLD in subject.offered else ()
    if not names:
        return
    arguments = [*_arguments(subject, **levels), "hold=1"]
    line = subject.by_hand(*arguments)
    phase, awaited = subject.workload.checks.before_hold, f"::await name={names[0]}"
    with subject.started(*arguments) as process:
        before, at_end = lines_until(process, awaited.encode())
        shown = b" ".join(before).decode(errors="replace")
        assert process.stdout is not None
        if not before and not at_end:
            # It may wait behind a full buffer: does it go on when its line comes?
            subject.report("flush", f"{awaited} while it waits", "nothing on stdout", line)
        elif not before or not before[-1].startswith(awaited.encode()):
            subject.report("hold", awaited, shown or "nothing on stdout", line)
        elif select.select([process.stdout], [], [], _WATCH_S)[0] and os.read(process.stdout.fileno(), 1):
            subject.report("hold", "nothing more until a line comes on stdin", "it went on", line)
        elif phase and f"::phase name={phase}" not in shown:
            subject.report("flush", f"::phase name={phase} before ::await", shown, line)
        else:
            done = end_of(process, b"\n")
            if not results_of(done.stdout):
                subject.report("hold", "::result after a line on stdin", f"no ::result; {done}", line)


def _unknown_keys(subject: Subject) -> None:
    arguments = [*_arguments(subject), "colour=red", "x-y.z=1=2"]
    done = subject.run(*arguments)
    if done.status != 0 or not results_of(done.stdout):
        subject.report("args-unknown", "::result …", done, subject.by_hand(*arguments))


def _repeats(subject: Subject) -> None:
    """Three times the work in one process."""
    if REPEATS.name not in subject.offered:
        return
    trial, line = subject.trial(_point(subject, repeats=3))
    if trial.outcome is not Outcome.OK:
        subject.report("repeats", "evidence of three times the work", trial.detail, line)
    for phase in sorted(subject.workload.checks.phases):
        if (times := len(trial.phases.get(phase, ()))) not in (0, 3):  # none at all breaks another rule
            subject.report("repeats", f"3 lines ::phase name={phase}", f"{times} lines of it", line)


def _grows(subject: Subject) -> None:
    """More and more work, until a phase takes a while: the probe's clock then shows a line that is not
    flushed, and a wrong unit. Where no line shows when the phase began, the time before it grows only where
    the phase took longer than it said. A host may stall: three tries."""
    line = rule = ""

    def attempt(phase: str, factor: str) -> None:
        nonlocal line, rule
        phase_rule = subject.workload.phase_rules.get(phase)
        least_before_ns: int | None = None
        for level in _GROWING:
            point = _point(subject, **{factor: level})
            # To write the largest inputs takes longer than to look at them.
            if not subject.can(point) or (level == _GROWING[-1] and subject.workload.input(point)):
                break
            trial, line = subject.trial(point)
            reported = next((each for each in trial.phase_lines if each.name == phase), None)
            if trial.detail.startswith("::phase "):
                lines = pairwise(trial.phase_lines)
                is_late = any(one.t_ns + two.ns / 2 > two.t_ns > two.ns for one, two in lines)
                rule = "flush" if is_late else "phases"
                raise ValueError(trial.detail)
            if trial.outcome is not Outcome.OK or reported is None:
                break
            before_ns = reported.t_ns - reported.ns
            least_before_ns = before_ns if least_before_ns is None else least_before_ns
            unseen_ns = 0 if phase_rule and phase_rule.exact else before_ns - least_before_ns
            if unseen_ns > max(_UNSEEN_NS, _UNSEEN_TIMES * reported.ns):
                rule = "growth"
                came = f"{reported.ns / 1e6:,.3f} ms with {factor}={level:,}"
                more = f"{unseen_ns / 1e6:,.0f} ms more before its line than with {factor}={_GROWING[0]}"
                raise ValueError(f"{came}, and {more}")
            peak_bytes = (trial.report and trial.report.peak_pss_bytes) or 0
            if reported.ns > _SEEN_NS or peak_bytes > _MOST_BYTES:
                break

    for phase, factor in subject.workload.checks.growing:
        try:
            in_time(partial(attempt, phase, factor))
        except ValueError as problem:
            expected = f"a phase {phase} that is as long as it takes, its line printed when it ends"
            subject.report(rule, expected, problem, line)
