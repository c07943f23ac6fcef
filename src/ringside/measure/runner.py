"""Carries out an experiment: blocks of cells through an executor, every trial kept before the next."""

from __future__ import annotations

import dataclasses
import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ringside import store
from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure import host, plan
from ringside.measure import trials as trial
from ringside.measure.executor import Executor
from ringside.measure.inputs import Inputs
from ringside.measure.toolchain import Toolchain, source_files
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Experiment, Input, Point
from ringside.model.results import Outcome, Trial
from ringside.stats.ratio import paired_ratio
from ringside.stats.stopping import looks, narrow_enough
from ringside.store import Run, Store
from ringside.workloads import workload as find_workload
from ringside.workloads.base import Workload

# A cell that ended like this twice will not do better, and each try may cost the whole wall limit.
_HOPELESS = {Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.FLOODED}
_PATIENCE = 2
# Sources larger than this are not kept with a run.
_SOURCE_BYTES = 256 * 1024


class Watcher(Protocol):
    """Is told what happens, to show it."""

    def preparing(self, contender: str) -> None: ...

    def prepared(self, found: Ready | Unavailable) -> None: ...

    def making(self, name: str, most_bytes: int) -> None: ...

    def begins(self, run: Run, blocks: int, cells: Sequence[Cell], workload: Workload) -> None: ...

    def rehearses(self, cell: Cell) -> None: ...

    def trial_begins(self, block: int, cell: Cell) -> None: ...

    def tick(self) -> None: ...

    def trial_ended(self, trial: Trial, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """An experiment that can start: all that is needed is resolved and checked."""

    experiment: Experiment
    workload: Workload
    points: tuple[Point, ...]
    found: Mapping[str, Ready | Unavailable]
    inputs: Mapping[Point, Input]

    def ready(self) -> dict[str, Ready]:
        return {name: one for name, one in self.found.items() if isinstance(one, Ready)}


def prepare(
    experiment: Experiment,
    catalogue: Catalogue,
    toolchain: Toolchain,
    inputs: Inputs,
    executor: Executor,
    watcher: Watcher,
) -> Prepared:
    """Check an experiment against catalogue and machine, then build what it needs. Raises UsageError
    before anything is built when a name, factor or level is off."""
    workload = find_workload(experiment.workload)
    contenders: dict[str, Contender] = {name: catalogue.contender(name) for name in experiment.contenders}
    plan.check_contenders(experiment, contenders, workload)
    points = plan.points(experiment, workload, executor.available_cpus())
    plan.check_descriptors(points, workload, executor.descriptors())
    for name in experiment.show.metrics:
        workload.metric(name)
    if experiment.show.sweep:
        workload.factor(experiment.show.sweep)
    if experiment.published:
        catalogue.published(experiment.published)
    found = {}
    for name, contender in contenders.items():
        watcher.preparing(name)
        found[name] = toolchain.prepare(contender)
        watcher.prepared(found[name])
    return Prepared(experiment, workload, tuple(points), found, _inputs(points, workload, inputs, watcher))


def _inputs(
    points: Sequence[Point], workload: Workload, inputs: Inputs, watcher: Watcher
) -> dict[Point, Input]:
    """The file that programs read at each point, made where it is not there. Raises UsageError."""
    wanted = {point: workload.input(point) for point in points}
    return {point: inputs.get(file, watcher.making) for point, file in wanted.items() if file}


def begin(
    prepared: Prepared,
    storage: Store,
    catalogue: Catalogue,
    executor: Executor,
    seed: int | None,
    suite: Mapping[str, Any] | None = None,
) -> Run:
    """A new run in the store, with the plan, the machine's facts and the contenders as they are now.
    `suite`: what it is a part of, kept with the plan."""
    sources: dict[str, str] = {}
    contenders: dict[str, Any] = {}
    for name, found in prepared.found.items():
        contender = found.contender
        files = {}
        for inside, data in source_files(contender.folder).items():
            if len(data) <= _SOURCE_BYTES:
                text = data.decode("utf-8", errors="replace")
                files[inside] = store.text_hash(text)
                sources[files[inside]] = text
        described = {
            "title": contender.title,
            "model": contender.model,
            "language": contender.language,
            "queue": contender.queue,
            "scheduler": contender.scheduler,
            "parallel": contender.parallel,
            "runtime": contender.runtime.name,
            "runs_on": contender.runtime.title or contender.language,
            "command": list(contender.workloads[prepared.workload.name].command),
            "files": files,
        }
        if isinstance(found, Ready):
            described |= {
                "version": found.receipt.version,
                "receipt": found.receipt.text,
                "executable": found.receipt.executable,
                "content": found.content,
            }
        else:
            described |= {"unavailable": found.reason, "remedy": found.remedy, "log": found.log[-20_000:]}
        contenders[name] = described
    experiment = prepared.experiment
    planned = {
        "experiment": store.plain(experiment),
        "suite": suite,
        "points": [point.as_dict() for point in prepared.points],
        "contenders": contenders,
        "published": (
            store.plain(catalogue.published(experiment.published)) if experiment.published else None
        ),
    }
    usable, _ = executor.cpus(executor.available_cpus())
    return storage.begin_run(
        experiment.name,
        random.SystemRandom().randrange(2**31) if seed is None else seed,
        planned,
        # Ringside itself may keep off some CPUs: those of trials are told.
        host.facts(catalogue.folders[0]) | {"cpus_usable": list(usable)},
        sources,
    )


def resumed(
    run: Run, catalogue: Catalogue, toolchain: Toolchain, inputs: Inputs, watcher: Watcher
) -> Prepared:
    """A run of the store, ready to be taken up. Raises UsageError where a contender has changed since:
    its trials would not be of one kind."""
    experiment = store.experiment_of(run)
    found: dict[str, Ready | Unavailable] = {}
    for name in experiment.contenders:
        watcher.preparing(name)
        kept = run.plan["contenders"][name]
        one = toolchain.prepare(catalogue.contender(name))
        if isinstance(one, Ready) and one.content != kept.get("content"):
            if "content" in kept:
                raise UsageError(f"contender `{name}` has changed since run {run.id} began: start a new run")
            one = Unavailable(one.contender, kept["unavailable"], kept["remedy"])
        found[name] = one
        watcher.prepared(one)
    points = tuple(Point(tuple(levels.items())) for levels in run.plan["points"])
    workload = find_workload(experiment.workload)
    return Prepared(experiment, workload, points, found, _inputs(points, workload, inputs, watcher))


def conduct(
    run: Run,
    prepared: Prepared,
    storage: Store,
    executor: Executor,
    watcher: Watcher,
    *,
    time_limit_s: float | None = None,
) -> bool:
    """Make all trials of the run that the store does not have yet; True when all planned were made.

    KeyboardInterrupt passes through after the trial under way has been ended and kept.
    """
    experiment, workload, ready = prepared.experiment, prepared.workload, prepared.ready()
    made_before = storage.trials(run)
    done, failures = _already(made_before)
    cells = [Cell(name, point) for point in prepared.points for name in experiment.contenders]
    watcher.begins(run, plan.most_blocks(experiment), cells, workload)
    for position, cell in enumerate(cells):
        reason = _why_unavailable(cell, prepared)
        if reason and (0, cell) not in done:
            row = Trial(0, position, cell, Outcome.UNAVAILABLE, reason, started_at=store.now())
            storage.add_trial(run, row)
    possible = {cell for cell in cells if _why_unavailable(cell, prepared) is None}
    begun = time.monotonic()
    session = _Session(run, prepared, executor, watcher)
    # Once each before the first block: files come into memory, bytecode caches are written.
    smallest = min(prepared.points, key=workload.work)
    for name in ready:
        if Cell(name, smallest) in possible:
            watcher.rehearses(Cell(name, smallest))
            rehearsed = session.make(0, 0, Cell(name, workload.rehearsal(smallest)))
            if rehearsed.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
    precision = _Precision(prepared, made_before)
    for block in plan.blocks(prepared.points, experiment.contenders, plan.most_blocks(experiment), run.seed):
        if precision.reached(block.index - 1):
            break
        if time_limit_s is not None and time.monotonic() - begun > time_limit_s:
            return False
        timed = False
        for position, cell in enumerate(block.cells):
            if cell not in possible or (block.index, cell) in done:
                continue
            watcher.trial_begins(block.index, cell)
            started = time.monotonic()
            if len(failures.get(cell, [])) >= _PATIENCE:
                made = session.left_out(block.index, position, cell, failures[cell][-1])
            else:
                made = session.make(block.index, position, cell, reference=not timed)
                timed = True
            storage.add_trial(run, made)
            precision.add(made)
            watcher.trial_ended(made, time.monotonic() - started)
            if made.outcome in _HOPELESS:
                failures.setdefault(cell, []).append(made.outcome)
            if made.outcome is Outcome.INTERRUPTED:
                raise KeyboardInterrupt
    storage.end_run(run)
    return True


class _Precision:
    """The intervals of the headline in the run so far, where blocks are made until they are narrow."""

    def __init__(self, prepared: Prepared, made: Sequence[Trial]) -> None:
        self._experiment = prepared.experiment
        self._workload = prepared.workload
        self._points = prepared.points
        self._looks = set(looks(plan.most_blocks(prepared.experiment)))
        self._headline = plan.compared(prepared.experiment, prepared.workload)[0].name
        self._values: dict[Cell, dict[int, float]] = {}
        for one in made:
            self.add(one)

    def add(self, made: Trial) -> None:
        """Count a trial."""
        if made.outcome is Outcome.OK and self._experiment.until is not None:
            value = self._workload.figures(made).get(self._headline)
            if value is not None:
                self._values.setdefault(made.cell, {})[made.block] = value

    def reached(self, blocks: int) -> bool:
        """Whether what was asked for is reached after so many blocks."""
        goal = self._experiment.until
        if goal is None or blocks < self._experiment.blocks or blocks not in self._looks:
            return False
        ratios = [
            paired_ratio(
                self._values.get(Cell(one, point), {}), self._values.get(Cell(other, point), {}), peeked=True
            )
            for point in self._points
            for one, other in plan.pairs(self._experiment)
        ]
        return narrow_enough(ratios, goal)


class _Session:
    """What all trials of a run have in common."""

    def __init__(self, run: Run, prepared: Prepared, executor: Executor, watcher: Watcher) -> None:
        self.run = run
        self.prepared = prepared
        self.ready = prepared.ready()
        self.executor = executor
        self.watcher = watcher
        self.environment = dict(os.environ)
        self.memory_available_bytes = host.memory_available_bytes()

    def make(self, block: int, position: int, cell: Cell, *, reference: bool = False) -> Trial:
        """Carry out one trial; `reference`: a fixed computation is timed before it."""
        ready = self.ready[cell.contender]
        reads = self.prepared.inputs.get(cell.point)
        cpus, probe_cpus = self.executor.cpus(int(dict(cell.point.levels).get("cores", 1)))
        request = trial.request(
            ready,
            cell,
            self.prepared.workload,
            limits=self.prepared.experiment.limits,
            cpus=cpus,
            probe_cpus=probe_cpus,
            environment=trial.environment(self.environment, ready.build, self.run.seed, block, position),
            # The same for all contenders of a block, another in the next.
            seed=self.run.seed + block,
            memory_available_bytes=self.memory_available_bytes,
            reads=reads,
        )
        request["reference"] = reference
        blank = Trial(block, position, cell, Outcome.INTERRUPTED, "", cpus=cpus, started_at=store.now())
        made = trial.parse(self.executor.run(request, self.watcher.tick), blank)
        told: dict[str, Any] = {"memory_limit_bytes": request["limits"]["memory_bytes"]}
        if reads:
            told["input_bytes"] = reads.size_bytes
        return dataclasses.replace(made, outcome_line={**made.outcome_line, **told})

    def left_out(self, block: int, position: int, cell: Cell, last: Outcome) -> Trial:
        detail = f"left out: {_PATIENCE} trials of this cell were {last}"
        return Trial(block, position, cell, Outcome.UNAVAILABLE, detail, started_at=store.now())


def _why_unavailable(cell: Cell, prepared: Prepared) -> str | None:
    found = prepared.found[cell.contender]
    if isinstance(found, Unavailable):
        return found.reason + (f"; {found.remedy}" if found.remedy else "")
    return plan.past_limit(found.contender, prepared.workload.name, cell.point)


def _already(trials: Sequence[Trial]) -> tuple[set[tuple[int, Cell]], dict[Cell, list[Outcome]]]:
    """Which trials a run has (interrupted ones are made again), and the hopeless outcomes by cell."""
    done: set[tuple[int, Cell]] = set()
    failures: dict[Cell, list[Outcome]] = {}
    for made in trials:
        if made.outcome is Outcome.INTERRUPTED:
            continue
        done.add((made.block, made.cell))
        if made.outcome in _HOPELESS:
            failures.setdefault(made.cell, []).append(made.outcome)
    return done, failures
