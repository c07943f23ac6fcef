"""tests/mutants.md explains mutants of code that is there: an entry whose line is gone is removed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.support import ROOT, TESTS

SOURCE = ROOT / "src" / "ringside"
ENTRIES = re.findall(
    r"^- `(\w+)\.(\w+)\.([\w.]+)` `(.*?)` → ",
    (TESTS / "mutants.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def squeezed(code: str) -> str:
    """Code without what formatting adds."""
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s", "", code))


def bodies(package: str, module: str, function: str) -> Iterator[str]:
    """The code of a function or method, in whichever folder of the package its module is."""
    paths = [*(SOURCE / package).rglob(f"{module}.py"), *(SOURCE / package).rglob(f"{module}/__init__.py")]
    for path in paths:
        text = path.read_text(encoding="utf-8")
        nodes: list[ast.AST] = [ast.parse(text)]
        for name in function.split("."):
            children = (child for node in nodes for child in ast.iter_child_nodes(node))
            nodes = [child for child in children if getattr(child, "name", None) == name]
        yield from (ast.get_source_segment(text, node) or "" for node in nodes)


@pytest.mark.parametrize("package", ["analysis", "load", "measure", "stats"])
def test_each_mutant_is_of_a_line_that_is_there(package: str) -> None:
    listed = [entry[1:] for entry in ENTRIES if entry[0] == package]
    assert listed
    for module, function, line in listed:
        there = map(squeezed, bodies(package, module, function))
        assert any(squeezed(line) in body for body in there), f"{module}.{function}: {line}"
