"""How aiohttp's server is started here."""

import asyncio
import errno
import logging
import socket

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from arguments import refuse, report

BACKLOG = 4096


async def serve(app, port, host):
    asyncio.get_running_loop().set_exception_handler(handle_error)
    logging.getLogger("aiohttp.server").addFilter(is_our_mistake)
    # No line for each request. A handler is cancelled when its client goes away.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        listener = socket.create_server((host, port))
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    # The loop's own backlog is also how often it tries to accept in one turn, even when no descriptor is free.
    await web.SockSite(runner, listener).start()
    listener.listen(BACKLOG)
    report(f"::ready port={listener.getsockname()[1]}")
    await asyncio.Event().wait()


def is_our_mistake(record):
    # A client that sends no HTTP has its answer, 400.
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def handle_error(loop, context):
    # No descriptor is free: asyncio tries again in a second.
    error = context.get("exception")
    if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
        loop.default_exception_handler(context)
