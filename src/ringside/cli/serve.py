"""`ringside serve`: the runs of the store as pages in a browser, also while one is in progress."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ringside.cli import params
from ringside.cli.options import option, takes

if TYPE_CHECKING:
    from ringside.serve.server import PageServer

# Only this machine reaches it.
LOCAL = "127.0.0.1"


@click.command()
@takes()
def serve(
    *,
    host: str = option("--host ADDRESS", f"Listen here [default: {LOCAL}].", default=LOCAL),
    port: int = params.PORT,
    store: str | None = params.STORE,
) -> int:
    """Show the runs of the store in a browser, also while they are in progress.

    The page changes nothing. Everybody who can reach the address sees all runs with their sources; by default
    only this machine can. Ctrl-C ends it."""
    from ringside.cli import context

    context.check_named(store)
    server = start(host, port, store)
    print(f"{server.url} shows the runs; Ctrl-C ends it", file=sys.stderr)
    try:
        server.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
    return 0


def start(host: str, port: int, store: str | None, *, cpus: Sequence[int] = ()) -> PageServer:
    """A page that is being served; `cpus`: those that it may use, empty: all. Raises UsageError where the
    extra is missing or the port is in use."""
    from ringside.cli import context
    from ringside.serve import server
    from ringside.serve.source import Source

    server.check_installed()
    listener, source = server.listen(host, port), Source(lambda: context.locate_store(store))
    served = server.PageServer(listener, host, source, context.questions, cpus=cpus)
    served.start()
    return served
