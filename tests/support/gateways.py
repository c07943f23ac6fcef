"""Gateways under test: contenders of `fanout`, and clients of them."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from ringside.workloads.fanout.check import Upstream
from tests.support import servers

CONTENDERS = servers.having("fanout")
every_contender = pytest.mark.parametrize("name", CONTENDERS)
PATIENCE_S = servers.PATIENCE_S


@dataclass
class Gateway:
    process: subprocess.Popen[bytes]
    port: int

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def client(self) -> http.client.HTTPConnection:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        client.connect()
        return client

    def get(self, target: str = "/", **headers: str) -> Reply:
        client = self.client()
        try:
            return get(client, target, **headers)
        finally:
            client.close()


@dataclass
class Reply:
    status: int
    headers: http.client.HTTPMessage
    # When a piece came, in seconds since the request was sent, and the piece.
    pieces: list[tuple[float, str]]

    @property
    def body(self) -> str:
        return "".join(piece for _, piece in self.pieces)

    @property
    def statuses(self) -> str:
        return self.body.replace(".", "")

    def when(self, text: str) -> float:
        """When the body first held this text."""
        seen = ""
        for instant, piece in self.pieces:
            seen += piece
            if text in seen:
                return instant
        raise AssertionError(f"{text} is not in {self.body}")


def get(client: http.client.HTTPConnection, target: str = "/", method: str = "GET", **headers: str) -> Reply:
    start = time.monotonic()
    client.request(method, target, headers={key.replace("_", "-"): value for key, value in headers.items()})
    response = client.getresponse()
    pieces: list[tuple[float, str]] = []
    while piece := response.read1():
        pieces.append((time.monotonic() - start, piece.decode("latin-1")))
    response.close()
    return Reply(response.status, response.headers, pieces)


@contextmanager
def serving(name: str, *arguments: str) -> Iterator[Gateway]:
    """A gateway that must end well: in time, with status 0, and without having printed anything."""
    with servers.serving("fanout", name, *arguments) as (process, port):
        yield Gateway(process, port)


def io_of(*upstreams: Upstream | str) -> tuple[str, str]:
    urls = (one if isinstance(one, str) else one.url for one in upstreams)
    return "kind=io", "upstreams=" + ",".join(urls)


def on_a_good_day(attempt: Callable[[], None], tries: int = 20) -> None:
    """Time is the subject: the machine may have stalled."""
    for left in reversed(range(tries)):
        try:
            return attempt()
        except AssertionError:
            if not left:
                raise
