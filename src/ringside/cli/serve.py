"""`ringside serve`: the runs of the store as pages in a browser, also while one is in progress."""

import sys
from collections.abc import Sequence

from ringside.cli import context
from ringside.serve import server as pages
from ringside.serve.source import Source

# Only this machine reaches it.
LOCAL = "127.0.0.1"
PORT = 8000


def serve(host: str = LOCAL, port: int = PORT, store: str | None = None) -> int:
    """Serve pages until Ctrl-C."""
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


def start(host: str, port: int, store: str | None, *, cpus: Sequence[int] = ()) -> pages.PageServer:
    """Start a page server on these CPUs [all]. Raises UsageError without the extra or with a used port."""
    pages.check_installed()
    listener, source = pages.listen(host, port), Source(lambda: context.locate_store(store))
    served = pages.PageServer(listener, host, source, context.questions, cpus=cpus)
    served.start()
    return served
