"""The routes of the other servers here, as an ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
BODIES = {"/hello": [b"hello"], "/bytes": [b"h", b"e", b"l", b"l", b"o"], "/large": [b"x" * 100_000]}


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    path = scope["path"]
    status = int(path[1:]) if path in ("/204", "/304") else 200
    parts = BODIES.get(path, [b""])
    if path == "/echo":
        parts, more = [b""], True
        while more:
            message = await receive()
            parts[0] += message["body"]
            more = message.get("more_body", False)
    length = [(b"content-length", str(len(parts[0])).encode())] if len(parts) == 1 and status == 200 else []
    await send({"type": "http.response.start", "status": status, "headers": length})
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
