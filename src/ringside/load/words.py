"""What people write for times, rates, CPUs and headers, read. Each raises UsageError with one line that says
how to write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ringside.errors import UsageError
from ringside.text import one_line

_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_TIME = re.compile(
    r"(?:([0-9]+(?:\.[0-9]+)?)(h))?(?:([0-9]+(?:\.[0-9]+)?)(m))?"
    r"(?:([0-9]+(?:\.[0-9]+)?)(s))?(?:([0-9]+(?:\.[0-9]+)?)(ms))?"
)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LONGEST_S = 7 * 24 * 3600.0
_MOST_PER_S = 10_000_000.0
_MOST_STEPS = 1000
_MOST_BODY_BYTES = 16 << 20


def seconds(text: str, option: str) -> float:
    """A time like `10s`, `500ms`, `1m30s`, or `10` for seconds. Above 0, up to a week."""
    word = text.strip()
    match = _TIME.fullmatch(word)
    if _NUMBER.fullmatch(word):
        found = float(word)
    elif word and match:
        parts = match.groups()
        found = sum(
            float(parts[i]) * _UNITS_S[parts[i + 1]] for i in range(0, len(parts), 2) if parts[i] is not None
        )
    else:
        raise UsageError(f"{option} {one_line(text, 40)}: write it as 10s, 500ms or 1m30s")
    if not 0 < found <= _LONGEST_S:
        raise UsageError(f"{option} {one_line(text, 40)} is out of range: more than 0, up to 7 days")
    return found


def per_second(text: str, option: str) -> float:
    """A rate like `1000` or `1000/s`. Above 0, up to ten million."""
    word = text.strip().removesuffix("/s")
    if not _NUMBER.fullmatch(word):
        raise UsageError(f"{option} {one_line(text, 40)}: write it as 1000 or 1000/s")
    found = float(word)
    if not 0 < found <= _MOST_PER_S:
        raise UsageError(
            f"{option} {one_line(text, 40)} is out of range: more than 0, up to {_MOST_PER_S:,.0f}/s"
        )
    return found


def staircase(text: str) -> list[tuple[float, float]]:
    """`100:5s,200:5s` into (requests per second, seconds) of each step."""
    steps = []
    for word in text.split(","):
        rate, colon, duration = word.partition(":")
        if not colon:
            raise UsageError(f"--staircase {one_line(text, 40)}: write it as rate:time, like 100:5s,200:5s")
        steps.append((per_second(rate, "--staircase"), seconds(duration, "--staircase")))
    if len(steps) > _MOST_STEPS:
        raise UsageError(f"--staircase has {len(steps):,} steps: up to {_MOST_STEPS:,}")
    return steps


def cpus(text: str) -> tuple[int, ...]:
    """`0,2-3` into CPUs, in the order given."""
    found: list[int] = []
    for word in text.split(","):
        match = re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", word.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise UsageError(f"--cpus {one_line(text, 40)}: write it as 0,2 or 0-3")
        found += range(first, last + 1)
    return tuple(dict.fromkeys(found))


def is_token(text: str) -> bool:
    """Whether a text can be a method or the name of a header (RFC 9110, section 5.6.2)."""
    return _TOKEN.fullmatch(text) is not None


def headers(texts: Sequence[str]) -> list[tuple[str, str]]:
    """`Name: value` into pairs."""
    found = []
    for text in texts:
        name, colon, value = text.partition(":")
        value = value.strip(" \t")
        if not colon or not is_token(name) or any((c < " " and c != "\t") or c == "\x7f" for c in value):
            raise UsageError(f"--header {one_line(text, 60)}: write it as 'Name: value'")
        if name.lower() in ("content-length", "transfer-encoding"):
            raise UsageError(f"--header {name}: leave it out, the length of --body is sent by itself")
        if name.lower() == "connection":
            raise UsageError("--header Connection: leave it out, --close makes a connection for each request")
        found.append((name, as_bytes(value)))
    return found


def as_bytes(text: str) -> str:
    """A text as the contract wants it: a character for each byte of its UTF-8."""
    # Words of the command line that were no UTF-8 come with surrogates, which stand for their bytes.
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def body(text: str) -> str:
    """What `--body` says: a text, or a file's bytes after `@`; a character for each byte."""
    if not text.startswith("@"):
        return as_bytes(text)
    path = Path(text[1:])
    try:
        with path.open("rb") as file:
            found = file.read(_MOST_BODY_BYTES + 1)
    except OSError as error:
        raise UsageError(f"--body {one_line(text)}: the file cannot be read: {error.strerror}") from error
    if len(found) > _MOST_BODY_BYTES:
        raise UsageError(f"--body {one_line(text)}: the file is larger than {_MOST_BODY_BYTES >> 20} MiB")
    return found.decode("latin-1")
