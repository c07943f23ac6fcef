"""Campaigns on the machines of a cluster, which prepare all at once and share the blocks of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ringside.catalogue.loader import Catalogue
from ringside.cluster.groups import GroupEngines
from ringside.cluster.loop import ClusterLoop
from ringside.cluster.machines import Machine, Machines
from ringside.cluster.session import connect
from ringside.cluster.upload import upload
from ringside.errors import CatalogueError, UsageError
from ringside.measure.host.executor import Capacity
from ringside.measure.runs.campaign import Campaign, Task
from ringside.measure.runs.events import TICK, Event, Notify
from ringside.measure.runs.prepare import Prepared, unreadable
from ringside.measure.runs.stopping import rule_of
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Experiment, Point
from ringside.model.results import Run
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads import workload as find_workload


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

    def capacity(self) -> Capacity:
        return self.machines.capacity()

    def campaign(self, task: Task, store: Store) -> ClusterCampaign:
        return ClusterCampaign(task, self, store)


class ClusterCampaign(Campaign):
    """Measures on the machines of a cluster."""

    is_cluster = True

    def __init__(self, task: Task, cluster: Cluster, store: Store) -> None:
        super().__init__(task, cluster.catalogue, store, cluster.notify)
        self._machines = cluster.machines
        self._uploaded = cluster.uploaded

    def capacity(self) -> Capacity:
        return self._machines.capacity()

    def facts(self) -> dict[str, Mapping[str, Any]]:
        return {machine.name: machine.facts.host for machine in self._machines}

    def run_facts(self, experiment: Experiment) -> dict[str, Any]:
        """Those of the first machine; each is added when it joins."""
        facts = {**next(iter(self._machines)).facts.host, "machines": {}}
        return facts | ({"engines": experiment.engines} if experiment.engines else {})

    def own(self) -> AbstractContextManager[None]:
        """They have their locks since they were engaged."""
        return nullcontext()

    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        return self._prepare_on(list(self._machines), experiment, points)

    def _prepare_on(
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
        uploaded = {name: self._uploaded[name] for name in local}
        asked = {
            machine.name: machine.worker.prepare.remote(experiment, points, uploaded) for machine in machines
        }
        prepared = {}
        for machine, there in sorted(self._machines.ask(asked).items()):
            contenders: dict[str, Ready | Unavailable] = {}
            for name in experiment.contenders:
                is_here = name in there
                contenders[name] = replace(there[name], contender=local[name]) if is_here else broken[name]
                shown = replace(contenders[name].contender, name=f"{name} on {machine}")
                self.notify(Event("prepared", replace(contenders[name], contender=shown)))
            prepared[machine] = Prepared(experiment, workload, points, contenders, {})
        return prepared

    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        rule = rule_of(next(iter(prepared.values())).experiment, deadline_s)
        run = self._add_machines(run, prepared)
        loop = ClusterLoop(run, prepared, rule, self._machines, self._engage, self.store, self.notify)
        is_over = loop.conduct()
        self._machines.ask({machine.name: machine.worker.end.remote() for machine in self._machines})
        return is_over

    def _engage(self, run: Run, prepared: dict[str, Prepared]) -> Run:
        """Engage machines for a run that has lost all others."""
        first = next(iter(prepared.values()))
        prepared |= self._prepare_on(self._machines.engage(), first.experiment, first.points)
        return self._add_machines(run, prepared)

    def _add_machines(self, run: Run, prepared: Mapping[str, Prepared]) -> Run:
        """The run, with the machines that are new in it."""
        for machine in self._machines:
            if machine.name not in run.host["machines"]:
                receipts = {name: _receipt(each) for name, each in prepared[machine.name].contenders.items()}
                facts = {**machine.facts.host, "contenders": receipts}
                engines = {"engines": dict(machine.engines)} if machine.engines else {}
                run = self.store.add_machine(run, machine.name, facts | engines)
        return run


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
