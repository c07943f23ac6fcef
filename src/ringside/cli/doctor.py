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
    toolchains = inventory.toolchains(*context.catalogue().contenders(), context.toolchain())
    inventory.show([toolchains, inventory.machine()])
    return EXIT_FAILED if any(row[2].kind == "failed" for row in toolchains.rows) or toolchains.notes else 0
