"""Behaviour that users of load generators meet in real servers, each by a server of a few lines."""

import csv
import itertools
import json
import re
import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.support.cases import cases
from tests.support.command_line import in_process
from tests.support.command_line import load_document as load
from tests.support.odd_server import OK, answering, requests, secure, serving

FEW = ("--requests", "6", "--connections", "2")


@pytest.mark.parametrize(("response", "kind", "reason"), cases(__file__, "why_a_response_cannot_be_read"))
def test_why_a_response_cannot_be_read(response: str, kind: str, reason: str) -> None:
    with serving(answering(lambda *_: b"HTTP/1.1 200 OK\r\n" + response.encode())) as port:
        few = (*FEW, "--duration", "2s", "--timeout", "500ms")
        document = load(f"http://127.0.0.1:{port}/", *few, status=1)
    assert set(document["errors"]) == {kind}
    assert reason in document["detail"]
    assert document["first_wrong"] or kind == "timeout"


def test_why_no_connection_can_be_made() -> None:
    words = ("load", "http://255.255.255.255:9/", "--requests", "1", "--duration", "300ms")
    assert "HTTP_PROXY: not used" in in_process(*words, status=1, HTTP_PROXY="http://h:1").stderr
    # Addresses of no single machine.
    document = load("http://255.255.255.255:9/", "--connections", "1", "--duration", "300ms", status=1)
    assert set(document["errors"]) == {"connect-failed"}
    assert re.search(r"\d+ × connect-failed; the first of them: [A-Z][a-z ]+$", document["detail"])


def test_replies_before_the_body_was_read_are_counted_apart(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"x" * 30_000_000)

    def impatient(reply: bytes) -> Callable[[socket.socket], None]:
        def handle(connection: socket.socket) -> None:
            connection.recv(1000)
            connection.sendall(reply)
            time.sleep(0.2)

        return handle

    body = ("--body", f"@{tmp_path}/body", "--duration", "1500ms", "--connections", "2")
    with serving(impatient(OK)) as port:
        early = load(f"http://127.0.0.1:{port}/", *body, status=1)
    assert early["requests"] == 0
    assert set(early["errors"]) == {"early-reply"}
    with serving(impatient(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")) as port:
        refused = load(f"http://127.0.0.1:{port}/", *body, status=1)
    # The reason is read, though the server closed the connection at once.
    assert set(refused["errors"]) == {"status"}
    assert refused["statuses"]["413"] == refused["errors"]["status"]


def test_connections_go_elsewhere(tmp_path: Path) -> None:
    def host(head: bytes, _: bytes) -> bytes:
        return OK if b"Host: no.example:81" in head else b"HTTP/1.1 421 No\r\nContent-Length: 0\r\n\r\n"

    with serving(answering(host)) as port:
        assert load("http://no.example:81/", *FEW, "--connect-to", f"127.0.0.1:{port}")["errors"] == {}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{tmp_path}/socket")
    listener.listen()
    with serving(answering(host), listener):
        unix = load("http://no.example:81/", *FEW, "--unix", f"{tmp_path}/socket")
        assert (unix["errors"], unix["requests"]) == ({}, 6)
    words = ("load", "http://h/", "--duration", "1s")
    missing = in_process(*words, "--unix", f"{tmp_path}/none", status=1)
    assert f"nothing listens at {tmp_path}/none" in missing.stderr
    assert "[::1]:1" in in_process(*words, "--connect-to", "[::1]:1", status=1).stderr


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_asks_for_a_certificate(version: ssl.TLSVersion, certificates: Path) -> None:
    context, handle = secure(certificates)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = context.minimum_version = version
    own = ("--cert", f"{certificates}/own.pem", "--key", f"{certificates}/own.key")
    with serving(handle) as port:
        target = (f"https://localhost:{port}/", "--connect-to", "127.0.0.1", "--insecure", *FEW)
        assert load(*target, *own)["errors"] == {}
        without = load(*target, "--duration", "2s", status=1)
    assert "client-certificate" in without["errors"]
    assert "it asks for a certificate of the client: name one by --cert and --key" in without["detail"]


def test_a_name_in_tls_that_is_not_the_address(certificates: Path) -> None:
    names: list[str] = []
    context, handle = secure(certificates)
    context.sni_callback = lambda _, name, __: names.append(name)
    trusted = ("--cacert", f"{certificates}/own.pem", *FEW)
    with serving(handle) as port:
        assert load(f"https://127.0.0.1:{port}/", *trusted, "--sni", "localhost")["errors"] == {}
    assert set(names) == {"localhost"}


@pytest.mark.usefixtures("workplace")
def test_targets_that_answer_differently_are_named() -> None:
    number = iter(range(10**9))

    def varying(*_: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n%010d" % next(number)

    longer = OK.replace(b": 2", b": 5").replace(b"ok", b"other")
    replies = [lambda *_: OK, lambda *_: longer, varying]
    with ExitStack() as stack:
        ports = [stack.enter_context(serving(answering(reply))) for reply in replies]
        urls = [f"http://127.0.0.1:{port}/" for port in ports]
        load_vs = ("--requests", "100", "--connections", "2", "--blocks", "2", "--vs")

        def unequal(one: str, other: str) -> list[str]:
            warnings = load(one, *load_vs, other)["warnings"]
            return [warning for warning in warnings if "answers differ" in warning]

        (warning,) = unequal(urls[0], urls[1])
        # The target of the first trial is named first.
        assert "answers differ: " in warning
        assert "A with 2 bytes" in warning
        assert "B with 5 bytes" in warning
        assert unequal(urls[0], urls[2]) == unequal(urls[0], urls[0]) == []


def test_a_warm_up_counts_in_no_figure() -> None:
    """autocannon 202: a server is slow until it is warm."""
    numbers = itertools.count()

    def reply(*_: bytes) -> bytes:
        time.sleep(0.3 if next(numbers) < 20 else 0)
        return OK

    with serving(answering(reply)) as port:
        words = (f"http://127.0.0.1:{port}/", "--staircase", "40:500ms,60:500ms", "--warmup", "500ms")
        document = load(*words)
        assert (document["requests"] + document["late_requests"], next(numbers)) == (50, 70)
        assert (document["latency_ms"]["p50"] < 300, document["warmup_s"]) == (True, 0.5)
        assert "after a warm-up of 0.5 s that does not count" in in_process("load", *words).stdout


@pytest.mark.parametrize(("condition", "reason"), cases(__file__, "a_load_is_given_up"))
def test_a_load_is_given_up_when_a_condition_holds(condition: str, reason: str, tmp_path: Path) -> None:
    """k6 449: what is broken from the first second on, and a time that was never measured."""
    failed = OK.replace(b"200", b"500")
    with serving(answering(lambda *_: failed)) as port:
        words = (f"http://127.0.0.1:{port}/", "--rate", "40", "--abort-if", condition)
        document = load(*words, "--duration", "30s" if reason else "2s", status=1)
        assert document["outcome"] == ("aborted" if reason else "load-failed")
        assert document["detail"].startswith(reason)
        assert document["duration_s"] < 10
        assert document["statuses"] == {"500": document["errors"]["status"]}
        if "rate" in condition:
            kept = ("--store", f"{tmp_path}/store", "--blocks", "2", "--duration", "4s")
            done = in_process("load", *words, *kept, status=1)
            assert f"aborted: {reason}" in done.stderr
            assert "1 of 2 blocks" in done.stdout or "0 of 2 blocks" in done.stdout


def test_a_load_is_given_up_for_its_times() -> None:
    numbers = itertools.count()

    def slower(*_: bytes) -> bytes:
        time.sleep(0.2 * (next(numbers) > 50))
        return OK

    with serving(answering(slower)) as port:
        words = (f"http://127.0.0.1:{port}/", "--rate", "50", "--duration", "30s", "--abort-if", "p90>100ms")
        document = load(*words, status=1)
    assert (document["outcome"], document["requests"] > 20) == ("aborted", True)
    assert re.search(r"after \d s p90 is (1\d\d|2\d\d) ms, above 100 ms", document["detail"])


def test_what_was_measured_is_shown_though_a_file_cannot_be_written() -> None:
    with serving(answering(lambda *_: OK)) as port:
        words = (f"http://127.0.0.1:{port}/", "--requests", "40", "--abort-if", "p50>1us", "--json")
        done = in_process("load", *words, "--seconds", "/dev/full", status=2)
        assert (json.loads(done.stdout)["requests"], "No space left" in done.stderr) == (40, True)
        # The condition holds though the load ends before it is judged.
        assert "above 1.00 µs (--abort-if" in in_process("load", *words, status=1).stderr


def test_a_load_second_by_second(tmp_path: Path) -> None:
    with serving(answering(lambda *_: OK)) as port:
        files = ("--report", f"{tmp_path}/page", "--seconds", f"{tmp_path}/csv")
        document = load(f"http://127.0.0.1:{port}/<b>", "--rate", "50", "--duration", "2s", *files)
    rows = [line.split(",") for line in (tmp_path / "csv").read_text().splitlines()]
    sums = [sum(int(row[column]) for row in rows[1:]) for column in (1, 2)]
    assert sums == [100, document["requests"]]
    course = [["" if value is None else str(value) for value in each.values()] for each in document["course"]]
    assert course == rows[1:]
    answered = [each for each in document["course"] if each["requests"]]
    assert all(0 < each["p50_ms"] <= each["p90_ms"] <= each["max_ms"] for each in answered)
    page = (tmp_path / "page").read_text()
    assert ("<script" in page, page.count("<svg")) == (False, 2)
    assert "/%3Cb%3E" in page or "/&lt;b&gt;" in page


def test_the_page_of_a_load_has_its_errors_and_whole_seconds_alone(tmp_path: Path) -> None:
    numbers = itertools.count()

    def answer(*_: bytes) -> bytes:
        return OK if next(numbers) % 10 else OK.replace(b"200 OK", b"503 No")

    with serving(answering(answer)) as port:
        words = ("--rate", "50", "--duration", "2200ms", "--report", f"{tmp_path}/page")
        load(f"http://127.0.0.1:{port}/", *words)
    page = (tmp_path / "page").read_text()
    assert page.index("11, see below") < page.index("<h3>Errors</h3>") < page.index("over time")
    assert "errors: 11; latencies leave out 11 " in page
    assert not re.findall(r">2\.[1-9]<", page)


# --- what users of other load generators have reported as wrong ---


@pytest.mark.parametrize(("words", "count", "opened"), cases(__file__, "exact_requests_and_connections"))
def test_exactly_the_requests_and_connections_that_were_meant(words: str, count: int, opened: int) -> None:
    numbers, connected = itertools.count(), threading.Semaphore(0)

    def handle(connection: socket.socket) -> None:
        connected.release()
        for _ in requests(connection):
            next(numbers)
            connection.sendall(OK)

    with serving(handle) as port:
        document = load(f"http://127.0.0.1:{port}/", *words.split())
        assert (document["requests"], document["errors"]) == (count, {})
        assert next(numbers) == count
        if opened:
            assert document["connections"]["opened"] == opened
            # A connection that got no request may be accepted after the load has ended.
            assert all(connected.acquire(timeout=60) for _ in range(opened))
            assert not connected.acquire(blocking=False)


def test_replies_that_all_fail_have_no_figures_that_are_none() -> None:
    """autocannon 127: a latency of NaN; k6 4283: a threshold without a single value is passed."""
    failed = b"HTTP/1.1 500 No\r\nContent-Length: 15\r\n\r\n\x1b[2Jno database"
    with serving(answering(lambda *_: failed)) as port:
        words = ("load", f"http://127.0.0.1:{port}/a", *FEW, "--method", "POST", "--fail-if", "p99>10s")
        done = in_process(*words, "--json", status=1)
        text = in_process(*words, status=1).stdout
    assert "NaN" not in done.stdout
    assert json.loads(done.stdout)["statuses"] == {"500": 6}
    assert "nan" not in text.lower()
    # The first of them is shown with its body.
    expected = r"status 500 instead of one from 200 to 399, with the body '\u{1b}[2Jno database'"
    assert expected in " ".join(text.split())
    assert "\x1b[2J" not in text


def test_nothing_that_was_sent_is_missing_from_the_sums() -> None:
    """autocannon 462, oha 387, bombardier 103: replies too late for the end, and those that never come."""
    numbers = itertools.count(1)

    def reply(*_: bytes) -> bytes:
        number = next(numbers)
        time.sleep(5 if number % 5 == 0 else 0.05)
        return OK if number % 3 else OK.replace(b"200 OK", b"404 No")

    with serving(answering(reply)) as port:
        words = ("--rate", "40", "--duration", "1s", "--timeout", "700ms", "--connections", "40")
        begun = time.monotonic()
        document = load(f"http://127.0.0.1:{port}/", *words)
    counted = [document[key] for key in ("requests", "late_requests", "unfinished")]
    assert sum(counted) + sum(document["errors"].values()) == document["intended"] == 40
    assert document["errors"]["timeout"] + document["unfinished"] == 8
    assert time.monotonic() - begun < 5


def test_replies_after_a_short_time_limit_do_not_count() -> None:
    """wrk 452"""

    def reply(*_: bytes) -> bytes:
        time.sleep(0.05)
        return OK

    with serving(answering(reply)) as port:
        words = ("--connections", "2", "--duration", "1s", "--timeout", "5ms", "--fail-if", "errors>0")
        document = load(f"http://127.0.0.1:{port}/", *words, status=1)
    assert document["errors"]["timeout"] > 2 * document["requests"]


def test_each_request_has_a_line_of_the_log(tmp_path: Path) -> None:
    def reply(head: bytes, _: bytes) -> bytes:
        if b"/9 " in head:
            return b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
        return b"" if b"/11 " in head else OK

    log = tmp_path / "requests.csv"
    with serving(answering(reply)) as port:
        words = ("--requests", "40", "--rate", "400", "--timeout", "500ms", "--connections", "4", "--json")
        done = in_process("load", f"http://127.0.0.1:{port}/{{n}}", *words, "--log", str(log))
    document = json.loads(done.stdout)
    rows = list(csv.DictReader(log.open(encoding="utf-8")))
    assert document["log"] == {"lines": 40, "of": 1, "dropped": 0, "failed": None}
    by_number = {int(row["number"]): row for row in rows}
    assert (by_number[9]["status"], by_number[9]["error"]) == ("503", "status")
    assert (by_number[11]["status"], by_number[11]["error"]) == ("", "timeout")


def test_sessions_of_tls_are_resumed_where_it_is_asked_for(certificates: Path) -> None:
    _, handle = secure(certificates)
    with serving(handle) as port:
        words = (f"https://localhost:{port}/", "--insecure", "--requests", "20", "--connections", "1")
        resumed = load(*words, "--close", "--tls-resume")
        assert (resumed["requests"], resumed["connections"]["resumed"]) == (20, 19)
        kept = load(*words, "--tls-resume")
        assert "not-resumed" in [each["code"] for each in kept["warnings"]]


def proxying(asked: list[bytes]) -> Callable[[socket.socket], None]:
    """A forward proxy: it notes what it is asked, answers whole URLs itself, and leads on by CONNECT."""

    def pump(source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                to.sendall(piece)
            to.shutdown(socket.SHUT_WR)

    def handle(connection: socket.socket) -> None:
        for head, _ in requests(connection):
            asked.append(head)
            method, target, _ = head.split(b"\r\n")[0].split(b" ")
            if method != b"CONNECT":
                connection.sendall(OK)
                continue
            host, _, port = target.decode().rpartition(":")
            with socket.create_connection((host, int(port))) as there:
                connection.sendall(b"HTTP/1.0 200 Connection established\r\n\r\n")
                back = threading.Thread(target=pump, args=(there, connection))
                back.start()
                pump(connection, there)
                back.join()
            return

    return handle


def echo(connection: socket.socket) -> None:
    while piece := connection.recv(4096):
        connection.sendall(piece)


def test_a_load_through_a_proxy(certificates: Path) -> None:
    asked: list[bytes] = []
    _, handle = secure(certificates)
    with serving(proxying(asked)) as proxy, serving(handle) as port:
        through = (*FEW, "--proxy", f"http://me:a%40b@127.0.0.1:{proxy}")
        document = load(f"https://localhost:{port}/", *through, "--insecure")
        assert (document["requests"], document["errors"]) == (6, {})
        assert document["security"].startswith("TLSv1.3")
        credentials = b"Proxy-Authorization: Basic " + b64encode(b"me:a@b")
        assert all(head.startswith(f"CONNECT localhost:{port} HTTP/1.1\r\n".encode()) for head in asked)
        assert all(head.split(b"\r\n")[-1] == credentials for head in asked)
        asked.clear()
        # No such host is looked for here.
        document = load("http://shop.invalid/a?b={n}", *through)
        assert (document["requests"], document["errors"]) == (6, {})
        lines = {head.split(b"\r\n")[0] for head in asked}
        assert lines == {f"GET http://shop.invalid/a?b={n} HTTP/1.1".encode() for n in range(1, 7)}
        assert all(b"Host: shop.invalid\r\n" in head and credentials in head for head in asked)
    with serving(proxying(asked)) as proxy, serving(echo) as port:
        document = load(f"tcp://127.0.0.1:{port}", *FEW, "--proxy", f"127.0.0.1:{proxy}")
        assert (document["requests"], document["errors"]) == (6, {})
        assert asked[-1].startswith(b"CONNECT ")
    with serving(answering(lambda *_: b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")) as proxy:
        refused = in_process("load", "https://h/", "--proxy", f"127.0.0.1:{proxy}", status=1).stderr
    assert "the proxy answers 403 to CONNECT" in refused
    words = ("load", "http://h/", "--proxy", "127.0.0.1:1", "--wait-ready", "10ms")
    assert "nothing listens at 127.0.0.1:1; start the proxy" in in_process(*words[:4], status=1).stderr
    assert "the proxy 127.0.0.1:1 accepted no connection within 0.0" in in_process(*words, status=1).stderr
