"""The live page from a server in a thread, and a client of it."""

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from ringside.cli import context
from ringside.serve.server import PageServer
from ringside.serve.source import Source
from tests.support.runs import experiment

# An experiment whose runs are made up in no time.
SMALL = experiment(contenders=("erlang", "go"), factors={"nodes": 100, "messages": 100}, blocks=7)


class Client:
    """Requests to one server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname
        assert parts.port
        self.host, self.port = parts.hostname, parts.port

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            is_endless = "event-stream" in str(response.headers["Content-Type"])
            return response.status, "" if is_endless else response.read().decode(), response.headers

    def page(self, path: str, status: int = 200) -> str:
        answer, body, _ = self.get(path)
        assert answer == status, body
        return body

    @contextlib.contextmanager
    def events(self, run: str) -> Iterator[Iterator[tuple[str, dict[str, object]]]]:
        """The events of a run, until the server ends them."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", f"/runs/{run}/events")
            response = connection.getresponse()
            assert response.status == 200
            assert response.headers["Content-Type"].startswith("text/event-stream")
            yield _events(response)


def _events(response: http.client.HTTPResponse) -> Iterator[tuple[str, dict[str, object]]]:
    name = ""
    for raw in response:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


@contextlib.contextmanager
def serving(path: Path | str) -> Iterator[Client]:
    """The page of a store, by its path or URL."""
    server = PageServer("127.0.0.1", 0, Source(lambda: str(path)), context.questions)
    try:
        yield Client(server.url)
    finally:
        server.stop()
