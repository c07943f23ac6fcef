"""A paired benchmark over several machines. A block goes to one machine, so that pairs inside blocks are of
one machine; a machine has one block at a time. Only the driver writes to the store.

Blocks end in any order. The stopping rule judges them in the order of their numbers, so that which blocks
count does not depend on how fast they were: after block n, once blocks 1 … n are whole. No block begins once
the run has reached its goal; those that have begun are completed, and count.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from ringside.cluster.machines import Machine, Machines
from ringside.cluster.session import NodeLostError
from ringside.errors import ProbeError
from ringside.measure.blocks import blocks
from ringside.measure.paired import (
    MAX_HOPELESS,
    MAX_PROBE_FAILURES,
    RunObserver,
    note_hopeless,
    unavailable_row,
)
from ringside.measure.stopping import Progress, StoppingRule
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import REPEATABLE, Outcome, Run, Trial
from ringside.stats.sequential import FIRST_LOOK
from ringside.store import Store, now
from ringside.workloads.base import Measurement

_TICK_S = 1.0
# By machine and cell: why it cannot be measured there.
Unavailable = dict[str, Mapping[Cell, str]]


@dataclass(slots=True)
class _Task:
    """What a machine does of a block: cells by their positions, in order. `machine`: where trials of it are
    already, whose pairs are missing; empty for any."""

    block: int
    cells: list[tuple[int, Cell]]
    machine: str = ""
    # What was asked and is not yet answered.
    refs: deque[tuple[Any, int, Cell]] = field(default_factory=deque)
    since: float = 0.0


class ClusterBenchmark:
    """One run. `unavailable`: the cells that cannot be measured, by machine, each with its reason."""

    def __init__(
        self,
        run: Run,
        experiment: Experiment,
        measurement: Measurement,
        points: tuple[Point, ...],
        rule: StoppingRule,
        machines: Machines,
        store: Store,
        observer: RunObserver,
        unavailable: Unavailable,
        engage: Callable[[ClusterBenchmark], None],
    ) -> None:
        """`engage`: finds other machines, and prepares them, where none is left; raises ClusterError."""
        self.run = run
        self._experiment = experiment
        self._points = points
        self._rule = rule
        self._machines = machines
        self._store = store
        self._observer = observer
        self._unavailable = unavailable
        self._engage = engage
        self._measurement = measurement
        self._progress = Progress(rule, experiment, measurement, points)
        self._hopeless: dict[Cell, list[Outcome]] = {}
        self._failing: list[str] = []
        self._busy: dict[str, _Task] = {}
        # Of blocks that a machine did not complete.
        self._moved: deque[_Task] = deque()
        # Trials of blocks that are not judged yet, and how many tasks of a block are not done.
        self._unjudged: dict[int, list[Trial]] = {}
        self._open: Counter[int] = Counter()
        self._begun = 0
        self._judged = 0
        self._is_over = False
        self._is_late = False

    def add_machine(self, name: str, unavailable: Mapping[Cell, str]) -> None:
        """A machine that has been engaged meanwhile."""
        self._unavailable[name] = unavailable

    def conduct(self) -> bool:
        """As `PairedBenchmark.conduct`; ClusterError, too, where no machine is left."""
        with self._store.hold(self.run):
            return self._conduct()

    def _conduct(self) -> bool:
        cells = [Cell(name, point) for point in self._points for name in self._experiment.contenders]
        self._observer.on_begin(self.run, self._rule, cells, self._measurement)
        kept = self._store.trials(self.run)
        done = {(trial.block, trial.cell): trial for trial in kept if trial.outcome not in REPEATABLE}
        for position, cell in enumerate(cells):
            if (reason := self._everywhere(cell)) and (0, cell) not in done:
                self._keep(unavailable_row(0, position, cell, reason))
        for trial in done.values():
            note_hopeless(trial, self._hopeless)
            if trial.block > 0:
                self._unjudged.setdefault(trial.block, []).append(trial)
        planned = self._planned(done)
        try:
            while True:
                self._hand_out(planned)
                if not self._busy:
                    break
                self._gather()
        except KeyboardInterrupt:
            for name, task in self._busy.items():
                _, position, cell = task.refs[0]
                detail = "interrupted before the probe had reported"
                self._keep(
                    Trial(
                        task.block,
                        position,
                        cell,
                        Outcome.INTERRUPTED,
                        detail,
                        started_at=now(),
                        machine=name,
                    )
                )
            raise
        # What is not decided by the deadline is inconclusive.
        is_over = self._is_over or (self._rule.decided and self._judged >= FIRST_LOOK)
        if self._is_late and not is_over:
            return False
        self._store.end_run(self.run)
        return True

    def _everywhere(self, cell: Cell) -> str | None:
        """Why a cell can be measured on no machine: the first one's reason."""
        reasons = [each.get(cell) for each in self._unavailable.values()]
        return reasons[0] if reasons and all(reasons) else None

    def _planned(self, done: Mapping[tuple[int, Cell], Trial]) -> Iterator[_Task]:
        """What is missing, block by block, as long as more is to be done."""
        names = self._experiment.contenders
        for block in blocks(self._points, names, self._rule.max_blocks, self.run.seed):
            self._judge()
            if self._is_over:
                return
            self._begun = block.index
            missing = [
                (position, cell)
                for position, cell in enumerate(block.cells)
                if not self._everywhere(cell)
                and (block.index, cell) not in done
                and self._progress.is_needed(cell)
            ]
            if not missing:
                continue
            if self._progress.is_late():
                self._is_late = True
                self._begun = block.index - 1
                return
            tasks = self._tasks(block.index, missing, done)
            self._open[block.index] = len(tasks)
            yield from tasks

    def _tasks(
        self, block: int, missing: list[tuple[int, Cell]], done: Mapping[tuple[int, Cell], Trial]
    ) -> list[_Task]:
        """What is missing of a block, of which trials may be there: a point that has some is completed on
        their machine, or made anew where that one is gone."""
        by_machine: dict[str, list[tuple[int, Cell]]] = {}
        for point in dict.fromkeys(cell.point for _, cell in missing):
            there = [
                trial
                for name in self._experiment.contenders
                if (trial := done.get((block, Cell(name, point)))) and trial.machine
            ]
            cells = [each for each in missing if each[1].point == point]
            machine = there[0].machine if there else ""
            if machine and machine not in self._machines.by_name:
                cells += self._set_aside(block, there, machine)
                machine = ""
            by_machine.setdefault(machine, []).extend(cells)
        return [
            _Task(block, sorted(cells, key=itemgetter(0)), machine) for machine, cells in by_machine.items()
        ]

    def _set_aside(self, block: int, trials: Sequence[Trial], machine: str) -> list[tuple[int, Cell]]:
        """Trials whose pairs can no more be completed: they are carried out again, on one machine."""
        reason = f"{machine} was lost before the block had a pair there: carried out again on another machine"
        self._store.set_aside(self.run, block, [trial.cell for trial in trials], reason)
        gone = {trial.cell for trial in trials}
        self._unjudged[block] = [each for each in self._unjudged.get(block, []) if each.cell not in gone]
        return [(trial.position, trial.cell) for trial in trials]

    def _hand_out(self, planned: Iterator[_Task]) -> None:
        """Give every idle machine something to do, if there is anything for it."""
        if not self._machines.by_name:
            self._engage(self)
        for machine in self._machines:
            while machine.name not in self._busy:
                task = self._next(machine, planned)
                if task is None:
                    break
                self._start(machine, task)

    def _next(self, machine: Machine, planned: Iterator[_Task]) -> _Task | None:
        for task in list(self._moved):
            if task.machine in ("", machine.name) or task.machine not in self._machines.by_name:
                self._moved.remove(task)
                return task
        for task in planned:
            if task.machine in ("", machine.name):
                return task
            self._moved.append(task)
        return None

    def _start(self, machine: Machine, task: _Task) -> None:
        """Ask for all trials of a task: the machine goes from one to the next without the driver."""
        missing = self._unavailable[machine.name]
        first = True
        for position, cell in task.cells:
            if cell in missing:
                # Its contender may be there on others.
                row = unavailable_row(task.block, position, cell, missing[cell])
                self._add(replace(row, machine=machine.name), 0.0)
            elif len(outcomes := self._hopeless.get(cell, [])) >= MAX_HOPELESS:
                detail = f"left out: {MAX_HOPELESS} trials of this cell were {outcomes[-1]}"
                self._add(unavailable_row(task.block, position, cell, detail), 0.0)
            else:
                ref = machine.bench.trial.remote(task.block, position, cell, first)
                task.refs.append((ref, position, cell))
                first = False
        if task.refs:
            self._busy[machine.name] = task
            self._next_trial(task)
        else:
            self._close(task)

    def _next_trial(self, task: _Task) -> None:
        task.since = time.monotonic()
        if task.refs:
            self._observer.on_trial_begin(task.block, task.refs[0][2])

    def _gather(self) -> None:
        """Wait for trials, a second at most, and keep them."""
        heads = {task.refs[0][0]: name for name, task in self._busy.items()}
        ready = self._machines.session.ready(list(heads), _TICK_S)
        for ref in ready:
            name = heads[ref]
            task = self._busy[name]
            try:
                trial = self._machines.session.result(ref)
            except NodeLostError as error:
                self._lose(name, str(error))
                continue
            self._add(trial, time.monotonic() - task.since)
            if trial.outcome is Outcome.INTERRUPTED:
                self._lose(name, "it was interrupted")
                continue
            task.refs.popleft()
            self._check_probe(trial)
            if task.refs:
                self._next_trial(task)
            else:
                del self._busy[name]
                self._close(task)
        if not ready:
            self._observer.on_tick()

    def _add(self, trial: Trial, seconds: float) -> None:
        self._keep(trial)
        if trial.outcome not in REPEATABLE:
            self._unjudged.setdefault(trial.block, []).append(trial)
            note_hopeless(trial, self._hopeless)
        # An observer's estimate of the time left knows of one machine.
        self._observer.on_trial_end(trial, seconds / max(1, len(self._machines.by_name)))

    def _keep(self, trial: Trial) -> None:
        self._store.add_trial(self.run, trial)

    def _check_probe(self, trial: Trial) -> None:
        if trial.outcome is not Outcome.PROBE_FAILED:
            self._failing.clear()
            return
        self._failing.append(trial.cell.contender)
        is_broken = len(set(self._failing)) > 1 or len(self._experiment.contenders) == 1
        if len(self._failing) >= MAX_PROBE_FAILURES and is_broken:
            raise ProbeError(f"the probe failed {len(self._failing)} times in a row, last: {trial.detail}")

    def _lose(self, name: str, reason: str) -> None:
        """Go on without a machine: what it did not complete moves to another. Points of which it has all
        trials stay as they are."""
        task = self._busy.pop(name)
        missing = {cell.point for _, _, cell in task.refs}
        left = [(position, cell) for _, position, cell in task.refs]
        mine = [
            trial
            for trial in self._unjudged.get(task.block, [])
            if trial.cell.point in missing and trial.machine == name
        ]
        left += self._set_aside(task.block, mine, name)
        self._machines.let_go(name, f"lost in block {task.block}, which moves to another machine: {reason}")
        self._moved.append(_Task(task.block, sorted(left, key=itemgetter(0))))

    def _close(self, task: _Task) -> None:
        """A task is done; its block is, unless another task has a part of it."""
        self._open[task.block] -= 1
        self._judge()

    def _judge(self) -> None:
        """Count the blocks that are whole, in their order."""
        while not self._is_over and self._judged < self._begun and not self._open[self._judged + 1]:
            self._judged += 1
            for trial in self._unjudged.pop(self._judged, []):
                self._progress.add(trial)
            self._is_over = self._progress.is_reached(self._judged) or self._progress.is_over(self._judged)
