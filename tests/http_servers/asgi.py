"""The routes of the other servers here, as an ASGI application. As a WebSocket it sends back what comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
STATUSES = {"/204": 204, "/304": 304}
BODIES = {
    "/hello": [b"hello"],
    "/hints": [b"hello"],
    "/bytes": [b"h", b"e", b"l", b"l", b"o"],
    "/large": [b"x" * 100_000],
}


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    if scope["type"] == "websocket":
        await send_back(receive, send)
        return
    path = scope["path"]
    status = STATUSES.get(path, 200)
    parts = BODIES.get(path, [b""])
    if path == "/echo":
        parts, more = [b""], True
        while more:
            message = await receive()
            parts[0] += message["body"]
            more = message.get("more_body", False)
    headers = [(b"content-length", str(len(parts[0])).encode())] if len(parts) == 1 and status == 200 else []
    if path == "/hints":
        for link in (b"</x.css>; rel=preload", b"</y.css>; rel=preload"):
            await send({"type": "http.response.early_hint", "links": [link]})
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def send_back(
    receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        content = {key: message[key] for key in ("text", "bytes") if message.get(key) is not None}
        await send({"type": "websocket.send", **content})
