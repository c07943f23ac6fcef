"""`ringside run`: an experiment from its file to the store, and its tables."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from ringside import plan, runner
from ringside.catalogue import Catalogue
from ringside.errors import UsageError
from ringside.executor.local import LocalExecutor
from ringside.progress import Progress
from ringside.report import document, summary, terminal
from ringside.store import Run, Store
from ringside.verbs import context


def run(
    experiment: str | None,
    *,
    only: Sequence[str] = (),
    settings: Sequence[str] = (),
    blocks: int | None = None,
    time: str | None = None,
    seed: int | None = None,
    resume: str | None = None,
    as_json: bool = False,
    store: str | None = None,
) -> int:
    """Run an experiment, or take up a run; exit status 0, or 1 where cells are without figures."""
    if (experiment is None) == (resume is None):
        raise UsageError("name an experiment (`ringside list experiments`), or a run with --resume")
    if resume and (only or settings or blocks or seed is not None):
        raise UsageError("--resume goes on as the run was planned: leave out --only, --set, --blocks, --seed")
    limit_s = seconds(time) if time else None
    catalogue, toolchain = Catalogue(), context.toolchain()
    wanted = None
    if experiment:
        wanted = catalogue.experiment(experiment)
        wanted = plan.with_settings(wanted, parse_settings(settings))
        if only:
            wanted = plan.with_contenders(wanted, [name for names in only for name in names.split(",")])
        if blocks:
            wanted = plan.with_blocks(wanted, blocks)
    executor = LocalExecutor()
    storage = context.open_store(store)
    interrupted = False
    with Progress(context.talk()) as progress:
        if wanted:
            prepared = runner.prepare(wanted, catalogue, toolchain, executor, progress)
            made = runner.begin(prepared, storage, catalogue, seed)
        else:
            made = storage.run(resume or "")
            prepared = runner.resumed(made, catalogue, toolchain, progress)
        try:
            with_probe_cpus(executor)
            runner.conduct(made, prepared, storage, executor, progress, time_limit_s=limit_s)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        print(
            f"ringside: interrupted; `ringside run --resume {made.id}` goes on, "
            f"`ringside show {made.id}` shows what is there",
            file=sys.stderr,
        )
        return 130
    return present(storage, storage.run(made.id), as_json=as_json)


def present(storage: Store, made: Run, *, as_json: bool) -> int:
    """Print a run that is done."""
    found = summary.summarise(made, storage.trials(made))
    if as_json:
        sys.stdout.write(document.as_json(found))
    else:
        terminal.show(found, context.out())
        print(f"\nringside report {made.id} makes a page of it", file=sys.stderr)
    return 0 if found.complete() else 1


def with_probe_cpus(executor: LocalExecutor) -> None:
    """Keep ringside itself off the CPU that one-core contenders get, where there is another."""
    _, others = executor.cpus(1)
    if others:
        os.sched_setaffinity(0, others)


def parse_settings(settings: Sequence[str]) -> dict[str, list[str]]:
    """`--set factor=level[,level…]` into levels by factor."""
    found: dict[str, list[str]] = {}
    for setting in settings:
        factor, equals, levels = setting.partition("=")
        if not equals or not factor or not all(levels.split(",")):
            raise UsageError(f"--set {setting}: write it as factor=level or factor=level,level")
        found.setdefault(factor, []).extend(levels.split(","))
    return found


def seconds(text: str) -> float:
    """A duration like `90`, `90s`, `5m` or `1h30m`, in seconds."""
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", text.strip())
    if not text.strip() or not match:
        raise UsageError(f"--time {text}: write it as 90s, 5m or 1h30m")
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest
