"""docs/RELIABILITY.md: each item names the test that shows it, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "RELIABILITY.md"
# Where an item names no file, its tests are in these.
FILES = [*ROOT.glob("tests/measure/runs/test_*.py"), ROOT / "probe/tests/suite/attacks.rs"]
# Whose items name functions, since their files have many; whose items have one test, which the text names.
BY_NAME, TOGETHER = "What a program does to the probe", "What a program does besides its work"
CHAPTERS = {BY_NAME, TOGETHER, "What happens to Ringside itself", "Faults of the environment"}


def items() -> list[tuple[str, str]]:
    """Each item and the chapter that it is in."""
    chapter, found = "", []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            chapter = line[3:]
        elif line.startswith("- **") and chapter in CHAPTERS:
            found.append((chapter, line))
    return found


def names_test(chapter: str, item: str) -> bool:
    """Whether an item names files of tests, or functions that are in one of those that it names."""
    files = [ROOT / file for file in re.findall(r"`((?:tests|probe)/[\w/]+\.(?:py|rs))`", item)]
    if not all(file.is_file() for file in files):
        return False
    text = "".join(file.read_text("utf-8") for file in files or FILES)
    functions = re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", item.rpartition(" (")[2])
    defined = all(re.search(rf"(def|fn) {name}\b", text) for name in functions)
    return defined and bool(functions or chapter == TOGETHER or (files and chapter != BY_NAME))


def test_each_item_names_its_test() -> None:
    assert len(items()) > 55
    assert [item for chapter, item in items() if not names_test(chapter, item)] == []
