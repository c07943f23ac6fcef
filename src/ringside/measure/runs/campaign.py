"""Several runs, one after another: what is left of runs in the store, and new runs of experiments."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from ringside.catalogue.loader import Catalogue
from ringside.measure import host
from ringside.measure.host.exclusive import alone
from ringside.measure.host.executor import Capacity, Executor, off_contender_cpus
from ringside.measure.runs import plan, resume
from ringside.measure.runs.events import Event, Notify
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import BlockLoop
from ringside.measure.runs.plan import Selection, experiments, kept_suite
from ringside.measure.runs.prepare import Prepared, check, contenders_of, described, prepare, readable
from ringside.measure.runs.stopping import rule_of
from ringside.measure.runs.trials import ContenderTrials
from ringside.measure.toolchain.builds import Toolchain, rebuild
from ringside.model.catalogue import Contender, Ready
from ringside.model.design import Experiment, Point
from ringside.model.results import REPEATABLE, Run, counted
from ringside.store import Store, stamp
from ringside.store.plans import plan_values
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
    """A run of the selected experiment, or of each of a suite. Raises UsageError, CatalogueError."""
    chosen = experiments(catalogue, selection) * selection.sessions
    is_suite = catalogue.suite(selection.name) is not None or selection.sessions > 1
    several = f"-x{selection.sessions}" if selection.sessions > 1 else ""
    suite_id = f"{stamp()}-{Path(selection.name).stem}{several}" if is_suite else None
    return Task(chosen, selection=selection, suite_id=suite_id)


def resumed_task(name: str, store: Store, catalogue: Catalogue) -> Task:
    """What is left of a run, or of a suite, whose experiments that had not begun follow; of a suite's run
    that is named by itself, what is left of that run. Raises UsageError where the store has no run of
    that name."""
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
    parts = experiments(catalogue, selection)
    missing = [each for session in range(selection.sessions) for each in parts if begun[each.name] <= session]
    return Task(missing, runs, unfinished, selection, suite_id)


class Campaign(ABC):
    """Carries out a task: here (`LocalCampaign`), or on several machines (`cluster/runner.py`). `runs`: those
    of it that have begun."""

    is_cluster = False

    def __init__(self, task: Task, catalogue: Catalogue, store: Store, notify: Notify) -> None:
        if task.suite_id and not task.runs:
            task = replace(task, suite_id=free_suite_id(store, task.suite_id))
        self.task = task
        self.catalogue = catalogue
        self.store = store
        self.notify = notify
        self.runs = list(task.runs)

    def carry_out(
        self, time_limit_s: float | None = None, on_run_end: Callable[[Run], None] | None = None
    ) -> None:
        """Check everything, then prepare and measure one experiment after the other; `on_run_end` gets each
        run that is over. Raises UsageError, before anything is measured unless another process works on one
        of the runs, or an input has no room. ProbeError, ClusterError and KeyboardInterrupt pass through; all
        finished trials are in the store then. `time_limit_s` is for what is measured, not for builds."""
        suite_id = self.task.suite_id
        # Two that resume a suite at once would each begin what has not begun.
        with self.store.hold(suite_id) if suite_id else nullcontext():
            measured_s = 0.0
            parts = self.parts()
            names = [(experiment.name, experiment.time_s) for experiment, _, _ in parts]
            for number, (_, run, prepare) in enumerate(parts):
                if parts[0][0].name == parts[number][0].name:
                    measured_s = 0.0  # A session begins.
                left_s = None if time_limit_s is None else time_limit_s - measured_s
                if number and left_s is not None and left_s <= 0:
                    continue
                if len(parts) > 1:
                    self.notify(Event("part", number + 1, names))
                by_machine = prepare()
                start = monotonic()
                # Who gives up while another one measures leaves no empty run behind.
                with self.own():
                    if run is None:
                        run = self.begin(by_machine)
                        self.runs.append(run)
                    is_over = self.conduct(run, by_machine, left_s)
                measured_s += monotonic() - start
                if is_over and on_run_end:
                    on_run_end(self.store.run(run.id))

    def parts(self) -> list[tuple[Experiment, Run | None, Callable[[], dict[str, Prepared]]]]:
        """The experiments of runs that go on, and of those that begin (None), each with the function that
        makes every machine ready for it, by its name. Those that go on are ready already: they may not be
        able to."""
        for run in self.task.unfinished:
            self.store.refuse_held(run.id)  # before anything is built
        plans = [(run, resume.check_origin(run, on_cluster=self.is_cluster)) for run in self.task.unfinished]
        capacity = self.capacity()
        for run, kept in plans:
            # A cluster leaves out the machines that are too small.
            if not self.is_cluster:
                plan.check_machine(kept.points, find_workload(kept.experiment.workload), capacity)
            resume.check_machines(run, self.facts())
        new = [(each, check(each, self.catalogue, capacity)) for each in self.task.experiments]
        parts: list[tuple[Experiment, Run | None, Callable[[], dict[str, Prepared]]]] = []
        for run, kept in plans:
            prepared = resume.as_it_began(run, self.prepare(kept.experiment, kept.points))
            parts.append((kept.experiment, run, partial(dict, prepared)))
        return [*parts, *((each, None, partial(self.prepare_session, each, points)) for each, points in new)]

    def _sessions(self, experiment: Experiment) -> int:
        return sum(run.experiment == experiment.name for run in self.runs)

    def prepare_session(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        """What a run needs. Programs of a further session are built anew, unless that fetches a runtime."""
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
        suite = kept_suite(selection, suite_id, self.catalogue) if suite_id else None
        first = next(iter(prepared.values()))
        experiment = first.experiment
        sources: dict[str, str] = {}
        contenders = {}
        for name in experiment.contenders:
            # As on the first machine that has it.
            each = [machine.contenders[name] for machine in prepared.values()]
            ready = next((contender for contender in each if isinstance(contender, Ready)), each[0])
            contenders[name] = described(ready, first.workload.name, sources)
        values = plan_values(
            experiment,
            first.points,
            contenders,
            self.catalogue.published(experiment.published) if experiment.published else None,
            suite,
            None if suite else selection.kept(),
        )
        seed = random.SystemRandom().randrange(2**31) if selection.seed is None else selection.seed
        seed += self._sessions(experiment)
        return self.store.begin_run(experiment.name, seed, values, self.run_facts(experiment), sources)

    @abstractmethod
    def capacity(self) -> Capacity:
        """What contenders can get on every machine."""

    @abstractmethod
    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of each machine, by its name; this machine's is empty."""

    @abstractmethod
    def run_facts(self, experiment: Experiment) -> dict[str, Any]:
        """What a run that begins has as its machine's."""

    @abstractmethod
    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        """Build what the experiment needs; what each machine is ready for, by its name."""

    @abstractmethod
    def own(self) -> AbstractContextManager[None]:
        """Nobody else measures there meanwhile."""

    @abstractmethod
    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        """Carry out all trials of a run that the store does not have yet; see `BlockLoop.conduct`."""


class LocalCampaign(Campaign):
    """Measures on this machine."""

    def __init__(
        self,
        task: Task,
        catalogue: Catalogue,
        store: Store,
        notify: Notify,
        toolchain: Toolchain,
        inputs: Inputs,
        executor: Executor,
        install: Callable[[Sequence[Contender]], None] | None = None,
    ) -> None:
        """`install`: installs the runtimes that are missing, where that is wanted."""
        super().__init__(task, catalogue, store, notify)
        self._toolchain = toolchain
        self._inputs = inputs
        self._executor = executor
        self._install = install

    def capacity(self) -> Capacity:
        return self._executor.capacity()

    def facts(self) -> dict[str, dict[str, Any]]:
        """Ringside itself may keep off some CPUs; `cpus_usable` are the ones of trials."""
        usable, _ = self._executor.cpus(self._executor.capacity().cpus)
        return {"": host.facts(self.catalogue.folders[0]) | {"cpus_usable": list(usable)}}

    def run_facts(self, experiment: Experiment) -> dict[str, Any]:
        return self.facts()[""]

    def prepare(self, experiment: Experiment, points: tuple[Point, ...]) -> dict[str, Prepared]:
        if self._install:
            self._install(list(readable(experiment, self.catalogue).values()))
        contenders = contenders_of(experiment, self.catalogue)
        workload = find_workload(experiment.workload)
        if any(workload.service(point, 0) for point in points):
            self._executor.prepare_loads()
        tools = (self._toolchain, self._inputs, self.notify)
        return {"": prepare(experiment, points, contenders, *tools)}

    @contextmanager
    def own(self) -> Iterator[None]:
        with off_contender_cpus(self._executor), alone(partial(self.notify, Event("wait"))):
            yield

    def conduct(self, run: Run, prepared: dict[str, Prepared], deadline_s: float | None) -> bool:
        ready = prepared[""]
        rule = rule_of(ready.experiment, deadline_s)
        with closing(ContenderTrials(run.seed, ready, self._executor)) as maker:
            what = (run, ready.experiment, ready.workload, ready.points, rule, self.store, self.notify)
            return BlockLoop(*what, ready.unavailable(), ready.classes, maker=maker).conduct()
