"""The server: a socket, and uvicorn in a thread."""

import asyncio
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Sequence

from ringside.errors import UsageError
from ringside.serve.source import Questions, Source, lower_priority

_BACKLOG = 128
_STOP_S = 3
# How long watchers may take to receive a run's end.
_FINISH_S = 10.0


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises UsageError if it cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host {host}: this machine has no such address ({error})") from error
    try:
        is_both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=is_both)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise UsageError(
            f"cannot listen at {_shown(host)}:{port}: {why}; choose another port with --port"
        ) from error


class PageServer:
    """A page that is being served, until `stop`."""

    def __init__(
        self, host: str, port: int, source: Source, questions: Questions, *, cpus: Sequence[int] = ()
    ) -> None:
        """`cpus`: those that it may use; empty: all. Raises UsageError without the extra, or as `listen`."""
        try:
            import uvicorn  # here, since the extra brings it, and starlette for the pages

            from ringside.serve.app import Pages
        except ModuleNotFoundError as error:
            raise UsageError(
                f"{error.name} is missing: run `make setup`, or install the extra `serve`"
            ) from error
        self._listener, self._cpus = listen(host, port), cpus
        bound, port = self._listener.getsockname()[:2]
        address = ipaddress.ip_address(bound.partition("%")[0])
        hosts = [host] if address.is_loopback else [host, socket.gethostname(), socket.getfqdn()]
        self._pages = Pages(source, questions)
        app = self._pages.app(hosts, any_address=not address.is_loopback)
        self.url = f"http://{_shown('localhost' if address.is_unspecified else host)}:{port}/"
        config = uvicorn.Config(
            app,
            log_level="critical",
            access_log=False,
            server_header=False,
            lifespan="on",
            timeout_graceful_shutdown=_STOP_S,
            # Addresses of clients are not used, so headers about them are ignored.
            proxy_headers=False,
            ws="none",
        )
        self._server = uvicorn.Server(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="ringside-serve", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the server ends by itself, or the caller is interrupted."""
        self._thread.join()

    def finish(self, *, at_once: bool) -> None:
        """Stop, once those who watch have seen how their runs ended; or `at_once`."""
        end_s = time.monotonic() + (0.0 if at_once else _FINISH_S)
        while self._pages.hub.watchers and self._thread.is_alive() and time.monotonic() < end_s:
            time.sleep(0.1)
        self.stop()

    def stop(self) -> None:
        """End it, and the streams of those who watch."""
        self._server.should_exit = True
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._pages.hub.stopped.set)
        self._thread.join(_STOP_S + 2)
        self._listener.close()

    def _run(self) -> None:
        # Threads that are begun in this one inherit both.
        lower_priority()
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)

        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            await self._server.serve(sockets=[self._listener])

        asyncio.run(serve())


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
