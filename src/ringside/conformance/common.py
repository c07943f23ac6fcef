"""The rules that programs and servers share: their arguments, and their evidence by the probe."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ringside.conformance.subject import Finding, Subject, files_below
from ringside.model.design import Level, Point
from ringside.model.results import Outcome, Trial

# A quick check tries this many invalid inputs.
_QUICK = 4
_AT_ONE_TIME = 4
# Texts in the probe's details that identify one of its rules: the details quote a bad line.
_RULES = {"'::": "lines", "protocol line": "lines", "other CPUs": "cores", "after SIGTERM": "sigterm"}


def without(arguments: Sequence[str], *words: str) -> list[str]:
    """The arguments without those whose keys are in words."""
    keys = {word.partition("=")[0] for word in words}
    return [argument for argument in arguments if argument.partition("=")[0] not in keys]


def check_arguments(
    subject: Subject, arguments: Sequence[str], required: Sequence[str], bad: Sequence[str]
) -> None:
    """Without a required one, or with bad words, it must end with status 2 and one line on stderr."""
    uses = [without(arguments, key) for key in required]
    uses += [[*without(arguments, *words.split()), *words.split()] for words in bad]
    chosen = uses[: _QUICK if subject.quick else None]
    with ThreadPoolExecutor(min(_AT_ONE_TIME, os.cpu_count() or 1)) as pool:
        for use, done in zip(chosen, pool.map(lambda words: subject.run(*words), chosen), strict=True):
            if not done.is_refusal:
                expected = "status 2 and one line on stderr, and no work"
                subject.report("args-bad", expected, done, subject.by_hand(*use))
                return


def side_by_side(subject: Subject, checks: Sequence[Callable[[Subject], object]]) -> list[list[Finding]]:
    """The findings of each of these checks, which run at the same time."""
    subjects = [subject.beside() for _ in checks]
    with ThreadPoolExecutor(len(checks)) as pool:
        for future in [pool.submit(check, each) for check, each in zip(checks, subjects, strict=True)]:
            future.result()
    return [each.findings for each in subjects]


def check_evidence(
    subject: Subject, points: Sequence[tuple[Mapping[str, Level], int]], phases: Collection[str] = ()
) -> None:
    """Trials by the probe, each with its seed; besides the evidence, what they leave behind."""
    sources = files_below(subject.ready.contender.folder)
    line = ""
    possible = [(point, seed) for levels, seed in points if subject.can(point := subject.point(**levels))]
    for (point, seed), (trial, line) in zip(possible, _trials(subject, possible), strict=True):
        stalled = trial.outcome in (Outcome.TIMED_OUT, Outcome.LOAD_FAILED)
        stalled |= trial.outcome is Outcome.WRONG_EVIDENCE and trial.detail.startswith("::phase ")
        if stalled or (subject.workload.checks.waits and trial.outcome is not Outcome.OK):
            # A host may stall for longer than any limit; beside others a program may have been too slow.
            trial, line = subject.trial(point, seed)
        if fault := _fault(trial, f"the trial at {point} with seed={seed} is ok", phases):
            subject.report(*fault, line)
            break
    changed = files_below(subject.ready.contender.folder).items() ^ sources.items()
    if changed:
        names = ", ".join(sorted({name for name, _ in changed})[:3])
        subject.report("files", "the same files as before", f"changed or left behind: {names}", line)


def _trials(subject: Subject, points: Sequence[tuple[Point, int]]) -> Iterator[tuple[Trial, str]]:
    """A trial at each point with its seed, when it is asked for; of programs that wait, all at one time."""
    if not subject.workload.checks.waits:
        for point, seed in points:
            yield subject.trial(point, seed)
        return
    with ThreadPoolExecutor(max(1, len(points))) as pool:
        yield from pool.map(lambda at: subject.beside().trial(*at), points)


def _fault(trial: Trial, expected: str, phases: Collection[str]) -> tuple[str, str, str] | None:
    """The rule that a trial breaks, what was expected, and what came."""
    report = trial.report
    if trial.outcome is not Outcome.OK:
        rule = next((rule for text, rule in _RULES.items() if text in trial.detail), "evidence")
        wrote = report.stderr_tail.strip() if report else ""
        return rule, expected, f"{trial.outcome}: {trial.detail}" + (f"; stderr: {wrote}" if wrote else "")
    if report and report.left_behind:
        came = f"{report.left_behind} still ran when the program had ended"
        return "left-behind", "no other process", came
    if report and report.left_files:
        return "files", "no file", f"{report.left_files} left in TMPDIR or in shared memory"
    if missing := sorted({*phases} - {*trial.phases}):
        names = ", ".join(f"::phase name={name}" for name in missing)
        return "phases", names, f"phases: {', '.join(trial.phases) or 'none'}"
    return None


def in_time(attempt: Callable[[], None], tries: int = 3) -> None:
    """Try several times, since a host may stall. Raises the OSError or ValueError of the last try."""
    for number in range(tries - 1):
        try:
            attempt()
            return
        except (OSError, ValueError):
            time.sleep(0.2 * number)
    attempt()
