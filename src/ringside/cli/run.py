"""Carries out `ringside run` with its options: shows a plan, or carries out a campaign."""

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ringside.analysis.run import analysis_of
from ringside.catalogue.loader import Catalogue
from ringside.cli import EXIT_INTERRUPTED, EXIT_USAGE, context, params, serve, show, streams
from ringside.cli.progress import LiveProgress
from ringside.errors import ClusterError, ProbeError, StoreError, UsageError
from ringside.measure.host import Capacity, Executor
from ringside.measure.runs.campaign import Campaign, LocalCampaign, Task, new_task, resumed_task
from ringside.measure.runs.plan import check, past_limit, readable
from ringside.measure.toolchain import apt
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender
from ringside.model.results import Run
from ringside.render.text import terminal
from ringside.render.text.cells import TableCell, plain_table
from ringside.render.text.command import with_options, with_store
from ringside.store import Store
from ringside.store.database import runs_of
from ringside.store.plans import Selection
from ringside.text import one_line
from ringside.units import count, duration
from ringside.workloads import workload as find_workload

_MANY_CELLS, _TRIAL_S = 500, 0.5


@dataclass(frozen=True, kw_only=True)
class RunSettings(Selection):
    """The command line of `ringside run`, as run.toml has it; None: left out."""

    name: str = ""
    levels: tuple[str, ...] = ()
    cores: str | None = None
    time_s: float | None = None
    sets_up: bool = False
    is_dry: bool = False
    resume: str | None = None
    on: str | None = None
    nodes: int | tuple[str, ...] | None = None
    serves: bool = False
    port: int = serve.PORT
    everything: bool = False
    form: str | None = None
    report_to: Path | None = None
    store: str | None = None


def run(**options: Any) -> int:
    """Carry out the command; the exit status."""
    settings = RunSettings(**options)
    _check(settings)
    if not settings.resume:
        catalogue = context.catalogue(settings.outside)
        task = new_task(_selection(settings), catalogue)
        if settings.is_dry:
            return _show_plan(settings, task, catalogue)
        return _carry_out(settings, task, catalogue, None)
    storage = context.open_store(settings.store, create=False)
    outside = context.outside_of(runs_of(storage, settings.resume)[0], settings.outside)
    catalogue = context.catalogue(outside)
    task = resumed_task(settings.resume, storage, catalogue)
    return _carry_out(replace(settings, outside=tuple(outside)), task, catalogue, storage)


def _check(settings: RunSettings) -> None:
    """Raises UsageError if options contradict each other."""
    if settings.resume and settings.name:
        raise UsageError("--resume names the run to go on with: leave out the experiment")
    if not settings.resume and not settings.name:
        raise UsageError("name an experiment (`ringside list experiments`), or a run with --resume")
    if settings.report_to:
        from ringside.cli import report  # only here: its imports take a while

        report.check_page(settings.report_to, "--report")


def _selection(settings: RunSettings) -> Selection:
    """The experiments and contenders of a new run. Raises UsageError."""
    levels = list(settings.levels)
    if settings.cores:
        # In experiments `all` means all CPUs; `--cores all` means 1, 2, 4 … and all (`walk`).
        cores = ",".join(_names("--cores", settings.cores))
        levels.append(f"cores={'walk' if cores == 'all' else cores}")
    nodes = settings.nodes
    selected = {field.name: getattr(settings, field.name) for field in fields(Selection)}
    selected["only"] = tuple(name for names in settings.only for name in _names("--only", names))
    selected["settings"] = params.levels(levels)
    selected["engines"] = len(nodes) if isinstance(nodes, tuple) else nodes or 0
    return Selection(**selected)


def _names(option: str, text: str) -> list[str]:
    """The parts of a list with commas. Raises UsageError for an empty one."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{option} {one_line(text, 60)}: a part is empty; write it as A or A,B")
    return names


def _show_plan(settings: RunSettings, task: Task, catalogue: Catalogue) -> int:
    """Show what each experiment of a task would measure on this machine; the exit status."""
    executor = Executor()
    rows: list[tuple[str | TableCell, ...]] = []
    times = []
    for each in task.experiments:
        points = check(each, catalogue, executor.capacity())
        contenders, workload = readable(each, catalogue), find_workload(each.workload)
        headline = workload.shown(each)[0]
        pairs = itertools.product(contenders.values(), points)
        cells = sum(not past_limit(contender, workload, point, headline) for contender, point in pairs)
        times.append((each.time_s if settings.time_s is None else settings.time_s) or 0.0)
        numbers = [f"{number:,}" for number in (len(contenders), len(points), cells)]
        numbers.append(f"{'up to ' * each.until_decided}{each.blocks:,}")
        numbers.append(duration(times[-1]) if times[-1] else _per_block(cells))
        rows.append((each.name, each.workload, *map(TableCell, numbers)))
    facts = {"margin": settings.margin, "seed": settings.seed, "store": settings.store}
    named = [f"{name} {one_line(str(fact))}" for name, fact in facts.items() if fact is not None]
    notes = [", ".join([*named, *["in the sandbox"] * settings.sandbox])] if named or settings.sandbox else []
    if all(times) and len(rows) > 1:
        notes.append(f"in all {duration(sum(times))} of blocks at most, after a warm-up of each cell")
    columns = ("experiment", "workload", "contenders", "points", "cells", "blocks", "time")
    table = plain_table("To be measured", columns, rows, notes=notes, narrow=("workload", "time"))
    terminal.render(table, context.stdout_console())
    return 0


def _carry_out(settings: RunSettings, task: Task, catalogue: Catalogue, storage: Store | None) -> int:
    """Carry out a task and show its results; the exit status. `storage`: None if the task is new."""
    # The first answers are there long before the last; those of sessions are shown together.
    shows_parts = task.suite_id and task.selection and task.selection.sessions == 1 and not settings.form
    with ExitStack() as stack:
        progress = stack.enter_context(LiveProgress(context.stderr_console()))
        make: Callable[[Store], Campaign]
        free_cpus: Sequence[int] = ()
        if settings.on and not task.is_empty:
            machines = context.cluster().machines(settings.on, task, catalogue, progress, settings.nodes)
            capacity, make = stack.enter_context(machines)
        else:
            executor = Executor(on_tick=progress.on_tick)
            capacity, free_cpus = executor.capacity(), executor.cpus(1)[1]

            def make(store: Store) -> Campaign:
                toolchain, inputs = context.toolchain(progress.on_build), context.inputs(progress.on_input)
                install = _installer(task, catalogue, toolchain, progress) if settings.sets_up else None
                return LocalCampaign(task, catalogue, store, progress, toolchain, inputs, executor, install)

        _check_points(task, catalogue, capacity)
        # Only now: a wrong name leaves no store behind.
        store = storage or context.open_store(settings.store)
        if task.is_empty:
            streams.say(f"{task.suite_id or task.runs[0].id} is finished: nothing is left")

        printed: set[str] = set()

        def show_part(run: Run) -> None:
            with progress.paused():
                console = context.stdout_console()
                if printed and not settings.everything:
                    console.print()
                terminal.show(analysis_of(store, run), console, printed, everything=settings.everything)

        campaign = make(store)
        for run in (each for each in task.runs if shows_parts and each not in task.unfinished):
            show_part(run)
        failure = _failure(campaign, settings, show_part if shows_parts else None, free_cpus)
    if failure is not None:
        begun = campaign.task.suite_id or campaign.runs[-1].id if campaign.runs else ""
        streams.say(f"{failure or 'interrupted'}{_resume_hint(settings, begun)}")
        return EXIT_USAGE if failure else EXIT_INTERRUPTED
    stored = [store.run(run.id) for run in campaign.runs]
    status = show.present(
        store,
        stored,
        campaign.task.suite_id,
        form=settings.form or "text",
        report_to=settings.report_to,
        with_parts=not shows_parts,
        everything=settings.everything,
    )
    if settings.report_to:
        from ringside.cli import report

        report.write_page([analysis_of(store, run) for run in stored], settings.report_to, "--report")
    return status


def _installer(
    task: Task, catalogue: Catalogue, toolchain: Toolchain, progress: LiveProgress
) -> Callable[[Sequence[Contender]], None]:
    """Installs missing runtimes that are not optional; without root it names those of all parts."""

    def install(contenders: Sequence[Contender]) -> None:
        if os.geteuid() != 0:
            contenders = [c for each in task.experiments for c in readable(each, catalogue).values()]
        expected = [each for each in contenders if not each.runtime.optional]
        is_done = Event()

        def tick() -> None:
            while not is_done.wait(1.0):
                progress.on_tick()

        progress.on_prepare("runtimes")
        Thread(target=tick, daemon=True).start()
        try:
            apt.install_missing(expected, toolchain, progress.on_say)
        finally:
            is_done.set()

    return install


def _check_points(task: Task, catalogue: Catalogue, capacity: Capacity) -> None:
    """Say how long experiments of many cells take. Raises UsageError if they cannot be measured here."""
    for each in task.experiments:
        cells = len(check(each, catalogue, capacity)) * len(each.contenders)
        if cells >= _MANY_CELLS:
            what = f"{each.name}: {cells:,} cells take {_per_block(cells)}"
            streams.say(f"{what}, {count(each.blocks, 'block')} at most; for less: --only, --set, --time 10m")


def _per_block(cells: int) -> str:
    return f"about {duration(cells * _TRIAL_S)} per block"


def _failure(
    campaign: Campaign, settings: RunSettings, on_run_end: Callable[[Run], None] | None, cpus: Sequence[int]
) -> str | None:
    """Carry out a campaign; why it could not be completed, empty if it was interrupted, else None."""
    shows_page = settings.serves and not campaign.task.is_empty
    page = serve.start(serve.LOCAL, settings.port, settings.store, cpus=cpus) if shows_page else None
    if page:
        print(f"{page.url} shows the run in progress", file=sys.stderr)
    failure = None
    try:
        campaign.carry_out(settings.time_s, on_run_end)
    except KeyboardInterrupt:
        failure = ""
    except (ProbeError, StoreError, ClusterError, UsageError) as error:
        # If a later experiment's input has no room, earlier runs are still shown, with their hint.
        if isinstance(error, UsageError) and len(campaign.runs) == len(campaign.task.runs):
            raise
        failure = str(error)
    finally:
        if page:
            page.finish(at_once=failure == "" or bool(sys.exc_info()[0]))
    return failure


def _resume_hint(settings: RunSettings, name: str) -> str:
    """How the run, or suite, of that name is resumed; empty if none has begun."""
    resume = ["run", "--resume", name, *with_options(settings)]
    if settings.on:
        resume += ["--on", settings.on]
    if isinstance(settings.nodes, tuple):
        resume += ["--engines", ",".join(settings.nodes)]
    hint = f"; `{with_store(*resume)}` continues it, `{with_store('show', name)}` shows its trials so far"
    return hint if name else ""
