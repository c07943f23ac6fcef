"""Plans `ringside run`: turns a name on the command line into experiments, changes them as asked, and makes
their points, checked against workload, contenders and machine; builds these, and describes them for the plan
of a run."""

import itertools
import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from ringside.catalogue.loader import Catalogue
from ringside.errors import CatalogueError, UsageError
from ringside.measure.host import Capacity
from ringside.measure.runs import sandbox
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import Notify
from ringside.measure.toolchain.builds import Toolchain, source_files
from ringside.measure.toolchain.receipts import origin
from ringside.model.catalogue import Contender, Ready, Runtime, Unavailable, WorkloadEntry
from ringside.model.design import Cell, Experiment, Input, Level, Point, as_tuple
from ringside.store import text_hash
from ringside.store.plans import PlannedContender, Selection, SuiteSelection
from ringside.units import count
from ringside.workloads import workload as find_workload
from ringside.workloads.base import AUTO, Cores, Workload

# Sources larger than this are not kept with a run.
_SOURCE_BYTES = 256 * 1024
_LOG_CHARACTERS = 20_000
# The keys of a contender's manifest that a plan keeps unchanged.
_DESCRIPTION = (
    *("title", "family", "model", "language", "queue", "scheduler", "parallel", "idiom", "tuning"),
    *("unequal", "sharing"),
)


def suite_selection(selection: Selection, suite_id: str, catalogue: Catalogue) -> SuiteSelection:
    """The selection as runs of a suite keep it, with the suite's title and note as they are now."""
    suite = catalogue.suite(selection.name)
    title, note = (suite.title, suite.note) if suite else ("", "")
    return SuiteSelection(**asdict(selection), id=suite_id, title=title, note=note)


def experiments(catalogue: Catalogue, selection: Selection) -> list[Experiment]:
    """The experiment of that name or path, or those of a suite, changed. Each of a suite's experiments takes
    the contenders and factors that are its own. Raises UsageError if a name fits none of them."""
    suite = catalogue.suite(selection.name)
    only, settings = selection.only, selection.settings or {}
    if selection.full and not (suite and suite.full):
        raise UsageError(f"`{selection.name}` has no full form: leave out --full")
    parts: Sequence[str] = [selection.name]
    if suite:
        parts = suite.full if selection.full else suite.experiments
    members = []
    for experiment in map(catalogue.experiment, parts):
        contenders = dict.fromkeys([*experiment.contenders, *catalogue.added(experiment.workload)])
        members.append(replace(experiment, contenders=tuple(contenders)))
    for name in catalogue.added():
        if not any(name in experiment.contenders for experiment in members):
            workloads = ", ".join(dict.fromkeys(experiment.workload for experiment in members))
            raise UsageError(f"--with: contender `{name}` takes no part in {workloads}")
    if suite is None:
        (experiment,) = members
        if not experiment.contenders and not only:
            raise UsageError(
                f"`{selection.name}` is a workload: name its contenders with --only or --with, or an "
                "experiment (`ringside list experiments`)"
            )
        return [_changed(experiment, only, settings, selection)]
    listed = {contender for experiment in members for contender in experiment.contenders}

    def takes(experiment: Experiment, name: str) -> bool:
        """Whether it lists the contender, or could have it and no experiment lists it."""
        return name in experiment.contenders or (
            name not in listed and experiment.workload in catalogue.contender(name).workloads
        )

    chosen = [[name for name in only if takes(experiment, name)] for experiment in members]
    known = [{factor.name for factor in find_workload(each.workload).factors} for each in members]
    factors = [{name: levels for name, levels in settings.items() if name in own} for own in known]
    for factor in settings:
        if not any(factor in levels for levels in factors):
            raise UsageError(f"no part of `{selection.name}` has a factor `{factor}`")
    for contender in only:
        if not any(contender in names for names in chosen):
            raise UsageError(f"contender `{contender}` takes no part in `{selection.name}`")
    return [
        _changed(experiment, names, levels, selection)
        for experiment, names, levels in zip(members, chosen, factors, strict=True)
        if names or not only
    ]


def _changed(
    experiment: Experiment,
    contenders: Sequence[str],
    settings: Mapping[str, Sequence[Level]],
    selection: Selection,
) -> Experiment:
    """The experiment as the command line changes it. Raises UsageError if there is no load for engines."""
    changed = with_settings(experiment, settings)
    if contenders:
        changed = with_contenders(changed, contenders)
    if selection.engines and not find_workload(changed.workload).is_service:
        raise UsageError(
            f"--engines: programs of the workload `{changed.workload}` get no load: leave it out"
        )
    if selection.until:
        changed = replace(changed, until_decided=selection.until == "decided")
    return replace(
        changed,
        blocks=selection.blocks or changed.blocks,
        margin=changed.margin if selection.margin is None else selection.margin,
        sandbox=selection.sandbox or changed.sandbox,
        engines=selection.engines or changed.engines,
    )


def with_settings(experiment: Experiment, settings: Mapping[str, Sequence[Level]]) -> Experiment:
    """The experiment with levels replaced (`--set nodes=10,100`). Levels are still text here."""
    factors = {**experiment.factors, **{factor: tuple(levels) for factor, levels in settings.items()}}
    at = tuple({name: level for name, level in own.items() if name not in settings} for own in experiment.at)
    names = tuple(
        name if own == whole else ""
        for name, own, whole in zip(experiment.names, at, experiment.at, strict=False)
    )
    return replace(experiment, factors=factors, at=at, names=names)


def with_contenders(experiment: Experiment, names: Sequence[str]) -> Experiment:
    """The experiment with only these contenders (`--only`), in its own order, others behind. The baseline
    becomes the first one when the experiment's own is left out."""
    chosen = [name for name in experiment.contenders if name in names]
    chosen += [name for name in dict.fromkeys(names) if name not in chosen]
    baseline = experiment.baseline if experiment.baseline in chosen else chosen[0]
    ratios = tuple(pair for pair in experiment.show.ratios if set(pair) <= set(chosen))
    show = msgspec.structs.replace(experiment.show, ratios=ratios)
    return replace(experiment, contenders=tuple(chosen), baseline=baseline, show=show)


def points(experiment: Experiment, workload: Workload, cores: int) -> list[Point]:
    """Every combination of the levels, factors in the workload's order, defaults where none is given; for
    each entry of the experiment's `at` with its own levels.

    `cores` is the number of CPUs of this machine. Raises UsageError for an unknown factor or a level out
    of range. Levels that come to the same (`cores = [1, "all"]` on one CPU) make one point."""
    names = [factor.name for factor in workload.factors]
    points: dict[Point, None] = {}
    for own in experiment.at or ({},):
        wanted = {**experiment.factors, **{name: (level,) for name, level in own.items()}}
        for name in wanted:
            workload.factor(name)
        axes: list[list[Level]] = []
        for factor in workload.factors:
            given = wanted.get(factor.name, (factor.default,))
            if isinstance(factor, Cores):
                axes.append([number for level in given for number in factor.resolve(level, cores)])
            else:
                axes.append([factor.check(level) for level in given])
        for levels in itertools.product(*axes):
            points[Point(tuple(zip(names, levels, strict=True)))] = None
    for point in points:
        workload.check(point)
    return list(points)


def past_limit(
    contender: Contender, workload: Workload, point: Point, headline: str = "", *, engines: int = 0
) -> str | None:
    """Why the contender does not take this point by its manifest, or None. `headline`: the metric that it is
    measured for; `engines`: how many on other machines load it."""
    entry = contender.workloads[workload.name]
    if reason := workload.missing(entry.capabilities, point, headline):
        return f"not for this contender: {reason}"
    level_of = point.as_dict()
    for factor, most in entry.most.items():
        if isinstance(level := level_of.get(factor), int) and level > most:
            return f"past this contender's limit: {factor} up to {most}"
    for factor, levels in entry.only.items():
        allowed = list(map(str, as_tuple(levels)))
        if factor in level_of and str(level_of[factor]) not in allowed:
            return f"not for this contender: its {factor} can only be {' or '.join(allowed)}"
    if engines and not entry.host:
        return (
            "it listens on 127.0.0.1, where engines on other machines do not reach it: its manifest does not "
            "declare `host = true`"
        )
    return None


def check_machine(points: Sequence[Point], workload: Workload, capacity: Capacity) -> None:
    """Raise UsageError, with the numbers, for points that need more CPUs or descriptors than are here."""
    cores = max((workload.cores(point) for point in points), default=1)
    if cores > capacity.cpus:
        are = "is" if capacity.cpus == 1 else "are"
        raise UsageError(
            f"this run needs {count(cores, 'CPU')}, and only {capacity.cpus} {are} available here"
        )
    needed, hint = max((workload.descriptors(point) for point in points), default=(0, ""))
    if needed > capacity.descriptors:
        raise UsageError(
            f"this experiment needs {needed:,} descriptors in one process, and the limit here is "
            f"{capacity.descriptors:,}: raise the hard limit (ulimit -Hn, LimitNOFILE), or {hint}"
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
        return past_limit(*what, engines=self.experiment.engines)

    def unavailable(self) -> dict[Cell, str]:
        """The cells that cannot be measured, each with its reason."""
        cells = [Cell(name, point) for point in self.points for name in self.experiment.contenders]
        return {cell: reason for cell in cells if (reason := self.why_unavailable(cell))}


def check(experiment: Experiment, catalogue: Catalogue, capacity: Capacity) -> tuple[Point, ...]:
    """Check an experiment against catalogue and machine; its points. Raises UsageError if a name, a factor
    or a level is wrong, or this machine has too few CPUs or descriptors."""
    workload = find_workload(experiment.workload)
    if experiment.sandbox:
        sandbox.check()
    # Names in files were checked when they were read.
    for name, contender in readable(experiment, catalogue).items():
        if workload.name not in contender.workloads:
            raise UsageError(f"contender `{name}` takes no part in the workload `{workload.name}`")
    found = points(experiment, workload, capacity.cpus)
    check_machine(found, workload, capacity)
    if experiment.published:
        catalogue.published(experiment.published)
    return tuple(found)


def contenders_of(experiment: Experiment, catalogue: Catalogue) -> dict[str, Contender | Unavailable]:
    """The contenders of an experiment, by name. One with a broken manifest is unavailable for that reason."""
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
    """The contenders whose manifests are not broken. Raises CatalogueError if all of them are."""
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
    """Build side by side what a checked experiment needs. Raises UsageError without sandbox or disk space."""
    workload = find_workload(experiment.workload)
    if experiment.sandbox:
        sandbox.check()
    prepared: dict[str, Ready | Unavailable] = {}
    buildable = [each for each in contenders.values() if isinstance(each, Contender)]
    builds = toolchain.prepare_all(buildable, workload.name)
    with closing(builds):
        for name, contender in contenders.items():
            notify("prepare", name)
            prepared[name] = contender if isinstance(contender, Unavailable) else next(builds)
            notify("prepared", prepared[name])
    # Nothing is written where nobody would read it: an input may take half a gigabyte.
    is_ready = any(isinstance(each, Ready) for each in prepared.values())
    files = {point: inputs.get(file) for point in points if is_ready and (file := workload.input(point))}
    return Prepared(experiment, workload, tuple(points), prepared, files)


def described(prepared: Ready | Unavailable, workload: str, sources: dict[str, str]) -> PlannedContender:
    """A contender as it is now; its sources are added to `sources`, by their hash."""
    contender = prepared.contender
    files = {}
    with suppress(OSError):  # A contender with a source that cannot be read is unavailable.
        for path, data in source_files(contender).items():
            if len(data) <= _SOURCE_BYTES:
                text = data.decode("utf-8", errors="replace")
                files[path] = text_hash(text)
                sources[files[path]] = text
    own, receipt = contender.workloads[workload], prepared.receipt
    same = {name: getattr(contender, name) for name in _DESCRIPTION}
    description = PlannedContender(
        **same,
        kind=contender.kind_in(workload),
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
        return replace(description, origin=where, content=prepared.content)
    log = prepared.log[-_LOG_CHARACTERS:]
    return replace(description, unavailable=prepared.reason, remedy=prepared.remedy, log=log)
