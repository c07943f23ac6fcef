"""The words of `ringside load`: targets, times, rates, options, the request."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.errors import UsageError
from ringside.load import options, request, target, words
from ringside.load.options import Options, Words
from ringside.text import one_line


@pytest.mark.parametrize(
    ("text", "protocol", "host", "port", "path", "authority"),
    [
        ("http://127.0.0.1:8080", "http", "127.0.0.1", 8080, "/", "127.0.0.1:8080"),
        ("HTTP://Example.ORG/a?b=c#d", "http", "example.org", 80, "/a?b=c", "example.org"),
        ("http://h?x=1", "http", "h", 80, "/?x=1", "h"),
        ("http://h:/x", "http", "h", 80, "/x", "h"),
        ("http://[::1]:8080/x", "http", "::1", 8080, "/x", "[::1]:8080"),
        ("http://[fe80::1%25eth0]/", "http", "fe80::1%eth0", 80, "/", "[fe80::1]"),
        ("http://bücher.example/ü%20x", "http", "xn--bcher-kva.example", 80, "/%C3%BC%20x", None),
        ("stream+http://h:1/test/{id}", "stream", "h", 1, "/test/{id}", "h:1"),
        ("tcp://127.0.0.1:65535", "tcp", "127.0.0.1", 65535, "", "127.0.0.1:65535"),
        ("tcp://[::1]:7/", "tcp", "::1", 7, "", "[::1]:7"),
    ],
)
def test_targets(text: str, protocol: str, host: str, port: int, path: str, authority: str | None) -> None:
    found = target.parse(text)
    assert (found.protocol, found.host, found.port, found.path) == (protocol, host, port, path)
    assert authority in (None, found.authority())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no scheme"),
        ("localhost:8080", "has no scheme"),
        ("https://h/", "https is not spoken"),
        ("ftp://h/", "`ftp` is no known scheme"),
        ("http://", "has no host"),
        ("http:///x", "has no host"),
        ("http://h:0/", "has a bad port"),
        ("http://h:65536/", "has a bad port"),
        ("http://h:x/", "has a bad port"),
        ("http://h:-1/", "has a bad port"),
        ("http://h:٣/", "has a bad port"),
        ("http://::1/", "too many colons"),
        ("http://[::1/", "a bad IPv6 address"),
        ("http://[::1]8080/", "a bad IPv6 address"),
        ("http://[1.2.3.4]/", "a bad IPv6 address"),
        ("http://me:pw@h/", "--header 'Authorization"),
        ("http://h/a b", "white space"),
        ("http://h/\r\nX: y", "white space"),
        ("http://a..b/", "a host that can be none"),
        ("http://a<b/", "a host that can be none"),
        ("tcp://h", "has no port"),
        ("tcp://h:", "has no port"),
        ("tcp://h:1/x", "has a path"),
    ],
)
def test_bad_targets_are_told(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        target.parse(text)


@given(st.text(max_size=60), st.sampled_from(["", "http://", "tcp://", "stream+http://", "http://["]))
def test_any_text_is_a_target_or_one_line(text: str, scheme: str) -> None:
    found, said = None, ""
    try:
        found = target.parse(scheme + text)
    except UsageError as error:
        said = str(error)
    assert one_line(said, 10_000) == said
    if found:
        assert 1 <= found.port <= 65535
        assert all("!" <= one <= "~" for one in found.path + found.authority())


def test_addresses() -> None:
    assert target.resolve(target.parse("http://127.0.0.1:81/")) == ["127.0.0.1:81"]
    assert target.resolve(target.parse("tcp://[::1]:81")) == ["[::1]:81"]
    assert "127.0.0.1:81" in target.resolve(target.parse("http://localhost:81/"))
    with pytest.raises(UsageError, match="has no address"):
        target.resolve(target.parse("http://nobody.invalid/"))


def test_addresses_where_nobody_listens_are_left_out() -> None:
    both = ["[::1]:1", "127.0.0.1:1"]
    assert target.answering(both, lambda one: one[0] != "[") == (["127.0.0.1:1"], ["[::1]:1"])
    assert target.answering(both, lambda one: False) == (both, [])
    assert target.answering(["[::1]:1"], lambda one: False) == (["[::1]:1"], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10s", 10), ("90", 90), ("1.5", 1.5), ("500ms", 0.5), ("1m30s", 90), ("1h", 3600), ("1s500ms", 1.5)],
)
def test_times(text: str, expected: float) -> None:
    assert words.seconds(text, "--duration") == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "s", "soon", "-1", "1e9", "30s1m", "0", "0s", "8000h", "nan", "1 s", "٣s"]
)
def test_bad_times(text: str) -> None:
    with pytest.raises(UsageError, match="--duration"):
        words.seconds(text, "--duration")


def test_rates_and_stairs() -> None:
    assert words.per_second("1000/s", "--rate") == 1000
    assert words.per_second("0.5", "--rate") == 0.5
    assert words.staircase("100:5s,200.5/s:500ms") == [(100, 5), (200.5, 0.5)]
    for text in ("", "0", "-1", "fast", "1e3", "99999999"):
        with pytest.raises(UsageError, match="--rate"):
            words.per_second(text, "--rate")
    for text in ("", "100", "100:", ":5s", "100:5s,", "1:1s," * 1001 + "1:1s"):
        with pytest.raises(UsageError, match="--staircase"):
            words.staircase(text)


def test_cpus() -> None:
    assert words.cpus("3,0-2,1") == (3, 0, 1, 2)
    for text in ("", "a", "2-1", "1-", "-1", "1,,2"):
        with pytest.raises(UsageError, match="--cpus"):
            words.cpus(text)


def test_headers() -> None:
    assert words.headers(["Accept: a/b", "X-Empty:"]) == [("Accept", "a/b"), ("X-Empty", "")]
    assert words.headers(["X: ü"]) == [("X", "Ã¼")]
    for text in ("none", ": x", "A b: c", "A: b\r\nC: d", "A: \x00"):
        with pytest.raises(UsageError, match="write it as 'Name: value'"):
            words.headers([text])
    for text in ("content-length: 3", "Transfer-Encoding: chunked", "Connection: close"):
        with pytest.raises(UsageError, match="leave it out"):
            words.headers([text])


def test_bodies(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(bytes(range(256)))
    assert words.body(f"@{file}").encode("latin-1") == bytes(range(256))
    assert words.body("ü\udcff").encode("latin-1") == b"\xc3\xbc\xff"
    for name in (tmp_path, tmp_path / "none"):
        with pytest.raises(UsageError, match="cannot be read"):
            words.body(f"@{name}")


def parse(protocol: str = "http", **given_words: Any) -> Options:
    return options.parse(protocol, Words(**given_words), seed=7)


@pytest.mark.parametrize(
    ("protocol", "given_words", "message"),
    [
        ("http", {"rate": "1", "staircase": "1:1s"}, "leave out --rate"),
        ("http", {"poisson": True}, "--poisson needs a rate"),
        ("http", {"burst": 5}, "--burst needs a rate"),
        ("http", {"burst": 5, "rate": "1", "poisson": True}, "leave one out"),
        ("http", {"burst": 5, "staircase": "1:1s"}, "leave out --rate, --burst"),
        ("stream", {"burst": 5}, "--ramp says how fast"),
        ("http", {"line": "x"}, "--line is not for an http target"),
        ("http", {"interval": "1s"}, "--interval is not for an http target"),
        ("tcp", {"header": ("A: b",)}, "--header is not for a tcp target"),
        ("tcp", {"expect_status": 200}, "--expect-status is not for a tcp target"),
        ("tcp", {"line": "a\nb"}, "--line is one line"),
        ("stream", {"rate": "5"}, "--ramp says how fast"),
        ("stream", {"requests": 5}, "give --duration"),
        ("stream", {"expect_body": ""}, "--first and --chunk"),
        ("stream", {"interval": "1s", "due_field": "x"}, "leave one out"),
        ("stream", {"first": "a\udcff"}, "--first has a character"),
        ("http", {"threads": 3, "connections": 2}, "each thread needs one"),
        ("http", {"method": "A B"}, "--method"),
        ("http", {"method": "CONNECT"}, "--method"),
    ],
)
def test_options_that_do_not_go_together(protocol: str, given_words: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(protocol, **given_words)


def test_defaults() -> None:
    assert (parse().connections, parse("stream").connections) == (64, 100)
    assert (parse().duration_s, parse(requests=5).duration_s, parse(staircase="1:2s").duration_s) == (
        10,
        None,
        None,
    )
    assert parse(staircase="1:2s,3:4s").total_s() == 6
    assert parse(staircase="1:2s,3:4s", duration="3s").total_s() == 3
    assert parse(requests=5).total_s() is None
    assert (parse().method, parse(body="x").method, parse(body="x", method="put").method) == (
        "GET",
        "POST",
        "PUT",
    )
    assert parse().pacing == {"kind": "closed"}
    assert parse(rate="5").pacing == {"kind": "constant", "rate_per_s": 5, "burst": 1}
    assert parse(rate="5", burst=3).pacing["burst"] == 3
    assert parse(rate="5", poisson=True).pacing == {"kind": "poisson", "rate_per_s": 5, "seed": 7}


def test_parts_of_a_load() -> None:
    whole = parse(rate="5", poisson=True, duration="10s")
    assert whole.part(4, 3, 0.5).duration_s == 2.5
    assert whole.part(4, 3, 0.5).pacing["seed"] == 10
    assert whole.part(100, 0, 0.5).duration_s == 0.5
    assert parse(requests=5).part(10, 0, 0.5).requests == 1
    assert whole.pacing["seed"] == 7


def test_what_this_machine_cannot_do() -> None:
    options.check_machine(parse(cpus="0,1"), [0, 1], 1024)
    with pytest.raises(UsageError, match="CPU 2 cannot be used; usable here: 0, 1"):
        options.check_machine(parse(cpus="0-2"), [0, 1], 1024)
    with pytest.raises(
        UsageError, match=r"20,000 connections .* limit is 20,000 .* up to 19,932 connections fit"
    ):
        options.check_machine(parse(connections=20_000), [0], 20_000)
    options.check_machine(parse(connections=19_932), [0], 20_000)


def test_an_http_request() -> None:
    made = request.build(
        target.parse("http://h:81/a?b"),
        ["1.2.3.4:81"],
        parse(rate="10", header=("Accept: x",), body="ü", expect_status=201, expect_contains="é", cpus="1"),
        progress_s=1.0,
    )
    assert made == {
        "version": 1,
        "load": {
            "protocol": "http",
            "addresses": ["1.2.3.4:81"],
            "connections": 64,
            "threads": 1,
            "cpus": [1],
            "io": "auto",
            "pacing": {"kind": "constant", "rate_per_s": 10, "burst": 1},
            "timeout_s": 5,
            "duration_s": 10,
            "expect": {"status": 201, "contains": "Ã©"},
            "progress_s": 1,
            "request": {
                "method": "POST",
                "target": "/a?b",
                "headers": [["Host", "h:81"], ["Accept", "x"]],
                "body": "Ã¼",
                "close": False,
            },
        },
    }


def test_other_requests() -> None:
    own_host = request.build(target.parse("http://h/"), ["a"], parse(header=("hOST: x",)))["load"]
    assert own_host["request"]["headers"] == [["hOST", "x"]]
    assert "progress_s" not in own_host
    tcp = request.build(target.parse("tcp://h:1"), ["a"], parse("tcp", line="30", expect_body="832040"))[
        "load"
    ]
    assert (tcp["line"], tcp["expect"]) == ("30", {"equals": "832040"})
    assert "request" not in tcp
    told = {"first": "Welcome: {id}", "chunk": "Chunk {k} for {id}", "interval": "2s", "ramp": "50/s"}
    streams = request.build(target.parse("stream+http://h/{id}"), ["a"], parse("stream", **told))["load"]
    assert streams["stream"] == {"first": "Welcome: {id}", "chunk": "Chunk {k} for {id}", "interval_s": 2}
    assert streams["ramp_per_s"] == 50
    assert "pacing" not in streams


def test_keys_of_requests_are_in_the_contract() -> None:
    page = (
        (Path(__file__).parents[1] / "docs" / "PROTOCOL.md").read_text(encoding="utf-8").split("### Load")[1]
    )
    made = request.build(target.parse("http://h/"), ["a"], parse(ramp="5", requests=3), 1.0)
    for key in [*made["load"], *made["load"]["request"], "stream", "line"]:
        assert f"`{key}`" in page or f'"{key}"' in page, key
    json.dumps(made)
    assert {field.name for field in dataclasses.fields(Words)} >= {"rate", "due_field"}


def test_progress_is_finer_in_a_short_load() -> None:
    assert request.progress_interval_s(None) == 1
    assert request.progress_interval_s(300) == 1
    assert request.progress_interval_s(10) == 0.25
    assert request.progress_interval_s(0.5) == 0.1
