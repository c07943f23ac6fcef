"""Requests that differ: placeholders, several targets; and the forms in which loads are shown."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.load import target
from ringside.probe.protocol import Templates, WeightedTarget
from tests.support.command_line import in_process, load_document
from tests.support.loads import load_plan

FEW = ("--requests", "12", "--connections", "2")


@pytest.fixture
def values(workplace: Path) -> str:
    (workplace / "users.csv").write_text('user,"key"\nann,"1,5"\nbób smith,k2\n', encoding="utf-8-sig")
    return "users.csv"


def test_placeholders_are_sent_with_their_values(http: str, values: str) -> None:
    path = f"{http}/head/{{n}}/{{random:7:7}}/{{user}}"
    requests = (path, *FEW, "--values", values, "--header", "X-Key: {key}", "--connections", "1")
    for pattern in (
        r"(?s)GET /head/\d+/7/(ann|b%C3%B3b%20smith) HTTP.*",
        r"(?s).*X-Key: (1,5|k2)\n.*",
    ):
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


def test_a_body_that_is_no_line(http: str, workplace: Path) -> None:
    body = bytes(range(256)) * 40_000
    (workplace / "body").write_bytes(body)
    load = load_document(f"{http}/", "--requests", "2", "--connections", "1", "--body", "@body")
    assert (load["errors"], load["requests"]) == ({}, 2)
    assert min(load["bytes_in"], load["bytes_out"]) > 2 * len(body)


def test_placeholders_in_lines(ports: tuple[str, str], workplace: Path) -> None:
    tcp = f"tcp://127.0.0.1:{ports[1]}"
    load = load_document(tcp, *FEW, "--line", "{random:41:42}", "--seed", "5", "--expect-pattern", "4[23]")
    assert (load["errors"], load["requests"]) == ({}, 12)


def test_plans_without_placeholders_have_no_templates(tmp_path: Path) -> None:
    http, stream = target.parse("http://h/?a={%22n%22:1}"), target.parse("stream+http://h/{id}")
    assert load_plan(http, body=b'{"a": {}}').templates is None
    assert load_plan(stream).templates is None
    assert load_plan("ws://h/", line="{n}").templates == Templates()
    with pytest.raises(UsageError, match="there is no value for {m} in --line; known: "):
        load_plan("ws://h/", line="{m}")
    assert load_plan(http, headers=(("A", "{random:1:9}"),), seed=3).templates == Templates(seed=3)
    values = tmp_path / "x.csv"
    values.write_text("a,b\n1,ü\n3,4\n", encoding="utf-8")
    plan = load_plan(http, body=b"{b}", values_file=values)
    assert plan.templates == Templates(columns=("b",), rows=(("\xc3\xbc",), ("4",)))


def test_weights_are_as_small_as_they_can_be() -> None:
    targets, weights = target.parse_several(["http://h/a", "http://h/b?c=3"], [40, 10])
    plan = load_plan(*targets, weights=weights)
    assert plan.request
    assert plan.request.targets == (WeightedTarget("/a", 4), WeightedTarget("/b?c=3", 1))
    assert target.combined(targets).text == "http://h/a + http://h/b?c=3"


def test_several_targets_have_a_result_each(http: str) -> None:
    mix = (f"{http}/a", f"{http}/missing", "--weights", "2,1", *FEW)
    load = load_document(*mix)
    assert load["target"] == f"{http}/a + {http}/missing"
    assert (load["requests"], load["errors"], load["statuses"]) == (8, {"status": 4}, {"200": 8, "404": 4})
    first, second = load["targets"]
    assert (first["target"], first["weight"], first["requests"]) == (f"{http}/a", 2, 8)
    assert first["latency_ms"]["max"] <= load["latency_ms"]["max"]
    assert (second["requests"], second["errors"], second["statuses"]) == (0, {"status": 4}, {"404": 4})
    assert second["latency_ms"] is None
    shown = in_process("load", *mix, "--time-unit", "us").stdout
    assert "Targets, latency in microseconds" in shown
    assert "Times in microseconds" in shown
    assert f"{http}/missing" in shown
    rows = list(csv.DictReader(in_process("load", *mix, "--csv", "--time-unit", "s").stdout.splitlines()))
    assert [row["target"] for row in rows] == [f"{http}/a", f"{http}/missing", "total"]
    assert [row["weight"] for row in rows] == ["2", "1", "3"]
    assert [row["requests"] for row in rows] == ["8", "0", "8"]
    assert [row["errors"] for row in rows] == ["0", "4", "4"]
    assert 0 < float(rows[2]["latency_p50_s"]) <= float(rows[2]["latency_max_s"])
    assert rows[1]["latency_p50_s"] == ""


def test_one_target_as_csv(http: str) -> None:
    (row,) = csv.DictReader(in_process("load", f"{http}/", *FEW, "--csv").stdout.splitlines())
    assert (row["target"], row["outcome"], row["requests"]) == (f"{http}/", "ok", "12")
    assert float(row["latency_p99_9_ms"]) > 0
    assert row["intended_rate_per_s"] == ""


def test_redirects_are_answers(http: str) -> None:
    load = load_document(f"{http}/elsewhere", *FEW)
    assert (load["statuses"], load["errors"]) == ({"302": 12}, {})
