"""`ringside run`: an experiment or a suite from its file to the store, and its tables."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import click

from ringside.cli import EXIT_INTERRUPTED, EXIT_USAGE, params
from ringside.errors import ClusterError, ProbeError, StoreError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from ringside.cli.progress import LiveProgress
    from ringside.cluster.campaign import ClusterCampaign
    from ringside.measure.executor import Capacity
    from ringside.model.design import Goal
    from ringside.model.results import Run
    from ringside.serve.server import Server
    from ringside.store import Store


@click.command()
@click.argument("experiment", required=False)
@params.with_option
@click.option("--only", multiple=True, metavar="C[,C…]", help="Only these contenders.")
@click.option(
    "--set", "settings", multiple=True, metavar="FACTOR=LEVEL[,…]", help="Other levels of a factor."
)
@click.option("--cores", metavar="N[,N…]|all", help="Numbers of CPUs; all: 1, 2, 4 … and all of them.")
@click.option(
    "--blocks", type=click.IntRange(1, 10_000), metavar="N", help="At most N passes over all cells."
)
@click.option("--until", type=params.goal, metavar="GOAL", help=params.UNTIL_HELP)
@click.option(
    "--margin",
    type=params.margin,
    metavar="5%",
    help=f"{params.MARGIN_HELP} [default: the experiment's, else 5%].",
)
@click.option(
    "--time", "time_s", type=params.run_duration, metavar="5m", help="Begin no new block after this time."
)
@click.option("--seed", type=params.SEED, metavar="N", help="Seed of the random orders [default: a new one].")
@click.option("--full", is_flag=True, help="The suite at full size, however long it takes.")
@click.option(
    "--sandbox", is_flag=True, help="Contenders under bubblewrap: read-only system, no other processes."
)
@click.option("--resume", metavar="RUN", help="Continue an interrupted run.")
@params.on_option
@params.engines_option
@click.option("--serve", "serves", is_flag=True, help="Show the run in a browser while it is in progress.")
@params.port_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.option(
    "--report", "report_to", type=params.FILE, help="At the end, write a page as `ringside report`."
)
@params.store_option
def run(
    experiment: str | None,
    *,
    outside: Sequence[str] = (),
    only: Sequence[str] = (),
    settings: Sequence[str] = (),
    cores: str | None = None,
    blocks: int | None = None,
    time_s: float | None = None,
    until: Goal | None = None,
    margin: float | None = None,
    seed: int | None = None,
    full: bool = False,
    sandbox: bool = False,
    resume: str | None = None,
    on: str | None = None,
    engines: int | tuple[str, ...] | None = None,
    serves: bool = False,
    port: int = 8000,
    as_json: bool = False,
    report_to: Path | None = None,
    store: str | None = None,
) -> int:
    """Run EXPERIMENT (a name, or the path of a TOML file) and show its tables.

    A workload's name runs the contenders of --with and --only at its defaults. A run ends as soon as every
    comparison of its headline is decided, or after its blocks or its time. Exit status 1 where cells have no
    figures.
    """
    from ringside.cli import context, show
    from ringside.cli.on_cluster import engaged
    from ringside.cli.outside import outside_of
    from ringside.cli.progress import LiveProgress
    from ringside.cli.report import check_page, write_page
    from ringside.measure import runner
    from ringside.measure.campaign import Campaign, new_task, resumed_task
    from ringside.measure.executor import LocalExecutor
    from ringside.measure.suites import Selection
    from ringside.render.command import with_options
    from ringside.store.runs import runs_of

    if resume and experiment:
        raise UsageError("--resume names the run to go on with: leave out the experiment")
    if not resume and not experiment:
        raise UsageError("name an experiment (`ringside list experiments`), or a run with --resume")
    planned = (only, settings, cores, blocks, until, full, sandbox)
    if resume and (any(planned) or (margin, seed) != (None, None)):
        raise UsageError(
            "--resume goes on as the run was planned: leave out --only, --set, --cores, --blocks, --until, "
            "--margin, --seed, --full, --sandbox"
        )
    if engines is not None and not on:
        raise UsageError("--engines is for --on: name the cluster, or leave it out")
    if report_to:
        check_page(report_to, "--report")
    if cores:
        # Many machines' `all` is one number; asked for by itself it is the way there.
        settings = [*settings, f"cores={'walk' if cores == 'all' else cores}"]
    if resume:
        storage = context.open_store(store, create=False)
        outside = outside_of(runs_of(storage, resume)[0], outside)
    catalogue = context.catalogue(outside)
    if resume:
        task = resumed_task(resume, storage, catalogue)
    else:
        assert experiment
        selection = Selection(
            name=experiment,
            only=tuple(name for names in only for name in names.split(",")),
            settings=parse_settings(settings),
            blocks=blocks,
            until=until,
            margin=margin,
            seed=seed,
            full=full,
            sandbox=sandbox,
            engines=len(engines) if isinstance(engines, tuple) else engines or 0,
            outside=tuple(outside),
        )
        task = new_task(selection, catalogue)
    interrupted, failure = False, ""
    # The first answers are there long before the last.
    shows_parts = task.suite_id is not None and not resume and not as_json
    with ExitStack() as stack:
        progress = stack.enter_context(LiveProgress(context.talk()))
        make: Callable[[Store], Campaign | ClusterCampaign]
        capacity: Capacity
        if on and not task.is_empty:
            capacity, make = stack.enter_context(engaged(on, task, catalogue, progress, engines))
            free_cpus: Sequence[int] = ()
        else:
            executor = capacity = LocalExecutor()
            make = partial(
                Campaign, task, catalogue, context.toolchain(), context.inputs(), executor, observer=progress
            )
            free_cpus = executor.cpus(1)[1]
        for each in task.experiments:
            runner.check(each, catalogue, capacity)
        if not resume:
            # Only now: a wrong name leaves no store behind.
            storage = context.open_store(store)
        if task.is_empty:
            print(
                f"ringside: {task.suite_id or task.runs[0].id} is finished: nothing is left", file=sys.stderr
            )
        page = _page(port, store, free_cpus) if serves and not task.is_empty else None
        campaign = make(storage)
        try:
            campaign.carry_out(time_s, partial(_show_part, storage, progress) if shows_parts else None)
        except KeyboardInterrupt:
            interrupted = True
        except (ProbeError, StoreError, ClusterError) as error:
            failure = str(error)
        finally:
            if page:
                page.finish(at_once=interrupted or bool(sys.exc_info()[0]))
    runs = campaign.runs
    if interrupted or failure:
        name = task.suite_id or (runs[-1].id if runs else None)
        words = shlex.join([str(name), *with_options({"name": str(name), "outside": list(outside)})])
        goes_on = f"{words} --on {shlex.quote(on)}" if on else words
        if isinstance(engines, tuple):
            goes_on += f" --engines {shlex.quote(','.join(engines))}"
        hint = f"; `ringside run --resume {goes_on}` goes on, `ringside show {name}` shows what is there"
        print(f"ringside: {failure or 'interrupted'}{hint if runs else ''}", file=sys.stderr)
        return EXIT_INTERRUPTED if interrupted else EXIT_USAGE
    stored = [storage.run(run.id) for run in runs]
    status = show.present(
        storage,
        stored,
        task.suite_id,
        form="json" if as_json else "text",
        hint=report_to is None,
        with_parts=not shows_parts,
    )
    if report_to:
        write_page(storage, stored, report_to, "--report")
    return status


def _page(port: int, store: str | None, cpus: Sequence[int]) -> Server:
    from ringside.cli import serve

    page = serve.start(serve.LOCAL, port, store, cpus=cpus)
    print(f"{page.url} shows the run in progress", file=sys.stderr)
    return page


def _show_part(storage: Store, progress: LiveProgress, run: Run) -> None:
    from ringside.analysis.run import analysis_of
    from ringside.cli import context
    from ringside.render import terminal

    with progress.paused():
        terminal.show_part(analysis_of(storage, run, for_plots=False), context.out())


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
