"""Experiments: prepared against catalogue and machine, begun, resumed, and carried out as paired
benchmarks."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from msgspec import structs

from ringside.catalogue.loader import Catalogue
from ringside.errors import BuildError, CatalogueError, ProbeError, UsageError
from ringside.measure import host, plan, sandbox, surroundings, trials
from ringside.measure.executor import Capacity, Executor
from ringside.measure.inputs import Inputs
from ringside.measure.paired import PairedBenchmark, RunObserver
from ringside.measure.sandbox import sandboxed
from ringside.measure.stopping import rule_of
from ringside.measure.toolchain import Toolchain, source_files
from ringside.measure.watch import FileWatch
from ringside.model.catalogue import Contender, Ready, Runtime, Unavailable, WorkloadEntry
from ringside.model.design import Cell, Experiment, Input, Point
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import TrialOutcome, TrialRequest
from ringside.store import Store, now, text_hash
from ringside.store.plans import KeptSelection, PlannedContender, plan_values, read_plan
from ringside.workloads import measurement
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Workload

# Sources larger than this are not kept with a run.
_SOURCE_BYTES = 256 * 1024
_LOG_CHARACTERS = 20_000
# The longest that a contender is run before the first block.
_REHEARSAL_S = 60.0
# A server that takes longer has its whole limit in the first block.
_REHEARSAL_READY_S = 15.0


class PreparationObserver(Protocol):
    """Is called while contenders are built and inputs written."""

    def on_prepare(self, contender: str) -> None: ...

    def on_build(self, contender: Contender) -> None: ...

    def on_prepared(self, contender: Ready | Unavailable) -> None: ...

    def on_input(self, name: str, most_bytes: int) -> None: ...


class Observer(PreparationObserver, RunObserver, Protocol):
    """Both."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An experiment that can start: all that is needed is resolved and checked."""

    experiment: Experiment
    workload: Workload
    points: tuple[Point, ...]
    contenders: Mapping[str, Ready | Unavailable]
    inputs: Mapping[Point, Input]

    def why_unavailable(self, cell: Cell) -> str | None:
        """Why a cell cannot be measured, or None."""
        contender = self.contenders[cell.contender]
        if isinstance(contender, Unavailable):
            return contender.reason + (f"; {contender.remedy}" if contender.remedy else "")
        reason = plan.past_limit(contender.contender, self.workload.name, cell.point)
        if reason is None and self.experiment.engines:
            reason = plan.out_of_reach(contender.contender, self.workload.name) or None
        return reason

    def unavailable(self) -> dict[Cell, str]:
        """The cells that cannot be measured, each with its reason."""
        cells = [Cell(name, point) for point in self.points for name in self.experiment.contenders]
        return {cell: reason for cell in cells if (reason := self.why_unavailable(cell))}


def check(experiment: Experiment, catalogue: Catalogue, executor: Capacity) -> tuple[Point, ...]:
    """Check an experiment against catalogue and machine; its points. Raises UsageError where a name, a factor
    or a level is wrong, or this machine has too few CPUs or descriptors."""
    workload = find_workload(experiment.workload)
    if experiment.sandbox:
        sandbox.check()
    contenders = _readable(experiment, catalogue)
    plan.check_contenders(contenders, workload)
    points = plan.points(experiment, workload, executor.available_cpus())
    plan.check_machine(points, workload, executor.available_cpus(), executor.descriptors())
    for name in experiment.show.metrics:
        workload.metric(name)
    if experiment.show.sweep:
        workload.factor(experiment.show.sweep)
    if experiment.published:
        catalogue.published(experiment.published)
    return tuple(points)


def _readable(experiment: Experiment, catalogue: Catalogue) -> dict[str, Contender]:
    """The contenders of an experiment without those whose manifests are broken. Raises CatalogueError where
    that is all of them."""
    contenders: dict[str, Contender] = {}
    broken: CatalogueError | None = None
    for name in experiment.contenders:
        try:
            contenders[name] = catalogue.contender(name)
        except CatalogueError as error:
            broken = broken or error
    if broken and not contenders:
        raise broken
    return contenders


def broken(name: str, workload: Workload, error: CatalogueError) -> Unavailable:
    """A contender whose manifest cannot be read: its cells are rows with the reason."""
    nothing = Runtime(name="", executable=(), version=())
    contender = Contender(
        name=name,
        folder=Path(os.devnull),
        title=name,
        model="",
        queue="",
        language="",
        scheduler="",
        parallel=False,
        runtime=nothing,
        builds=(),
        workloads={workload.name: WorkloadEntry(())},
    )
    return Unavailable(contender, str(error))


def prepare(
    experiment: Experiment,
    catalogue: Catalogue,
    toolchain: Toolchain,
    inputs: Inputs,
    executor: Executor,
    observer: PreparationObserver,
) -> Prepared:
    """Check an experiment, then build what it needs. Raises UsageError as `check` does, before anything is
    built."""
    points = check(experiment, catalogue, executor)
    workload = find_workload(experiment.workload)
    contenders: dict[str, Ready | Unavailable] = {}
    for name in experiment.contenders:
        observer.on_prepare(name)
        try:
            contenders[name] = toolchain.prepare(catalogue.contender(name), observer.on_build)
        except CatalogueError as error:
            contenders[name] = broken(name, workload, error)
        observer.on_prepared(contenders[name])
    files = input_files(points, workload, inputs, observer)
    return Prepared(experiment, workload, points, contenders, files)


def input_files(
    points: Sequence[Point], workload: Workload, inputs: Inputs, observer: PreparationObserver
) -> dict[Point, Input]:
    """The file that programs read at each point, written where it is missing. Raises UsageError."""
    files = {point: workload.input(point) for point in points}
    return {point: inputs.get(file, observer.on_input) for point, file in files.items() if file}


def begin(
    prepared: Prepared,
    store: Store,
    catalogue: Catalogue,
    executor: Executor,
    seed: int | None,
    suite: KeptSelection | None = None,
    selection: KeptSelection | None = None,
) -> Run:
    """A new run in the store, with the plan, the machine's facts and the contenders as they are now.
    `suite`: what it is a part of, `selection`: how the command line chose it; both are kept with the plan."""
    experiment = prepared.experiment
    sources: dict[str, str] = {}
    contenders = {
        name: planned(contender, prepared.workload.name, sources)
        for name, contender in prepared.contenders.items()
    }
    published = catalogue.published(experiment.published) if experiment.published else None
    return store.begin_run(
        experiment.name,
        random.SystemRandom().randrange(2**31) if seed is None else seed,
        plan_values(experiment, prepared.points, contenders, published, suite, selection),
        _facts(catalogue, executor),
        sources,
    )


def _facts(catalogue: Catalogue, executor: Executor) -> dict[str, Any]:
    """The machine's. Ringside itself may keep off some CPUs; `cpus_usable` are the ones of trials."""
    usable, _ = executor.cpus(executor.available_cpus())
    return host.facts(catalogue.folders[0]) | {"cpus_usable": list(usable)}


def planned(prepared: Ready | Unavailable, workload: str, sources: dict[str, str]) -> PlannedContender:
    """A contender as it is now; its sources are added to `sources`, by their hash."""
    contender = prepared.contender
    files = {}
    for path, data in source_files(contender).items():
        if len(data) <= _SOURCE_BYTES:
            text = data.decode("utf-8", errors="replace")
            files[path] = text_hash(text)
            sources[files[path]] = text
    planned = PlannedContender(
        title=contender.title,
        model=contender.model,
        language=contender.language,
        queue=contender.queue,
        scheduler=contender.scheduler,
        parallel=contender.parallel,
        kind=contender.workloads[workload].kind,
        runtime=contender.runtime.name,
        runs_on=contender.runtime.title or contender.language,
        command=contender.workloads[workload].command,
        files=files,
    )
    if isinstance(prepared, Ready):
        return replace(
            planned,
            version=prepared.receipt.version,
            receipt=prepared.receipt.text,
            executable=prepared.receipt.executable,
            content=prepared.content,
        )
    receipt = prepared.receipt
    return replace(
        planned,
        version=receipt.version if receipt else None,
        receipt=receipt.text if receipt else None,
        executable=receipt.executable if receipt else None,
        unavailable=prepared.reason,
        remedy=prepared.remedy,
        log=prepared.log[-_LOG_CHARACTERS:],
    )


def resume(
    run: Run,
    catalogue: Catalogue,
    toolchain: Toolchain,
    inputs: Inputs,
    executor: Executor,
    observer: PreparationObserver,
) -> Prepared:
    """A run of the store, ready to go on. Raises UsageError where a contender or the machine has changed
    since (trials would not be comparable), this machine has too few CPUs or descriptors for the run, or the
    run is one of `vs` or `load --vs`."""
    kept = read_plan(run)
    workload = measurement(kept.experiment.workload)
    if not isinstance(workload, Workload):
        raise UsageError(f"run {run.id} is not one of `ringside run` and cannot be resumed: start it anew")
    if "machines" in run.host:
        raise UsageError(f"run {run.id} began on a cluster: resume it with --on")
    plan.check_machine(kept.points, workload, executor.available_cpus(), executor.descriptors())
    if changed := host.differences(run.host, _facts(catalogue, executor)):
        there = "; ".join(changed)
        raise UsageError(
            f"run {run.id} began on another machine ({there}): resume it there, or start a new run"
        )
    contenders: dict[str, Ready | Unavailable] = {}
    for name in kept.experiment.contenders:
        observer.on_prepare(name)
        before = kept.contenders[name]
        prepared: Ready | Unavailable
        try:
            prepared = toolchain.prepare(catalogue.contender(name), observer.on_build)
        except CatalogueError as error:
            if before.content is not None:
                raise
            prepared = broken(name, workload, error)
        if isinstance(prepared, Ready) and prepared.content != before.content:
            if before.content is not None:
                raise UsageError(f"contender `{name}` has changed since run {run.id} began: start a new run")
            prepared = Unavailable(prepared.contender, before.unavailable, before.remedy)
        contenders[name] = prepared
        observer.on_prepared(prepared)
    files = input_files(kept.points, workload, inputs, observer)
    return Prepared(kept.experiment, workload, kept.points, contenders, files)


def conduct(
    run: Run,
    prepared: Prepared,
    store: Store,
    executor: Executor,
    observer: RunObserver,
    *,
    deadline_s: float | None = None,
) -> bool:
    """Carry out all trials of the run that the store does not have yet; see `PairedBenchmark.conduct`."""
    maker = ContenderTrials(run.seed, prepared, executor)
    benchmark = PairedBenchmark(
        run=run,
        experiment=prepared.experiment,
        measurement=prepared.workload,
        points=prepared.points,
        rule=rule_of(prepared.experiment, deadline_s),
        maker=maker,
        store=store,
        observer=observer,
        unavailable=prepared.unavailable(),
    )
    try:
        return benchmark.conduct()
    finally:
        maker.close()


class ContenderTrials:
    """Carries out trials of contenders."""

    def __init__(
        self, seed: int, prepared: Prepared, executor: Executor, *, listen_at: str | None = None
    ) -> None:
        """`listen_at`: the address of this machine where servers listen for loads of the executor's engines;
        None: 127.0.0.1, for loads of the probe."""
        self._seed = seed
        self._listen_at = listen_at
        self._prepared = prepared
        self._executor = executor
        self._environment, _ = surroundings.environment()
        self._memory_available_bytes = host.memory_available_bytes()
        ready = (each for each in prepared.contenders.values() if isinstance(each, Ready))
        self._watch = FileWatch(ready)

    def close(self) -> None:
        """After the last trial."""
        self._watch.discard_changed()

    def warm_up(self, observer: RunObserver) -> None:
        """Each contender once, before the first block: files come into memory, bytecode caches are
        written."""
        prepared = self._prepared
        smallest = min(prepared.points, key=prepared.workload.work)
        for name in prepared.experiment.contenders:
            cell = Cell(name, smallest)
            if prepared.why_unavailable(cell) is None:
                observer.on_warm_up(cell)
                rehearsal = Cell(name, prepared.workload.rehearsal(smallest))
                # A probe that fails here fails in the first block, too, where it is a row.
                with suppress(ProbeError):
                    trial = self.trial(0, 0, rehearsal, first=False, tick=observer.on_tick)
                    if trial.outcome is Outcome.INTERRUPTED:
                        raise KeyboardInterrupt

    def request(self, block: int, position: int, cell: Cell, *, first: bool) -> TrialRequest:
        """The probe's request for a trial, without the sandbox."""
        ready = self._prepared.contenders[cell.contender]
        assert isinstance(ready, Ready)
        workload = self._prepared.workload
        cpus, probe_cpus = self._executor.cpus(workload.cores(cell.point))
        limits = self._prepared.experiment.limits
        if block == 0:
            # It is not measured: what hangs need not cost its whole limit here, too.
            limits = replace(limits, wall_s=min(limits.wall_s, _REHEARSAL_S))
        request = trials.request(
            ready,
            cell,
            workload,
            limits=limits,
            cpus=cpus,
            probe_cpus=probe_cpus,
            environment=trials.environment(self._environment, ready.build, self._seed, block, position),
            seed=self._seed_of(block),
            memory_available_bytes=self._memory_available_bytes,
            input=self._prepared.inputs.get(cell.point),
            reference=first,
            host=self._listen_at,
        )
        if block == 0 and request.service:
            ready_s = min(request.service.ready_s, _REHEARSAL_READY_S)
            return structs.replace(request, service=structs.replace(request.service, ready_s=ready_s))
        return request

    def can_measure(self, cell: Cell) -> bool:
        request = self.request(0, 0, cell, first=False)
        harmless = TrialRequest(
            argv=("true",),
            cwd="/",
            env=request.env,
            limits=request.limits,
            cpus=request.cpus,
            probe_cpus=request.probe_cpus,
        )
        try:
            last = self._executor.trial(harmless)[-1]
        except ProbeError:
            return False
        assert isinstance(last, TrialOutcome)
        if last.outcome == Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        return last.outcome == Outcome.OK

    def _seed_of(self, block: int) -> int:
        """The same for all contenders of a block, another in the next."""
        return self._seed + block

    def trial(self, block: int, position: int, cell: Cell, *, first: bool, tick: Callable[[], None]) -> Trial:
        ready = self._prepared.contenders[cell.contender]
        assert isinstance(ready, Ready)
        try:
            changed = self._watch.changed_sources(ready)
            rebuilt = self._watch.mend_build(ready)
        except BuildError as error:
            changed = str(error)
        if changed:
            return Trial(block, position, cell, Outcome.UNAVAILABLE, changed, started_at=now())
        input_file = self._prepared.inputs.get(cell.point)
        request = self.request(block, position, cell, first=first)
        if self._prepared.experiment.sandbox:
            files = [input_file.path] if input_file else []
            folders = [ready.contender.folder, ready.build]
            request = sandboxed(request, [*folders, *files], ready.receipt.executable)
        blank = Trial(
            block,
            position,
            cell,
            Outcome.INTERRUPTED,
            "",
            cpus=request.cpus,
            started_at=now(),
            memory_limit_bytes=request.limits.memory_bytes,
            input_bytes=input_file.size_bytes if input_file else None,
        )
        with self._watch.trial(ready):
            messages = self._executor.trial(request, tick)
        trial = trials.with_messages(blank, messages, rebuilt)
        return trials.examined(trial, self._prepared.workload, self._seed_of(block))
