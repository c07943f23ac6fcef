"""The loop over blocks on several machines. A block goes to one of them, so that pairs inside blocks are of
one machine; each has one block at a time. Only the loop writes to the store.

Blocks end in any order. The stopping rule judges them in the order of their numbers, after block n once
blocks 1 … n are whole, so that which blocks count does not depend on how fast they were. No block begins once
the run has reached its goal; those that have begun are completed, and count.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from ringside.cluster.machines import Machines
from ringside.cluster.session import NodeLostError
from ringside.errors import ClusterError
from ringside.measure.runs.events import TICK, Event, Notify
from ringside.measure.runs.loop import RunLoop, interrupted, row
from ringside.measure.runs.prepare import Prepared
from ringside.measure.runs.stopping import StoppingRule
from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.store import Store

_TICK_S = 1.0
# What a machine may take for a trial beyond its wall limit: a build is made anew, a probe hangs and is ended.
SILENCE_S = 1200.0


@dataclass(slots=True)
class _Share:
    """What one machine does of a block: cells by their positions, in order."""

    block: int
    cells: list[tuple[int, Cell]]
    # Where trials of it are already, whose pairs are missing; None for any machine.
    machine: str | None = None
    # What is not yet answered, with Ray's references; the first trial is under way since `since`.
    asked: deque[tuple[int, Cell, Any]] = field(default_factory=deque)
    since: float = 0.0


class ClusterLoop(RunLoop):
    """The blocks of one run. Each machine goes from one trial of its block to the next without the driver.
    `join`: engages machines, adds what they are ready for to `prepared`, and returns the run with them."""

    def __init__(
        self,
        run: Run,
        prepared: dict[str, Prepared],
        rule: StoppingRule,
        machines: Machines,
        join: Callable[[Run, dict[str, Prepared]], Run],
        store: Store,
        notify: Notify,
    ) -> None:
        first = next(iter(prepared.values()))
        what = (run, first.experiment, first.workload, first.points, rule)
        super().__init__(*what, store, notify, {}, first.classes)
        self._prepared = prepared
        self._machines = machines
        self._session = machines.session
        self._join = join
        self._busy: dict[str, _Share] = {}
        # Shares of blocks that a machine did not complete.
        self._moved: deque[_Share] = deque()
        # How many shares of a block are not done.
        self._open: Counter[int] = Counter()
        self._begun = 0
        self._is_late = False
        self._find_missing()

    def _find_missing(self) -> None:
        """Note what cannot be measured on each machine, lost ones included; and on none."""
        self._missing = {name: each.unavailable() for name, each in self._prepared.items()}
        first, *others = self._missing.values()
        self.unavailable = {
            cell: reason for cell, reason in first.items() if all(cell in missing for missing in others)
        }

    def _engage(self) -> None:
        """Find other machines where none is left. Raises ClusterError."""
        self.run = self._join(self.run, self._prepared)
        self._find_missing()
        self.warm_up()

    def warm_up(self) -> None:
        name, seed = self.experiment.name, self.run.seed
        self._machines.ask(lambda worker: worker.begin.remote(name, seed))

    def rehearse(self, cell: Cell, planned: Cell) -> Trial | None:
        self.notify(Event("warm-up", planned))
        while True:
            if not self._machines.by_name:
                self._engage()
            able = [machine for machine in self._machines if planned not in self._missing[machine.name]]
            if not able:
                return None
            ref, since = able[0].worker.trial.remote(0, 0, cell, False), time.monotonic()
            try:
                while not self._session.ready([ref], _TICK_S):
                    self.notify(TICK)
                    self._check_silence(since)
                trial: Trial = self._session.result(ref)
            except NodeLostError as error:
                self._machines.let_go(able[0].name, f"lost before the first block: {error}")
            else:
                return trial

    def _check_silence(self, since: float) -> None:
        """Raise NodeLostError where a machine has been at a trial for too long."""
        limit_s = self.experiment.limits.wall_s + SILENCE_S
        if time.monotonic() - since > limit_s:
            raise NodeLostError(f"it did not answer within {limit_s:.0f} s")

    def measure(self, done: Mapping[tuple[int, Cell], Trial]) -> bool:
        shares = self._shares(done)
        try:
            self._hand_out(shares)
            while self._busy:
                self._gather()
                self._hand_out(shares)
        except KeyboardInterrupt:
            self._keep_what_is_there()
            raise
        return self._is_late

    def _shares(self, done: Mapping[tuple[int, Cell], Trial]) -> Iterator[_Share]:
        for block, missing in self.planned(done):
            if missing and self.progress.is_late():
                self._is_late = True
                return
            self._begun = block
            shares = self._divided(block, missing, done)
            self._open[block] = len(shares)
            yield from shares
            self._judge_whole()

    def _divided(
        self, block: int, missing: list[tuple[int, Cell]], done: Mapping[tuple[int, Cell], Trial]
    ) -> list[_Share]:
        """What is missing of a block. A point that has trials is completed on their machine, or measured
        again where that one is gone."""
        by_machine: dict[str | None, list[tuple[int, Cell]]] = {}
        for point in dict.fromkeys(cell.point for _, cell in missing):
            there = [
                trial
                for name in self.experiment.contenders
                if (trial := done.get((block, Cell(name, point)))) and trial.machine
            ]
            cells = [each for each in missing if each[1].point == point]
            machine = there[0].machine if there else None
            if machine is not None and machine not in self._machines.by_name:
                cells += self._set_aside(block, there, machine)
                machine = None
            by_machine.setdefault(machine, []).extend(cells)
        return [
            _Share(block, sorted(cells, key=itemgetter(0)), machine) for machine, cells in by_machine.items()
        ]

    def _set_aside(self, block: int, trials: Sequence[Trial], machine: str) -> list[tuple[int, Cell]]:
        """Trials whose pairs can no more be completed: they are carried out again, on one machine."""
        reason = f"{machine} was lost before the block had a pair there: carried out again on another machine"
        self.store.set_aside(self.run, block, [trial.cell for trial in trials], reason)
        gone = {trial.cell for trial in trials}
        self.unjudged[block] = [each for each in self.unjudged.get(block, []) if each.cell not in gone]
        return [(trial.position, trial.cell) for trial in trials]

    def _hand_out(self, shares: Iterator[_Share]) -> None:
        if not self._machines.by_name:
            self._engage()
        for name in list(self._machines.by_name):
            while name not in self._busy and (share := self._next(name, shares)):
                self._start(name, share)

    def _next(self, name: str, shares: Iterator[_Share]) -> _Share | None:
        for share in list(self._moved):
            if share.machine in (None, name) or share.machine not in self._machines.by_name:
                self._moved.remove(share)
                return share
        for share in shares:
            if share.machine in (None, name):
                return share
            self._moved.append(share)
        return None

    def _start(self, name: str, share: _Share) -> None:
        worker, missing = self._machines.by_name[name].worker, self._missing[name]
        for position, cell in share.cells:
            if cell in missing:
                # Other machines may have its contender.
                self.add(replace(row(share.block, position, cell, missing[cell]), machine=name), 0.0)
            elif not self.leave_out(share.block, position, cell):
                is_first = not share.asked
                if self.follows_another(share.block, cell, name):
                    worker.trial.remote(0, 0, self.measured(cell), False)
                ref = worker.trial.remote(share.block, position, self.measured(cell), is_first)
                share.asked.append((position, cell, ref))
        self._go_on(name, share)

    def _go_on(self, name: str, share: _Share) -> None:
        """The machine is at the next trial of the share, or done with it."""
        if share.asked:
            self._busy[name] = share
            share.since = time.monotonic()
            self.notify(Event("trial", share.block, share.asked[0][1]))
        else:
            self._busy.pop(name, None)
            self._open[share.block] -= 1
            self._judge_whole()

    def _gather(self) -> None:
        """Wait for trials, a second at most, and keep them."""
        heads = {share.asked[0][2]: name for name, share in self._busy.items()}
        ready = self._session.ready(list(heads), _TICK_S)
        for ref, name in heads.items():
            try:
                if ref in ready:
                    self._take(name, self._session.result(ref))
                else:
                    self._check_silence(self._busy[name].since)
            except NodeLostError as error:
                self._lose(name, str(error))
        if not ready:
            self.notify(TICK)

    def _take(self, name: str, trial: Trial) -> None:
        share = self._busy[name]
        seconds = time.monotonic() - share.since
        # A listener's estimate of the time left knows of one machine.
        self.add(replace(trial, cell=share.asked[0][1]), seconds / max(1, len(self._machines.by_name)))
        if trial.outcome is Outcome.INTERRUPTED:
            self._lose(name, "it was interrupted")
            return
        share.asked.popleft()
        self.check_probe(trial, lambda cell: self._can_measure(name, cell))
        self._go_on(name, share)

    def _can_measure(self, name: str, cell: Cell) -> bool:
        try:
            return bool(self._session.result(self._machines.by_name[name].worker.can_measure.remote(cell)))
        except NodeLostError:
            return False

    def _lose(self, name: str, reason: str) -> None:
        """Go on without a machine: points that it did not complete move to another."""
        share = self._busy.pop(name)
        left = [(position, cell) for position, cell, _ in share.asked]
        points = {cell.point for _, cell in left}
        mine = [
            trial
            for trial in self.unjudged.get(share.block, [])
            if trial.cell.point in points and trial.machine == name
        ]
        left += self._set_aside(share.block, mine, name)
        self._machines.let_go(name, f"lost in block {share.block}, which goes to another machine: {reason}")
        self._moved.append(_Share(share.block, sorted(left, key=itemgetter(0))))

    def _judge_whole(self) -> None:
        while not self.is_over and (block := self.progress.blocks + 1) <= self._begun:
            if self._open[block]:
                break
            self.judge(block)

    def _keep_what_is_there(self) -> None:
        """After Ctrl-C: keep the trials that were finished, and a row of each that was under way."""
        for name, share in self._busy.items():
            for position, cell, ref in share.asked:
                under_way = interrupted(share.block, position, cell, name)
                if self.is_kept(under_way):
                    continue
                trial: Trial | None = None
                # Where the cluster is lost meanwhile, the wish to stop is more important.
                with suppress(ClusterError):
                    trial = self._session.result(ref) if self._session.ready([ref], 0) else None
                self.store.add_trial(self.run, replace(trial, cell=cell) if trial else under_way)
                if trial is None:
                    break
