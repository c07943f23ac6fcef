"""What users of load generators meet in real servers, each by a server of a few lines that does it. No load
may hang: each has a time limit."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from tests.support.command_line import ringside
from tests.support.odd_server import OK, answering, requests, serving

LIMIT_S = 60
FEW = ("--requests", "6", "--connections", "2")


def load(*words: str, status: int | None = 0) -> dict[str, Any]:
    """The document of a load, which has to end within the limit."""
    done = ringside("load", *words, "--json", status=status, timeout_s=LIMIT_S)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture(params=["epoll", "uring"])
def io(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Both back-ends, where the kernel has them."""
    if request.param == "uring" and "uring" not in ringside("doctor", status=None).stdout:
        pytest.skip("no io_uring here")
    return "--io", request.param


def test_methods_that_have_a_body_say_when_it_is_empty() -> None:
    strict = answering(
        lambda head, _: OK if b"content-length: 0" in head.lower() else b"HTTP/1.1 411 Length\r\n\r\n"
    )
    with serving(strict) as port:
        for method in ("POST", "PUT", "PATCH"):
            assert load(f"http://127.0.0.1:{port}/", *FEW, "--method", method)["errors"] == {}


def test_braces_of_a_body_are_text_unless_asked_for() -> None:
    def echo(_: bytes, body: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    with serving(answering(echo)) as port:
        url = f"http://127.0.0.1:{port}/{{n}}"
        for text in ("{user{id}}", "{user}", "{{n}} {random:1:9}"):
            assert load(url, *FEW, "--body", text, "--expect-body", text)["errors"] == {}
        body = ("--body", "{user{id}}", "--placeholders")
        assert load(url, *FEW, *body, "--expect-pattern", r"\{user[12]\}")["errors"] == {}


def test_heads_as_servers_send_them() -> None:
    large = b"HTTP/1.1 200 OK\r\nSet-Cookie: " + b"x" * 200_000 + b"\r\nContent-Length: 2\r\n\r\nok"
    fields = b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 900 + b"Content-Length: 2\r\n\r\nok"
    folded = b"HTTP/1.1 200 OK\r\nX-Long: a,\r\n\tb\r\nContent-Length: 2\r\n\r\nok"
    identity = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok"
    for head in (large, fields, folded, identity):
        with serving(answering(lambda *_, head=head: head)) as port:
            document = load(f"http://127.0.0.1:{port}/", *FEW, "--expect-body", "ok")
            assert (document["errors"], document["requests"]) == ({}, 6), head[:60]


def test_a_junk_line_is_quoted() -> None:
    junk = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nsome junk\r\n\r\nok"
    with serving(answering(lambda *_: junk)) as port:
        document = load(f"http://127.0.0.1:{port}/", *FEW, "--duration", "2s", status=1)
    assert set(document["errors"]) == {"protocol"}
    assert "'some junk', which is no line of a response" in document["first_wrong"]
    assert "'some junk'" in document["detail"]


def test_server_sent_events_are_messages_whatever_their_chunks() -> None:
    def events(connection: socket.socket) -> None:
        for _ in requests(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for k in range(1, 21):
                for piece in (b": alive\n", b"id: %d\ndata: Chunk %d\n" % (k, k), b"\n"):
                    connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                time.sleep(0.02)
            time.sleep(LIMIT_S)

    with serving(events) as port:
        framing = ("--framing", "event", "--chunk", "Chunk {k}")
        document = load(
            f"stream+http://127.0.0.1:{port}/", "--connections", "2", "--duration", "2s", *framing
        )
    assert (document["messages"], document["errors"]) == (40, {})
    assert set(document["sequence"].values()) == {0}


def test_a_stream_is_silent_when_more_than_its_interval_has_passed() -> None:
    def rare(connection: socket.socket) -> None:
        for _ in requests(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(3):
                time.sleep(1.5)
                connection.sendall(b"1\r\nx\r\n")
            time.sleep(LIMIT_S)

    with serving(rare) as port:
        stream = (f"stream+http://127.0.0.1:{port}/", "--connections", "1", "--timeout", "500ms")
        patient = load(*stream, "--interval", "1500ms", "--duration", "4s")
        assert (patient["errors"], patient["messages"]) == ({}, 2)
        assert load(*stream, "--duration", "2s", status=None)["errors"]["timeout"] >= 1
