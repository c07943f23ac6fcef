"""How uvicorn is started here."""

import asyncio
import errno
import logging
import socket

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from arguments import refuse, report
from service import end_when_told

BACKLOG = 4096


class Protocol(HttpToolsProtocol):
    def connection_made(self, transport):
        super().connection_made(transport)
        # A message waits until the kernel has taken the one before.
        transport.set_write_buffer_limits(0)


async def serve(app, port, host):
    asyncio.get_running_loop().set_exception_handler(handle_error)
    try:
        listener = socket.create_server((host, port))
    except OSError:
        refuse("port", f"one that is free on {host}", str(port))
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level=logging.CRITICAL,
        # The loop's own backlog is also how often it tries to accept in one turn, even when no descriptor is free.
        backlog=100,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    listener.listen(BACKLOG)
    # Not the server's handlers: those wait for their turns among ten thousand feeds, and for the feeds to end.
    end_when_told()
    report(f"::ready port={listener.getsockname()[1]}")
    await server.main_loop()


def handle_error(loop, context):
    # No descriptor is free: asyncio tries again in a second.
    error = context.get("exception")
    if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
        loop.default_exception_handler(context)
