"""The machines of a cluster as those of a campaign: they prepare all at once, and are places for the loop
over blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ringside.catalogue.loader import Catalogue
from ringside.cluster.groups import GroupEngines
from ringside.cluster.machines import Machine, Machines
from ringside.cluster.session import NodeLostError, connect
from ringside.cluster.upload import upload
from ringside.errors import CatalogueError, UsageError
from ringside.measure.runs.campaign import Task
from ringside.measure.runs.events import TICK, Event, Notify
from ringside.measure.runs.prepare import Prepared, unreadable
from ringside.measure.runs.runners import TrialRunner
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Run, Trial
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads import workload as find_workload

_TICK_S = 1.0


def contenders_of(task: Task, catalogue: Catalogue) -> dict[str, Contender]:
    """The contenders of a task's experiments, by name, without those whose manifests are broken."""
    experiments = [*task.experiments, *(read_plan(run).experiment for run in task.unfinished)]
    contenders = {}
    for name in dict.fromkeys(name for each in experiments for name in each.contenders):
        try:
            contenders[name] = catalogue.contender(name)
        except CatalogueError:
            continue
    return contenders


@dataclass(frozen=True)
class Cluster:
    """The machines of a cluster, for campaigns. `uploaded`: the contenders as they are there."""

    catalogue: Catalogue
    machines: Machines
    uploaded: Mapping[str, Contender]
    notify: Notify
    is_cluster = True

    def available_cpus(self) -> int:
        return self.machines.available_cpus()

    def descriptors(self) -> int:
        return self.machines.descriptors()

    def facts(self) -> dict[str, Mapping[str, Any]]:
        return {machine.name: machine.facts.host for machine in self.machines}

    def run_facts(self, experiment: Experiment) -> dict[str, Any]:
        """Those of the first machine; each is added when it joins."""
        facts = {**next(iter(self.machines)).facts.host, "machines": {}}
        return facts | ({"engines": experiment.engines} if experiment.engines else {})

    def own(self) -> AbstractContextManager[None]:
        """They have their locks since they were engaged."""
        return nullcontext()

    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        return self.prepare_on(list(self.machines), experiment, points)

    def prepare_on(
        self, machines: Sequence[Machine], experiment: Experiment, points: tuple[Point, ...]
    ) -> dict[str, Prepared]:
        """Build on these machines at once. Contenders are as here, not as there."""
        workload = find_workload(experiment.workload)
        local: dict[str, Contender] = {}
        broken: dict[str, Unavailable] = {}
        for name in experiment.contenders:
            self.notify(Event("prepare", name))
            try:
                local[name] = self.catalogue.contender(name)
            except CatalogueError as error:
                broken[name] = unreadable(name, workload, error)
        uploaded = {name: self.uploaded[name] for name in local}
        asked = {
            machine.name: machine.worker.prepare.remote(experiment, points, uploaded) for machine in machines
        }
        prepared = {}
        for machine, there in sorted(self.machines.ask(asked).items()):
            contenders: dict[str, Ready | Unavailable] = {}
            for name in experiment.contenders:
                is_here = name in there
                contenders[name] = replace(there[name], contender=local[name]) if is_here else broken[name]
                shown = replace(contenders[name].contender, name=f"{name} on {machine}")
                self.notify(Event("prepared", replace(contenders[name], contender=shown)))
            prepared[machine] = Prepared(experiment, workload, points, contenders, {})
        return prepared

    def join(self, run: Run, prepared: Mapping[str, Prepared], store: Store) -> Run:
        for machine in self.machines:
            if machine.name not in run.host["machines"]:
                receipts = {name: _receipt(each) for name, each in prepared[machine.name].contenders.items()}
                facts = {**machine.facts.host, "contenders": receipts}
                engines = {"engines": dict(machine.engines)} if machine.engines else {}
                run = store.add_machine(run, machine.name, facts | engines)
        return run

    @contextmanager
    def runner(self, run: Run, prepared: dict[str, Prepared], store: Store) -> Iterator[TrialRunner]:
        yield ClusterRunner(self, run, prepared, store)
        self.machines.ask({machine.name: machine.worker.end.remote() for machine in self.machines})


@contextmanager
def engaged(
    on: str,
    task: Task,
    catalogue: Catalogue,
    notify: Notify,
    engines: int | tuple[str, ...] | None = None,
) -> Iterator[Cluster]:
    """The machines, which are let go at the end. `engines`: of two-sided trials, how many or on which nodes;
    None: as many as the task has. Raises UsageError, ClusterError, ProbeError."""
    wanted = _wanted(task, engines)
    with upload(contenders_of(task, catalogue)) as (folder, uploaded), connect(on, folder) as session:
        machines = Machines(
            session, lambda text: notify(Event("say", text)), partial(notify, TICK), wanted=wanted
        )
        try:
            machines.engage()
            yield Cluster(catalogue, machines, uploaded, notify)
        finally:
            machines.close()


def _wanted(task: Task, engines: int | tuple[str, ...] | None) -> GroupEngines | None:
    """The engines of each contender's machine; None of a task whose load comes from its own. Raises
    UsageError where `engines` are others than those with which a run began."""
    planned = [*task.experiments, *(read_plan(run).experiment for run in task.unfinished)]
    count = planned[0].engines if planned else 0
    group = (
        GroupEngines(len(engines), engines) if isinstance(engines, tuple) else GroupEngines(engines or count)
    )
    if group.engines != count or any(each.engines != count for each in planned):
        began = f"with --engines {count}" if count else "without --engines"
        raise UsageError(f"the run began {began}: go on like that")
    return group if count else None


def _receipt(contender: Ready | Unavailable) -> dict[str, str]:
    if isinstance(contender, Unavailable):
        return {"unavailable": contender.reason, "remedy": contender.remedy}
    receipt = contender.receipt
    return {
        "version": receipt.version,
        "receipt": receipt.text,
        "executable": receipt.executable,
        "content": contender.content,
    }


class ClusterRunner:
    """Each machine of a cluster is a place. It goes from one trial to the next without the driver."""

    are_here = False

    def __init__(self, cluster: Cluster, run: Run, prepared: dict[str, Prepared], store: Store) -> None:
        self._cluster = cluster
        self._machines = cluster.machines
        self._run = run
        self._prepared = prepared
        self._store = store
        self._unavailable = {name: each.unavailable() for name, each in prepared.items()}
        # By place, the answers that are not yet taken; the first are the ones that it gives first.
        self._asked: dict[str, deque[Any]] = {}

    def names(self) -> list[str]:
        return list(self._machines.by_name)

    def unavailable(self) -> Mapping[str, Mapping[Cell, str]]:
        return self._unavailable

    def engage(self) -> None:
        new = self._machines.engage()
        first = next(iter(self._prepared.values()))
        self._prepared |= self._cluster.prepare_on(new, first.experiment, first.points)
        self._unavailable = {name: each.unavailable() for name, each in self._prepared.items()}
        self._run = self._cluster.join(self._run, self._prepared, self._store)
        self._warm_up([machine for machine in self._machines if machine in new])

    def warm_up(self) -> None:
        self._warm_up(list(self._machines))

    def _warm_up(self, machines: Sequence[Machine]) -> None:
        name = next(iter(self._prepared.values())).experiment.name
        self._machines.ask(
            {machine.name: machine.worker.begin.remote(name, self._run.seed) for machine in machines}
        )

    def ask(self, place: str, block: int, position: int, cell: Cell, *, first: bool) -> None:
        worker = self._machines.by_name[place].worker
        self._asked.setdefault(place, deque()).append(worker.trial.remote(block, position, cell, first))

    def answers(self) -> Iterator[tuple[str, Trial | str]]:
        session = self._machines.session
        heads = {asked[0]: place for place, asked in self._asked.items() if asked}
        for ref in session.ready(list(heads), _TICK_S):
            asked = self._asked[heads[ref]]
            yield heads[ref], self._answer(ref)
            # Only when it is kept: a Ctrl-C before that loses nothing.
            asked.popleft()

    def finished(self) -> list[Trial]:
        refs = [ref for asked in self._asked.values() for ref in asked]
        answers = (self._answer(ref) for ref in refs if self._machines.session.ready([ref], 0))
        return [answer for answer in answers if isinstance(answer, Trial)]

    def _answer(self, ref: Any) -> Trial | str:
        try:
            trial: Trial = self._machines.session.result(ref)
        except NodeLostError as error:
            return str(error)
        return trial

    def can_measure(self, place: str, cell: Cell) -> bool:
        """After the trials that the machine was asked for."""
        try:
            return bool(
                self._machines.session.result(self._machines.by_name[place].worker.can_measure.remote(cell))
            )
        except NodeLostError:
            return False

    def lose(self, place: str, reason: str) -> None:
        self._asked.pop(place, None)
        self._machines.let_go(place, reason)
