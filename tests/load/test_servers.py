"""Loads on servers that people use: no request may fail, whatever each of them makes of the protocols that it
speaks. h2 is HTTP/2 without TLS, which the client has to know; h2s is HTTP/2 that ALPN has chosen."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ringside.measure.runs.trials import free_port
from ringside.probe.process import find_probe
from tests.support import TESTS

HERE = TESTS / "http_servers"
LARGE = "x" * 100_000
# All servers of one kind share a build.
BUILDING = threading.Lock()
NGINX = (HERE / "nginx.conf.template").read_text(encoding="utf-8")
TLS = "ssl_certificate {0}; ssl_certificate_key {1};"


@dataclass(frozen=True)
class Instance:
    """A server that speaks one protocol, inside TLS with a certificate and its key, and closes a kept
    connection after so many seconds without a request. It gets a new folder, and one with earlier builds."""

    folder: Path
    builds: Path
    protocol: str
    idle_s: int
    files: tuple[str, ...]


@dataclass(frozen=True)
class Server:
    """A program that serves. `start` returns a command, and the port where the command does not print one.
    `routes` are those of `http_servers` that it has, by protocol; a WebSocket has none."""

    executables: tuple[str, ...]
    start: Callable[[Instance], tuple[list[str], int | None]]
    routes: dict[str, frozenset[str]]


def _go(instance: Instance) -> tuple[list[str], None]:
    server = instance.builds / "server"
    if not server.exists():
        build = ["go", "build", "-o", str(server), str(HERE / "server.go")]
        built = subprocess.run(build, capture_output=True, text=True, check=False)
        if "SetUnencryptedHTTP2" in built.stderr:
            pytest.skip("Go 1.24 or newer is needed for HTTP/2 without TLS")
        assert built.returncode == 0, built.stderr
    return [str(server), f"{instance.idle_s}s", *instance.files], None


def _node(instance: Instance) -> tuple[list[str], None]:
    words = [str(HERE / "server.js"), str(instance.idle_s), instance.protocol]
    return ["node", *words, *instance.files], None


def _inets(instance: Instance) -> tuple[list[str], None]:
    compiles = ["erlc", "-o", str(instance.builds), str(HERE / "inets_server.erl")]
    is_there = (instance.builds / "inets_server.beam").exists()
    if not is_there and subprocess.run(compiles, check=False).returncode:
        pytest.skip("erlang-inets is not installed")
    words = ["-noshell", "-pa", str(instance.builds), "-run", "inets_server", "main", str(instance.idle_s)]
    return ["erl", *words, *instance.files], None


def _nginx(instance: Instance) -> tuple[list[str], int]:
    port, folder = free_port(), instance.folder
    (folder / "large").write_text(LARGE)
    options = {"http": "", "https": " ssl", "h2": " http2", "h2s": " ssl http2"}
    tls = TLS.format(*instance.files) if instance.files else ""
    text = NGINX.format(
        folder=folder, port=port, idle=instance.idle_s, listen=options[instance.protocol], tls=tls
    )
    (folder / "nginx.conf").write_text(text)
    return ["nginx", "-e", f"{folder}/errors", "-c", f"{folder}/nginx.conf"], port


def _uvicorn(instance: Instance) -> tuple[list[str], int]:
    port = free_port()
    words = ["-m", "uvicorn", "asgi:app", "--app-dir", str(HERE), "--port", str(port), "--log-level", "error"]
    words += ["--timeout-keep-alive", str(instance.idle_s)]
    if instance.files:
        words += ["--ssl-certfile", instance.files[0], "--ssl-keyfile", instance.files[1]]
    return [sys.executable, *words], port


def _hypercorn(instance: Instance) -> tuple[list[str], int]:
    port = free_port()
    words = ["-m", "hypercorn", f"{HERE}/asgi:app", "--bind", f"127.0.0.1:{port}", "--log-level", "ERROR"]
    # After a thousand requests it would close a connection of HTTP/2 on which others are in flight.
    (instance.folder / "hypercorn.toml").write_text("keep_alive_max_requests = 1_000_000_000\n")
    words += ["--config", "hypercorn.toml", "--keep-alive", str(instance.idle_s)]
    if instance.files:
        words += ["--certfile", instance.files[0], "--keyfile", instance.files[1]]
    return [sys.executable, *words], port


def spoken(routes: frozenset[str], protocols: str) -> dict[str, frozenset[str]]:
    """The routes by protocol. Bodies up to the end of the connection are of HTTP/1.1 alone."""
    without = {"http": {""}, "https": {""}, "h2": {"open"}, "h2s": {"open"}, "ws": routes, "wss": routes}
    return {protocol: routes - without[protocol] for protocol in protocols.split()}


ALL = frozenset(["hello", "trailers", "bytes", "open", "204", "304", "hints", "echo", "large"])
ASGI = ALL - {"trailers", "open", "hints"}
SERVERS = {
    "nginx": Server(
        ("nginx",), _nginx, spoken(ALL - {"bytes", "open", "hints", "echo"}, "http https h2 h2s")
    ),
    "go": Server(("go",), _go, spoken(ALL, "http https h2 h2s")),
    "nodejs": Server(("node",), _node, spoken(ALL, "http https h2 h2s")),
    "uvicorn": Server((sys.executable,), _uvicorn, spoken(ASGI, "http https ws wss")),
    "hypercorn": Server(
        (sys.executable,), _hypercorn, spoken(ASGI, "http https ws wss") | spoken(ASGI | {"hints"}, "h2 h2s")
    ),
    "inets": Server(("erl", "erlc"), _inets, spoken(ASGI, "http https")),
}


def spoken_pairs(*protocols: str) -> list[tuple[str, str]]:
    """Every server with every one of these protocols that it speaks."""
    return [pair for pair in product(SERVERS, protocols) if pair[1] in SERVERS[pair[0]].routes]


def each(*protocols: str) -> pytest.MarkDecorator:
    pairs = [pytest.param(*pair, id="-".join(pair)) for pair in spoken_pairs(*protocols)]
    return pytest.mark.parametrize(("name", "protocol"), pairs)


HTTP = "http", "https", "h2", "h2s"


@dataclass(frozen=True)
class Target:
    """A server that runs, and how it is spoken to."""

    port: int
    protocol: str
    routes: frozenset[str]
    cacert: str


@contextlib.contextmanager
def served(name: str, protocol: str, folder: Path, builds: Path, idle_s: int = 60) -> Iterator[Target]:
    """A server; `builds`: the folder of the certificates."""
    server = SERVERS[name]
    for executable in server.executables:
        if not shutil.which(executable):
            pytest.skip(f"{executable} is not installed")
    files = tuple(str(builds / file) for file in ("own.pem", "own.key"))
    inside_tls = protocol in ("https", "h2s", "wss")
    with BUILDING:
        words, port = server.start(Instance(folder, builds, protocol, idle_s, files if inside_tls else ()))
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True, start_new_session=True) as it:
        try:
            port = port or int(it.stdout.readline())
            _await(it, port)
            yield Target(port, protocol, server.routes[protocol], files[0])
        finally:
            # With its workers.
            os.killpg(it.pid, signal.SIGKILL)


def _await(process: subprocess.Popen[str], port: int) -> None:
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    pytest.fail(f"the server ended with status {process.returncode}")


def load(target: Target, streams: int = 4, **plan: Any) -> dict[str, Any]:
    """The outcome of a load without a fault. `streams`: of HTTP/2."""
    host = f"127.0.0.1:{target.port}"
    request = {"headers": [["Host", host], *plan.pop("headers", [])]} | plan.pop("request", {})
    plan = {
        "protocol": "ws" if target.protocol in ("ws", "wss") else "http",
        "addresses": [host],
        "connections": 8,
        "timeout_s": 60,
        "request": request,
    } | plan
    if target.protocol in ("https", "h2s", "wss"):
        plan["tls"] = {"server_name": "127.0.0.1", "cacert": target.cacert}
    if target.protocol in ("h2", "h2s"):
        plan["http2"] = {"streams": streams}
    text = json.dumps({"version": 1, "load": plan}) + "\n"
    done = subprocess.run([find_probe()], input=text, capture_output=True, text=True, check=True)
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert outcome["outcome"] == "ok", outcome
    assert outcome["errors"] == {}, outcome
    return outcome


PACED = {"kind": "constant", "rate_per_s": 2_000.0}


def drive(target: Target, count: int) -> int:
    """So many requests, over all routes; returns how many were answered."""
    if target.protocol in ("ws", "wss"):
        return talk(target, count)
    routes, answered = target.routes, 0

    def some(share: float, names: Sequence[str], equals: str, **plan: Any) -> None:
        nonlocal answered
        names = [name for name in names if name in routes]
        if not names:
            return
        number = round(count * share)
        request = {"targets": [f"/{name}" for name in names]} | plan.pop("request", {})
        outcome = load(target, requests=number, request=request, expect={"equals": equals}, **plan)
        assert outcome["requests"] == number
        answered += number

    sent = {"method": "POST", "body": "y" * 3000}
    # Each takes a port for a minute.
    few = 0.001 if "open" in routes else 0.0
    some(few, ["open"], "hello")
    # Without an echo the others have its share.
    some((0.4 if "echo" in routes else 0.5) - few, ["hello", "trailers", "bytes", "hints"], "hello")
    some(0.2, ["204", "304"], "")
    some(0.2, ["hello", "204", "304", "large"], "", request={"method": "HEAD"})
    some(0.1, ["echo"], "y" * 3000, request=sent, headers=[["Expect", "100-continue"]])
    some(0.1, ["large"], LARGE, pacing=PACED)
    return answered


def talk(target: Target, count: int) -> int:
    """So many messages over WebSockets, each of which comes back: texts, bytes, long ones."""
    answered = 0
    parts: list[tuple[float, str, dict[str, Any]]] = [
        (0.5, "hello", {}),
        (0.2, "\xff" * 3000, {}),
        (0.1, "x" * 60_000, {}),
        (0.2, "hello", {"pacing": PACED}),
    ]
    for share, message, plan in parts:
        number = round(count * share)
        outcome = load(target, requests=number, line=message, **plan)
        assert outcome["requests"] == number
        assert outcome["connections"]["opened"] == 8
        answered += number
    return answered


@pytest.mark.parametrize("count", [1_000, pytest.param(100_000, marks=pytest.mark.soak)])
@each(*HTTP, "ws", "wss")
def test_faultless_requests(name: str, protocol: str, count: int, tmp_path: Path, certificates: Path) -> None:
    with served(name, protocol, tmp_path, certificates) as target:
        assert drive(target, count) == count


def test_a_connection_of_few_requests_keeps_nobody_waiting(tmp_path: Path, certificates: Path) -> None:
    """A server that leaves after five requests has most of fifty refused, again and again (envoy 36450,
    nghttp2 981): each of them is sent on the next connection before those that came later."""
    with served("nginx", "h2", tmp_path, certificates) as target:
        outcome = load(
            target,
            streams=50,
            connections=2,
            requests=2_000,
            request={"target": "/hello"},
            expect={"equals": "hello"},
        )
    assert outcome["requests"] == 2_000
    assert outcome["connections"]["opened"] >= 400


def burst_twice(target: Target) -> dict[str, Any]:
    """The outcome of two bursts: the second comes after two and a half times the time for which the server
    keeps an idle connection. It closes those that were opened again after a multiple of that time."""
    plan: dict[str, Any] = {
        "requests": 16,
        "pacing": {"kind": "constant", "rate_per_s": 8 / 7.5, "burst": 8},
        "request": {"target": "/hello"},
        "expect": {"equals": "hello"},
    }
    # The first request may take as long as an idle connection is kept: Erlang loads its modules.
    load(target, streams=1, connections=1, **plan | {"requests": 1})
    return load(target, streams=1, **plan)


@pytest.fixture(scope="module")
def bursts(
    tmp_path_factory: pytest.TempPathFactory, certificates: Path
) -> Iterator[dict[tuple[str, str], Future[dict[str, Any]]]]:
    """All servers at one time: most of it is waiting. Each has started before the first burst: beside others
    that start, one may get no processor for as long as it keeps a connection without a request."""
    pairs = spoken_pairs(*HTTP)
    with contextlib.ExitStack() as running, ThreadPoolExecutor(len(pairs)) as several:

        def start(name: str, protocol: str) -> Target:
            folder = tmp_path_factory.mktemp(f"{name}-{protocol}")
            return running.enter_context(served(name, protocol, folder, certificates, idle_s=3))

        targets = {pair: several.submit(start, *pair) for pair in pairs}
        wait(targets.values())
        yield {
            pair: several.submit(lambda started: burst_twice(started.result()), target)
            for pair, target in targets.items()
        }


@each(*HTTP)
def test_kept_connections_that_a_server_closes_are_opened_again(
    name: str, protocol: str, bursts: dict[tuple[str, str], Future[dict[str, Any]]]
) -> None:
    outcome = bursts[name, protocol].result()
    assert outcome["requests"] == 16
    # Some servers keep a connection that never had a request, while others are opened.
    assert outcome["connections"]["idle_closes"] >= 1
    assert outcome["connections"]["opened"] > 8
