"""docs/RELIABILITY.md: each item names the test that shows it, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "RELIABILITY.md"
# Where an item names no file, its tests are in this one.
FILES = {
    "What a program does to the probe": "tests/measure/runs/test_attacks.py",
    "What a program does besides its work": "tests/measure/runs/test_hostile_run.py",
    "Faults of the environment": "tests/measure/runs/test_faults.py",
}
# Whose items name functions too: their file has many.
BY_NAME = "What a program does to the probe"


def items() -> list[tuple[str, str]]:
    """Each item and the chapter that it is in."""
    chapter, found = "", []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            chapter = line[3:]
        elif line.startswith("- **") and chapter in {*FILES, "What happens to Ringside itself"}:
            found.append((chapter, line))
    return found


def names_test(chapter: str, item: str) -> bool:
    """Whether an item names a file of tests, and functions that are in one of those that it names."""
    files = re.findall(r"`((?:tests|probe)/[\w/]+\.(?:py|rs))`", item)
    files = files or [FILES[chapter]] if chapter in FILES else files
    texts = [(ROOT / file).read_text("utf-8") for file in files if (ROOT / file).is_file()]
    functions = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", item.rpartition(" (")[2])
    defined = all(any(re.search(rf"(def|fn) {name}\b", text) for text in texts) for name in functions)
    return len(texts) == len(files) > 0 and defined and (bool(functions) or chapter != BY_NAME)


def test_each_item_names_its_test() -> None:
    assert len(items()) > 60
    assert [item for chapter, item in items() if not names_test(chapter, item)] == []
