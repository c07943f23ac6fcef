"""Experiments against catalogue and machine: checked, built, described for the plan of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from ringside.analysis.examination import by_class
from ringside.catalogue.loader import Catalogue
from ringside.errors import CatalogueError
from ringside.measure.host import Capacity
from ringside.measure.runs import plan, sandbox
from ringside.measure.runs.events import Event, Notify
from ringside.measure.runs.inputs import Inputs
from ringside.measure.toolchain.builds import Toolchain, source_files
from ringside.measure.toolchain.receipts import origin
from ringside.model.catalogue import Contender, Ready, Runtime, Unavailable, WorkloadEntry
from ringside.model.design import Cell, Experiment, Input, Point
from ringside.store import text_hash
from ringside.store.plans import PlannedContender
from ringside.workloads import workload as find_workload
from ringside.workloads.base import AUTO, Workload

# Sources larger than this are not kept with a run.
_SOURCE_BYTES = 256 * 1024
_LOG_CHARACTERS = 20_000
# What a plan keeps of a contender's manifest as it is.
_DESCRIPTION = (
    *("title", "family", "model", "language", "queue", "scheduler", "parallel", "idiom", "tuning"),
    *("unequal", "sharing"),
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """An experiment that can start: all that is needed is resolved and checked."""

    experiment: Experiment
    workload: Workload
    points: tuple[Point, ...]
    contenders: Mapping[str, Ready | Unavailable]
    inputs: Mapping[Point, Input]

    def input(self, point: Point) -> Input | None:
        """The file that programs read at a point, however often."""
        return self.inputs.get(point) or self.inputs.get(point.but(repeats=AUTO))

    def why_unavailable(self, cell: Cell) -> str | None:
        """Why a cell cannot be measured, or None."""
        contender = self.contenders[cell.contender]
        if isinstance(contender, Unavailable):
            return contender.reason + (f"; {contender.remedy}" if contender.remedy else "")
        headline = self.workload.shown(self.experiment)[0]
        what = (contender.contender, self.workload, cell.point, headline)
        return plan.past_limit(*what, engines=self.experiment.engines)

    @property
    def classes(self) -> list[list[str]]:
        """The names of each class, in the order in which classes are ranked."""
        return by_class(self.experiment, lambda name: self.contenders[name].contender.kind)

    def unavailable(self) -> dict[Cell, str]:
        """The cells that cannot be measured, each with its reason."""
        cells = [Cell(name, point) for point in self.points for name in self.experiment.contenders]
        return {cell: reason for cell in cells if (reason := self.why_unavailable(cell))}


def check(experiment: Experiment, catalogue: Catalogue, capacity: Capacity) -> tuple[Point, ...]:
    """Check an experiment against catalogue and machine; its points. Raises UsageError where a name, a factor
    or a level is wrong, or this machine has too few CPUs or descriptors."""
    workload = find_workload(experiment.workload)
    if experiment.sandbox:
        sandbox.check()
    contenders = readable(experiment, catalogue)
    plan.check_contenders(contenders, workload)
    points = plan.points(experiment, workload, capacity.cpus)
    plan.check_machine(points, workload, capacity)
    for name in experiment.show.metrics:
        workload.metric(name)
    if experiment.show.sweep:
        workload.factor(experiment.show.sweep)
    if experiment.published:
        catalogue.published(experiment.published)
    return tuple(points)


def contenders_of(experiment: Experiment, catalogue: Catalogue) -> dict[str, Contender | Unavailable]:
    """The contenders of an experiment, by name. One whose manifest is broken is unavailable: its cells are
    rows with the reason."""
    contenders: dict[str, Contender | Unavailable] = {}
    for name in experiment.contenders:
        try:
            contenders[name] = catalogue.contender(name)
        except CatalogueError as error:
            unknown = Contender(
                name=name,
                folder=Path(os.devnull),
                title=name,
                runtime=Runtime(name="", executable=(), version=()),
                workloads={experiment.workload: WorkloadEntry(())},
            )
            contenders[name] = Unavailable(unknown, str(error))
    return contenders


def readable(experiment: Experiment, catalogue: Catalogue) -> dict[str, Contender]:
    """The contenders of an experiment without those whose manifests are broken. Raises CatalogueError where
    that is all of them."""
    contenders = contenders_of(experiment, catalogue)
    broken = [each for each in contenders.values() if isinstance(each, Unavailable)]
    if broken and len(broken) == len(contenders):
        raise CatalogueError(broken[0].reason)
    return {name: each for name, each in contenders.items() if isinstance(each, Contender)}


def prepare(
    experiment: Experiment,
    points: Sequence[Point],
    contenders: Mapping[str, Contender | Unavailable],
    toolchain: Toolchain,
    inputs: Inputs,
    notify: Notify,
) -> Prepared:
    """Build here, side by side, what an experiment needs that was checked. Raises UsageError where there is
    no room for a file."""
    workload = find_workload(experiment.workload)
    prepared: dict[str, Ready | Unavailable] = {}
    buildable = [each for each in contenders.values() if isinstance(each, Contender)]
    builds = toolchain.prepare_all(buildable, workload.name)
    with closing(builds):
        for name, contender in contenders.items():
            notify(Event("prepare", name))
            prepared[name] = contender if isinstance(contender, Unavailable) else next(builds)
            notify(Event("prepared", prepared[name]))
    return Prepared(experiment, workload, tuple(points), prepared, input_files(points, workload, inputs))


def input_files(points: Sequence[Point], workload: Workload, inputs: Inputs) -> dict[Point, Input]:
    """The file that programs read at each point, written where it is missing. Raises UsageError."""
    files = {point: workload.input(point) for point in points}
    return {point: inputs.get(file) for point, file in files.items() if file}


def described(prepared: Ready | Unavailable, workload: str, sources: dict[str, str]) -> PlannedContender:
    """A contender as it is now; its sources are added to `sources`, by their hash."""
    contender = prepared.contender
    files = {}
    for path, data in source_files(contender).items():
        if len(data) <= _SOURCE_BYTES:
            text = data.decode("utf-8", errors="replace")
            files[path] = text_hash(text)
            sources[files[path]] = text
    own, receipt = contender.workloads[workload], prepared.receipt
    same = {name: getattr(contender, name) for name in _DESCRIPTION}
    description = PlannedContender(
        **same,
        kind=own.kind,
        runtime=contender.runtime.name,
        runs_on=contender.runtime.title or contender.language,
        command=own.command,
        capabilities=own.capabilities,
        files=files,
        version=receipt.version if receipt else None,
        receipt=receipt.text if receipt else None,
        executable=receipt.executable if receipt else None,
    )
    if isinstance(prepared, Ready):
        where = origin(prepared.receipt.executable)
        return replace(description, origin=where, content=prepared.content, build_s=prepared.build_s)
    log = prepared.log[-_LOG_CHARACTERS:]
    return replace(description, unavailable=prepared.reason, remedy=prepared.remedy, log=log)
