"""Blocks of commands: in each block every command once, in a random order."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringside.errors import UsageError
from ringside.measure import trials as trial
from ringside.measure.commands import Command
from ringside.measure.executor import Executor
from ringside.measure.plan import padding_bytes
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.stats.interval import LEAST
from ringside.stats.ratio import paired_ratio
from ringside.stats.stopping import looks, narrow_enough
from ringside.text import one_line

# The fixed computation is timed again after so long.
_REFERENCE_S = 1.0
_MOST_BLOCKS = 100_000
_OUTPUT_BYTES = 1 << 34
_PROCESSES = 4096


@dataclass(frozen=True, slots=True)
class Rules:
    """How long to go on: `blocks` of them exactly, or until `time_s` has passed or (if given) all intervals
    are narrower than `until`; `least` blocks in any case. The rest is for each single time."""

    blocks: int | None
    time_s: float | None
    until: float | None
    least: int = LEAST
    warmups: int = 1
    timeout_s: float = 300.0
    memory_bytes: int = 1 << 40
    input: Path | None = None
    cpus: tuple[int, ...] = ()
    ignore_failure: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Time:
    """One execution of a command: of which block (from 1; 0 is the warm-up), and what the probe saw."""

    block: int
    name: str
    trial: Trial

    @property
    def sha256(self) -> str | None:
        """Of its stdout."""
        found = self.trial.outcome_line.get("output", {}).get("sha256")
        return found if isinstance(found, str) else None


class CommandFailedError(Exception):
    """A command, or what prepares it, ended otherwise than well: why, in one line."""


@dataclass
class Bout:
    """The commands, the rules, and all times so far; an interrupted one is not among them."""

    commands: Sequence[Command]
    rules: Rules
    executor: Executor
    environment: Mapping[str, str]
    folder: Path
    times: list[Time] = field(default_factory=list)
    _referenced: float = -_REFERENCE_S

    def carry_out(self, watch: Callable[[int, Command], None]) -> None:
        """Make the warm-ups and all blocks; `watch` is told before each time. Raises CommandFailedError,
        UsageError; KeyboardInterrupt passes through."""
        for _ in range(self.rules.warmups):
            for command in self.commands:
                watch(0, command)
                self._make(0, 0, command)
        begun = time.monotonic()
        for block in self._blocks(begun):
            dice = random.Random(f"{self.rules.seed}/{block}")
            # Times that have no partner in their block do not count.
            made = []
            for position, command in enumerate(dice.sample(self.commands, len(self.commands))):
                watch(block, command)
                made.append(self._make(block, position, command))
            self.times += made

    def walls(self, name: str) -> dict[int, float]:
        """Wall time by block, in seconds."""
        return {one.block: one.trial.outcome_line["wall_ns"] / 1e9 for one in self.times if one.name == name}

    def _blocks(self, begun: float) -> Iterator[int]:
        most = self.rules.blocks or _MOST_BLOCKS
        glances = set(looks(most))
        for block in range(1, most + 1):
            done = block - 1
            if self.rules.blocks is None and done >= self.rules.least:
                late = self.rules.time_s is not None and time.monotonic() - begun >= self.rules.time_s
                if late or (done in glances and self._narrow()):
                    return
            yield block

    def _narrow(self) -> bool:
        if self.rules.until is None:
            return False
        first, *others = (self.walls(command.name) for command in self.commands)
        ratios = (paired_ratio(other, first, peeked=True) for other in others)
        return narrow_enough(ratios, self.rules.until)

    def _make(self, block: int, position: int, command: Command) -> Time:
        if command.prepare:
            _prepare(command, self.folder, self.environment)
        reference = time.monotonic() - self._referenced >= _REFERENCE_S
        request = self._request(block, position, command, reference=reference)
        blank = Trial(block, position, Cell(command.name, Point(())), Outcome.INTERRUPTED, "")
        made = trial.parse(self.executor.run(request), blank)
        if reference:
            self._referenced = time.monotonic()
        if made.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        self._check(command, made)
        # What was seen in the middle of it is nobody's concern.
        return Time(block, command.name, dataclasses.replace(made, samples=(), marks={}))

    def _request(self, block: int, position: int, command: Command, *, reference: bool) -> dict[str, Any]:
        padding = "." * padding_bytes(self.rules.seed, block, position)
        return {
            "version": trial.PROTOCOL,
            "argv": list(command.argv),
            "cwd": str(self.folder),
            "env": {**self.environment, "RINGSIDE_PADDING": padding},
            "cpus": list(self.rules.cpus),
            "limits": {
                "wall_s": self.rules.timeout_s,
                "memory_bytes": self.rules.memory_bytes,
                "output_bytes": _OUTPUT_BYTES,
                "processes": _PROCESSES,
            },
            "sample_hz": trial.SAMPLE_HZ,
            "plain": True,
            "stdin": None if self.rules.input is None else str(self.rules.input),
            "reference": reference,
        }

    def _check(self, command: Command, made: Trial) -> None:
        if made.outcome is Outcome.OK:
            return
        status = made.outcome_line.get("exit_status")
        if made.outcome is Outcome.CRASHED and status is None and made.outcome_line.get("signal") is None:
            raise UsageError(made.detail)
        if made.outcome is Outcome.CRASHED and self.rules.ignore_failure:
            return
        said = one_line(made.outcome_line.get("stderr_tail", "").strip().rpartition("\n")[2], 200)
        raise CommandFailedError(
            f"{command.name} ({one_line(command.text, 80)}) {made.outcome}: {made.detail}"
            + (f": {said}" if said else "")
        )


def _prepare(command: Command, folder: Path, environment: Mapping[str, str]) -> None:
    assert command.prepare
    text = one_line(" ".join(command.prepare), 80)
    try:
        done = subprocess.run(
            command.prepare,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"--prepare {text}: {error.strerror}") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise CommandFailedError(f"--prepare {text} failed with {done.returncode}: {one_line(last, 200)}")
