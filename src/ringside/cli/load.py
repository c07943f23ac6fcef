"""`ringside load`: the load engine by itself, at a server that is there already, or at two in turn."""

from __future__ import annotations

import click

from ringside.cli.options import SectionedCommand, takes
from ringside.load.options import LoadSettings


@click.command(cls=SectionedCommand)
@click.argument("targets", metavar="TARGET…", nargs=-1, required=True)
@takes(LoadSettings)
def load(settings: LoadSettings) -> int:
    """Drive load at TARGET and show what its users would see.

    TARGET is http://…, https://…, h2://…, h2s://…, ws://…, wss://…, or tcp://host:port (lines); all but the
    last may follow stream+ (held open)."""
    from ringside.cli.load_run import drive

    return drive(settings)
