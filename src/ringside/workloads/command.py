"""The measurement `command`: times and memory of commands, and whether they did the same."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import median

from ringside.model.design import Cell, Metric, Point, grouped
from ringside.model.results import Diagnostic, Outcome, Trial
from ringside.probe.protocol import TrialOutcome
from ringside.text import one_line
from ringside.units import count, percent
from ringside.workloads.base import Measurement, told
from ringside.workloads.process import process_figures
from ringside.workloads.tables import metric_table

# Below this, starting a process takes most of the wall time.
_SHORT_S = 0.005
# A program takes as long to write into the pipe as the probe to read it. So this share of the wall time means
# that `--output null` would save a tenth. Less output is not reported.
_READING_SHARE = 0.05
_READ_BYTES = 1 << 20
_COUNTED = 0.99  # The part of the time in which a count was the CPU's own.
COUNTERS: tuple[str, ...] = ("instructions", "cycles", "cache_misses", "branch_misses")
COUNTERS += ("task_clock_s", "page_faults", "context_switches", "cpu_migrations")
WAYS_OUT = {
    Outcome.CRASHED: "--ignore-failure includes what failed, --ignore-failure=exclude leaves it out",
    Outcome.TIMED_OUT: "a longer --timeout waits for it",
}


class CommandTimes(Measurement):
    """A trial is one execution of a command. A failure that is counted nevertheless is `ok` with a detail."""

    name = "command"
    title = "Commands"
    resumable = False
    metrics = metric_table(Path(__file__).with_suffix(".md"))
    # User and system time are parts of the CPU time.
    compared: tuple[str, ...] = ("wall_s", "cpu_s", "peak_memory_bytes")
    secondary = ("user_s", "system_s")
    plotted = ("cpu_s",)

    def __init__(self, outputs: Sequence[Metric] = ()) -> None:
        """`outputs`: metrics that are found in the output."""
        names = [each.name for each in outputs]
        self.metrics = (*(each for each in self.metrics if each.name not in names), *outputs)
        self.compared = (self.compared[0], *names, *self.compared[1:])

    def figures(self, trial: Trial) -> dict[str, float]:
        report = trial.report or TrialOutcome("")
        counts = {name: counter.count for name, counter in report.counters.items()}
        times = {"user_s": report.cpu_user_ns, "system_s": report.cpu_system_ns}
        times["task_clock_s"] = counts.pop("task_clock_ns", None)
        figures: dict[str, float | None] = {**process_figures(report), **dict.fromkeys(COUNTERS), **counts}
        figures |= {name: ns / 1e9 for name, ns in times.items() if ns is not None}
        figures |= {"peak_memory_bytes": report.peak_memory_bytes, **trial.outputs}
        values = ((metric.name, figures.get(metric.name)) for metric in self.metrics)
        return {name: float(value) for name, value in values if value is not None}

    def diagnostics(self, trials: Sequence[Trial]) -> list[Diagnostic]:
        """Different outputs, included failures, commands that are too short, and slow readers of output."""
        ok = (trial for trial in trials if trial.outcome is Outcome.OK and trial.block > 0)
        commands = dict(sorted(grouped((trial.cell.contender, trial) for trial in ok).items()))
        return [
            *_outputs(commands),
            *_failures(trials),
            *self._short(commands),
            *_reading(commands),
            *_unseen(commands),
            *_uncounted(commands),
        ]

    def _short(self, commands: Mapping[str, Sequence[Trial]]) -> Iterator[Diagnostic]:
        made = ((trial.cell.contender, self.figures(trial)) for trial in chain(*commands.values()))
        walls_s = grouped((name, figures["wall_s"]) for name, figures in made if "wall_s" in figures)
        if short := tuple(name for name, each in walls_s.items() if median(each) < _SHORT_S):
            yield told("short", short, commands=_named(short))


def _reports(commands: Mapping[str, Sequence[Trial]]) -> list[tuple[Cell, TrialOutcome]]:
    return [(trial.cell, trial.report) for trial in chain(*commands.values()) if trial.report]


def _outputs(commands: Mapping[str, Sequence[Trial]]) -> Iterator[Diagnostic]:
    """Commands that print different things, and commands that print something else in each execution."""
    # At another point a command may print something else.
    printed: dict[Point, dict[str, set[str | None]]] = {}
    for cell, report in _reports(commands):
        printed.setdefault(cell.point, {}).setdefault(cell.contender, set()).add(report.output.xxh3)
    varying = tuple(name for name in commands if any(len(at.get(name, ())) > 1 for at in printed.values()))
    unequal: dict[str, str] = {}
    for at_point in printed.values():
        constant = {name: next(iter(hashes)) for name, hashes in at_point.items() if len(hashes) == 1}
        reference = next(iter(constant), "")
        for name, digest in constant.items():
            if digest != constant[reference]:
                unequal.setdefault(name, reference)
    if unequal:
        first = next(iter(unequal.values()))
        others = tuple(name for name in commands if unequal.get(name) == first)
        difference = f"output of {_named(others)} differs from that of {_named([first])}"
        yield told("unequal-output", others, {"reference": first}, difference=difference)
    if varying:
        yield told("varying-output", varying, commands=_named(varying))


def _reading(commands: Mapping[str, Sequence[Trial]]) -> Iterator[Diagnostic]:
    """Commands that print more than the probe can read beside them without slowing them."""
    shares = grouped(
        (cell.contender, report.reading_ns / report.wall_ns)
        for cell, report in _reports(commands)
        if report.wall_ns and report.output.stdout_bytes + report.output.stderr_bytes >= _READ_BYTES
    )
    slowed = {name: share for name, each in shares.items() if (share := median(each)) > _READING_SHARE}
    if slowed:
        parts = (f"{_named([name])} ({percent(share)} of its time)" for name, share in slowed.items())
        yield told("read-output", slowed, {"shares": slowed}, commands=", ".join(parts))


def _unseen(commands: Mapping[str, Sequence[Trial]]) -> Iterator[Diagnostic]:
    """Commands whose peak of memory nobody saw, each with the reason of its first execution without one."""
    reasons = ((cell.contender, report.peak_memory_unknown) for cell, report in _reports(commands))
    if unseen := grouped((name, why) for name, why in reasons if why):
        runs = {name: count(len(commands[name]), "execution") for name in unseen}
        parts = (f"{len(why)} of {runs[name]} of {_named([name])} ({why[0]})" for name, why in unseen.items())
        yield told("unseen-memory", unseen, executions=", ".join(parts))


def _uncounted(commands: Mapping[str, Sequence[Trial]]) -> Iterator[Diagnostic]:
    """Counters without a count, or with one of a part, by the reason."""
    whys: dict[str, dict[str, None]] = {}
    for name, counter in chain(*(report.counters.items() for _, report in _reports(commands))):
        why = counter.why or ("counted in turns, and scaled" if counter.share < _COUNTED else "")
        whys.setdefault(why, {})[name.removesuffix("_ns").replace("_", " ")] = None
    if texts := [f"{why}: {', '.join(names)}" for why, names in whys.items() if why]:
        yield told("counters", commands, reasons="; ".join(texts))


def _failures(trials: Sequence[Trial]) -> Iterator[Diagnostic]:
    """Commands that failed: in executions that are included, in some that are left out, or until then."""
    ended = (trial for trial in trials if trial.block > 0 and trial.outcome is not Outcome.INTERRUPTED)
    last = max((trial.block for trial in trials), default=0)
    fates: dict[tuple[str, str], list[tuple[str, int, str]]] = {}
    for cell, made in grouped((trial.cell, trial) for trial in ended).items():
        if not (failed := [trial for trial in made if trial.detail]):
            continue
        outcome, text = failed[-1].outcome, f"failed in {len(failed)} of {count(len(made), 'execution')}"
        if outcome is Outcome.OK:
            fate = ", which are included", "make sure that what fails does the same work"
        elif failed == made[-1:] and made[-1].block < last:
            text = f"{outcome}: {one_line(failed[-1].detail, 200)}"
            fate = "; the others are compared without it", WAYS_OUT.get(outcome, "mend it")
        else:
            some = len(failed) < len(made)
            left = "what is left may be its fast executions" if some else "nothing is left to compare"
            fate = ", which are left out", f"find out why: {left}"
        at = f" at {cell.point}" if cell.point.levels else ""
        text = f"{_named([cell.contender])}{at} {text}"
        fates.setdefault(fate, []).append((cell.contender, len(failed), text))
    for (how, remedy), parts in fates.items():
        counts = Counter(name for name, number, _ in parts for _ in range(number))
        text = f"{', '.join(text for *_, text in parts)}{how}"
        yield Diagnostic("failures", tuple(counts), {"counts": dict(counts)}, text, remedy)


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


COMMAND = CommandTimes()
