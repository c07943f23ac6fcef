"""Several runs, one after another: runs in the store that go on as they began, then new ones."""

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import msgspec

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure import host
from ringside.measure.host import Capacity, Executor, alone, off_contender_cpus
from ringside.measure.runs import plan
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import BlockLoop, Notify, rule_of
from ringside.measure.runs.plan import Prepared, check, contenders_of, described, prepare, readable
from ringside.measure.runs.trials import ContenderTrials
from ringside.measure.toolchain.builds import Toolchain, rebuild
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Experiment, Point
from ringside.model.results import REPEATABLE, Run, counted
from ringside.store import Store, stamp
from ringside.store.database import free_suite_id, runs_of, suite_of
from ringside.store.plans import PlannedContender, RunPlan, Selection, read_plan
from ringside.workloads import measurement
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Workload
from ringside.workloads.command import COMMAND

# An experiment, its run if that has begun, and what makes every machine ready for it, by the machines' names.
Part = tuple[Experiment, Run | None, Callable[[], dict[str, Prepared]]]


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a campaign: complete the `unfinished` ones of the `runs` that have begun, then run each of
    the `experiments`. `selection`: how the command line chose them; `suite_id`: that of all their runs."""

    experiments: Sequence[Experiment] = ()
    runs: Sequence[Run] = ()
    unfinished: Sequence[Run] = ()
    selection: Selection | None = None
    suite_id: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.experiments and not self.unfinished


def new_task(selection: Selection, catalogue: Catalogue) -> Task:
    """A run of the selected experiment, or of each of a suite. Raises UsageError, CatalogueError."""
    chosen = plan.experiments(catalogue, selection) * selection.sessions
    is_suite = catalogue.suite(selection.name) is not None or selection.sessions > 1
    several = f"-x{selection.sessions}" if selection.sessions > 1 else ""
    suite_id = f"{stamp()}-{Path(selection.name).stem}{several}" if is_suite else None
    return Task(chosen, selection=selection, suite_id=suite_id)


def resumed_task(name: str, store: Store, catalogue: Catalogue) -> Task:
    """The rest of a run, also of one in a suite; or of a suite: its unfinished runs, then its experiments
    that have not begun. Raises UsageError if the store has no run of that name."""
    runs = runs_of(store, name)
    # Also where a trial was interrupted, or its probe failed, and was not carried out again.
    unfinished = [
        run
        for run in runs
        if run.ended_at is None or any(trial.outcome in REPEATABLE for trial in counted(store.trials(run)))
    ]
    suite_id = suite_of(runs, name)
    if suite_id is None:
        return Task(runs=runs, unfinished=unfinished)
    selection = msgspec.convert(runs[0].suite, Selection)
    begun = Counter(run.experiment for run in runs)
    parts = plan.experiments(catalogue, selection)
    missing = [each for session in range(selection.sessions) for each in parts if begun[each.name] <= session]
    return Task(missing, runs, unfinished, selection, suite_id)


def check_origin(run: Run, *, on_cluster: bool) -> RunPlan:
    """The plan of a run that can go on here. Raises UsageError for one of `vs` or `load --vs`, and where the
    run began on this machine and is to go on on a cluster, or the other way."""
    plan = read_plan(run)
    if not isinstance(measurement(plan.experiment.workload), Workload):
        is_vs = plan.experiment.workload == COMMAND.name
        way = f"`ringside vs --resume {run.id}` continues it" if is_vs else "start it anew"
        raise UsageError(f"run {run.id} is not one of `ringside run`: {way}")
    began_on_cluster = "machines" in run.host
    if began_on_cluster and not on_cluster:
        raise UsageError(f"run {run.id} began on a cluster: resume it with --on")
    if on_cluster and not began_on_cluster:
        raise UsageError(f"run {run.id} began without --on: resume it on its machine without --on")
    return plan


def check_machines(run: Run, facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise UsageError if a machine is not the one that the run knows by its name: trials would not be
    comparable. `facts`: by name, as `host.facts`."""
    known = run.host.get("machines", {"": run.host})
    for name, now in facts.items():
        if name not in known or not (changed := host.differences(known[name], now)):
            continue
        there = "; ".join(changed)
        if not name:
            raise UsageError(
                f"run {run.id} began on another machine ({there}): resume it there, or start a new run"
            )
        raise UsageError(
            f"run {run.id} knows another machine as {name} ({there}): give this one another name (ray start "
            "--node-name), or start a new run"
        )


def as_it_began(run: Run, machines: Mapping[str, Prepared]) -> dict[str, Prepared]:
    """The contenders that each machine can run, by its name, if they are as they were when the run began; a
    contender that could not be measured then stays so. Raises UsageError if one has changed since, or is no
    longer available: its trials would not be comparable, or missing."""
    kept = read_plan(run)
    settled = {}
    for machine, prepared in machines.items():
        then, where = _known(run, kept, machine), f" on {machine}" if machine else ""
        contenders = {}
        for name, now in prepared.contenders.items():
            was, planned = then.get(name), kept.contenders[name]
            if was and was.content is None:
                now = Unavailable(now.contender, was.unavailable, was.remedy)
            elif was and isinstance(now, Unavailable):
                reason = now.reason + (f" ({now.remedy})" if now.remedy else "")
                raise UsageError(
                    f"contender `{name}` was available{where} when run {run.id} began, and is not any more: "
                    f"{reason}; restore it, or start a new run"
                )
            elif isinstance(now, Ready):
                if was:
                    is_same = now.content == was.content
                else:  # On a machine that is new to the run only the sources can be compared.
                    files = described(now, prepared.workload.name, {}).files
                    is_same = planned.content is None or files == planned.files
                if not is_same:
                    what = f"contender `{name}` has changed{where} since run {run.id} began"
                    raise UsageError(f"{what}: start a new run")
            contenders[name] = now
        settled[machine] = replace(prepared, contenders=contenders)
    return settled


def _known(run: Run, plan: RunPlan, machine: str) -> Mapping[str, PlannedContender]:
    """The contenders of a machine when the run began; empty for one that the run does not know."""
    if not machine:
        return plan.contenders
    receipts = run.host["machines"].get(machine, {}).get("contenders", {})
    return {
        name: msgspec.convert({"title": name, **receipt}, PlannedContender)
        for name, receipt in receipts.items()
    }


@dataclass(eq=False)
class Campaign(ABC):
    """Carries out a task: here (`LocalCampaign`) or on several machines. `runs`: its runs that have begun."""

    task: Task
    catalogue: Catalogue
    store: Store
    notify: Notify
    is_cluster: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.task.suite_id and not self.task.runs:
            self.task = replace(self.task, suite_id=free_suite_id(self.store, self.task.suite_id))
        self.runs = list(self.task.runs)

    def carry_out(
        self, time_limit_s: float | None = None, on_run_end: Callable[[Run], None] | None = None
    ) -> None:
        """Check everything, then prepare and measure one experiment after the other; `on_run_end` gets each
        run that is over. Raises UsageError, before anything is measured unless another process works on one
        of the runs, or an input has no room. ProbeError, ClusterError and KeyboardInterrupt pass through; all
        finished trials are in the store then. `time_limit_s` is for what is measured, not for builds."""
        suite_id = self.task.suite_id
        # Two processes that resume a suite at the same time would both begin its missing runs.
        with self.store.hold(suite_id) if suite_id else nullcontext():
            measured_s, sessions = 0.0, [0]
            parts = self.parts()
            names = [(experiment.name, experiment.time_s) for experiment, _, _ in parts]
            for number, (experiment, run, make_ready) in enumerate(parts):
                sessions.append(self._sessions(experiment, run))
                if sessions[-1] != sessions[-2]:
                    measured_s = 0.0  # A session begins.
                left_s = None if time_limit_s is None else time_limit_s - measured_s
                if number and left_s is not None and left_s <= 0:
                    continue
                if len(parts) > 1:
                    self.notify("part", number + 1, names)
                by_machine = make_ready()
                start = monotonic()
                # Begun with the machine's lock: Ctrl-C during the wait leaves no empty run.
                with self.own():
                    if run is None:
                        run = self.begin(by_machine)
                        self.runs.append(run)
                    is_over = self.conduct(run, by_machine, left_s)
                measured_s += monotonic() - start
                if is_over and on_run_end:
                    on_run_end(self.store.run(run.id))

    def parts(self) -> list[Part]:
        """The parts of the task: runs that go on, then runs that begin. Runs that go on are prepared at once:
        one that cannot is refused before anything is measured."""
        for run in self.task.unfinished:
            with self.store.hold(run.id):
                pass  # One that another process has is refused before anything is built.
        plans = [(run, check_origin(run, on_cluster=self.is_cluster)) for run in self.task.unfinished]
        capacity, facts = self.capacity(), self.facts() if plans else {}
        for run, kept in plans:
            # A cluster leaves out the machines that are too small.
            if not self.is_cluster:
                plan.check_machine(kept.points, find_workload(kept.experiment.workload), capacity)
            check_machines(run, facts)
        new = [(each, check(each, self.catalogue, capacity)) for each in self.task.experiments]
        parts: list[Part] = []
        for run, kept in plans:
            prepared = as_it_began(run, self.prepare(kept.experiment, kept.points))
            parts.append((kept.experiment, run, partial(dict, prepared)))
        return [*parts, *((each, None, partial(self.prepare_session, each, points)) for each, points in new)]

    def _sessions(self, experiment: Experiment, run: Run | None = None) -> int:
        """How many runs of the experiment have begun, before this one if there is one."""
        alike = [each.id for each in self.runs if each.experiment == experiment.name]
        return alike.index(run.id) if run else len(alike)

    def prepare_session(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        """Prepare a run. Programs of a further session are built anew, unless that fetches a runtime."""
        prepared = self.prepare(experiment, points)
        for machine in prepared.values() if self._sessions(experiment) else ():
            for each in machine.contenders.values():
                if isinstance(each, Ready) and each.contender.builds and not each.contender.runtime.brings:
                    rebuild(each)
        return prepared

    def begin(self, prepared: Mapping[str, Prepared]) -> Run:
        """A new run in the store, with the plan, the machine's facts and the contenders as they are now."""
        selection, suite_id = self.task.selection, self.task.suite_id
        assert selection
        suite = plan.suite_selection(selection, suite_id, self.catalogue) if suite_id else None
        first = next(iter(prepared.values()))
        experiment = first.experiment
        sources: dict[str, str] = {}
        contenders = {}
        for name in experiment.contenders:
            # As on the first machine that has it.
            each = [machine.contenders[name] for machine in prepared.values()]
            ready = next((contender for contender in each if isinstance(contender, Ready)), each[0])
            contenders[name] = described(ready, first.workload.name, sources)
        planned = RunPlan(
            experiment,
            first.points,
            contenders,
            self.catalogue.published(experiment.published) if experiment.published else None,
            suite,
            None if suite else selection,
        )
        seed = random.SystemRandom().randrange(2**31) if selection.seed is None else selection.seed
        seed += self._sessions(experiment)
        facts = dict(next(iter(self.facts().values())))
        if self.is_cluster:
            # Each machine is added when it joins.
            facts["machines"] = {}
            if experiment.engines:
                facts["engines"] = experiment.engines
        return self.store.begin_run(experiment.name, seed, planned.values(), facts, sources)

    @abstractmethod
    def capacity(self) -> Capacity:
        """The resources that contenders can get on every machine."""

    @abstractmethod
    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of each machine, by its name; this machine's is empty."""

    @abstractmethod
    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        """Build the experiment's contenders; the ones that each machine can run, by its name."""

    def own(self) -> AbstractContextManager[None]:
        """Within the block, nobody else measures. Machines of a cluster were locked when they joined."""
        return nullcontext()

    @abstractmethod
    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        """Carry out all trials of a run that the store does not have yet; see `BlockLoop.conduct`."""


@dataclass(eq=False)
class LocalCampaign(Campaign):
    """Measures on this machine. `install`: installs missing runtimes; None: not wanted."""

    toolchain: Toolchain
    inputs: Inputs
    executor: Executor
    install: Callable[[Sequence[Contender]], None] | None = None

    def capacity(self) -> Capacity:
        return self.executor.capacity()

    def facts(self) -> dict[str, dict[str, Any]]:
        return {"": host.facts(self.catalogue.folders[0], self.executor.usable)}

    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        if self.install:
            self.install(list(readable(experiment, self.catalogue).values()))
        contenders = contenders_of(experiment, self.catalogue)
        workload = find_workload(experiment.workload)
        if any(workload.service(point, 0) for point in points):
            # A build of the load engine takes half a minute; nothing is measured meanwhile.
            self.executor.probe.need_loads()
        tools = (self.toolchain, self.inputs, self.notify)
        return {"": prepare(experiment, points, contenders, *tools)}

    @contextmanager
    def own(self) -> Iterator[None]:
        with off_contender_cpus(self.executor), alone(partial(self.notify, "wait")):
            yield

    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        ready = prepared[""]
        rule = rule_of(ready.experiment, deadline_s)
        with closing(ContenderTrials(run.seed, ready, self.executor)) as maker:
            what = (run, rule, self.store, self.notify, ready.unavailable())
            return BlockLoop(*what, maker=maker).conduct()
