"""`ringside doctor`: what is here, what is missing, how to get it."""

from __future__ import annotations

import click

from ringside.cli import EXIT_FAILED, streams
from ringside.cli.options import flag, takes


@click.command()
@takes()
def doctor(*, machine: bool = flag("--machine", "Only the machine, and how quiet it is.")) -> int:
    """Show what is installed, what is missing, and how quiet the machine is.

    Exit status 1 where a contender cannot run."""
    from ringside.cli import context, inventory

    if machine:
        inventory.show([inventory.machine()])
        return 0
    contenders, errors = context.catalogue().contenders()
    toolchains = inventory.toolchains(contenders, errors, context.toolchain())
    inventory.show([toolchains, inventory.machine()])
    if missing := dict.fromkeys(row[0].text for row in toolchains.rows if row[2].kind == "failed"):
        streams.say(
            f"without {', '.join(missing)} some contenders cannot run: `ringside setup` installs them"
        )
    return EXIT_FAILED if missing or errors else 0
