"""Loads on servers that people use: no request may fail, whatever each of them makes of HTTP/1.1."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ringside.measure.plain_server import free_port
from ringside.probe.process import find_probe

HERE = Path(__file__).parent / "http_servers"
COUNT, SOAK_COUNT = 2_000, 100_000
LARGE = "x" * 100_000

NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 256; }}
http {{
    access_log off; keepalive_timeout {idle}s; keepalive_requests 100; root {folder};
    client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port};
        location /hello {{ return 200 hello; }}
        location /trailers {{ return 200 hello; add_trailer X-Checksum 5; }}
        location /204 {{ return 204; }}
        location /304 {{ return 304; }}
        location /large {{ }}
    }}
}}
"""


@dataclass(frozen=True)
class Server:
    """A program that serves, and the routes that it has of those of `http_servers`. `start` gets a new folder
    and the idle time in seconds after which a kept connection is closed; it returns a command, and the port
    where the command does not print one."""

    executables: tuple[str, ...]
    routes: frozenset[str]
    start: Callable[[Path, int], tuple[list[str], int | None]]


def _go(folder: Path, idle_s: int) -> tuple[list[str], None]:
    subprocess.run(["go", "build", "-o", folder / "server", HERE / "server.go"], check=True)
    return [str(folder / "server"), f"{idle_s}s"], None


def _node(folder: Path, idle_s: int) -> tuple[list[str], None]:
    return ["node", str(HERE / "server.js"), str(idle_s)], None


def _inets(folder: Path, idle_s: int) -> tuple[list[str], None]:
    subprocess.run(["erlc", "-o", folder, HERE / "inets_server.erl"], check=True)
    return ["erl", "-noshell", "-pa", str(folder), "-run", "inets_server", "main", str(idle_s)], None


def _nginx(folder: Path, idle_s: int) -> tuple[list[str], int]:
    port = free_port()
    (folder / "large").write_text(LARGE)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, idle=idle_s))
    return ["nginx", "-e", f"{folder}/errors", "-c", f"{folder}/nginx.conf"], port


def _uvicorn(folder: Path, idle_s: int) -> tuple[list[str], int]:
    port = free_port()
    words = ["-m", "uvicorn", "asgi:app", "--app-dir", str(HERE), "--port", str(port), "--log-level", "error"]
    return [sys.executable, *words, "--timeout-keep-alive", str(idle_s)], port


def _hypercorn(folder: Path, idle_s: int) -> tuple[list[str], int]:
    port = free_port()
    words = ["-m", "hypercorn", f"{HERE}/asgi:app", "--bind", f"127.0.0.1:{port}", "--log-level", "ERROR"]
    return [sys.executable, *words, "--keep-alive", str(idle_s)], port


ALL = frozenset(["hello", "trailers", "bytes", "open", "204", "304", "echo", "large"])
ASGI = ALL - {"trailers", "open"}
SERVERS = {
    "nginx": Server(("nginx",), ALL - {"bytes", "open", "echo"}, _nginx),
    "go": Server(("go",), ALL, _go),
    "nodejs": Server(("node",), ALL, _node),
    "uvicorn": Server((sys.executable,), ASGI, _uvicorn),
    "hypercorn": Server((sys.executable,), ASGI, _hypercorn),
    "inets": Server(("erl", "erlc"), ASGI, _inets),
}


@contextlib.contextmanager
def served(name: str, folder: Path, idle_s: int = 60) -> Iterator[int]:
    """The port of a server that runs."""
    server = SERVERS[name]
    for executable in server.executables:
        if not shutil.which(executable):
            pytest.skip(f"{executable} is not installed")
    words, port = server.start(folder, idle_s)
    with subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout
        try:
            port = port or int(process.stdout.readline())
            _await(process, port)
            yield port
        finally:
            # With its workers.
            os.killpg(process.pid, signal.SIGKILL)


def _await(process: subprocess.Popen[str], port: int) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    pytest.fail(f"the server ended with status {process.returncode}")


def load(port: int, io: str, **plan: Any) -> dict[str, Any]:
    """The outcome of a load without a fault."""
    request = {"headers": [["Host", "127.0.0.1"]]} | plan.pop("request", {})
    plan = {
        "protocol": "http",
        "addresses": [f"127.0.0.1:{port}"],
        "connections": 8,
        "timeout_s": 60,
        "io": io,
        "request": request,
    } | plan
    text = json.dumps({"version": 1, "load": plan}) + "\n"
    done = subprocess.run([find_probe()], input=text, capture_output=True, text=True, check=True)
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert outcome["outcome"] == "ok", outcome
    assert outcome["errors"] == {}, outcome
    return outcome


def targets(routes: Sequence[str], count: int) -> list[dict[str, Any]]:
    """All of them as often, but for `open`, each of which takes a port for a minute."""
    rare = max(1, count // 1_000)
    return [{"target": f"/{route}", "weight": 1 if route == "open" else rare} for route in routes]


def drive(port: int, io: str, routes: frozenset[str], count: int) -> int:
    """So many requests, over all routes; returns how many were answered."""
    answered = 0

    def some(share: float, names: Sequence[str], equals: str, **plan: Any) -> None:
        nonlocal answered
        if not names:
            return
        number = round(count * share)
        request = {"targets": targets(names, count)} | plan.pop("request", {})
        outcome = load(port, io, requests=number, request=request, expect={"equals": equals}, **plan)
        assert outcome["requests"] == number
        answered += number

    with_hello = [name for name in ("hello", "trailers", "bytes", "open") if name in routes]
    empty = [name for name in ("204", "304") if name in routes]
    echo, large = [name for name in ("echo",) if name in routes], ["large"]
    expecting = {"headers": [["Host", "h"], ["Expect", "100-continue"]], "method": "POST", "body": "y" * 3000}
    # Without an echo the others have its share.
    some(0.4 if echo else 0.5, with_hello, "hello")
    some(0.2, empty, "")
    some(0.2, ["hello", *empty, "large"], "", request={"method": "HEAD"})
    some(0.1, echo, "y" * 3000, request=expecting)
    rate = {"kind": "constant", "rate_per_s": 2_000.0}
    some(0.1, large, LARGE, pacing=rate)
    return answered


@pytest.mark.parametrize("name", SERVERS)
def test_two_thousand_requests_without_a_fault(name: str, tmp_path: Path) -> None:
    with served(name, tmp_path) as port:
        for io in ("epoll", "uring"):
            assert drive(port, io, SERVERS[name].routes, COUNT // 2) == COUNT // 2


@pytest.mark.soak
@pytest.mark.parametrize("name", SERVERS)
def test_a_hundred_thousand_requests_without_a_fault(name: str, tmp_path: Path) -> None:
    with served(name, tmp_path) as port:
        for io in ("epoll", "uring"):
            assert drive(port, io, SERVERS[name].routes, SOAK_COUNT) == SOAK_COUNT


@pytest.mark.parametrize("name", SERVERS)
def test_kept_connections_that_a_server_closes_are_opened_again(name: str, tmp_path: Path) -> None:
    """Each burst comes two seconds after the one before, on connections that were idle for a second."""
    with served(name, tmp_path, idle_s=1) as port:
        pacing = {"kind": "constant", "rate_per_s": 4.0, "burst": 8}
        for io in ("epoll", "uring"):
            outcome = load(
                port,
                io,
                requests=16,
                pacing=pacing,
                request={"target": "/hello"},
                expect={"equals": "hello"},
            )
            assert outcome["requests"] == 16
            assert outcome["connections"]["idle_closes"] >= 8
            assert outcome["connections"]["opened"] >= 16
