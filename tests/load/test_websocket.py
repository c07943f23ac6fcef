"""`ringside load` at WebSockets: the real command, the real engine, the server of `websockets`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.support.command_line import load_document

PATHS: list[str] = []


async def _answer(connection: ServerConnection) -> None:
    assert connection.request
    path = connection.request.path
    PATHS.append(path)
    try:
        if path.startswith("/feed/"):
            name = path.rpartition("/")[2]
            await connection.send(f"Welcome: {name}")
            for k in range(1, 1000):
                await asyncio.sleep(0.1)
                await connection.send(f"Chunk {k} for {name}")
        if path == "/greeting":
            await connection.send("hello")
            await asyncio.sleep(0.05)
            await connection.send("again")
        async for message in connection:
            await connection.send("wrong" if path == "/wrong" else message)
    except ConnectionClosed:
        pass


@pytest.fixture(scope="module")
def servers(certificates: Path) -> Iterator[tuple[int, int]]:
    """The ports of an echo server, plain and inside TLS."""
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates / "own.pem", certificates / "own.key")
    loop = asyncio.new_event_loop()

    async def start() -> tuple[int, int]:
        # Without compression, which the engine does not offer, and with pings, which it has to answer.
        plain = await serve(_answer, "127.0.0.1", 0, compression=None, ping_interval=0.2, ping_timeout=5)
        secure = await serve(_answer, "127.0.0.1", 0, ssl=context)
        first, second = (next(iter(server.sockets)).getsockname()[1] for server in (plain, secure))
        return first, second

    ports = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield ports
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@pytest.mark.parametrize("io", ["epoll", "uring"])
@pytest.mark.parametrize("loop", [(), ("--rate", "200")])
def test_every_message_comes_back(
    servers: tuple[int, int], certificates: Path, workplace: Path, loop: tuple[str, ...], io: str
) -> None:
    few = ("--requests", "60", "--connections", "3", "--line", "message {n}: ü", "--io", io, *loop)
    few += ("--expect-pattern", "message [0-9]+: .+")
    trust = ("--cacert", str(certificates / "own.pem"))
    for target in ((f"ws://127.0.0.1:{servers[0]}/",), (f"wss://localhost:{servers[1]}/", *trust)):
        load = load_document(*target, *few)
        assert (load["requests"] + load["late_requests"], load["errors"]) == (60, {})
        assert load["protocol"] == "ws"
        assert load["handshake_ms"]["p50"] > 0
        assert load["connections"]["opened"] == 3


def test_random_values_of_the_handshake_repeat_with_the_seed(
    servers: tuple[int, int], workplace: Path
) -> None:
    target = f"ws://127.0.0.1:{servers[0]}/{{random:1:999999999}}"
    drawn = []
    for seed in ("5", "5", "6"):
        PATHS.clear()
        load_document(target, "--requests", "6", "--connections", "3", "--line", "x", "--seed", seed)
        drawn.append(set(PATHS))
    assert drawn[0] == drawn[1]
    assert len(drawn[0] | drawn[2]) == 6


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_messages_before_the_first_request_are_skipped(
    servers: tuple[int, int], certificates: Path, workplace: Path, io: str
) -> None:
    few = ("--requests", "40", "--connections", "4", "--line", "m{n}", "--io", io)
    trust = ("--cacert", str(certificates / "own.pem"))
    for target in (
        (f"ws://127.0.0.1:{servers[0]}/greeting",),
        (f"wss://localhost:{servers[1]}/greeting", *trust),
    ):
        load = load_document(*target, *few, "--skip", "2")
        assert (load["requests"], load["errors"]) == (40, {})
        # What comes is taken for the answer.
        assert "content" in load_document(*target, *few, status=1)["errors"]


def test_a_message_that_does_not_come_back(servers: tuple[int, int], workplace: Path) -> None:
    target = f"ws://127.0.0.1:{servers[0]}/wrong"
    load = load_document(target, "--requests", "10", status=1)
    assert load["errors"] == {"content": 10}
    assert load_document(target, "--requests", "10", "--expect-body", "wrong")["errors"] == {}


def test_held_connections(servers: tuple[int, int], workplace: Path) -> None:
    streams = load_document(
        f"stream+ws://127.0.0.1:{servers[0]}/feed/{{id}}",
        *("--connections", "5", "--duration", "1200ms", "--interval", "100ms"),
        *("--first", "Welcome: {id}", "--chunk", "Chunk {k} for {id}"),
    )
    assert 10 < streams["messages"] <= 5 * 13
    assert set(streams["sequence"].values()) == {0}
    assert (streams["errors"], streams["connections"]["open_at_end"]) == ({}, 5)


def test_a_server_without_websockets(http: str) -> None:
    load = load_document(f"ws{http[4:]}/", "--requests", "4", status=1)
    assert set(load["errors"]) == {"upgrade"}
    assert "it answers 200 to the request for a WebSocket" in load["detail"]
