"""The rule of `sleepers` that only the probe's clock can show: each task wakes at its own instant."""

import time

from ringside.conformance.common import in_time, side_by_side
from ringside.conformance.programs import RuleTests
from ringside.conformance.subject import PATIENCE_S, Subject, lines_until, results_of
from ringside.workloads.base import HOLD
from ringside.workloads.evidence import milliseconds, reported_ns
from ringside.workloads.sleepers.workload import SECOND_NS, instant_ns, numbers

# With so few tasks each wake-up has its own line.
_TASKS, _SECONDS, _SEED = 10, 2, 20_241_127
# How far from its instant a number may come: timers of a millisecond, and a line that the probe reads late.
_EARLY_NS, _LATE_NS = 3_000_000, 100_000_000


def check_instants(subject: Subject) -> None:
    """The lines of ten tasks that sleep, by when the probe read them."""
    point = subject.point(tasks=_TASKS, seconds=_SECONDS)
    line = ""

    def attempt() -> None:
        nonlocal line
        trial, line = subject.trial(point, _SEED)
        wakes_read = trial.phases_read_ns("wake")
        if "start" not in trial.phases or len(wakes_read) != _TASKS:
            raise ValueError(f"{trial.outcome}: {trial.detail}")
        # The probe reads a line some time after the program read its clock: a first line may take long.
        begin_ns = min(line.t_ns - line.ns for line in trial.phase_lines)
        for number, came_ns in zip(numbers(_TASKS, _SEED), wakes_read, strict=True):
            off_ns = came_ns - begin_ns - instant_ns(number, _SECONDS)
            if not -_EARLY_NS <= off_ns <= _LATE_NS:
                how = "before" if off_ns < 0 else "after"
                raise ValueError(f"a number {abs(off_ns) / 1e6:.0f} ms {how} its task's instant")

    try:
        in_time(attempt)
    except ValueError as problem:
        subject.report("sleepers-instants", "each number at its task's own instant", problem, line)


def _sleep_on(subject: Subject) -> None:
    """With hold=1 tasks wake when they are due, however late the line on stdin comes."""
    if HOLD not in subject.offered:
        return
    arguments = ("tasks=3", "seconds=2", "hold=1")
    line = f"sleep 5 | {subject.by_hand(*arguments)}"

    def attempt() -> None:
        with subject.started(*arguments) as process:
            lines_until(process, b"::await name=started")
            # They are due within two seconds.
            time.sleep(4)
            stdout, _ = process.communicate(b"\n", timeout=PATIENCE_S)
        *_, latest_ns = reported_ns(next(iter(results_of(stdout)), {}), "late")
        if latest_ns > SECOND_NS:
            raise ValueError(f"a task was {milliseconds(latest_ns)} late")

    with subject.expects("sleepers-instants", "tasks that wake while the program waits", line):
        in_time(attempt)


def _check(subject: Subject) -> None:
    tests = (check_instants,) if subject.quick else (check_instants, _sleep_on)
    for findings in side_by_side(subject, tests):
        subject.findings += [each for each in findings if each.rule not in subject.broken]


CHECKS: RuleTests = (_check,)
