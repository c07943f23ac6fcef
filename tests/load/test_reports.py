"""What users of other load generators have reported as wrong, each by a server that does it."""

from __future__ import annotations

import itertools
import json
import socket
import struct
import threading
import time
from collections import Counter

import pytest

from tests.load.test_everyday import FEW, LIMIT_S, load
from tests.load.test_everyday import io as io  # a fixture
from tests.support.command_line import ringside
from tests.support.odd_server import OK, answering, requests, serving


@pytest.mark.parametrize(
    ("words", "count"),
    [
        # autocannon 228
        (("--requests", "1003", "--connections", "97"), 1003),
        (("--requests", "1003", "--connections", "97", "--close"), 1003),
        # httperf 20: no multiple of the burst
        (("--requests", "100", "--rate", "1000", "--burst", "7"), 100),
        # oha 577
        (("--duration", "2s", "--rate", "5", "--close"), 10),
        (("--duration", "1s", "--rate", "33", "--connections", "50"), 33),
    ],
)
def test_exactly_as_many_requests_as_were_asked_for(words: tuple[str, ...], count: int) -> None:
    numbers = itertools.count()

    def counted(*_: bytes) -> bytes:
        next(numbers)
        return OK

    with serving(answering(counted)) as port:
        document = load(f"http://127.0.0.1:{port}/", *words)
        assert (document["requests"], document["errors"]) == (count, {})
        assert next(numbers) == count


def test_as_many_connections_as_were_asked_for_and_no_others() -> None:
    """vegeta 660: a closed loop that opens some connections late, and others again."""
    seen: Counter[int] = Counter()

    def handle(connection: socket.socket) -> None:
        peer = connection.getpeername()[1]
        for _ in requests(connection):
            seen[peer] += 1
            connection.sendall(OK)

    with serving(handle) as port:
        document = load(f"http://127.0.0.1:{port}/", "--requests", "2000", "--connections", "40")
    assert document["connections"]["opened"] == len(seen) == 40
    assert sum(seen.values()) == 2000


def test_a_server_that_is_restarted_under_load() -> None:
    """vegeta 527: what met the restart is counted, and the load goes on."""
    begun = threading.Event()
    is_down = threading.Event()
    again: list[float] = []

    def handle(connection: socket.socket) -> None:
        for _ in requests(connection):
            begun.set()
            if is_down.is_set():
                # Closing resets the connection.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            again.append(time.monotonic())
            connection.sendall(OK)

    def restart() -> None:
        begun.wait(LIMIT_S)
        time.sleep(0.5)
        is_down.set()
        time.sleep(0.5)
        is_down.clear()

    with serving(handle) as port:
        threading.Thread(target=restart, daemon=True).start()
        document = load(f"http://127.0.0.1:{port}/", "--rate", "200", "--duration", "3s", "--method", "POST")
    assert set(document["errors"]) <= {"reset", "closed-early", "reuse-closed", "send"}
    assert sum(document["errors"].values()) >= 10
    assert document["requests"] >= 200
    assert max(again) - min(again) > 1.5


def test_many_connections_at_a_low_rate_add_no_latency() -> None:
    """oha 100: with a hundred connections ten requests per second took up to 18 s."""
    with serving(answering(lambda *_: OK)) as port:
        few = ("--rate", "10", "--connections", "100", "--duration", "2s")
        document = load(f"http://127.0.0.1:{port}/", *few)
    assert document["requests"] == 20
    assert document["latency_ms"]["p50"] < 500


def test_an_address_of_ipv6_stands_in_brackets() -> None:
    """nghttp2 1999 and oha 838."""
    hosts: set[bytes] = set()

    def noted(head: bytes, _: bytes) -> bytes:
        hosts.update(line for line in head.split(b"\r\n") if line.lower().startswith(b"host:"))
        return OK

    with serving(answering(noted)) as port:
        document = load("http://[::1]:81/", *FEW, "--connect-to", f"127.0.0.1:{port}")
    assert document["errors"] == {}
    assert hosts == {b"Host: [::1]:81"}
    refused = ringside("load", "http://h/", "--connect-to", "[::1]:1", "--duration", "300ms", status=1)
    assert "[::1]:1" in refused.stderr


def test_a_field_without_a_space_after_its_colon() -> None:
    """web-frameworks 6623."""
    heads: list[bytes] = []

    def noted(head: bytes, _: bytes) -> bytes:
        heads.append(head)
        return OK

    with serving(answering(noted)) as port:
        document = load(f"http://127.0.0.1:{port}/", *FEW, "-H", "X-A:b:c")
    assert document["errors"] == {}
    fields = heads[0].split(b"\r\n")
    assert b"X-A: b:c" in fields


def test_replies_that_all_fail_have_no_figures_that_are_none() -> None:
    """autocannon 127: a latency of NaN; k6 4283: a threshold without a single value is passed."""
    with serving(answering(lambda *_: b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")) as port:
        words = ("load", f"http://127.0.0.1:{port}/", *FEW, "--fail-if", "p99>10s")
        done = ringside(*words, "--json", status=1, timeout_s=LIMIT_S)
        assert "NaN" not in done.stdout
        assert json.loads(done.stdout)["statuses"] == {"400": 6}
        text = ringside(*words, status=1, timeout_s=LIMIT_S)
        assert "nan" not in text.stdout.lower()


def test_the_first_reply_that_failed_is_shown_with_its_body(io: tuple[str, str]) -> None:
    failed = b"HTTP/1.1 500 No\r\nContent-Length: 15\r\n\r\n\x1b[2Jno database"
    with serving(answering(lambda *_: failed)) as port:
        words = ("load", f"http://127.0.0.1:{port}/a", *FEW, "--method", "POST", *io)
        done = ringside(*words, status=1, timeout_s=LIMIT_S)
    expected = r"status 500 instead of one from 200 to 399, with the body '\u{1b}[2Jno database'"
    assert expected in " ".join(done.stdout.split())
    assert "\x1b[2J" not in done.stdout


def test_a_server_that_hangs_up_before_it_answers() -> None:
    """wrk 295 and 497: "read errors" without a reason."""

    def handle(connection: socket.socket) -> None:
        next(requests(connection))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")

    with serving(handle) as port:
        document = load(f"http://127.0.0.1:{port}/", *FEW, "--duration", "1s", status=1)
    assert set(document["errors"]) == {"truncated"}
