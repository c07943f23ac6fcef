"""How values are written on the command line: a function per kind, which raises ValueError."""

import re
from collections.abc import Sequence

from ringside import units
from ringside.errors import UsageError
from ringside.text import one_line

_CPUS = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")
_DAY_S = 86_400
# The words that `--fail-if` accepts, with their verdicts; `worse` and `better` suit any metric.
GATES = {
    "slower": "slower",
    "worse": "slower",
    "faster": "faster",
    "better": "faster",
    "inconclusive": "inconclusive",
}


def bad_value(text: str, what: str) -> ValueError:
    """The error of a value that cannot be; `what`: why, and how to write it."""
    return ValueError(f"'{one_line(text, 60)}' {what}")


def time_unit(text: str) -> units.TimeUnit:
    """`ms`, or `millisecond` as hyperfine has it."""
    for unit in units.TIME_UNITS.values():
        if text in (unit.symbol, unit.word.removesuffix("s")):
            return unit
    raise bad_value(text, "is no unit of time: write s, ms, us or ns")


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
        if not 1 <= (number := units.whole(text)) <= 1000:
            raise bad_value(text, "is out of range: 1 to 1,000")
        return number
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise bad_value(text, "is not a list of nodes: write a number, or names like node-a,node-b")
    return names


def gate(text: str) -> tuple[str, float]:
    """`slower:3%` as ("slower", 0.03). Other verdicts, more than 100 %, and no size are possible."""
    word, _, size = text.partition(":")
    if word not in GATES:
        raise bad_value(text, f"is not a gate: write it as slower:3%; possible are {', '.join(GATES)}")
    return GATES[word], units.margin(size, most=1000.0) if size else 0.0


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
