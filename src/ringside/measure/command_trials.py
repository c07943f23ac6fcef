"""Trials of arbitrary commands, for `ringside vs`: the run that they belong to, and how each is carried
out."""

from __future__ import annotations

import dataclasses
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside.errors import RingsideError, UsageError
from ringside.measure import host, trials
from ringside.measure.blocks import padding_bytes
from ringside.measure.commands import Command
from ringside.measure.executor import Executor
from ringside.measure.paired import RunObserver
from ringside.measure.stopping import StoppingRule
from ringside.model.design import DEFAULT_MARGIN, Cell, Experiment, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import Limits, TrialRequest
from ringside.store import Store, now
from ringside.store.plans import PlannedContender, plan_values
from ringside.text import one_line
from ringside.workloads.command import COMMAND

# All commands of a run are at one point without factors.
POINT = Point(())
# The reference computations are timed again after this time.
_REFERENCE_S = 2.0
_OUTPUT_BYTES = 1 << 34
_PROCESSES = 4096


class CommandFailedError(RingsideError):
    """A command, or what prepares it, failed: which one and why, in one line."""


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """How each command is executed. `folder`: where; `input`: the file that it reads as stdin."""

    folder: Path
    environment: Mapping[str, str]
    warmups: int = 1
    timeout_s: float = 300.0
    memory_bytes: int = 1 << 40
    input: Path | None = None
    cpus: tuple[int, ...] = ()
    ignore_failure: bool = False


def experiment_of(
    commands: Sequence[Command], rule: StoppingRule, margin: float = DEFAULT_MARGIN
) -> Experiment:
    """The experiment of which these commands are the contenders, the first the baseline."""
    names = tuple(command.name for command in commands)
    return Experiment(
        name="vs",
        title=" / ".join(one_line(command.text, 80) for command in commands),
        workload=COMMAND.name,
        contenders=names,
        factors={},
        baseline=names[0],
        blocks=rule.max_blocks,
        until=rule.until,
        until_decided=rule.decided,
        time_s=rule.time_s,
        margin=margin,
    )


def begin(
    commands: Sequence[Command], experiment: Experiment, options: ExecutionOptions, seed: int, store: Store
) -> Run:
    """A new run of these commands in the store."""
    contenders = {
        command.name: PlannedContender(title=command.text, command=command.argv) for command in commands
    }
    facts = host.facts(options.folder)
    if options.cpus:
        facts["cpus_usable"] = list(options.cpus)
    return store.begin_run(experiment.name, seed, plan_values(experiment, [POINT], contenders), facts, {})


class CommandTrials:
    """Carries out trials of commands."""

    def __init__(
        self, commands: Sequence[Command], options: ExecutionOptions, seed: int, executor: Executor
    ) -> None:
        self._commands = {command.name: command for command in commands}
        self._options = options
        self._seed = seed
        self._executor = executor
        self._referenced = -_REFERENCE_S

    def warm_up(self, observer: RunObserver) -> None:
        """Each command as often as the options say. Raises CommandFailedError."""
        for _ in range(self._options.warmups):
            for name in self._commands:
                cell = Cell(name, POINT)
                observer.on_warm_up(cell)
                trial = self.trial(0, 0, cell, first=False, tick=observer.on_tick)
                if trial.outcome is Outcome.INTERRUPTED:
                    raise KeyboardInterrupt

    def trial(self, block: int, position: int, cell: Cell, *, first: bool, tick: Callable[[], None]) -> Trial:
        """One execution, samples apart. Raises CommandFailedError where it failed and failures do not count,
        UsageError where it could not be started."""
        command = self._commands[cell.contender]
        if command.prepare:
            self._prepare(command)
        reference = time.monotonic() - self._referenced >= _REFERENCE_S
        blank = Trial(
            block, position, cell, Outcome.INTERRUPTED, "", cpus=self._options.cpus, started_at=now()
        )
        request = self._request(block, position, command, reference=reference)
        trial = trials.with_messages(blank, self._executor.trial(request, tick))
        if reference:
            self._referenced = time.monotonic()
        # What was observed in the middle of it serves no figure.
        return dataclasses.replace(self._checked(command, trial), samples=(), marks={})

    def _request(self, block: int, position: int, command: Command, *, reference: bool) -> TrialRequest:
        options = self._options
        padding = "." * padding_bytes(self._seed, block, position)
        return TrialRequest(
            argv=command.argv,
            cwd=str(options.folder),
            env={**options.environment, "RINGSIDE_PADDING": padding},
            cpus=options.cpus,
            limits=Limits(options.timeout_s, options.memory_bytes, _OUTPUT_BYTES, _PROCESSES),
            plain=True,
            stdin=None if options.input is None else str(options.input),
            reference=reference,
        )

    def _checked(self, command: Command, trial: Trial) -> Trial:
        if trial.outcome in (Outcome.OK, Outcome.INTERRUPTED):
            return trial
        report = trial.report
        crashed = trial.outcome is Outcome.CRASHED
        if crashed and report and report.exit_status is None and report.signal is None:
            raise UsageError(trial.detail)
        if crashed and self._options.ignore_failure:
            # It counts; its detail still says how it ended.
            return dataclasses.replace(trial, outcome=Outcome.OK)
        stderr = report.stderr_tail.strip().rpartition("\n")[2] if report else ""
        last = one_line(stderr, 200)
        raise CommandFailedError(
            f"{command.name} ({one_line(command.text, 80)}) {trial.outcome}: {trial.detail}"
            + (f": {last}" if last else "")
        )

    def _prepare(self, command: Command) -> None:
        assert command.prepare
        text = one_line(" ".join(command.prepare), 80)
        try:
            done = subprocess.run(
                command.prepare,
                cwd=self._options.folder,
                env=dict(self._options.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                check=False,
            )
        except OSError as error:
            raise UsageError(f"--prepare {text}: {error.strerror}") from error
        if done.returncode:
            last = one_line(done.stderr.decode(errors="replace").strip().rpartition("\n")[2], 200)
            raise CommandFailedError(
                f"--prepare {text} failed with exit status {done.returncode}" + (f": {last}" if last else "")
            )
