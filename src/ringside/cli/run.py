"""`ringside run`: an experiment from its file to the store, and its tables."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from ringside.catalogue.loader import Catalogue, share
from ringside.cli import context, show
from ringside.cli.progress import Progress
from ringside.errors import UsageError
from ringside.measure import runner
from ringside.measure import suites as parts
from ringside.model.design import Experiment
from ringside.probe.local import LocalExecutor
from ringside.store import Run, Store, stamp


def run(
    experiment: str | None,
    *,
    only: Sequence[str] = (),
    settings: Sequence[str] = (),
    cores: str | None = None,
    blocks: int | None = None,
    time: str | None = None,
    until: str | None = None,
    seed: int | None = None,
    resume: str | None = None,
    as_json: bool = False,
    store: str | None = None,
) -> int:
    """Run an experiment or a suite, or take up what was cut off; exit status 0, or 1 where cells are without
    figures."""
    if (experiment is None) == (resume is None):
        raise UsageError("name an experiment (`ringside list experiments`), or a run with --resume")
    if resume and (only or settings or cores or blocks or until or seed is not None):
        raise UsageError(
            "--resume goes on as the run was planned: leave out --only, --set, --cores, --blocks, --until, "
            "--seed"
        )
    if cores:
        # Many machines' `all` is one number; asked for by itself it is the way there.
        settings = [*settings, f"cores={'walk' if cores == 'all' else cores}"]
    limit_s = seconds(time) if time else None
    catalogue = Catalogue()
    called: dict[str, Any] = {"name": experiment, "blocks": blocks, "seed": seed}
    called["until"] = goal(until) if until else None
    called["only"] = [name for names in only for name in names.split(",")]
    called["settings"] = parse_settings(settings)
    executor = LocalExecutor()
    storage = context.open_store(store)
    begun: list[Run] = []
    if resume:
        begun = parts.together(storage, resume)
        called = dict(parts.suite_of(begun[0]))
    elif catalogue.suite(experiment or ""):
        called["id"] = f"{stamp()}-{Path(experiment or '').stem}"
    interrupted = False
    with Progress(context.talk()) as progress:
        work = _Work(catalogue, executor, storage, progress, called)
        try:
            made = work.carry_out(begun, limit_s)
        except KeyboardInterrupt:
            made, interrupted = work.made, True
    if interrupted:
        name = called.get("id") or (made[-1].id if made else None)
        hint = f"; `ringside run --resume {name}` goes on, `ringside show {name}` shows what is there"
        print(f"ringside: interrupted{hint if made else ''}", file=sys.stderr)
        return 130
    whole = [storage.run(one.id) for one in made]
    return show.present(storage, whole, called.get("id"), form="json" if as_json else "text")


class _Work:
    """Runs that are to be made or taken up, one after another."""

    def __init__(
        self,
        catalogue: Catalogue,
        executor: LocalExecutor,
        storage: Store,
        progress: Progress,
        called: Mapping[str, Any],
    ) -> None:
        self.catalogue = catalogue
        self.executor = executor
        self.storage = storage
        self.progress = progress
        self.called = called
        self.made: list[Run] = []

    def carry_out(self, begun: Sequence[Run], limit_s: float | None) -> list[Run]:
        """Everything is prepared before anything is measured."""
        toolchain, inputs = context.toolchain(), context.inputs()
        jobs: list[tuple[Run | None, runner.Prepared]] = [
            (run, runner.resumed(run, self.catalogue, toolchain, inputs, self.progress)) for run in begun
        ]
        for experiment in self._missing(begun):
            prepared = runner.prepare(
                experiment, self.catalogue, toolchain, inputs, self.executor, self.progress
            )
            jobs.append((None, prepared))
        with_probe_cpus(self.executor)
        start = monotonic()
        for run, prepared in jobs:
            left_s = None if limit_s is None else limit_s - (monotonic() - start)
            if left_s is not None and left_s <= 0 and self.made:
                break
            if run is None:
                suite = dict(self.called) if self.called.get("id") else None
                run = runner.begin(
                    prepared,
                    self.storage,
                    self.catalogue,
                    self.executor,
                    self.called.get("seed"),
                    suite=suite,
                )
            self.made.append(run)
            runner.conduct(run, prepared, self.storage, self.executor, self.progress, time_limit_s=left_s)
        return self.made

    def _missing(self, begun: Sequence[Run]) -> list[Experiment]:
        """The parts that were not begun yet; none where a single run is taken up."""
        if begun and not self.called.get("id"):
            return []
        wanted = parts.experiments(
            self.catalogue,
            self.called["name"],
            only=self.called["only"],
            settings=self.called["settings"],
            blocks=self.called["blocks"],
            until=self.called.get("until"),
        )
        there = {run.experiment for run in begun}
        return [experiment for experiment in wanted if experiment.name not in there]


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


def goal(text: str) -> float:
    """`--until 2%` as 0.02. Raises UsageError."""
    try:
        return share(text)
    except ValueError as error:
        raise UsageError(f"--until: {error}") from None


def seconds(text: str) -> float:
    """A duration like `90`, `90s`, `5m` or `1h30m`, in seconds."""
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", text.strip())
    if not text.strip() or not match:
        raise UsageError(f"--time {text}: write it as 90s, 5m or 1h30m")
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + rest
