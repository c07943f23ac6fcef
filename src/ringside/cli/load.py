"""`ringside load`: the load engine by itself, at a server that is there already, or at two in turn."""

from __future__ import annotations

from typing import ClassVar

import click

from ringside.cli.options import SectionedCommand, takes
from ringside.load.options import LoadSettings


class LoadCommand(SectionedCommand):
    """The command `load`, with answers for users of hey, oha, ab, wrk and wrk2."""

    answers: ClassVar = {
        "-n": "--requests N sends so many",
        "-z": "--duration 10s is how long",
        "-t": "--threads N, --timeout 5s or --duration 10s, as it was meant",
        "-k": "--insecure accepts any certificate; connections are kept alive unless --close",
        "-X": "--method NAME",
        "-R": "--rate N",
        "-q": "--rate N, for all connections together",
    }


@click.command(cls=LoadCommand)
@click.argument("targets", metavar="TARGET…", nargs=-1, required=True)
@takes(LoadSettings)
def load(settings: LoadSettings) -> int:
    """Drive load at TARGET and show what its users would see.

    TARGET is http://…, https://…, h2://…, h2s://…, ws://…, wss://…, or tcp://host:port (lines); all but the
    last may follow stream+ (held open).
    """
    from ringside.cli.load_run import drive

    return drive(settings)
