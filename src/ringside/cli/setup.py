"""`ringside setup`: installs what can be installed and builds contenders."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from ringside.cli import EXIT_FAILED, streams
from ringside.errors import CatalogueError
from ringside.model.catalogue import Contender, Unavailable
from ringside.text import LOG_LINES, last_lines

if TYPE_CHECKING:
    from ringside.catalogue.loader import Catalogue
    from ringside.measure.apt import Package

_TRIES = 3
_PAUSE_S = 5.0
_say = partial(streams.say, name="setup")


@click.command()
@click.argument("names", nargs=-1, metavar="[CONTENDER]...")
@click.option(
    "--for",
    "experiments",
    multiple=True,
    metavar="EXPERIMENT",
    help="The contenders of an experiment or a suite.",
)
def setup(names: Sequence[str], experiments: Sequence[str]) -> int:
    """Install missing runtimes and build contenders.

    All contenders if none is named, two at a time. Runtimes are installed as root on Debian or Ubuntu;
    elsewhere the commands are printed. Exit status 1 where a contender cannot run.
    """
    from ringside.cli import context

    toolchain = context.toolchain()
    contenders, errors = _wanted(context.catalogue(), names, experiments)
    contenders = [
        each
        for each in contenders
        if each.name in names
        or not each.runtime.optional
        or not isinstance(toolchain.receipt(each.runtime), str)
    ]
    _install([each for each in contenders if isinstance(toolchain.receipt(each.runtime), str)])
    toolchain = context.toolchain()  # receipts anew
    unavailable = []
    for result in toolchain.prepare_all(contenders, _building):
        if isinstance(result, Unavailable):
            unavailable.append(result)
        else:
            _say(f"{result.contender.name} is ready")
    for result in unavailable:
        _say(f"{result.contender.name} is not available: {result.reason}")
        for line in last_lines(result.log, LOG_LINES):
            _say(f"  | {line}")
        _say(f"  {result.remedy}")
    for name, error in errors.items():
        _say(f"{name} is not available: {error}")
    return EXIT_FAILED if unavailable or errors else 0


def _wanted(
    catalogue: Catalogue, names: Sequence[str], experiments: Sequence[str]
) -> tuple[list[Contender], dict[str, CatalogueError]]:
    """The contenders that are named or take part in the experiments, all where nothing is named; and the
    errors of manifests that cannot be read."""
    from ringside.measure import plan

    if not names and not experiments:
        return catalogue.contenders()
    contenders = {name: catalogue.contender(name) for name in names}
    errors: dict[str, CatalogueError] = {}
    for experiment in experiments:
        for part in plan.experiments(catalogue, plan.Selection(experiment)):
            for name in part.contenders:
                try:
                    contenders[name] = catalogue.contender(name)
                except CatalogueError as error:
                    errors[name] = error
    return list(contenders.values()), errors


def _building(contender: Contender) -> None:
    _say(f"building {contender.name}; this may take a minute")


def _install(contenders: Sequence[Contender]) -> None:
    from ringside.measure.toolchain import has_apt

    wanted = _packages(contenders)
    # Where there is no apt-get, each contender's remedy says what to install.
    if not wanted or not has_apt():
        return
    if os.geteuid() != 0:
        for command in _commands(wanted):
            _say(f"missing runtimes; get them with: sudo apt-get install -y {command}")
        return
    _say(f"installing runtimes on this system with apt-get: {', '.join(_commands(wanted))}")
    retry(lambda: _apt("update", "-qq"))
    # Newer lists may have versions that are new enough.
    packages = _packages(contenders)
    install = partial(_apt, "install", "-y", "-qq", "--no-install-recommends")
    if all(install(*command.split()) for command in _commands(packages)):
        return
    for package in packages:
        # One by one: a package that this system lacks must not keep the others out.
        if not retry(partial(install, *package.words)):
            _say(f"{package.name} could not be installed")


def _packages(contenders: Sequence[Contender]) -> list[Package]:
    from ringside.measure.apt import packages_of

    # Each runtime is asked for once: apt takes a moment.
    runtimes = {repr(each.runtime): each.runtime for each in contenders}
    return sorted({package for runtime in runtimes.values() for package in packages_of(runtime)})


def _commands(packages: Sequence[Package]) -> list[str]:
    """What follows `apt-get install`: once for each release."""
    by_release: dict[str, list[str]] = {}
    for package in packages:
        by_release.setdefault(package.release, []).append(package.name)
    return [
        " ".join([*(["-t", release] if release else []), *names]) for release, names in by_release.items()
    ]


def _apt(*words: str) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", *words], stdin=subprocess.DEVNULL, stdout=sys.stderr, env=environment, check=False
    )
    return done.returncode == 0


def retry(action: Callable[[], bool]) -> bool:
    """Try up to three times, with pauses: networks fail now and then."""
    for attempt in range(_TRIES):
        if action():
            return True
        if attempt + 1 < _TRIES:
            time.sleep(_PAUSE_S)
    return False
