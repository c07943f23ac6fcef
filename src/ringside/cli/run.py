"""`ringside run`: an experiment or a suite from its file to the store, and its tables."""

from __future__ import annotations

import click

from ringside.cli.options import takes
from ringside.cli.run_options import RunSettings


@click.command()
@click.argument("experiment", required=False)
@takes(RunSettings)
def run(settings: RunSettings) -> int:
    """Run EXPERIMENT (a name, or the path of a TOML file) and show its tables.

    A workload's name runs the contenders of --with and --only at its defaults. A run ends as soon as every
    comparison of its headline is decided, or after its blocks or its time. Exit status 1 where cells have no
    figures."""
    from ringside.cli.run_experiments import conduct

    return conduct(settings)
