"""Runs on the machines of a cluster, which prepare all at once and share the blocks of a run. A block goes to
one of them, so that pairs inside blocks are of one machine; each has one block at a time. Only the loop
writes to the store.

Blocks end in any order. The stopping rule judges them in the order of their numbers, after block n once
blocks 1 … n are whole, so the speed of blocks does not decide which of them count. Once the run has reached
its goal, no further block begins; those that have begun are completed, and count.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar

from msgspec import structs

from ringside.catalogue.loader import Catalogue
from ringside.cluster.machines import GroupEngines, Machines, engine_count
from ringside.cluster.session import NodeLostError, connect, upload
from ringside.errors import ClusterError, UsageError
from ringside.measure.host import Capacity
from ringside.measure.runs.campaign import Campaign, Task
from ringside.measure.runs.loop import Notify, RunLoop, interrupted, row, rule_of, uninterrupted
from ringside.measure.runs.plan import Prepared, contenders_of, readable
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Experiment, Point, grouped
from ringside.model.results import Outcome, Run, Trial
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads import workload as find_workload

_TICK_S = 1.0
# How long a trial may take beyond its wall limit: a build is made anew, a probe hangs and is ended.
SILENCE_S = 1200.0


@dataclass(eq=False, slots=True)
class _Share:
    """One machine's part of a block: cells by their positions, in order."""

    block: int
    cells: list[tuple[int, Cell]]
    # The machine that already has trials of it, whose pairs are missing; None for any machine.
    machine: str | None = None
    # Trials without an answer, with Ray's references; the first one has been under way since `since`.
    asked: deque[tuple[int, Cell, Any]] = field(default_factory=deque)
    since: float = 0.0


@dataclass(eq=False)
class ClusterLoop(RunLoop):
    """The blocks of one run. Each machine goes from one trial of its block to the next without the driver.
    `prepared`: what each machine is ready for; `join`: finds other machines, prepares them, and returns the
    run with them."""

    prepared: dict[str, Prepared] = field(kw_only=True)
    machines: Machines = field(kw_only=True)
    join: Callable[[Run, dict[str, Prepared]], Run] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._session = self.machines.session
        self._busy: dict[str, _Share] = {}
        # Parts of blocks that have begun, for the next machine that may do them.
        self._waiting: list[_Share] = []
        self._begun, self._blocks = 0, self._begin_blocks()
        self._find_missing()

    def _find_missing(self) -> None:
        """Note the contenders that cannot be measured on each machine, lost ones included; and on none."""
        self._missing = {name: each.unavailable() for name, each in self.prepared.items()}
        first, *others = self._missing.values()
        self.unavailable = {
            cell: reason for cell, reason in first.items() if all(cell in missing for missing in others)
        }

    def _engage(self) -> None:
        """Find other machines where none is left. Raises ClusterError."""
        self.run = self.join(self.run, self.prepared)
        self._find_missing()
        self.warm_up()

    def warm_up(self) -> None:
        name, seed = self.experiment.name, self.run.seed
        self.machines.ask(lambda worker: worker.begin.remote(name, seed))

    def rehearse(self, cell: Cell, planned: Cell) -> Trial | None:
        while True:
            if not self.machines.by_name:
                self._engage()
            able = [machine for machine in self.machines if planned not in self._missing[machine.name]]
            if not able:
                return None
            ref, since = able[0].worker.trial.remote(0, 0, cell, False), time.monotonic()
            try:
                while not self._session.ready([ref], _TICK_S):
                    self.notify("tick")
                    self._check_silence(since)
                return uninterrupted(self._session.result(ref))
            except NodeLostError as error:
                self.machines.let_go(able[0].name, f"lost before the first block: {error}")

    def _check_silence(self, since: float) -> None:
        """Raise NodeLostError if a machine has been at a trial for too long."""
        limit_s = self.experiment.limits.wall_s + SILENCE_S
        if time.monotonic() - since > limit_s:
            raise NodeLostError(f"it did not answer within {limit_s:.0f} s")

    def measure(self) -> None:
        try:
            while self._hand_out():
                self._gather()
        except KeyboardInterrupt:
            self._keep_what_is_there()
            raise

    def _begin_blocks(self) -> Iterator[int]:
        """Begin one block after the other, whose shares then wait for machines."""
        for block, missing in self.planned():
            self._begun = block
            self._waiting += self._divided(block, missing)
            self._judge_whole()
            yield block

    def _divided(self, block: int, missing: list[tuple[int, Cell]]) -> list[_Share]:
        """The missing cells of a block. A point's first machine completes it; if gone, another repeats it."""
        by_machine: dict[str | None, list[tuple[int, Cell]]] = {}
        for point, cells in grouped((each[1].point, each) for each in missing).items():
            there = [
                trial
                for name in self.experiment.contenders
                if (trial := self.done.get((block, Cell(name, point)))) and trial.machine
            ]
            machine = there[0].machine if there else None
            if machine is not None and machine not in self.machines.by_name:
                cells += self._set_aside(block, there, machine)
                machine = None
            by_machine.setdefault(machine, []).extend(cells)
        return [
            _Share(block, sorted(cells, key=itemgetter(0)), machine) for machine, cells in by_machine.items()
        ]

    def _set_aside(self, block: int, trials: Sequence[Trial], machine: str) -> list[tuple[int, Cell]]:
        """Discard trials whose pairs can no longer be completed; their cells, for one machine to repeat."""
        reason = f"{machine} was lost before the block had a pair there: carried out again on another machine"
        self.store.set_aside(self.run, block, [trial.cell for trial in trials], reason)
        gone = {trial.cell for trial in trials}
        self.unjudged[block] = [each for each in self.unjudged.get(block, []) if each.cell not in gone]
        return [(trial.position, trial.cell) for trial in trials]

    def _hand_out(self) -> bool:
        """Give each idle machine a share; whether any machine is busy then."""
        if not self.machines.by_name:
            self._engage()
        for name in list(self.machines.by_name):
            while name not in self._busy and (share := self._next(name)):
                self._start(name, share)
        return bool(self._busy)

    def _next(self, name: str) -> _Share | None:
        """The first share that a machine may do; blocks begin until there is one."""
        while True:
            for share in self._waiting:
                if share.machine in (None, name) or share.machine not in self.machines.by_name:
                    self._waiting.remove(share)
                    return share
            if next(self._blocks, None) is None:
                return None

    def _start(self, name: str, share: _Share) -> None:
        worker, missing = self.machines.by_name[name].worker, self._missing[name]
        for position, cell in share.cells:
            if cell in missing:
                # Other machines may have its contender.
                self.add(replace(row(share.block, position, cell, missing[cell]), machine=name))
            elif not self.leave_out(share.block, position, cell):
                is_first = not share.asked
                if self.follows_another(share.block, cell, name):
                    worker.trial.remote(0, 0, self.measured(cell), False)
                ref = worker.trial.remote(share.block, position, self.measured(cell), is_first)
                share.asked.append((position, cell, ref))
        self._go_on(name, share)

    def _go_on(self, name: str, share: _Share) -> None:
        """Note that the machine is at the next trial of the share, or done with it."""
        if share.asked:
            self._busy[name] = share
            share.since = time.monotonic()
            self.notify("trial", share.block, share.asked[0][1])
        else:
            self._busy.pop(name, None)
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
            self.notify("tick")

    def _take(self, name: str, trial: Trial) -> None:
        share = self._busy[name]
        self.add(replace(trial, cell=share.asked[0][1]))
        if trial.outcome is Outcome.INTERRUPTED:
            self._lose(name, "it was interrupted")
            return
        share.asked.popleft()
        self.check_probe(trial, lambda cell: self._can_measure(name, cell))
        self._go_on(name, share)

    def _can_measure(self, name: str, cell: Cell) -> bool:
        try:
            return bool(self._session.result(self.machines.by_name[name].worker.can_measure.remote(cell)))
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
        self.machines.let_go(name, f"lost in block {share.block}, which goes to another machine: {reason}")
        self._waiting.append(_Share(share.block, sorted(left, key=itemgetter(0))))

    def _judge_whole(self) -> None:
        """Judge the blocks that are finished, up to the first unfinished one."""
        unfinished = {share.block for share in (*self._busy.values(), *self._waiting)}
        while not self.is_over and (block := self.progress.blocks + 1) <= self._begun:
            if block in unfinished:
                break
            self.progress.add_block(self.unjudged.pop(block, []))

    def _keep_what_is_there(self) -> None:
        """After Ctrl-C: keep the trials that were finished, and a row of each that was under way."""
        for name, share in self._busy.items():
            for position, cell, ref in share.asked:
                under_way = interrupted(share.block, position, cell, name)
                if self.is_kept(under_way):
                    continue
                trial: Trial | None = None
                # If the cluster is lost meanwhile, the user's wish to stop takes precedence.
                with suppress(ClusterError):
                    trial = self._session.result(ref) if self._session.ready([ref], 0) else None
                self.store.add_trial(self.run, replace(trial, cell=cell) if trial else under_way)
                if trial is None:
                    break


@dataclass(eq=False)
class ClusterCampaign(Campaign):
    """Measures on the machines of a cluster. `uploaded`: the contenders as they are there."""

    machines: Machines
    uploaded: Mapping[str, Contender]
    is_cluster: ClassVar[bool] = True

    def capacity(self) -> Capacity:
        return self.machines.capacity()

    def facts(self) -> dict[str, Mapping[str, Any]]:
        return {machine.name: machine.facts.host for machine in self.machines}

    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        """Build on all machines at once. Contenders are as here, not as there."""
        if not self.machines.by_name:
            self.machines.engage()
        here = contenders_of(experiment, self.catalogue)
        for name in here:
            self.notify("prepare", name)
        uploaded = {name: self.uploaded.get(name, each) for name, each in here.items()}
        prepared = {}
        answers = self.machines.ask(lambda worker: worker.prepare.remote(experiment, points, uploaded))
        for machine, there in sorted(answers.items()):
            contenders: dict[str, Ready | Unavailable] = {}
            for name, each in there.items():
                local = here[name]
                contenders[name] = each if isinstance(local, Unavailable) else replace(each, contender=local)
                shown = structs.replace(contenders[name].contender, name=f"{name} on {machine}")
                self.notify("prepared", replace(contenders[name], contender=shown))
            workload = find_workload(experiment.workload)
            prepared[machine] = Prepared(experiment, workload, points, contenders, {})
        return prepared

    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        first = next(iter(prepared.values()))
        run, rule = self._add_machines(run, prepared), rule_of(first.experiment, deadline_s)
        what = (run, rule, self.store, self.notify)
        loop = ClusterLoop(*what, prepared=prepared, machines=self.machines, join=self._engage)
        is_over = loop.conduct()
        # Losing the last machine no longer loses a trial.
        with suppress(ClusterError):
            self.machines.ask(lambda worker: worker.end.remote())
        return is_over

    def _engage(self, run: Run, prepared: dict[str, Prepared]) -> Run:
        first = next(iter(prepared.values()))
        prepared |= self.prepare(first.experiment, first.points)
        return self._add_machines(run, prepared)

    def _add_machines(self, run: Run, prepared: Mapping[str, Prepared]) -> Run:
        for machine in self.machines:
            if machine.name not in run.host["machines"]:
                receipts = {name: _receipt(each) for name, each in prepared[machine.name].contenders.items()}
                facts = {**machine.facts.host, "contenders": receipts}
                engines = {"engines": machine.facts.engines} if machine.facts.engines else {}
                run = self.store.add_machine(run, machine.name, facts | engines)
        return run


@contextmanager
def on_cluster(
    on: str, task: Task, catalogue: Catalogue, notify: Notify, engines: GroupEngines | None = None
) -> Iterator[tuple[Capacity, Callable[[Store], ClusterCampaign]]]:
    """The resources of contenders on the machines, and a function that makes a campaign on them; releases the
    machines at the end. `engines`: those of each contender's machine in two-sided trials; None: as many as
    the task has. Raises UsageError, also where a run began with others, ClusterError, ProbeError."""
    experiments = [*task.experiments, *(read_plan(run).experiment for run in task.unfinished)]
    planned = experiments[0].engines if experiments else 0
    wanted = engines or planned or None
    if engine_count(wanted or 0) != planned or any(each.engines != planned for each in experiments):
        began = f"with --engines {planned}" if planned else "without --engines"
        raise UsageError(f"the run began {began}: go on like that")
    contenders: dict[str, Contender] = {}
    for experiment in experiments:
        contenders |= readable(experiment, catalogue)
    with upload(contenders) as (folder, uploaded), connect(on, folder) as session:
        machines = Machines(session, partial(notify, "say"), partial(notify, "tick"), wanted=wanted)
        try:
            machines.engage()
            make = partial(
                ClusterCampaign, task, catalogue, notify=notify, machines=machines, uploaded=uploaded
            )
            yield machines.capacity(), make
        finally:
            machines.close()


def _receipt(contender: Ready | Unavailable) -> dict[str, str]:
    if isinstance(contender, Unavailable):
        return {"unavailable": contender.reason, "remedy": contender.remedy}
    receipt = contender.receipt
    kept = {"version": receipt.version, "receipt": receipt.text, "executable": receipt.executable}
    return {**kept, "content": contender.content}
