"""Several runs over the machines of a cluster: everything is prepared on every machine, then measured."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from ringside.catalogue.loader import Catalogue
from ringside.cluster.benchmark import ClusterBenchmark
from ringside.cluster.machines import Machine, Machines
from ringside.errors import CatalogueError, UsageError
from ringside.measure import host, runner
from ringside.measure.campaign import Task
from ringside.measure.stopping import rule_of
from ringside.measure.suites import kept_suite
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Experiment, Point
from ringside.model.results import Run
from ringside.store import Store
from ringside.store.plans import PlannedContender, plan_values, read_plan
from ringside.workloads import measurement
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Workload


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


@dataclass
class _Prepared:
    """An experiment that machines are ready for. `contenders`: by machine and name, as here, not there."""

    experiment: Experiment
    workload: Workload
    points: tuple[Point, ...]
    contenders: dict[str, dict[str, Ready | Unavailable]] = field(default_factory=dict)

    def unavailable(self, machine: str) -> Mapping[Cell, str]:
        """The cells that cannot be measured on a machine."""
        contenders = self.contenders[machine]
        return runner.Prepared(self.experiment, self.workload, self.points, contenders, {}).unavailable()

    def planned(self, sources: dict[str, str]) -> dict[str, PlannedContender]:
        """The contenders of the plan: each as on the first machine that has it."""
        chosen = {}
        for name in self.experiment.contenders:
            each = [contenders[name] for contenders in self.contenders.values()]
            first = next((one for one in each if isinstance(one, Ready)), each[0])
            chosen[name] = runner.planned(first, self.workload.name, sources)
        return chosen

    def receipts(self, machine: str) -> dict[str, dict[str, str]]:
        """What each contender runs on there, or why it does not."""
        return {name: _receipt(each) for name, each in self.contenders[machine].items()}


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


@dataclass
class ClusterCampaign:
    """Carries out a task on machines; `sent`: the contenders as they are there. `runs`: those of the task
    that have begun."""

    task: Task
    catalogue: Catalogue
    machines: Machines
    sent: Mapping[str, Contender]
    store: Store
    observer: runner.Observer
    runs: list[Run] = field(init=False)

    def __post_init__(self) -> None:
        self.runs = list(self.task.runs)

    def carry_out(
        self, time_limit_s: float | None = None, on_run_end: Callable[[Run], None] | None = None
    ) -> None:
        """As `measure.campaign.Campaign.carry_out`. Raises ClusterError, too, where no machine is left."""
        for begun in self.task.unfinished:
            self.store.refuse_held(begun)
            if not begun.host.get("machines"):
                raise UsageError(f"run {begun.id} began without --on: resume it on its machine without --on")
        prepared = [
            *((run, self._of_run(run)) for run in self.task.unfinished),
            *((None, self._of_experiment(experiment)) for experiment in self.task.experiments),
        ]
        for _, each in prepared:
            self._prepare(each, list(self.machines))
        for run, each in prepared:
            if run is not None:
                self._check_unchanged(run, each)
        start = monotonic()
        for number, (run, each) in enumerate(prepared):
            left_s = None if time_limit_s is None else time_limit_s - (monotonic() - start)
            if number and left_s is not None and left_s <= 0:
                break
            if run is None:
                run = self._begin(each)
                self.runs.append(run)
            is_over = self._conduct(run, each, left_s)
            if is_over and on_run_end:
                on_run_end(self.store.run(run.id))

    def _of_run(self, run: Run) -> _Prepared:
        kept = read_plan(run)
        workload = measurement(kept.experiment.workload)
        if not isinstance(workload, Workload):
            raise UsageError(
                f"run {run.id} is not one of `ringside run` and cannot be resumed: start it anew"
            )
        return _Prepared(kept.experiment, workload, kept.points)

    def _of_experiment(self, experiment: Experiment) -> _Prepared:
        points = runner.check(experiment, self.catalogue, self.machines)
        return _Prepared(experiment, find_workload(experiment.workload), points)

    def _prepare(self, prepared: _Prepared, machines: Sequence[Machine]) -> None:
        """Build on all of these machines at once."""
        experiment = prepared.experiment
        local: dict[str, Contender] = {}
        broken: dict[str, Unavailable] = {}
        for name in experiment.contenders:
            self.observer.on_prepare(name)
            try:
                local[name] = self.catalogue.contender(name)
            except CatalogueError as error:
                broken[name] = runner.broken(name, prepared.workload, error)
        sent = {name: self.sent[name] for name in local}
        asked = {
            machine.name: machine.bench.prepare.remote(experiment, prepared.points, sent)
            for machine in machines
        }
        for machine, contenders in self.machines.ask(asked).items():
            here = {name: replace(each, contender=local[name]) for name, each in contenders.items()}
            prepared.contenders[machine] = {
                name: here.get(name) or broken[name] for name in experiment.contenders
            }
        for machine in sorted(asked.keys() & prepared.contenders.keys()):
            for name, each in prepared.contenders[machine].items():
                shown = replace(each.contender, name=f"{name} on {machine}")
                self.observer.on_prepared(replace(each, contender=shown))

    def _facts(self, machine: Machine, prepared: _Prepared) -> dict[str, Any]:
        facts = {**machine.facts.host, "contenders": prepared.receipts(machine.name)}
        return facts | ({"engines": dict(machine.engines)} if machine.engines else {})

    def _begin(self, prepared: _Prepared) -> Run:
        selection, suite_id = self.task.selection, self.task.suite_id
        assert selection
        experiment = prepared.experiment
        suite = kept_suite(selection, suite_id, self.catalogue) if suite_id else None
        published = self.catalogue.published(experiment.published) if experiment.published else None
        sources: dict[str, str] = {}
        first = next(iter(self.machines))
        values = plan_values(
            experiment,
            prepared.points,
            prepared.planned(sources),
            published,
            suite,
            None if suite else selection.kept(),
        )
        seed = random.SystemRandom().randrange(2**31) if selection.seed is None else selection.seed
        facts = {**first.facts.host, "machines": {}}
        if experiment.engines:
            facts["engines"] = experiment.engines
        run = self.store.begin_run(experiment.name, seed, values, facts, sources)
        return self._with_machines(run, prepared, list(self.machines))

    def _with_machines(self, run: Run, prepared: _Prepared, machines: Sequence[Machine]) -> Run:
        for machine in machines:
            run = self.store.add_machine(run, machine.name, self._facts(machine, prepared))
        return run

    def _check_unchanged(self, run: Run, prepared: _Prepared) -> None:
        """Raise UsageError where a machine, or a contender, is not what it was: trials would not be
        comparable."""
        kept = read_plan(run).contenders
        for name, contender in prepared.planned({}).items():
            if kept[name].content is not None and contender.files != kept[name].files:
                raise UsageError(f"contender `{name}` has changed since run {run.id} began: start a new run")
        known = run.host["machines"]
        for machine in self.machines:
            before = known.get(machine.name)
            if before is None:
                continue
            if changed := host.differences(before, machine.facts.host):
                there = "; ".join(changed)
                raise UsageError(
                    f"run {run.id} knows another machine as {machine.name} ({there}): give this one another "
                    "name (ray start --node-name), or start a new run"
                )
            for name, receipt in before["contenders"].items():
                now = prepared.receipts(machine.name)[name]
                if receipt.get("content") is None:
                    # It was not measured there, and stays so.
                    local = prepared.contenders[machine.name][name].contender
                    was = Unavailable(local, receipt["unavailable"], receipt["remedy"])
                    prepared.contenders[machine.name][name] = was
                elif now.get("content") != receipt["content"]:
                    raise UsageError(
                        f"contender `{name}` has changed on {machine.name} since run {run.id} began: start a "
                        "new run"
                    )

    def _conduct(self, run: Run, prepared: _Prepared, deadline_s: float | None) -> bool:
        machines = list(self.machines)
        unknown = [machine for machine in machines if machine.name not in run.host["machines"]]
        run = self._with_machines(run, prepared, unknown)
        self._start(run, prepared, machines)

        def engage(benchmark: ClusterBenchmark) -> None:
            """Machines that come when none is left."""
            new = self.machines.engage()
            self._prepare(prepared, new)
            new = [machine for machine in new if machine.name in self.machines.by_name]
            benchmark.run = self._with_machines(benchmark.run, prepared, new)
            self._start(run, prepared, new)
            for machine in self.machines:
                benchmark.add_machine(machine.name, prepared.unavailable(machine.name))

        unavailable = {machine.name: prepared.unavailable(machine.name) for machine in self.machines}
        benchmark = ClusterBenchmark(
            run=run,
            experiment=prepared.experiment,
            measurement=prepared.workload,
            points=prepared.points,
            rule=rule_of(prepared.experiment, deadline_s),
            machines=self.machines,
            store=self.store,
            observer=self.observer,
            unavailable=unavailable,
            engage=engage,
        )
        is_over = benchmark.conduct()
        self.machines.ask({machine.name: machine.bench.end.remote() for machine in self.machines})
        return is_over

    def _start(self, run: Run, prepared: _Prepared, machines: Sequence[Machine]) -> None:
        """Warm up."""
        self.machines.ask(
            {
                machine.name: machine.bench.begin.remote(prepared.experiment.name, run.seed)
                for machine in machines
            }
        )
