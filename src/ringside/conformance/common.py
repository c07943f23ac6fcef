"""The rules that programs and servers share: their protocol lines, their arguments, and their evidence by the
probe."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ringside.conformance.subject import Finding, Subject, files_below
from ringside.model.design import Level, Point
from ringside.model.results import Outcome, Trial

# The words, each with the keys that it must have; `None`: any.
_WORDS: dict[str, tuple[str, ...] | None] = {
    "ready": ("port",),
    "phase": ("name", "ns"),
    "await": ("name",),
    "span": ("unit", "begin", "end"),
    "result": None,
}
_NUMBERS = {"ns", "port", "unit", "begin", "end"}
_MAX_BYTES = 64 * 1024


@dataclass
class Stdout:
    """What a program printed. `problem`: what is wrong with the first bad protocol line."""

    phases: list[tuple[str, int]] = field(default_factory=list)
    awaits: list[str] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    result: dict[str, str] | None = None
    problem: str = ""

    def times(self, phase: str) -> int:
        """How often a phase was reported."""
        return sum(1 for name, _ in self.phases if name == phase)


def parse(output: bytes) -> Stdout:
    """The lines of a program's stdout."""
    lines = Stdout()
    for line in output.split(b"\n"):
        if line.startswith(b"::"):
            problem = _add(lines, line)
            lines.problem = lines.problem or problem
    return lines


def _add(lines: Stdout, line: bytes) -> str:
    shown = repr(line[:100])[2:-1]
    if len(line) > _MAX_BYTES:
        return f"{shown}…: longer than {_MAX_BYTES} bytes"
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return f"{shown}: not UTF-8"
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        return f"{shown}: a control character"
    word, *pairs = text[2:].split(" ")
    if word not in _WORDS:
        return f"{shown}: there is no protocol line `::{word}`"
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            return f"{shown}: `{pair}` is not key=value (one space stands between two pairs)"
        if key in values:
            return f"{shown}: `{key}` twice"
        if key in _NUMBERS and word != "result" and not re.fullmatch(r"[0-9]{1,19}", value):
            return f"{shown}: `{key}` must be a whole number"
        values[key] = value
    for key in _WORDS[word] or ():
        if key not in values:
            return f"{shown}: `{key}` is missing"
    return _keep(lines, word, values, shown)


def _keep(lines: Stdout, word: str, values: dict[str, str], shown: str) -> str:
    if word == "phase":
        lines.phases.append((values["name"], int(values["ns"])))
    elif word == "await":
        lines.awaits.append(values["name"])
    elif word == "span":
        lines.spans.append((int(values["unit"]), int(values["begin"]), int(values["end"])))
    elif word == "result":
        if lines.result is not None:
            return f"{shown}: a second ::result"
        lines.result = values
    return ""


# A quick check tries so many invalid inputs.
_QUICK = 4
_AT_ONE_TIME = 4
# What the details of the probe contain where a thread allows itself other CPUs, or a server ends badly.
_OTHER_CPUS = "other CPUs"
_AFTER_SIGTERM = "after SIGTERM"


def without(arguments: Sequence[str], *words: str) -> list[str]:
    """The arguments without those whose keys are in words."""
    keys = {word.partition("=")[0] for word in words}
    return [argument for argument in arguments if argument.partition("=")[0] not in keys]


def check_arguments(
    subject: Subject,
    arguments: Sequence[str],
    required: Sequence[str],
    bad: Sequence[str],
    *,
    is_server: bool,
) -> None:
    """Without one that is required, and with bad words in place of good ones, it must end with status 2 and
    one line on stderr."""
    uses = [without(arguments, key) for key in required]
    uses += [[*without(arguments, *words.split()), *words.split()] for words in bad]
    chosen = uses[: _QUICK if subject.quick else None]
    with ThreadPoolExecutor(min(_AT_ONE_TIME, os.cpu_count() or 1)) as pool:
        for arguments, done in zip(chosen, pool.map(lambda words: subject.run(*words), chosen), strict=True):
            output = parse(done.stdout)
            began = b"::ready" in done.stdout if is_server else output.result is not None
            if done.status != 2 or len(done.complaint) != 1 or began:
                expected = "status 2 and one line on stderr, and no work"
                subject.report("args-bad", expected, done, subject.by_hand(*arguments))
                return


def side_by_side(subject: Subject, checks: Sequence[Callable[[Subject], object]]) -> list[list[Finding]]:
    """What each of these checks finds. They run at one time."""
    subjects = [subject.beside() for _ in checks]
    with ThreadPoolExecutor(len(checks)) as pool:
        for future in [pool.submit(check, each) for check, each in zip(checks, subjects, strict=True)]:
            future.result()
    return [each.findings for each in subjects]


def check_evidence(
    subject: Subject, points: Sequence[tuple[Mapping[str, Level], int]], phases: Collection[str]
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
        if not _is_good(subject, trial, line, f"the trial at {point} with seed={seed} is ok", phases):
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


def _is_good(subject: Subject, trial: Trial, line: str, expected: str, phases: Collection[str]) -> bool:
    """Whether a trial shows nothing wrong; else a finding is added."""
    report = trial.report
    came = f"{trial.outcome}: {trial.detail}"
    if report and report.stderr_tail.strip():
        came += f"; stderr: {report.stderr_tail.strip()}"
    if trial.outcome is not Outcome.OK:
        rule = "evidence"
        if trial.outcome is Outcome.WRONG_EVIDENCE and _OTHER_CPUS in trial.detail:
            rule = "cores"
        elif _AFTER_SIGTERM in trial.detail:
            rule = "sigterm"
        subject.report(rule, expected, came, line)
        return False
    if report and report.left_behind:
        came = f"{report.left_behind} still ran when the program had ended"
        subject.report("left-behind", "no other process", came, line)
        return False
    if report and report.left_files:
        came = f"{report.left_files} left in TMPDIR or in shared memory"
        subject.report("files", "no file", came, line)
        return False
    missing = sorted(set(phases) - set(trial.phases))
    if missing:
        printed = ", ".join(trial.phases) or "none"
        names = ", ".join(f"::phase name={name}" for name in missing)
        subject.report("phases", names, f"phases: {printed}", line)
        return False
    return True


def in_time(attempt: Callable[[], None], tries: int = 3) -> None:
    """Raises what the last of several tries raises, OSError or ValueError, where none succeeds. For all that
    depends on time: a host may stall."""
    for number in range(tries - 1):
        try:
            attempt()
            return
        except (OSError, ValueError):
            time.sleep(0.2 * number)
    attempt()
