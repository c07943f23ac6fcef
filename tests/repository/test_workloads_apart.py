"""All that is known of a workload stands in its folder: no other module of the source names one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support import ROOT

SOURCE = ROOT / "src" / "ringside"
WORKLOADS = SOURCE / "workloads"
NAMES = sorted(file.parent.name for file in WORKLOADS.glob("*/check.py"))
OTHERS = sorted(
    file for file in SOURCE.rglob("*.py") if not any(WORKLOADS / name in file.parents for name in NAMES)
)
# Words of other things, by the module that means those.
OTHER_MEANINGS = {"measure/vs/commands.py": {"jobs"}}  # the shell's own command
# Names that are no words of English, so that no text may have them either.
UNMISTAKABLE = {"fib", "fanout", "sleepers"}


def named(tree: ast.Module) -> set[str]:
    """The workloads that a module names: as a text of its own, in code spans or in `key=value` of a text, or
    by an import."""
    words: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words |= {node.value, *re.findall(r"`([a-z]+)`", node.value)}
            words |= set(re.findall(r"[a-z]+", node.value)) & UNMISTAKABLE
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ringside."):
            words |= {*(node.module or "").split("."), *(alias.name.lower() for alias in node.names)}
    return words & set(NAMES)


def test_the_workloads_are_those_of_the_package() -> None:
    assert len(NAMES) >= 7


@pytest.mark.parametrize("file", OTHERS, ids=lambda file: str(file.relative_to(SOURCE)))
def test_no_other_module_names_a_workload(file: Path) -> None:
    place = str(file.relative_to(SOURCE))
    assert file.stem not in NAMES
    names = named(ast.parse(file.read_text(encoding="utf-8"))) - OTHER_MEANINGS.get(place, set())
    assert not names, f"{place} names {', '.join(sorted(names))}"
