"""Protocol lines of contract 1, as a program wrote them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# The words, each with the keys that it must have; `None`: any.
_WORDS: dict[str, tuple[str, ...] | None] = {
    "ready": ("port",),
    "phase": ("name", "ns"),
    "await": ("name",),
    "span": ("unit", "begin", "end"),
    "result": None,
}
_NUMBERS = {"ns", "port", "unit", "begin", "end"}
_MAX_BYTES = 64 * 1024


@dataclass
class Lines:
    """What a program printed. `problem`: what is wrong with the first bad protocol line."""

    phases: list[tuple[str, int]] = field(default_factory=list)
    awaits: list[str] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)
    result: dict[str, str] | None = None
    problem: str = ""

    def times(self, phase: str) -> int:
        """How often a phase was reported."""
        return sum(1 for name, _ in self.phases if name == phase)


def parse(output: bytes) -> Lines:
    """The lines of a program's stdout."""
    lines = Lines()
    for line in output.split(b"\n"):
        if line.startswith(b"::"):
            problem = _add(lines, line)
            lines.problem = lines.problem or problem
    return lines


def _add(lines: Lines, line: bytes) -> str:
    shown = repr(line[:100])[2:-1]
    if len(line) > _MAX_BYTES:
        return f"{shown}…: longer than {_MAX_BYTES} bytes"
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return f"{shown}: not UTF-8"
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        return f"{shown}: a control character"
    word, *pairs = text[2:].split(" ")
    if word not in _WORDS:
        return f"{shown}: there is no protocol line `::{word}`"
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            return f"{shown}: `{pair}` is not key=value (one space stands between two pairs)"
        if key in values:
            return f"{shown}: `{key}` twice"
        if key in _NUMBERS and word != "result" and not re.fullmatch(r"[0-9]{1,19}", value):
            return f"{shown}: `{key}` must be a whole number"
        values[key] = value
    for key in _WORDS[word] or ():
        if key not in values:
            return f"{shown}: `{key}` is missing"
    return _keep(lines, word, values, shown)


def _keep(lines: Lines, word: str, values: dict[str, str], shown: str) -> str:
    if word == "phase":
        lines.phases.append((values["name"], int(values["ns"])))
    elif word == "await":
        lines.awaits.append(values["name"])
    elif word == "span":
        lines.spans.append((int(values["unit"]), int(values["begin"]), int(values["end"])))
    elif word == "result":
        if lines.result is not None:
            return f"{shown}: a second ::result"
        lines.result = values
    return ""
