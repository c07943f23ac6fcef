"""Several runs, one after another: what is left of runs in the store, and new runs of experiments."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from ringside.catalogue.loader import Catalogue
from ringside.measure import host
from ringside.measure.host.exclusive import alone
from ringside.measure.host.executor import Capacity, Executor, off_contender_cpus
from ringside.measure.runs import plan, resume
from ringside.measure.runs.events import Event, Notify
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import BlockLoop
from ringside.measure.runs.plan import Selection, experiments, kept_suite, selection_of
from ringside.measure.runs.prepare import Prepared, check, described, prepare, readable
from ringside.measure.runs.runners import LocalRunner, TrialRunner
from ringside.measure.runs.stopping import rule_of
from ringside.measure.runs.trials import ContenderTrials
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender, Ready
from ringside.model.design import Experiment, Point
from ringside.model.results import REPEATABLE, Run, counted
from ringside.store import Store, stamp
from ringside.store.plans import PlannedContender, plan_values
from ringside.store.runs import free_suite_id, runs_of, suite_of
from ringside.workloads import workload as find_workload


@dataclass(frozen=True, slots=True)
class Task:
    """What a campaign is to do: complete the `unfinished` ones of the `runs` that have begun, then make a run
    of each of the `experiments`. `selection`: how the command line chose them; `suite_id`: the id under which
    their runs are kept together."""

    experiments: Sequence[Experiment] = ()
    runs: Sequence[Run] = ()
    unfinished: Sequence[Run] = ()
    selection: Selection | None = None
    suite_id: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.experiments and not self.unfinished


def new_task(selection: Selection, catalogue: Catalogue) -> Task:
    """A run of the selected experiment, or one of each of a suite. Raises UsageError, CatalogueError."""
    chosen = experiments(catalogue, selection)
    is_suite = catalogue.suite(selection.name) is not None
    suite_id = f"{stamp()}-{Path(selection.name).stem}" if is_suite else None
    return Task(chosen, selection=selection, suite_id=suite_id)


def resumed_task(name: str, store: Store, catalogue: Catalogue) -> Task:
    """What is left of a run, or of a suite, whose experiments that had not begun follow; of a suite's run
    that is named by itself, what is left of that run. Raises UsageError where the store has no run of
    that name."""
    runs = runs_of(store, name)
    unfinished = [run for run in runs if not _is_finished(store, run)]
    suite_id = suite_of(runs, name)
    if suite_id is None:
        return Task(runs=runs, unfinished=unfinished)
    selection = selection_of(runs[0].suite)
    begun = {run.experiment for run in runs}
    missing = [each for each in experiments(catalogue, selection) if each.name not in begun]
    return Task(missing, runs, unfinished, selection, suite_id)


def _is_finished(store: Store, run: Run) -> bool:
    """Whether a run has ended, and every trial that was interrupted, or whose probe failed, was carried out
    again."""
    if run.ended_at is None:
        return False
    return all(trial.outcome not in REPEATABLE for trial in counted(store.trials(run)))


class Machines(Capacity, Protocol):
    """Where a campaign measures: this machine, whose name is empty, or those of a cluster."""

    is_cluster: bool

    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of each machine, by its name."""
        ...

    def run_facts(self, experiment: Experiment) -> dict[str, Any]:
        """What a run that begins has as its machine's."""
        ...

    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        """Build what the experiment needs; what each machine is ready for, by its name."""
        ...

    def own(self) -> AbstractContextManager[None]:
        """Nobody else measures there meanwhile."""
        ...

    def join(self, run: Run, prepared: Mapping[str, Prepared], store: Store) -> Run:
        """The run, with the machines that are new in it."""
        ...

    def runner(
        self, run: Run, prepared: dict[str, Prepared], store: Store
    ) -> AbstractContextManager[TrialRunner]:
        """The places for the trials of a run."""
        ...


@dataclass(frozen=True)
class LocalMachine:
    """This machine."""

    catalogue: Catalogue
    toolchain: Toolchain
    inputs: Inputs
    executor: Executor
    notify: Notify
    # Installs the runtimes that are missing, where that is wanted.
    install: Callable[[Sequence[Contender]], None] | None = None
    is_cluster = False

    def available_cpus(self) -> int:
        return self.executor.available_cpus()

    def descriptors(self) -> int:
        return self.executor.descriptors()

    def facts(self) -> dict[str, dict[str, Any]]:
        """Ringside itself may keep off some CPUs; `cpus_usable` are the ones of trials."""
        usable, _ = self.executor.cpus(self.executor.available_cpus())
        return {"": host.facts(self.catalogue.folders[0]) | {"cpus_usable": list(usable)}}

    def run_facts(self, experiment: Experiment) -> dict[str, Any]:
        return self.facts()[""]

    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        tools = (self.catalogue, self.toolchain, self.inputs, self.notify)
        if self.install:
            self.install(list(readable(experiment, self.catalogue).values()))
        return {"": prepare(experiment, points, *tools)}

    @contextmanager
    def own(self) -> Iterator[None]:
        with off_contender_cpus(self.executor), alone(partial(self.notify, Event("wait"))):
            yield

    def join(self, run: Run, prepared: Mapping[str, Prepared], store: Store) -> Run:
        return run

    @contextmanager
    def runner(self, run: Run, prepared: dict[str, Prepared], store: Store) -> Iterator[TrialRunner]:
        maker = ContenderTrials(run.seed, prepared[""], self.executor)
        try:
            yield LocalRunner(maker, self.notify, prepared[""].unavailable())
        finally:
            maker.close()


@dataclass
class Campaign:
    """Carries out a task. `runs`: those of it that have begun."""

    task: Task
    catalogue: Catalogue
    machines: Machines
    store: Store
    notify: Notify
    runs: list[Run] = field(init=False)

    def __post_init__(self) -> None:
        self.runs = list(self.task.runs)
        if self.task.suite_id and not self.runs:
            self.task = replace(self.task, suite_id=free_suite_id(self.store, self.task.suite_id))

    def carry_out(
        self, time_limit_s: float | None = None, on_run_end: Callable[[Run], None] | None = None
    ) -> None:
        """Check everything, then prepare and measure one experiment after the other; `on_run_end` gets each
        run that is over. Raises UsageError, before anything is measured unless another process works on one
        of the runs, or an input has no room. ProbeError, ClusterError and KeyboardInterrupt pass through; all
        finished trials are in the store then. `time_limit_s` is for what is measured, not for builds."""
        suite_id = self.task.suite_id
        # Two that resume a suite at once would each begin what has not begun.
        with self.store.hold_suite(suite_id) if suite_id else nullcontext():
            measured_s = 0.0
            for number, (run, prepare) in enumerate(self.parts()):
                left_s = None if time_limit_s is None else time_limit_s - measured_s
                if number and left_s is not None and left_s <= 0:
                    break
                by_machine = prepare()
                start = monotonic()
                # Who gives up while another one measures leaves no empty run behind.
                with self.machines.own():
                    if run is None:
                        run = self.begin(by_machine)
                        self.runs.append(run)
                    is_over = self.conduct(run, by_machine, left_s)
                measured_s += monotonic() - start
                if is_over and on_run_end:
                    on_run_end(self.store.run(run.id))

    def parts(self) -> list[tuple[Run | None, Callable[[], dict[str, Prepared]]]]:
        """The runs that go on, and those that begin (None), each with the function that makes every machine
        ready for it, by its name. Those that go on are ready already: they may not be able to."""
        for run in self.task.unfinished:
            self.store.refuse_held(run)  # before anything is built
        plans = [
            (run, resume.check_origin(run, on_cluster=self.machines.is_cluster))
            for run in self.task.unfinished
        ]
        cpus, descriptors = self.machines.available_cpus(), self.machines.descriptors()
        for run, kept in plans:
            # A cluster leaves out the machines that are too small.
            if not self.machines.is_cluster:
                workload = find_workload(kept.experiment.workload)
                plan.check_machine(kept.points, workload, cpus, descriptors)
            resume.check_machines(run, self.machines.facts())
        new = [(each, check(each, self.catalogue, self.machines)) for each in self.task.experiments]
        parts: list[tuple[Run | None, Callable[[], dict[str, Prepared]]]] = []
        for run, kept in plans:
            prepared = resume.as_it_began(run, self.machines.prepare(kept.experiment, kept.points))
            parts.append((run, partial(dict, prepared)))
        return [*parts, *((None, partial(self.machines.prepare, each, points)) for each, points in new)]

    def begin(self, prepared: Mapping[str, Prepared]) -> Run:
        """A new run in the store, with the plan, the machine's facts and the contenders as they are now."""
        selection, suite_id = self.task.selection, self.task.suite_id
        assert selection
        suite = kept_suite(selection, suite_id, self.catalogue) if suite_id else None
        ready = next(iter(prepared.values()))
        experiment = ready.experiment
        sources: dict[str, str] = {}
        values = plan_values(
            experiment,
            ready.points,
            _planned(prepared, sources),
            self.catalogue.published(experiment.published) if experiment.published else None,
            suite,
            None if suite else selection.kept(),
        )
        seed = random.SystemRandom().randrange(2**31) if selection.seed is None else selection.seed
        facts = self.machines.run_facts(experiment)
        return self.store.begin_run(experiment.name, seed, values, facts, sources)

    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        """Carry out all trials of a run that the store does not have yet; see `BlockLoop.conduct`."""
        run = self.machines.join(run, prepared, self.store)
        with self.machines.runner(run, prepared, self.store) as runner:
            ready = next(iter(prepared.values()))
            loop = BlockLoop(
                run,
                ready.experiment,
                ready.workload,
                ready.points,
                rule_of(ready.experiment, deadline_s),
                runner,
                self.store,
                self.notify,
            )
            return loop.conduct()


def _planned(prepared: Mapping[str, Prepared], sources: dict[str, str]) -> dict[str, PlannedContender]:
    """The contenders of a plan: each as on the first machine that has it."""
    chosen = {}
    for name in next(iter(prepared.values())).experiment.contenders:
        each = [machine.contenders[name] for machine in prepared.values()]
        first = next((one for one in each if isinstance(one, Ready)), each[0])
        chosen[name] = described(first, next(iter(prepared.values())).workload.name, sources)
    return chosen
