"""Trials of arbitrary commands, for `ringside vs`: their run, and how each is carried out."""

import contextlib
import dataclasses
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ringside.errors import RingsideError, UsageError
from ringside.measure import host
from ringside.measure.host import Executor
from ringside.measure.runs import trials
from ringside.measure.runs.campaign import check_machines
from ringside.measure.runs.loop import Notify, StoppingRule, TrialMaker, row, uninterrupted
from ringside.measure.vs.commands import Command
from ringside.measure.vs.outputs import KEPT, Output, Pattern, output_to
from ringside.model.design import Cell, Experiment, Level, Point, Show
from ringside.model.results import Outcome, Run, Trial
from ringside.probe import kernel
from ringside.probe.protocol import Limits, Sample, TrialRequest
from ringside.store import Store, now
from ringside.store.plans import KeptOptions, PlannedContender, RunPlan, SuiteSelection, read_plan
from ringside.text import one_line
from ringside.workloads.command import COMMAND, COUNTERS, WAYS_OUT, CommandTimes

POINT = Point(())
_REFERENCE_S = 2.0  # The reference computations are timed again after this time; in no warm-up.
_STDERR_BYTES = 4096  # Of what a failed hook wrote; its last line is shown.


class CommandFailedError(RingsideError):
    """A command, or a command executed around it, failed: which one and why, in one line."""


COUNTED = {name.removesuffix("_s").replace("_", "-"): name for name in COUNTERS}
_JUDGED = {"wall": "wall_s", "cpu": "cpu_s", "memory": "peak_memory_bytes", **COUNTED}


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """How each command is executed. `folder`: where; `input`: the file that it reads as stdin; `ignored`: the
    exit statuses that count as success, `all` with ends by a signal too; `patterns`: of figures in the
    output. `excludes`: a command that failed is executed again in the next block."""

    folder: Path
    environment: Mapping[str, str]
    warmups: int = 1
    timeout_s: float = 300.0
    memory_bytes: int = 1 << 40
    input: Path | None = None
    cpus: tuple[int, ...] = ()
    ignored: frozenset[int] | Literal["all"] = frozenset()
    patterns: Sequence[Pattern] = ()
    excludes: bool = False
    counters: bool = False
    judged: str = "wall"


def experiment_of(
    commands: Sequence[Command],
    rule: StoppingRule,
    margin: float,
    factors: Mapping[str, tuple[Level, ...]],
    options: ExecutionOptions,
) -> Experiment:
    """The experiment of these commands. Raises UsageError for a metric of the output whose name is taken, and
    where there is none that decides."""
    outputs = [pattern.metric for pattern in options.patterns]
    taken = {metric.name for metric in COMMAND.metrics} - {*COUNTERS}  # which a metric takes the place of
    if len(taken | {metric.name for metric in outputs}) < len(taken) + len(outputs):
        raise UsageError("--metric: names must differ; write NAME=PATTERN")
    compared = CommandTimes(outputs).compared
    judged = _JUDGED.get(options.judged, options.judged)
    shown = tuple(dict.fromkeys((judged, *compared, *(COUNTERS if options.counters else ()))))
    if judged not in (*compared, *COUNTERS):
        known = ", ".join([*_JUDGED, *(metric.name for metric in outputs)])
        raise UsageError(f"--judge {one_line(judged, 60)}: possible are {known}")
    names = tuple(command.name for command in commands)
    return Experiment(
        name="vs",
        title=" / ".join(one_line(command.text, 80) for command in commands),
        workload=COMMAND.name,
        contenders=names,
        factors=dict(factors),
        baseline=names[0],
        blocks=rule.max_blocks,
        until_decided=rule.decided,
        time_s=rule.time_s,
        margin=margin,
        show=Show(() if shown == compared else shown),
        outputs=tuple(outputs),
    )


def begin(
    commands: Sequence[Command],
    experiment: Experiment,
    options: ExecutionOptions,
    seed: int,
    store: Store,
    points: Sequence[Point] = (POINT,),
    kept: KeptOptions | None = None,
    suite: SuiteSelection | None = None,
) -> Run:
    """A new run of these commands. `kept`: the command line's options; `suite`: it is a session of this."""
    contenders = {
        command.name: PlannedContender(
            title=command.text,
            command=command.argv(POINT),
            version=command.revision.commit if command.revision else None,
        )
        for command in commands
    }
    what = (experiment, tuple(points), contenders)
    plan = RunPlan(*what, suite=suite, options=kept or {}, folder=str(options.folder)).values()
    return store.begin_run(experiment.name, seed, plan, host.facts(options.folder, options.cpus), {})


def check_unchanged(run: Run, commands: Sequence[Command], options: ExecutionOptions) -> None:
    """Raises UsageError if a run cannot go on as it began: on another machine, or with other commits."""
    check_machines(run, {"": host.facts(options.folder, options.cpus)})
    then = read_plan(run).contenders
    for command in commands:
        if command.revision and command.revision.commit != then[command.name].version:
            name = one_line(command.revision.name, 60)
            raise UsageError(f"--rev {name} is another commit now than run {run.id} has: start a new run")


@dataclass(eq=False)
class CommandTrials(TrialMaker):
    """Carries out trials of commands."""

    commands: Sequence[Command]
    options: ExecutionOptions
    seed: int
    executor: Executor
    points: Sequence[Point] = (POINT,)

    def __post_init__(self) -> None:
        self._commands = {command.name: command for command in self.commands}
        self._argv = {
            Cell(command.name, point): command.argv(point)
            for point in self.points
            for command in self.commands
        }
        self._referenced = -_REFERENCE_S
        self._set_up: list[Cell] = []
        self._failed: dict[Cell, Trial | None] = {}  # Each with its trial where that is not in the run yet.
        self._last_setup = ""

    def warm_up(self, notify: Notify) -> None:
        """Set up each command, and execute it as often as the options say. Raises CommandFailedError."""
        for cell in self._argv:
            notify("warm-up", cell)
            self._set_up.append(cell)
            self._warm_up(cell)
        self._check_rest()

    def _warm_up(self, cell: Cell) -> None:
        self._last_setup = self._hook_line("setup", cell)
        self._hook("setup", cell)
        for number in range(self.options.warmups):
            trial = uninterrupted(self._execution(0, 0, cell, f"warmup-{number}"))
            if trial.outcome is not Outcome.OK and not self.options.excludes:
                self._failed[cell] = trial
                break

    def clean_up(self) -> None:
        """Execute each `--cleanup` after the last block or a failure. Raises the first RingsideError last."""
        first: RingsideError | None = None
        for cell in self._set_up:
            try:
                self._hook("cleanup", cell)
            except RingsideError as error:
                first = first or error
        self._set_up.clear()
        if first:
            raise first

    def trial(self, block: int, position: int, cell: Cell, *, first: bool) -> Trial:
        """One execution of a command that has not failed yet. If the levels of its `--setup` differ from last
        time, that runs again first, because its state may be exclusive, such as a branch that is checked out.
        Raises CommandFailedError if too little is left to compare, UsageError where it cannot start."""
        if cell not in self._failed and self._hook_line("setup", cell) != self._last_setup:
            self._warm_up(cell)
        if cell not in self._failed:
            trial = self._execution(block, position, cell, str(block - 1))
            if trial.outcome not in (Outcome.OK, Outcome.INTERRUPTED) and not self.options.excludes:
                self._failed[cell] = None
                self._check_rest(trial)
            return trial
        before, self._failed[cell] = self._failed[cell], None
        left_out = row(block, position, cell, "left out, since it failed before")
        return dataclasses.replace(before, block=block, position=position) if before else left_out

    def _check_rest(self, last: Trial | None = None) -> None:
        """Raise CommandFailedError if too few commands remain for a comparison."""
        if len(self._argv) - len(self._failed) >= min(2, len(self._argv)):
            return
        trial = last or next(filter(None, self._failed.values()))
        line = one_line(self._commands[trial.cell.contender].line(trial.cell.point), 80)
        what = f"{trial.cell.contender} ({line}) {trial.outcome}: {one_line(trial.detail, 300)}"
        raise CommandFailedError(f"{what} ({WAYS_OUT[trial.outcome]})" if trial.outcome in WAYS_OUT else what)

    def _execution(self, block: int, position: int, cell: Cell, iteration: str) -> Trial:
        self._hook("prepare", cell, HYPERFINE_ITERATION=iteration)
        reference = block > 0 and time.monotonic() - self._referenced >= _REFERENCE_S
        blank = Trial(block, position, cell, Outcome.INTERRUPTED, "", self.options.cpus, now())
        is_fine = False
        try:
            where = KEPT if self.options.patterns else self._commands[cell.contender].output
            with output_to(where, self.options.folder) as output:
                messages = self.executor.trial(self._request(blank, iteration, output, reference=reference))
                # No figure needs the samples.
                outline = [message for message in messages if not isinstance(message, Sample)]
                trial = self._with_outputs(trials.trial_from_messages(blank, outline), output)
            if reference:
                self._referenced = time.monotonic()
            checked = self._checked(trial)
            is_fine = checked.outcome is Outcome.OK
        finally:
            # Processes that --prepare started end in any case; the command's failure is more important.
            with contextlib.nullcontext() if is_fine else contextlib.suppress(RingsideError):
                self._hook("conclude", cell, HYPERFINE_ITERATION=iteration)
        return checked

    def _request(self, blank: Trial, iteration: str, output: Output, *, reference: bool) -> TrialRequest:
        options = self.options
        padding = "." * trials.padding_bytes(self.seed, blank.block, blank.position)
        return TrialRequest(
            argv=self._argv[blank.cell],
            cwd=str(self._folder(blank.cell)),
            # Scripts that were written for hyperfine name files by this variable.
            env={**options.environment, trials.PADDING: padding, "HYPERFINE_ITERATION": iteration},
            cpus=options.cpus,
            limits=Limits(options.timeout_s, options.memory_bytes, 1 << 34, 4096),
            plain=True,
            stdin=None if options.input is None else str(options.input),
            stdout=output.stdout,
            stderr=output.stderr,
            reference=reference,
            counters=options.counters,
        )

    def _with_outputs(self, trial: Trial, output: Output) -> Trial:
        """The trial with its metrics of the output, a wrong one where that has not each of them once. Raises
        UsageError if the kernel does not count what decides."""
        for name, counter in trial.report.counters.items() if trial.report else ():
            judged = name.removesuffix("_ns").replace("_", "-")
            if counter.why and counter.count is None and judged == self.options.judged:
                raise UsageError(f"--judge {judged}: {counter.why}")
        outputs = {}
        for pattern in self.options.patterns if trial.outcome is Outcome.OK else ():
            found = pattern.found_in(output, trial.report.stderr_tail if trial.report else "")
            if isinstance(found, str):
                detail = f"--metric {pattern.metric.name}: {found}"
                return dataclasses.replace(trial, outcome=Outcome.WRONG_EVIDENCE, detail=detail)
            outputs[pattern.metric.name] = found
        return dataclasses.replace(trial, outputs=outputs) if outputs else trial

    def _checked(self, trial: Trial) -> Trial:
        if trial.outcome in (Outcome.OK, Outcome.INTERRUPTED):
            return trial
        report = trial.report
        crashed = trial.outcome is Outcome.CRASHED
        if crashed and report and report.exit_status is None and report.signal is None:
            # The kernel finds no file either where that of a program's loader is missing.
            is_there = "No such file" in trial.detail and shutil.which(self._argv[trial.cell][0])
            hint = "; it is there, but its loader is not: it was built for another system" if is_there else ""
            raise UsageError(trial.detail + hint)
        ignored = self.options.ignored
        if (crashed or trial.outcome is Outcome.WRONG_EVIDENCE) and (
            ignored == "all" or (report and report.exit_status in ignored)
        ):
            # It counts; its detail still says how it ended.
            return dataclasses.replace(trial, outcome=Outcome.OK)
        last = one_line(report.stderr_tail.strip().rpartition("\n")[2] if report else "", 200)
        return dataclasses.replace(trial, detail=f"{trial.detail}{f': {last}' if last else ''}")

    def _folder(self, cell: Cell) -> Path:
        revision = self._commands[cell.contender].revision
        return revision.folder if revision else self.options.folder

    def _hook_line(self, hook: str, cell: Cell) -> str:
        return cell.point.filled_in(self._commands[cell.contender].hooks.get(hook, ""))

    def _hook(self, hook: str, cell: Cell, **environment: str) -> None:
        filled = self._hook_line(hook, cell)
        if not filled.strip():
            return
        argv = self._commands[cell.contender].words(filled)
        what = f"--{hook} {one_line(filled, 80)}"
        # Not a pipe: what a hook leaves in the background, as a server, would keep it open.
        with tempfile.TemporaryFile() as errors, kernel.adopted() as before:
            try:
                status = subprocess.run(
                    argv,
                    cwd=self._folder(cell),
                    env={**self.options.environment, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    check=False,
                ).returncode
            except OSError as error:
                raise UsageError(f"{what}: {error.strerror}") from error
            for pid in kernel.children() - before:
                # Another hook may wait until it is gone.
                threading.Thread(target=_reap, args=(pid,), daemon=True).start()
            if not status:
                return
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _STDERR_BYTES))
            last = one_line(errors.read().decode(errors="replace").strip().rpartition("\n")[2], 200)
        raise CommandFailedError(f"{what} failed with exit status {status}" + (f": {last}" if last else ""))


def _reap(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)
