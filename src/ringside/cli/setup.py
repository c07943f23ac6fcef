"""`ringside setup`: installs what can be installed and builds contenders."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from ringside.cli import EXIT_FAILED, streams
from ringside.cli.options import option, takes
from ringside.errors import CatalogueError
from ringside.text import LOG_LINES, last_lines

if TYPE_CHECKING:
    from ringside.catalogue.loader import Catalogue
    from ringside.model.catalogue import Contender

_say = partial(streams.say, name="setup")


@click.command()
@click.argument("names", nargs=-1, metavar="[CONTENDER]...")
@takes()
def setup(
    names: Sequence[str],
    experiments: Sequence[str] = option(
        "--for EXPERIMENT", "The contenders of an experiment or a suite.", multiple=True
    ),
) -> int:
    """Install missing runtimes and build contenders.

    All contenders if none is named, two at a time. Runtimes are installed as root on Debian or Ubuntu;
    elsewhere the commands are printed. Exit status 1 where a contender cannot run.
    """
    from ringside.cli import context
    from ringside.measure.toolchain import apt
    from ringside.model.catalogue import Unavailable

    toolchain = context.toolchain()
    contenders, errors = _wanted(context.catalogue(), names, experiments)
    contenders = [
        each
        for each in contenders
        if each.name in names
        or not each.runtime.optional
        or not isinstance(toolchain.receipt(each.runtime), str)
    ]
    apt.install_missing(contenders, toolchain, _say)
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
    from ringside.measure.runs import plan

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
