"""Trio's listener."""

import functools
import logging

import trio

from arguments import refuse, report
from service import end_when_told

BACKLOG = 4096


async def serve(handler, port, host):
    """Serves each connection in a task of its own. `handler` takes a stream; an error of the stream is: the client
    went away."""
    try:
        listeners = await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    # Not Trio's handler: that one would wait for its turn in the loop. Inside `trio.run`, which otherwise warns that
    # somebody else listens for signals.
    end_when_told()
    report(f"::ready port={listeners[0].socket.getsockname()[1]}")
    # If no descriptor is free, Trio tries again after a tenth of a second, and would print that.
    logging.getLogger("trio.serve_listeners").setLevel(logging.CRITICAL)
    await trio.serve_listeners(functools.partial(converse, handler), listeners)


async def converse(handler, stream):
    try:
        await handler(stream)
    except* (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    finally:
        with trio.move_on_after(1) as grace:
            grace.shield = True
            await trio.aclose_forcefully(stream)
