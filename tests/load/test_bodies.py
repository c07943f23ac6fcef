"""What requests carry: bodies of any size, from files, stdin and pipes, and the short options for them."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.load import plan as load_plan
from ringside.probe.protocol import Http2, HttpRequest, LoadPlan, Tls
from tests.support.command_line import RINGSIDE, load_document
from tests.support.odd_server import OK, answering, serving

LIMIT_S = 120


def counting(connection: socket.socket) -> None:
    """Answers each request with the length of its body, which need not fit into memory."""
    stream = connection.makefile("rb")
    while stream.readline():
        length = 0
        while (line := stream.readline()).strip():
            if line.lower().startswith(b"content-length:"):
                length = left = int(line.partition(b":")[2])
        while left:
            left -= len(stream.read(min(left, 1 << 20)))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (len(str(length)), length))


def test_a_file_of_any_size_is_in_memory_once(tmp_path: Path) -> None:
    size = 160 << 20
    with (tmp_path / "body").open("wb") as file:
        file.truncate(size)
    with serving(counting) as port:
        document = load_document(
            f"http://127.0.0.1:{port}/",
            *("--body", f"@{tmp_path}/body", "--expect-body", str(size)),
            *("--requests", "2", "-c", "1", "--timeout", "60s", "--duration", "60s"),
        )
    assert (document["errors"], document["requests"]) == ({}, 2)
    assert size < document["peak_memory_bytes"] < 1.5 * size


def test_bodies_that_do_not_fit_into_memory_are_refused(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"x" * 1000)
    request = HttpRequest(body_path=str(tmp_path / "body"))
    plain = LoadPlan("http", connections=50, request=request)
    secure = LoadPlan("http", connections=50, request=request, tls=Tls("h"))
    load_plan.check_memory(plain, 1000)
    load_plan.check_memory(secure, 51_000)
    load_plan.check_memory(
        LoadPlan("http", connections=50, request=request, tls=Tls("h"), http2=Http2(9)), 2000
    )
    load_plan.check_memory(LoadPlan("http", request=HttpRequest(body="x" * 100)), 1)
    for plan, available in ((plain, 999), (secure, 50_999)):
        with pytest.raises(UsageError, match="the body of 1,000 bytes would be in memory"):
            load_plan.check_memory(plan, available)


@pytest.mark.parametrize("more", [(), ("--placeholders",)])
def test_a_body_of_a_file_beside_placeholders(more: tuple[str, ...], tmp_path: Path) -> None:
    content = b"x" * 1_500_000
    (tmp_path / "body").write_bytes(content)

    def whole(_: bytes, body: bytes) -> bytes:
        assert body == content
        return OK

    with serving(answering(whole)) as port:
        few = ("--requests", "4", "-c", "2", "-d", f"@{tmp_path}/body", *more)
        document = load_document(f"http://127.0.0.1:{port}/?{{n}}", *few, "--expect-body", "ok")
    assert (document["errors"], document["requests"]) == ({}, 4)


@pytest.mark.parametrize("name", ["@-", "@/dev/stdin"])
def test_a_body_from_stdin(name: str) -> None:
    with serving(counting) as port:
        words = ("load", f"http://127.0.0.1:{port}/", "-d", name, "--expect-body", "50000", "--requests", "3")
        done = subprocess.run(
            [*RINGSIDE, *words, "--json"],
            input=b"x" * 50_000,
            capture_output=True,
            timeout=LIMIT_S,
            check=True,
        )
    assert json.loads(done.stdout)["errors"] == {}


def test_short_options_as_of_curl() -> None:
    seen: set[tuple[bytes, bytes]] = set()

    def note(head: bytes, body: bytes) -> bytes:
        seen.add((head, body))
        return OK

    with serving(answering(note)) as port:
        words = ("-c", "3", "-H", "X-A: b", "-H", "X-C: d", "-d", "a=b", "--requests", "30")
        document = load_document(f"http://127.0.0.1:{port}/", *words)
    assert (document["errors"], document["requests"]) == ({}, 30)
    assert document["connections"]["opened"] == 3
    ((head, body),) = seen
    assert head.startswith(b"POST / HTTP/1.1\r\n")
    assert b"\r\nX-A: b\r\nX-C: d\r\n" in head
    assert body == b"a=b"
