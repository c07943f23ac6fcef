"""Campaigns on the machines of a cluster, which prepare all at once and share the blocks of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from ringside.catalogue.loader import Catalogue
from ringside.cluster.groups import GroupEngines, engine_count
from ringside.cluster.loop import ClusterLoop
from ringside.cluster.machines import Machines
from ringside.cluster.session import connect
from ringside.cluster.upload import upload
from ringside.errors import UsageError
from ringside.measure.host.executor import Capacity
from ringside.measure.runs.campaign import Campaign, Task
from ringside.measure.runs.events import TICK, Event, Notify
from ringside.measure.runs.prepare import Prepared, contenders_of, readable
from ringside.measure.runs.stopping import rule_of
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Experiment, Point
from ringside.model.results import Run
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads import workload as find_workload


def _experiments(task: Task) -> list[Experiment]:
    return [*task.experiments, *(read_plan(run).experiment for run in task.unfinished)]


class ClusterCampaign(Campaign):
    """Measures on the machines of a cluster."""

    is_cluster = True

    def __init__(
        self,
        machines: Machines,
        uploaded: Mapping[str, Contender],
        task: Task,
        catalogue: Catalogue,
        notify: Notify,
        store: Store,
    ) -> None:
        """`uploaded`: the contenders as they are on the machines."""
        super().__init__(task, catalogue, store, notify)
        self._machines = machines
        self._uploaded = uploaded

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
        """Build on all machines at once. Contenders are as here, not as there."""
        here = contenders_of(experiment, self.catalogue)
        for name in here:
            self.notify(Event("prepare", name))
        uploaded = {name: self._uploaded.get(name, each) for name, each in here.items()}
        prepared = {}
        answers = self._machines.ask(lambda worker: worker.prepare.remote(experiment, points, uploaded))
        for machine, there in sorted(answers.items()):
            contenders: dict[str, Ready | Unavailable] = {}
            for name, each in there.items():
                local = here[name]
                contenders[name] = each if isinstance(local, Unavailable) else replace(each, contender=local)
                shown = structs.replace(contenders[name].contender, name=f"{name} on {machine}")
                self.notify(Event("prepared", replace(contenders[name], contender=shown)))
            workload = find_workload(experiment.workload)
            prepared[machine] = Prepared(experiment, workload, points, contenders, {})
        return prepared

    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        rule = rule_of(next(iter(prepared.values())).experiment, deadline_s)
        run = self._add_machines(run, prepared)
        loop = ClusterLoop(run, prepared, rule, self._machines, self._engage, self.store, self.notify)
        is_over = loop.conduct()
        self._machines.ask(lambda worker: worker.end.remote())
        return is_over

    def _engage(self, run: Run, prepared: dict[str, Prepared]) -> Run:
        self._machines.engage()
        first = next(iter(prepared.values()))
        prepared |= self.prepare(first.experiment, first.points)
        return self._add_machines(run, prepared)

    def _add_machines(self, run: Run, prepared: Mapping[str, Prepared]) -> Run:
        for machine in self._machines:
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
    """What contenders can get on the machines, which are let go at the end, and what makes a campaign on
    them. `engines`: of two-sided trials; None: as many as the task has. Raises UsageError, ClusterError,
    ProbeError."""
    wanted = _wanted(task, engines)
    contenders: dict[str, Contender] = {}
    for experiment in _experiments(task):
        contenders |= readable(experiment, catalogue)
    with upload(contenders) as (folder, uploaded), connect(on, folder) as session:
        say, tick = (lambda text: notify(Event("say", text))), partial(notify, TICK)
        machines = Machines(session, say, tick, wanted=wanted)
        try:
            machines.engage()
            make = partial(ClusterCampaign, machines, uploaded, task, catalogue, notify)
            yield machines.capacity(), make
        finally:
            machines.close()


def _wanted(task: Task, engines: GroupEngines | None) -> GroupEngines | None:
    """The engines of each contender's machine; None of a task whose load comes from its own. Raises
    UsageError where `engines` are others than those with which a run began."""
    planned = _experiments(task)
    count = planned[0].engines if planned else 0
    wanted = engines or count
    if engine_count(wanted) != count or any(each.engines != count for each in planned):
        began = f"with --engines {count}" if count else "without --engines"
        raise UsageError(f"the run began {began}: go on like that")
    return wanted or None


def _receipt(contender: Ready | Unavailable) -> dict[str, str]:
    if isinstance(contender, Unavailable):
        return {"unavailable": contender.reason, "remedy": contender.remedy}
    receipt = contender.receipt
    kept = {"version": receipt.version, "receipt": receipt.text, "executable": receipt.executable}
    return {**kept, "content": contender.content}
