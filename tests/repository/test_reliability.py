"""docs/RELIABILITY.md: each row of what can happen names the test that shows it, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "RELIABILITY.md"
# Where a row names no file, its tests are in this one.
FILES = {
    "What a program does to the probe": "tests/measure/runs/test_attacks.py",
    "What a program does besides its work": "tests/measure/runs/test_hostile_run.py",
    "Faults of the environment": "tests/measure/runs/test_faults.py",
}
# Whose rows name functions too: their file has many.
BY_NAME = "What a program does to the probe"


def rows() -> list[tuple[str, str]]:
    """Each row and the chapter that it is in."""
    chapter, found = "", []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            chapter = line[3:]
        elif line.startswith("| ") and not re.match(r"\| (a program …|event|fault|command) \|", line):
            found.append((chapter, line))
    return found


def names_test(chapter: str, row: str) -> bool:
    """Whether a row names a file of tests, and functions that are in one of those that it names."""
    files = re.findall(r"`((?:tests|probe)/[\w/]+\.(?:py|rs))`", row)
    files = files or [FILES[chapter]] if chapter in FILES else files
    texts = [(ROOT / file).read_text("utf-8") for file in files if (ROOT / file).is_file()]
    last = row.rstrip("| ").rpartition("|")[2]
    functions = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", last)
    defined = all(any(re.search(rf"(def|fn) {name}\b", text) for text in texts) for name in functions)
    return len(texts) == len(files) > 0 and defined and (bool(functions) or chapter != BY_NAME)


def test_each_row_names_its_test() -> None:
    tested = [(chapter, row) for chapter, row in rows() if chapter != "How often it was tried"]
    assert len(tested) > 60
    assert [row for chapter, row in tested if not names_test(chapter, row)] == []
