"""`ringside load` at servers inside TLS: the real command, the real engine, certificates made by openssl."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.command_line import in_process, load_document
from tests.support.started import ports_of


@pytest.fixture(scope="module")
def port(certificates: Path) -> Iterator[int]:
    command = [sys.executable, "-m", "tests.support.secure_server", "own.pem", "own.key"]
    command[3:] = [str(certificates / name) for name in command[3:]]
    with ports_of(command, ROOT) as (port,):
        yield port


@pytest.mark.parametrize("loop", [(), ("--rate", "200")])
@pytest.mark.parametrize("io", ["epoll", "auto"])
def test_loops(port: int, certificates: Path, workplace: Path, loop: tuple[str, ...], io: str) -> None:
    trust = ("--cacert", str(certificates / "own.pem"))
    few = ("--requests", "60", "--connections", "3", "--io", io)
    load = load_document(f"https://localhost:{port}/", *trust, *few, *loop, "--expect-body", "hello\n")
    assert (load["requests"] + load["late_requests"], load["errors"]) == (60, {})
    assert load["security"].startswith("TLSv1.3 TLS13_")
    assert load["handshake_ms"]["p50"] > 0
    assert load["connect_ms"]["p50"] > 0


def test_a_stream(port: int, workplace: Path) -> None:
    streams = load_document(
        f"stream+https://127.0.0.1:{port}/stream/{{id}}",
        *("--insecure", "--connections", "3", "--duration", "700ms"),
        *("--first", "Welcome: {id}", "--chunk", "Chunk {k} for {id}", "--interval", "100ms"),
    )
    assert streams["messages"] > 6
    assert set(streams["sequence"].values()) == {0}
    assert streams["handshake_ms"]["max"] > 0


def test_tables_and_thresholds(port: int, workplace: Path) -> None:
    target = (f"https://127.0.0.1:{port}/", "--insecure", "--requests", "40", "--connections", "2")
    shown = in_process("load", *target).stdout
    assert "security     TLSv1.3 TLS13_" in shown
    assert "\nhandshake " in shown
    refused = in_process("load", *target, "--fail-if", "p50>1ns", status=1)
    assert "p50" in refused.stderr


def test_tls_and_plain_http_compared(port: int, http: str, workplace: Path) -> None:
    arguments = ("--vs", f"{http}/b", "--requests", "24", "--blocks", "2", "--connections", "2", "--insecure")
    compared = load_document(f"https://localhost:{port}/a", *arguments)
    secure = {(run["name"], run["security"] is not None, run["requests"]) for run in compared["runs"]}
    assert secure == {("A", True, 12), ("B", False, 12)}


def test_a_certificate_that_nobody_trusts_gets_one_line(port: int, workplace: Path) -> None:
    done = in_process("load", f"https://localhost:{port}/", status=1)
    assert done.stdout == ""
    assert "the server's certificate is not accepted: it is self-signed" in done.stderr
    assert "--cacert FILE" in done.stderr
    assert "--insecure" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    load = load_document(f"https://localhost:{port}/", status=1)
    assert set(load["errors"]) == {"certificate"}


def test_a_server_without_tls(http: str) -> None:
    load = load_document(f"https{http[4:]}/", "--requests", "4", "--insecure", status=1)
    assert set(load["errors"]) == {"tls"}
    assert "what it sends is not TLS" in load["detail"]
