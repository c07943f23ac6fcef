"""`ringside serve`: the runs of the store as pages in a browser, also while one is in progress."""

import sys
from collections.abc import Sequence
from contextlib import suppress

from ringside.cli import context
from ringside.serve.server import PageServer
from ringside.serve.source import Source

# Only this machine reaches it.
LOCAL = "127.0.0.1"
PORT = 8000


def serve(host: str = LOCAL, port: int = PORT, store: str | None = None) -> int:
    """Serve pages until Ctrl-C."""
    context.check_named(store)
    server = start(host, port, store)
    print(f"{server.url} shows the runs; Ctrl-C ends it", file=sys.stderr)
    with suppress(KeyboardInterrupt):
        server.wait()
    server.stop()
    return 0


def start(host: str, port: int, store: str | None, *, cpus: Sequence[int] = ()) -> PageServer:
    """Start a page server on these CPUs [all]. Raises UsageError without the extra or with a used port."""
    source = Source(lambda: context.locate_store(store))
    return PageServer(host, port, source, context.questions, cpus=cpus)
