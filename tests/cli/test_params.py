"""How values are written on the command line."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from ringside.cli import params
from ringside.cli.main import COMMANDS, cli


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("90", 90), ("1.5", 1.5), ("500ms", 0.5), ("1m30s", 90), ("1h", 3600), ("1s500ms", 1.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert params.duration(text) == pytest.approx(seconds)
    assert params.run_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "soon", "-1", "1e9", "30s1m", "nan", "1 s", "٣s", "1s oops 2s", "1M"]
)
def test_bad_durations(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration: write it as 10s, 500ms or 1m30s"):
        params.duration(text)


def test_the_range_of_durations() -> None:
    assert params.duration("168h") == 604_800
    assert params.run_duration("8760h") == 365 * 86_400
    assert params.run_duration("0s") == 0
    with pytest.raises(click.BadParameter, match="leaves no time: write it as 30s or 5m"):
        params.time_limit("0")
    for text in ("0", "0s", "168h1ms"):
        with pytest.raises(click.BadParameter, match="out of range: more than 0, up to 7 days"):
            params.duration(text)
    with pytest.raises(click.BadParameter, match="up to 365 days"):
        params.run_duration("8761h")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_reads_durations_in_the_same_way(name: str) -> None:
    """`run --time` once read what `vs --time` did not, and the reverse."""
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    for parameter in command.params:
        if parameter.name and parameter.name.endswith("_s") and not parameter.name.endswith("_per_s"):
            assert parameter.type.convert("1m30s", parameter, context) == 90, parameter.name
            with pytest.raises(click.BadParameter):
                parameter.type.convert("soon", parameter, context)


@pytest.mark.parametrize("name", ["run", "load", "vs"])
def test_seeds_are_integers_that_a_store_can_keep(name: str) -> None:
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    (seed,) = [parameter for parameter in command.params if parameter.name == "seed"]
    assert seed.type.convert("4611686018427387904", seed, context) == 2**62
    for text in ("9223372036854775808", "-1", "x"):
        with pytest.raises(click.BadParameter):
            seed.type.convert(text, seed, context)


def test_rates() -> None:
    assert params.rate("1000/s") == 1000
    assert params.rate("0.5") == 0.5
    assert params.rate("10000000") == 10_000_000
    for text in ("", "-1", "fast", "1e3", "/s"):
        with pytest.raises(click.BadParameter, match="is not a rate: write it as 1000 or 1000/s"):
            params.rate(text)
    for text in ("0", "10000001"):
        with pytest.raises(click.BadParameter, match="more than 0, up to 10,000,000/s"):
            params.rate(text)


def test_staircases() -> None:
    assert params.staircase("100:5s,200.5/s:500ms") == ((100, 5), (200.5, 0.5))
    assert len(params.staircase(",".join(["1:1s"] * 1000))) == 1000
    for text in ("", "100"):
        with pytest.raises(click.BadParameter, match="write it as rate:time"):
            params.staircase(text)
    for text in ("100:", ":5s", "100:5s,", ",".join(["1:1s"] * 1001)):
        with pytest.raises(click.BadParameter):
            params.staircase(text)


def test_cpus() -> None:
    assert params.cpus("3,0-2,1") == (3, 0, 1, 2)
    for text in ("", "a", "2-1", "1-", "-1", "1,,2"):
        with pytest.raises(click.BadParameter, match="write it as 0,2 or 0-3"):
            params.cpus(text)


def test_margins() -> None:
    assert (params.margin("3%"), params.margin("0.04"), params.margin("0")) == (0.03, 0.04, 0.0)
    for text in ("", "5", "101%", "x%", "-1%", "nan%"):
        with pytest.raises(click.BadParameter, match="like 5%"):
            params.margin(text)


def test_goals() -> None:
    assert [params.goal(text) for text in ("decided", "end", "2%")] == ["decided", "end", 0.02]
    for text in ("", "soon", "0%", "2"):
        with pytest.raises(click.BadParameter, match="as decided, end, or a share like 2%"):
            params.goal(text)


def test_gates() -> None:
    assert params.gate("slower:3%") == ("slower", 0.03)
    assert params.gate("slower:150%") == ("slower", 1.5)
    assert params.gate("faster:0") == ("faster", 0.0)
    assert params.gate("inconclusive") == ("inconclusive", 0.0)
    # Other words for the same verdicts, which suit any metric.
    assert params.gate("worse:0.04") == ("slower", 0.04)
    assert params.gate("better") == ("faster", 0.0)
    for text in ("", "3%", "equivalent", "Slower:3%", "slower 3%"):
        with pytest.raises(click.BadParameter, match="is not a gate: write it as slower:3%; possible are "):
            params.gate(text)
    for text in ("slower:3", "slower:x%", "slower:3%:4%"):
        with pytest.raises(click.BadParameter, match="as a share from 0 to 100000 %"):
            params.gate(text)


def test_methods() -> None:
    assert params.method("put") == "PUT"
    for text in ("", "A B", "CONNECT", "connect", "GET\r\n"):
        with pytest.raises(click.BadParameter, match="write it as GET or POST"):
            params.method(text)


def test_headers() -> None:
    assert params.header("Accept: a/b") == ("Accept", "a/b")
    assert params.header("X-Empty:") == ("X-Empty", "")
    assert params.header("X:\t ü ") == ("X", "ü")
    for text in ("none", ": x", "A b: c", "A: b\r\nC: d", "A: \x00", "A: \x7f"):
        with pytest.raises(click.BadParameter, match="write it as 'Name: value'"):
            params.header(text)
    for text in ("content-length: 3", "Transfer-Encoding: chunked", "Connection: close"):
        with pytest.raises(click.BadParameter, match="is not needed"):
            params.header(text)


def test_bodies(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(bytes(range(256)))
    assert params.body(f"@{file}") == bytes(range(256))
    assert params.body("ü\udcff") == b"\xc3\xbc\xff"
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(click.BadParameter, match="cannot be read"):
            params.body(f"@{path}")


def test_hostile_values_are_one_line() -> None:
    with pytest.raises(click.BadParameter) as caught:
        params.duration("\x1b[31m\n" + "x" * 1000)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "'0' is out of range: 1 to 1,000"),
        ("5000", "'5000' is out of range: 1 to 1,000"),
        ("a,,b", "'a,,b' is not a list of nodes: write a number, or names like node-a,node-b"),
        ("", "'' is not a list of nodes: write a number, or names like node-a,node-b"),
    ],
)
def test_engines_are_a_number_or_names(text: str, message: str) -> None:
    assert params.engines("1000") == 1000
    assert params.engines("node-a, 10.0.0.7") == ("node-a", "10.0.0.7")
    with pytest.raises(click.BadParameter) as raised:
        params.engines(text)
    assert raised.value.message == message
