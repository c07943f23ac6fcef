"""The content of requests: heads, bodies, placeholders, several targets; and the forms of results."""

import csv
import json
import re
import socket
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.load import target
from ringside.probe.protocol import Templates
from tests.support.cases import cases
from tests.support.command_line import RINGSIDE, captured, in_process, load_document
from tests.support.loads import load_plan
from tests.support.odd_server import OK, answering, serving

FEW = ("--requests", "12", "--connections", "2")


@pytest.fixture
def values(workplace: Path) -> str:
    (workplace / "users.csv").write_text('user,"key"\nann,"1,5"\nbób smith,k2\n', encoding="utf-8-sig")
    return "users.csv"


def test_placeholders_are_sent_with_their_values(http: str, values: str) -> None:
    path = f"{http}/head/{{n}}/{{user}}"
    requests = (path, *FEW, "--values", values, "--header", "X-Key: {key}", "--connections", "1")
    for pattern in (r"(?s)GET /head/\d+/(ann|b%C3%B3b%20smith) HTTP.*", r"(?s).*X-Key: (1,5|k2)\n.*"):
        load = load_document(*requests, "--expect-pattern", pattern)
        assert (load["errors"], load["requests"]) == ({}, 12), pattern
    # The server sends the body back. JSON around a placeholder is text.
    body = '{"a": {"n": {n}, "user": "{user}", "raw": {{me}}}}'
    pattern = r'\{"a": \{"n": \d+, "user": "(ann|b\xc3\xb3b smith)", "raw": \{me\}\}\}'
    load = load_document(f"{http}/", *FEW, "--values", values, "--body", body, "--expect-pattern", pattern)
    assert (load["errors"], load["requests"]) == ({}, 12)
    text = "{n} {{id}} {{{user}"
    load = load_document(f"{http}/", *FEW, "--literal", "--body", text, "--expect-body", text)
    assert (load["errors"], load["requests"]) == ({}, 12)
    load = load_document(f"{http}/head/{{n}}", *FEW, "--literal", "--expect-contains", "/head/{n} ")
    assert load["errors"] == {}


@pytest.mark.parametrize(("path", "words", "lines"), cases(__file__, "the_head_of_a_request"))
def test_the_head_of_a_request(path: str, words: str, lines: str) -> None:
    seen: set[tuple[bytes, bytes]] = set()

    def note(head: bytes, body: bytes) -> bytes:
        seen.add((head, body))
        return OK

    url = f"http://no.example:81{path}" if path.startswith("/") else f"http://{path}:81/"
    with serving(answering(note)) as port:
        load = load_document(url, *FEW, "--connect-to", f"127.0.0.1:{port}", *words.split())
    assert (load["errors"], load["requests"], load["connections"]["opened"]) == ({}, 12, 2)
    ((head, body),) = seen
    assert set(lines.split("|")) <= set(head.decode().split("\r\n"))
    assert head.lower().count(b"\r\nhost:") == 1
    assert body.decode() in ("", *words.split())


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


@pytest.mark.parametrize("placeholders", [(), ("--placeholders",)])
def test_a_body_that_is_no_line_is_sent_as_it_is(placeholders: tuple[str, ...], tmp_path: Path) -> None:
    content = bytes(range(128)) * 12_000
    (tmp_path / "body").write_bytes(content)

    def whole(_: bytes, body: bytes) -> bytes:
        assert body == content
        return OK

    with serving(answering(whole)) as port:
        words = ("-d", f"@{tmp_path}/body", "--expect-body", "ok", *placeholders)
        load = load_document(f"http://127.0.0.1:{port}/?{{n}}", *FEW, *words)
    assert (load["errors"], load["requests"]) == ({}, 12)


@pytest.mark.parametrize("name", ["@-", "@/dev/stdin"])
def test_a_body_from_stdin(name: str) -> None:
    with serving(counting) as port:
        words = ("load", f"http://127.0.0.1:{port}/", "-d", name, "--expect-body", "50000", "--requests", "3")
        done = captured([*RINGSIDE, *words, "--json"], input="x" * 50_000, timeout=120, check=True)
    assert json.loads(done.stdout)["errors"] == {}


def test_plans_without_placeholders_have_no_templates(tmp_path: Path) -> None:
    http, stream = target.parse("http://h/?a={%22n%22:1}"), target.parse("stream+http://h/{id}")
    assert load_plan(http, body=b'{"a": {}}').templates is None
    assert load_plan(stream).templates is None
    assert load_plan("ws://h/", line="{n}").templates == Templates()
    with pytest.raises(UsageError, match="there is no value for {m} in --line; known: "):
        load_plan("ws://h/", line="{m}")
    values = tmp_path / "x.csv"
    values.write_text("a,b\n1,ü\n3,4\n", encoding="utf-8")
    plan = load_plan(http, body=b"{b}", values_file=values)
    assert plan.templates == Templates(columns=("b",), rows=(("\xc3\xbc",), ("4",)))


def test_several_targets_share_a_request() -> None:
    targets = target.parse_several(["http://h/a", "http://h/b?c=3"])
    plan = load_plan(*targets)
    assert plan.request.targets == ("/a", "/b?c=3")


def test_several_targets_have_a_result_each(http: str) -> None:
    mix = (f"{http}/a", f"{http}/missing", *FEW)
    load = load_document(*mix)
    assert load["target"] == f"{http}/a + {http}/missing"
    assert (load["requests"], load["errors"], load["statuses"]) == (6, {"status": 6}, {"200": 6, "404": 6})
    first, second = load["targets"]
    assert (first["target"], first["requests"]) == (f"{http}/a", 6)
    assert first["latency_ms"]["max"] <= load["latency_ms"]["max"]
    assert (second["requests"], second["errors"], second["statuses"]) == (0, {"status": 6}, {"404": 6})
    assert second["latency_ms"] is None
    shown = in_process("load", *mix, "--time-unit", "us", COLUMNS="200").stdout
    assert "Targets, latency in microseconds" in shown
    assert "Times in microseconds" in shown
    # Eight requests have no p99, in whatever table.
    assert re.search(rf"{http}/a .*[0-9]\? +[0-9.,]+\? +[0-9.,]+", shown)
    assert f"{http}/missing" in shown
    rows = list(csv.DictReader(in_process("load", *mix, "--csv", "--time-unit", "s").stdout.splitlines()))
    assert [row["target"] for row in rows] == [f"{http}/a", f"{http}/missing", "total"]
    assert [row["requests"] for row in rows] == ["6", "0", "6"]
    assert [row["errors"] for row in rows] == ["0", "6", "6"]
    assert 0 < float(rows[2]["latency_p50_s"]) <= float(rows[2]["latency_max_s"])
    assert rows[1]["latency_p50_s"] == ""
