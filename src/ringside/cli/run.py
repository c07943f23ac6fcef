"""`ringside run`: an experiment or a suite from its file to the store, and its tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from ringside import units
from ringside.cli import EXIT_INTERRUPTED, EXIT_USAGE, params, streams
from ringside.cli.options import flag, option, takes
from ringside.errors import ClusterError, ProbeError, StoreError, UsageError
from ringside.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from ringside.catalogue.loader import Catalogue
    from ringside.cli.progress import LiveProgress
    from ringside.measure.runs.campaign import Campaign, Task
    from ringside.measure.runs.plan import Selection
    from ringside.measure.toolchain.builds import Toolchain
    from ringside.model.catalogue import Contender
    from ringside.model.design import Experiment, Goal
    from ringside.model.results import Run
    from ringside.serve.server import PageServer
    from ringside.store import Store


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The command line of `ringside run`; None where an option was left out."""

    experiment: str | None = None
    outside: tuple[str, ...] = option("--with FOLDER|NAME=COMMAND", params.WITH_HELP, multiple=True)
    only: tuple[str, ...] = option("--only C[,C…]", "Only these contenders.", multiple=True)
    levels: tuple[str, ...] = option("--set FACTOR=LEVEL[,…]", "Other levels of a factor.", multiple=True)
    cores: str | None = option("--cores N[,N…]|all", "Numbers of CPUs; all: 1, 2, 4 … and all of them.")
    blocks: int | None = option("--blocks N", "At most N passes over all cells.", params.Whole(1, 10_000))
    until: Goal | None = option("--until GOAL", params.UNTIL_HELP, units.goal)
    margin: float | None = option(
        "--margin 5%", f"{params.MARGIN_HELP} [default: the experiment's, else 5%].", units.margin
    )
    time_s: float | None = option("--time 5m", "Begin no new block after this time.", params.time_limit)
    seed: int | None = option("--seed N", "Seed of the random orders [default: a new one].", params.SEED)
    full: bool = flag("--full", "The suite at full size, however long it takes.")
    sandbox: bool = flag("--sandbox", "Contenders under bubblewrap: read-only system, no other processes.")
    sets_up: bool = flag("--setup", "Install missing runtimes, each before its experiment.")
    is_dry: bool = flag("--dry-run", "Show what would be measured, and measure nothing.")
    resume: str | None = option("--resume RUN", "Continue an interrupted run.")
    on: str | None = option(
        "--on CLUSTER", "Measure on a Ray cluster: ray://HOST:PORT, auto, local (docs/CLUSTER.md)."
    )
    engines: int | tuple[str, ...] | None = option(
        "--engines N|NODE,…",
        "With --on: the load of servers comes from N other nodes, or from these.",
        params.engines,
    )
    serves: bool = flag("--serve", "Show the run in a browser while it is in progress.")
    port: int = option("--port N", params.PORT_HELP, params.PORT, default=params.DEFAULT_PORT)
    everything: bool = flag("--all", "Show all tables, with all columns.")
    as_json: bool = flag("--json", "Print one JSON document instead of tables.")
    report_to: Path | None = option(
        "--report FILE", "At the end, write a page as `ringside report`.", params.FILE
    )
    store: str | None = option("--store PATH|URL", params.STORE_HELP)


@click.command()
@click.argument("experiment", required=False)
@takes(RunSettings)
def run(options: RunSettings) -> int:
    """Run EXPERIMENT (a name, or the path of a TOML file) and show its tables.

    A workload's name runs the contenders of --with and --only at its defaults. A run ends as soon as every
    comparison of its headline is decided, or after its blocks or its time. Exit status 1 where cells have no
    figures.
    """
    from ringside.cli import context
    from ringside.measure.runs.campaign import new_task, resumed_task
    from ringside.store.runs import runs_of

    _check(options)
    if not options.resume:
        catalogue = context.catalogue(options.outside)
        task = new_task(_selection(options), catalogue)
        if options.is_dry:
            return _show_plan(options, task, catalogue)
        return _carry_out(options, task, catalogue, None)
    storage = context.open_store(options.store, create=False)
    outside = context.outside_of(runs_of(storage, options.resume)[0], options.outside)
    catalogue = context.catalogue(outside)
    task = resumed_task(options.resume, storage, catalogue)
    return _carry_out(replace(options, outside=tuple(outside)), task, catalogue, storage)


def _check(options: RunSettings) -> None:
    """Raises UsageError where options contradict each other."""
    from ringside.cli.report import check_page

    if options.resume and options.experiment:
        raise UsageError("--resume names the run to go on with: leave out the experiment")
    if not options.resume and not options.experiment:
        raise UsageError("name an experiment (`ringside list experiments`), or a run with --resume")
    sizes = (options.only, options.levels, options.cores, options.blocks, options.until)
    is_planned = any((*sizes, options.full, options.sandbox)) or options.margin is not None
    if options.resume and (is_planned or options.seed is not None):
        raise UsageError(
            "--resume goes on as the run was planned: leave out --only, --set, --cores, --blocks, --until, "
            "--margin, --seed, --full, --sandbox"
        )
    measures = {
        "--resume": options.resume,
        "--on": options.on,
        "--report": options.report_to,
        "--json": options.as_json,
        "--all": options.everything,
        "--setup": options.sets_up,
        "--serve": options.serves,
        "--port": options.port != params.DEFAULT_PORT,
    }
    if options.is_dry and (used := [name for name, is_used in measures.items() if is_used]):
        raise UsageError(f"--dry-run shows a new run on this machine: leave out {' and '.join(used)}")
    if options.sets_up and options.on:
        raise UsageError("--setup is for this machine: leave out --on, or set up each machine of the cluster")
    if options.engines is not None and not options.on:
        raise UsageError("--engines is for --on: name the cluster, or leave it out")
    if options.report_to:
        check_page(options.report_to, "--report")


def _selection(options: RunSettings) -> Selection:
    """What a new run is of. Raises UsageError."""
    from ringside.measure.runs.plan import Selection

    settings = list(options.levels)
    if options.cores:
        # Many machines' `all` is one number; asked for by itself it is the way there.
        cores = ",".join(_names("--cores", options.cores))
        settings.append(f"cores={'walk' if cores == 'all' else cores}")
    engines = options.engines
    assert options.experiment
    return Selection(
        name=options.experiment,
        only=tuple(name for names in options.only for name in _names("--only", names)),
        settings=parse_settings(settings),
        blocks=options.blocks,
        until=options.until,
        margin=options.margin,
        seed=options.seed,
        full=options.full,
        sandbox=options.sandbox,
        engines=len(engines) if isinstance(engines, tuple) else engines or 0,
        outside=options.outside,
    )


def _names(option: str, text: str) -> list[str]:
    """The parts of a list with commas. Raises UsageError for an empty one."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{option} {one_line(text, 60)}: a part is empty; write it as A or A,B")
    return names


def _show_plan(options: RunSettings, task: Task, catalogue: Catalogue) -> int:
    """Show what each experiment of a task would measure on this machine; the exit status."""
    from ringside.cli import context
    from ringside.measure.host.executor import Executor
    from ringside.measure.runs.plan import past_limit
    from ringside.measure.runs.prepare import check, readable
    from ringside.render.text import terminal
    from ringside.render.text.cells import TableCell, TableData
    from ringside.units import duration
    from ringside.workloads import workload as find_workload

    executor = Executor()
    rows: list[tuple[TableCell, ...]] = []
    most_s = 0.0
    for each in task.experiments:
        points = check(each, catalogue, executor.capacity())
        contenders, workload = readable(each, catalogue), find_workload(each.workload)
        headline = workload.shown(each)[0]
        cells = [
            (one, at)
            for one in contenders.values()
            for at in points
            if not past_limit(one, workload, at, headline)
        ]
        time_s = each.time_s if options.time_s is None else options.time_s
        most_s += time_s or 0.0
        texts = (
            each.name,
            each.workload,
            *(f"{number:,}" for number in (len(contenders), len(points), len(cells), each.blocks)),
            duration(time_s) if time_s else "–",
        )
        kinds = ("text", "text", *("number",) * 5)
        rows.append(tuple(TableCell(text, kind) for text, kind in zip(texts, kinds, strict=True)))
    notes = [f"blocks: {'; '.join(dict.fromkeys(map(_ending, task.experiments)))}"]
    facts = {"margin": options.margin, "seed": options.seed, "store": options.store}
    named = [f"{name} {one_line(str(fact))}" for name, fact in facts.items() if fact is not None]
    if named := [*named, *(["in the sandbox"] if options.sandbox else [])]:
        notes.append(", ".join(named))
    if all(options.time_s or each.time_s for each in task.experiments) and len(rows) > 1:
        notes.append(f"in all {duration(most_s)} of blocks at most, and a warm-up of each cell before them")
    columns = ("experiment", "workload", "contenders", "points", "cells", "blocks", "time")
    table = TableData("To be measured", columns, tuple(rows), notes=tuple(notes), narrow=("workload", "time"))
    terminal.render(table, context.stdout_console())
    return 0


def _ending(experiment: Experiment) -> str:
    """When a run of the experiment ends."""
    if experiment.until_decided:
        return "at most; a run ends as soon as every comparison of its headline is decided"
    if experiment.until is None:
        return "all of them, unless the time is over"
    return f"then more, until every interval is narrower than {experiment.until:.3g} of its ratio"


def _carry_out(options: RunSettings, task: Task, catalogue: Catalogue, storage: Store | None) -> int:
    """Carry out a task and show what it measured; the exit status. `storage`: None where the task is new."""
    from ringside.cli import context
    from ringside.cli.progress import LiveProgress
    from ringside.measure.host.executor import Executor
    from ringside.measure.runs.campaign import LocalCampaign
    from ringside.measure.runs.prepare import check

    # The first answers are there long before the last.
    shows_parts = task.suite_id is not None and not options.resume and not options.as_json
    with ExitStack() as stack:
        progress = stack.enter_context(LiveProgress(context.stderr_console()))
        make: Callable[[Store], Campaign]
        free_cpus: Sequence[int] = ()
        if options.on and not task.is_empty:
            machines = context.cluster().machines(options.on, task, catalogue, progress, options.engines)
            capacity, make = stack.enter_context(machines)
        else:
            executor = Executor()
            toolchain, inputs = context.toolchain(), context.inputs()
            install = partial(_install, toolchain, progress) if options.sets_up else None
            capacity, free_cpus = executor.capacity(), executor.cpus(1)[1]

            def make(store: Store) -> Campaign:
                tools = (toolchain, inputs, executor, install)
                return LocalCampaign(task, catalogue, store, progress, *tools)

        for each in task.experiments:
            check(each, catalogue, capacity)
        # Only now: a wrong name leaves no store behind.
        storage = storage or context.open_store(options.store)
        if task.is_empty:
            name = task.suite_id or task.runs[0].id
            streams.say(f"{name} is finished: nothing is left")
        campaign = make(storage)
        on_run_end = partial(_show_part, storage, progress, options.everything) if shows_parts else None
        failure = _conducted(campaign, options, on_run_end, free_cpus)
    if failure is not None:
        begun = campaign.task.suite_id or (campaign.runs[-1].id if campaign.runs else None)
        streams.say(f"{failure or 'interrupted'}{resume_hint(options, begun)}")
        return EXIT_USAGE if failure else EXIT_INTERRUPTED
    return _present(options, campaign, with_parts=not shows_parts)


def _install(toolchain: Toolchain, progress: LiveProgress, contenders: Sequence[Contender]) -> None:
    """Install the runtimes that contenders lack, but for those that nobody is expected to have."""
    from ringside.measure.toolchain import apt

    with progress.paused():
        expected = [each for each in contenders if not each.runtime.optional]
        apt.install_missing(expected, toolchain, partial(streams.say, name="setup"))


def _conducted(
    campaign: Campaign,
    options: RunSettings,
    on_run_end: Callable[[Run], None] | None,
    free_cpus: Sequence[int],
) -> str | None:
    """Carry out a campaign; why it could not be completed, empty where it was interrupted, else None."""
    from ringside.cli import serve

    page: PageServer | None = None
    if options.serves and not campaign.task.is_empty:
        page = serve.start(serve.LOCAL, options.port, options.store, cpus=free_cpus)
        print(f"{page.url} shows the run in progress", file=sys.stderr)
    failure: str | None = None
    try:
        campaign.carry_out(options.time_s, on_run_end)
    except KeyboardInterrupt:
        failure = ""
    except (ProbeError, StoreError, ClusterError) as error:
        failure = str(error)
    except UsageError as error:
        # An input of a later experiment that has no room ends neither the runs before it nor their hint.
        if len(campaign.runs) == len(campaign.task.runs):
            raise
        failure = str(error)
    finally:
        if page:
            page.finish(at_once=failure == "" or bool(sys.exc_info()[0]))
    return failure


def resume_hint(options: RunSettings, name: str | None) -> str:
    """How the run, or suite, of that name is resumed; empty where none has begun."""
    from ringside.render.text.command import with_options, with_store

    if name is None:
        return ""
    resume = ["run", "--resume", name, *with_options({"name": name, "outside": list(options.outside)})]
    if options.on:
        resume += ["--on", options.on]
    if isinstance(options.engines, tuple):
        resume += ["--engines", ",".join(options.engines)]
    show = with_store("show", name)
    return f"; `{with_store(*resume)}` continues it, `{show}` shows its trials so far"


def _present(options: RunSettings, campaign: Campaign, *, with_parts: bool) -> int:
    """Show what was measured; the exit status."""
    from ringside.cli import show
    from ringside.cli.report import write_page

    stored = [campaign.store.run(run.id) for run in campaign.runs]
    status = show.present(
        campaign.store,
        stored,
        campaign.task.suite_id,
        form="json" if options.as_json else "text",
        hint=options.report_to is None,
        with_parts=with_parts,
        everything=options.everything,
    )
    if options.report_to:
        write_page(campaign.store, stored, options.report_to, "--report")
    return status


def _show_part(storage: Store, progress: LiveProgress, everything: bool, run: Run) -> None:
    from ringside.analysis.run import analysis_of
    from ringside.cli import context
    from ringside.render.text import terminal

    with progress.paused():
        analysis = analysis_of(storage, run)
        terminal.show(analysis, context.stdout_console(), everything=everything, is_part=True)


def parse_settings(settings: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`--set factor=level[,level…]` into levels by factor."""
    levels_by_factor: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        factor, equals, text = setting.partition("=")
        levels = tuple(text.split(","))
        if not equals or not factor or not all(levels):
            raise UsageError(f"--set {setting}: write it as factor=level or factor=level,level")
        levels_by_factor[factor] = (*levels_by_factor.get(factor, ()), *levels)
    return levels_by_factor
