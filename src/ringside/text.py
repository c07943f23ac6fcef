"""Texts: untrusted ones made harmless for a line of a terminal or of CSV, sentences, times, spelling
suggestions."""

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Iterable

# The last lines of a program's stderr that tables show; `ringside repeat` shows more.
STDERR_LINES = 5
# The last lines of a failed build's log.
LOG_LINES = 15
# Spreadsheets would take such a text for a formula; a negative number is none.
_FORMULA = re.compile(r"[=+@\t\r]|-(?![0-9]+(?:\.[0-9]+)?\Z)")


def one_line(text: str, most: int = 400) -> str:
    """The text in one line: control and direction characters become `·`, and it is cut at `most`."""
    cleaned = "".join(
        "·" if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs") else character
        for character in text.replace("\n", " ").replace("\t", " ")[: most + 1]
    )
    return cleaned if len(cleaned) <= most else cleaned[: most - 1] + "…"


def last_lines(text: str, most: int = STDERR_LINES) -> list[str]:
    """The last lines of hostile text, each harmless."""
    return [one_line(line) for line in text.rstrip().splitlines()[-most:]]


def nearest(name: str, names: Iterable[str], likeness: float = 0.6) -> str | None:
    """The name that `name` probably misspells."""
    return next(iter(difflib.get_close_matches(name, list(names), 1, likeness)), None)


def capitalised(text: str) -> str:
    """The text as the beginning of a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def sentences(*parts: str) -> str:
    """The parts that hold a text, each as a sentence with a capital and a full stop."""
    stripped = (part.strip().rstrip(".") for part in parts)
    return " ".join(f"{capitalised(part)}." for part in stripped if part)


def minute(time: str) -> str:
    """A time of the store to the minute, as it is shown: `2026-09-18 17:41`."""
    return time[:16].replace("T", " ")


def csv_text(rows: Iterable[Iterable[object]], line_end: str = "\n") -> str:
    """Rows as CSV in which a spreadsheet finds no formula: text that it would compute begins with `'`."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator=line_end)
    for row in rows:
        cells = (f"'{each}" if isinstance(each, str) and _FORMULA.match(each) else each for each in row)
        writer.writerow(cells)
    return target.getvalue()
