"""Refuses requests before any page is made, and adds the headers that every answer has.

A page of any site can make a browser send requests to this machine. With a name that resolves to this machine
it could even read the answers (DNS rebinding), so only requests for this machine's names are answered.
"""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Answers only GET and HEAD, and only for our own hosts."""

    def __init__(self, app: ASGIApp, *, hosts: Iterable[str], any_address: bool = False) -> None:
        """`hosts`: the names that count besides `localhost` and loopback addresses. `any_address`: every IP
        address does too: for a server that others reach by one."""
        self._app = app
        self._hosts = {name.lower() for name in hosts}
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", POLICY)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        host = Headers(scope=scope).get("host", "")
        app = self._app
        if not self._is_ours(host):
            app = PlainTextResponse(
                "This name is not one of this server's. Use its address, or start it with --host NAME.\n", 421
            )
        elif scope["method"] not in ("GET", "HEAD"):
            app = PlainTextResponse("This page is only read: GET and HEAD.\n", 405, {"Allow": "GET, HEAD"})
        await app(scope, receive, send_with_headers)

    def _is_ours(self, host: str) -> bool:
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
            return (
                name == "localhost"
                or name in self._hosts
                or ipaddress.ip_address(name).is_loopback
                or self._any_address
            )
        except ValueError:
            return False
