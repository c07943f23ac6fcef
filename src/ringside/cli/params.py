"""How values are written on the command line, one way for all commands. A function here reads the text of an
option, and raises ValueError with how to write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringside import units
from ringside.cli.options import forms, option
from ringside.errors import UsageError
from ringside.files import read_at_most
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.load.thresholds import Threshold

# What `--fail-if` accepts, and the verdict that each means; `worse` and `better` suit any metric.
_GATES = {
    "slower": "slower",
    "worse": "slower",
    "faster": "faster",
    "better": "faster",
    "inconclusive": "inconclusive",
}


class Whole(click.IntRange):
    """A whole number in a range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = units.whole(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return super().convert(number, param, ctx)


COUNT = Whole(1, 1_000_000)
# A contender takes the seed plus the number of the block, in 64 bits with a sign, as stores keep it.
SEED = Whole(0, 2**62)
FILE = click.Path(path_type=Path)

_CPUS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
# A method or the name of a header (RFC 9110, section 5.6.2).
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# The largest body that stands in a plan itself. A file of more than the second is named by its path instead.
MAX_BODY_BYTES = 100 << 20
_SMALL_BODY_BYTES = 1 << 20
_DAY_S = 86_400

UNTIL_HELP = (
    "End when all is `decided`, at the `end` of the blocks, or when intervals are within 2% [decided]."
)
MARGIN_HELP = "Ratios closer to 1 than this are equivalent"
STORE_HELP = "The store [default: .ringside/ringside.sqlite]."
DEFAULT_PORT = 8000
# The options of several commands.
STORE = option("--store PATH|URL", STORE_HELP)
OUTSIDE = option(
    "--with FOLDER|NAME=COMMAND",
    "A contender outside the catalogue: its folder, or the command of a server with `{port}` in it.",
    multiple=True,
)
PORT = option(
    "--port N",
    f"The port of the page; 0: any that is free [default: {DEFAULT_PORT}].",
    Whole(0, 65_535),
    default=DEFAULT_PORT,
)
FORM = forms(json="One JSON document.", markdown="Markdown.")
FORM_OR_CSV = forms(
    json="One JSON document.", markdown="Markdown.", csv="CSV, a row for each metric of each cell."
)


def duration(text: str) -> float:
    """`10s`, `500ms`, `1m30s`, or `10` for seconds, as seconds: more than 0, up to a week."""
    seconds = units.seconds(text)
    if not 0 < seconds <= 7 * _DAY_S:
        raise bad_value(text, "is out of range: more than 0, up to 7 days")
    return seconds


def run_duration(text: str) -> float:
    """The time limit of a run, in seconds: 0 up to a year."""
    seconds = units.seconds(text)
    if seconds > 365 * _DAY_S:
        raise bad_value(text, "is out of range: up to 365 days")
    return seconds


def time_limit(text: str) -> float:
    """As `run_duration`, but not 0, in which nothing can be measured."""
    seconds = run_duration(text)
    if not seconds:
        raise bad_value(text, "leaves no time: write it as 30s or 5m, or leave it out")
    return seconds


def rate(text: str) -> float:
    """`1000` or `1000/s`, as a number per second: more than 0, up to ten million."""
    try:
        per_second = units.number(text.removesuffix("/s"))
    except ValueError:
        raise bad_value(text, "is not a rate: write it as 1000 or 1000/s") from None
    if not 0 < per_second <= 10_000_000:
        raise bad_value(text, "is out of range: more than 0, up to 10,000,000/s")
    return per_second


def staircase(text: str) -> tuple[tuple[float, float], ...]:
    """`100:5s,200:5s` as (requests per second, seconds) of each step."""
    steps = []
    for step in text.split(","):
        step_rate, colon, step_duration = step.partition(":")
        if not colon:
            raise bad_value(text, "is not a staircase: write it as rate:time, like 100:5s,200:5s")
        steps.append((rate(step_rate), duration(step_duration)))
    if len(steps) > 1000:
        raise bad_value(text, f"has {len(steps):,} steps: up to 1,000 are possible")
    return tuple(steps)


def weights(text: str) -> tuple[int, ...]:
    """`3,1` as numbers from 1 to 1000."""
    numbers = tuple(int(part) if re.fullmatch(r"[0-9]{1,9}", part) else 0 for part in text.split(","))
    if not all(1 <= number <= 1000 for number in numbers):
        raise bad_value(text, "is not a list of weights: write it as 3,1, from 1 to 1000")
    return numbers


def host_and_port(text: str) -> str:
    """`10.0.0.7`, `10.0.0.7:8080` or `[::1]:8080`, as it is written."""
    from ringside.load import target

    try:
        target.parse(f"http://{text}/")
    except UsageError:
        raise bad_value(text, "is no address: write it as HOST or HOST:PORT") from None
    return text


def renewal(text: str) -> int | float:
    """A number of replies, or with a unit an age in seconds (a float)."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        return duration(text)
    if not int(text):
        raise bad_value(text, "is out of range: 1 or more")
    return int(text)


def threshold(text: str) -> Threshold:
    """`p99>200ms`, `errors>1%` or `rate<1000`."""
    from ringside.load import thresholds

    return thresholds.parse(text)


def method(text: str) -> str:
    """A method of HTTP, in capitals."""
    if not _TOKEN.fullmatch(text) or text.upper() == "CONNECT":
        raise bad_value(text, "is not possible: write it as GET or POST")
    return text.upper()


def header(text: str) -> tuple[str, str]:
    """`Name: value` as a pair."""
    name, colon, value = text.partition(":")
    value = value.strip(" \t")
    if not colon or not _TOKEN.fullmatch(name) or re.search(r"[\0-\x08\x0a-\x1f\x7f]", value):
        raise bad_value(text, "is not a header: write it as 'Name: value'")
    if name.lower() in ("content-length", "transfer-encoding"):
        raise bad_value(text, "is not needed: the length of --body is sent automatically")
    if name.lower() == "connection":
        raise bad_value(text, "is not needed: --close opens a connection for each request")
    return name, value


def body(text: str) -> bytes | Path:
    """A text, or the bytes of a file after `@`, stdin for `@-`; of a large file its path."""
    if not text.startswith("@"):
        return text.encode()
    path = Path("/dev/stdin" if text == "@-" else text[1:])
    try:
        if path.is_file() and path.stat().st_size > _SMALL_BODY_BYTES:
            with path.open("rb"):
                return path.absolute()
        content = read_at_most(path, MAX_BODY_BYTES)
    except OSError as error:
        raise bad_value(text, f"cannot be read: {error.strerror}") from error
    if len(content) > MAX_BODY_BYTES:
        raise bad_value(text, f"is no file, and has more than {MAX_BODY_BYTES >> 20} MiB: name a file")
    return content


def cpus(text: str) -> tuple[int, ...]:
    """`0,2-3` as CPUs, in the order in which they are written."""
    numbers: list[int] = []
    for part in text.split(","):
        match = _CPUS.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise bad_value(text, "is not a list of CPUs: write it as 0,2 or 0-3")
        numbers += range(first, last + 1)
    return tuple(dict.fromkeys(numbers))


def engines(text: str) -> int | tuple[str, ...]:
    """`3` or `node-a,10.0.0.7`: how many engines, or the names or addresses of their nodes."""
    if re.fullmatch(r"[0-9]+", text):
        if not 1 <= int(text[:9]) <= 1000:
            raise bad_value(text, "is out of range: 1 to 1,000")
        return int(text)
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise bad_value(text, "is not a list of nodes: write a number, or names like node-a,node-b")
    return names


def gate(text: str) -> tuple[str, float]:
    """`slower:3%` as ("slower", 0.03). Other verdicts, more than 100 %, and no size are possible."""
    word, _, size = text.partition(":")
    if word not in _GATES:
        raise bad_value(text, f"is not a gate: write it as slower:3%; possible are {', '.join(_GATES)}")
    return _GATES[word], units.margin(size, most=1000.0) if size else 0.0


def levels(settings: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Texts like `factor=level,level` into levels by factor. Raises UsageError."""
    levels_by_factor: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        factor, equals, text = setting.partition("=")
        texts = tuple(text.split(","))
        if not equals or not factor or not all(texts):
            raise UsageError(f"--set {setting}: write it as factor=level or factor=level,level")
        levels_by_factor[factor] = (*levels_by_factor.get(factor, ()), *texts)
    return levels_by_factor


def bad_value(text: str, what: str) -> ValueError:
    """The error of a value that cannot be; `what`: why, and how to write it."""
    return ValueError(f"'{one_line(text, 60)}' {what}")
