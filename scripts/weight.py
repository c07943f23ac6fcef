"""Makes the table of docs/ARCHITECTURE.md that gives each package its budget of lines.

.venv/bin/python scripts/weight.py            set every budget to the lines of today
.venv/bin/python scripts/weight.py --check    exit status 1 if a package is above its budget
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from scripts import blocks  # noqa: E402

PAGE = ROOT / "docs" / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "ringside"
LOOSE, SUM, TESTS = "loose modules", "**sum of src/ringside**", "`tests/`"
# The sum of the budgets may shrink, not grow.
LIMITS = {SUM: 31_595, TESTS: 34_670}


def lines(paths: Iterator[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def weights() -> dict[str, int]:
    """The lines of Python in each package and in all of them, by the name of the table's row."""
    own = {
        f"`{folder.name}`": size
        for folder in sorted(SOURCE.iterdir())
        if folder.is_dir() and (size := lines(folder.rglob("*.py")))
    }
    own[LOOSE] = lines(SOURCE.glob("*.py"))
    return {**own, SUM: sum(own.values()), TESTS: lines((ROOT / "tests").rglob("*.py"))}


def table(budgets: Mapping[str, int]) -> str:
    rows = (f"| {name} | {budget:,} |" for name, budget in budgets.items())
    return "\n".join(["| package | lines |", "|---|---:|", *rows])


def budgets(page: str) -> dict[str, int]:
    """The table of that page."""
    rows = re.findall(r"^\| (.+) \| ([\d,]+) \|$", blocks.split(page, "weight.py")[1], re.MULTILINE)
    return {name: int(budget.replace(",", "")) for name, budget in rows}


def faults(budgets: Mapping[str, int], weights: Mapping[str, int]) -> Iterator[str]:
    """Complaints about these budgets, for packages with these weights."""
    for name, weight in weights.items():
        if weight > budgets.get(name, 0):
            yield f"{name} has {weight:,} lines, its budget is {budgets.get(name, 0):,}"
    for name in budgets.keys() - weights.keys():
        yield f"{name} has a budget, but does not exist"
    total = sum(budget for name, budget in budgets.items() if name not in LIMITS)
    if total != budgets.get(SUM):
        yield f"the budgets add up to {total:,}, the table says {budgets.get(SUM, 0):,}"
    for name, most in LIMITS.items():
        if budgets.get(name, 0) > most:
            yield f"the budget of {name} is {budgets[name]:,}; at most {most:,} are allowed"


def main(arguments: Sequence[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    if "--check" not in arguments:
        page = blocks.replaced(page, "weight.py", table(weights()))
        PAGE.write_text(page, encoding="utf-8")
    wrong = list(faults(budgets(page), weights()))
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
