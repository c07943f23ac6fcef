"""`ringside doctor`: what is here, what is missing, how to get it."""

from __future__ import annotations

import click

from ringside.cli import EXIT_FAILED
from ringside.cli.options import flag, takes


@click.command()
@takes()
def doctor(only_machine: bool = flag("--machine", "Only the machine, and how quiet it is.")) -> int:
    """Show what is installed, what is missing, and how quiet the machine is.

    Exit status 1 where a contender cannot run.
    """
    from ringside.cli import context, inventory

    if only_machine:
        inventory.show([inventory.machine()])
        return 0
    toolchain = context.toolchain()
    contenders, errors = context.catalogue().contenders()
    runtimes = inventory.runtimes(contenders, errors, toolchain)
    inventory.show([runtimes, inventory.toolchains(contenders, toolchain), inventory.machine()])
    return EXIT_FAILED if errors or any(row[1].kind == "failed" for row in runtimes.rows) else 0
