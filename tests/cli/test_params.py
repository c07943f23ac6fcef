"""How values are written on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from ringside.cli import params
from ringside.cli.main import COMMANDS, cli
from ringside.load import options

DURATIONS = [
    ("10s", 10),
    ("90", 90),
    ("1.5", 1.5),
    ("500ms", 0.5),
    ("1m30s", 90),
    ("1h", 3600),
    ("1s500ms", 1.5),
]


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        *((params.duration, text, seconds) for text, seconds in DURATIONS),
        *((params.run_duration, text, seconds) for text, seconds in DURATIONS),
        (params.duration, "168h", 604_800),
        (params.run_duration, "8760h", 365 * 86_400),
        (params.run_duration, "0s", 0),
        (options.rate, "1000/s", 1000),
        (options.rate, "0.5", 0.5),
        (options.rate, "10000000", 10_000_000),
        (options.staircase, "100:5s,200.5/s:500ms", ((100, 5), (200.5, 0.5))),
        (options.staircase, ",".join(["1:1s"] * 1000), ((1, 1),) * 1000),
        (params.cpus, "3,0-2,1", (3, 0, 1, 2)),
        (params.gate, "slower:3%", ("slower", 0.03)),
        (params.gate, "slower:150%", ("slower", 1.5)),
        (params.gate, "faster:0", ("faster", 0.0)),
        (params.gate, "inconclusive", ("inconclusive", 0.0)),
        # Other words for the same verdicts, which suit any metric.
        (params.gate, "worse:0.04", ("slower", 0.04)),
        (params.gate, "better", ("faster", 0.0)),
        (params.engines, "1000", 1000),
        (params.engines, "node-a, 10.0.0.7", ("node-a", "10.0.0.7")),
        (options.method, "put", "PUT"),
        (options.header, "Accept: a/b", ("Accept", "a/b")),
        (options.header, "X-Empty:", ("X-Empty", "")),
        (options.header, "X:\t ü ", ("X", "ü")),
    ],
)
def test_values(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == pytest.approx(value) if isinstance(value, float) else read(text) == value


@pytest.mark.parametrize(
    ("read", "texts", "message"),
    [
        (
            params.duration,
            ["", "s", "soon", "-1", "1e9", "30s1m", "nan", "1 s", "٣s", "1s oops 2s", "1M"],
            "is not a duration: write it as 10s, 500ms or 1m30s",
        ),
        (params.duration, ["0", "0s", "168h1ms"], "out of range: more than 0, up to 7 days"),
        (params.run_duration, ["8761h"], "up to 365 days"),
        (params.time_limit, ["0"], "leaves no time: write it as 30s or 5m"),
        (options.rate, ["", "-1", "fast", "1e3", "/s"], "is not a rate: write it as 1000 or 1000/s"),
        (options.rate, ["0", "10000001"], "more than 0, up to 10,000,000/s"),
        (options.staircase, ["", "100"], "write it as rate:time"),
        (options.staircase, ["100:", ":5s", "100:5s,"], "write it as"),
        (options.staircase, [",".join(["1:1s"] * 1001)], "up to 1,000 are possible"),
        (params.cpus, ["", "a", "2-1", "1-", "-1", "1,,2"], "write it as 0,2 or 0-3"),
        (
            params.gate,
            ["", "3%", "equivalent", "Slower:3%", "slower 3%"],
            "is not a gate: write it as slower:3%; possible are ",
        ),
        (params.gate, ["slower:3", "slower:x%", "slower:3%:4%"], "as a share from 0 to 100000 %"),
        (params.engines, ["0", "5000"], "is out of range: 1 to 1,000"),
        (params.engines, ["a,,b", ""], "is not a list of nodes: write a number, or names like node-a,node-b"),
        (options.method, ["", "A B", "CONNECT", "connect", "GET\r\n"], "write it as GET or POST"),
        (
            options.header,
            ["none", ": x", "A b: c", "A: b\r\nC: d", "A: \x00", "A: \x7f"],
            "write it as 'Name: value'",
        ),
        (
            options.header,
            ["content-length: 3", "Transfer-Encoding: chunked", "Connection: close"],
            "is not needed",
        ),
        (options.body, ["@.", "@none"], "cannot be read"),
    ],
)
def test_values_that_cannot_be(read: Callable[[str], Any], texts: list[str], message: str) -> None:
    for text in texts:
        with pytest.raises(ValueError, match=message):
            read(text)


def test_bodies(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(bytes(range(256)))
    assert options.body(f"@{file}") == bytes(range(256))
    assert options.body("ü") == b"\xc3\xbc"


def test_hostile_values_are_one_line() -> None:
    with pytest.raises(ValueError, match="is not a duration") as caught:
        params.duration("\x1b[31m\n" + "x" * 1000)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_reads_durations_and_seeds_in_the_same_way(name: str) -> None:
    """`run --time` once read what `vs --time` did not, and the reverse. Seeds fit into a store."""
    context = click.Context(cli)
    command = cli.get_command(context, name)
    assert command is not None
    for parameter in command.params:
        bad: tuple[str, ...] = ()
        if parameter.name and parameter.name.endswith("_s") and not parameter.name.endswith("_per_s"):
            assert parameter.type.convert("1m30s", parameter, context) == 90, parameter.name
            bad = ("soon",)
        elif parameter.name == "seed":
            assert parameter.type.convert("4611686018427387904", parameter, context) == 2**62
            bad = ("9223372036854775808", "-1", "x")
        for text in bad:
            with pytest.raises(click.BadParameter):
                parameter.type.convert(text, parameter, context)
