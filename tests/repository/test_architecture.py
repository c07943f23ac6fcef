"""docs/ARCHITECTURE.md is true: its packages are those of the layers, and what it names exists."""

import ast
import re

from scripts import weight

from tests.repository.test_layers import LAYERS, SOURCE
from tests.support import ROOT

TEXT = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_packages_stand_in_the_order_of_the_layers() -> None:
    table = TEXT.split("## Packages")[1].split("## ")[0]
    rows = [
        set(re.findall(r"`([a-z.]+)`", row.split("|")[1])) for row in table.splitlines() if row[:3] == "| `"
    ]
    assert rows == [names - {"ringside"} for names in LAYERS]


def test_every_file_that_is_named_exists() -> None:
    paths = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|rs))?)`", TEXT)
    assert len(paths) > 40
    root = SOURCE.parents[1]
    for path in paths:
        assert (SOURCE / path).exists() or (root / path).exists(), path


def test_every_name_beside_a_file_is_defined_in_it() -> None:
    pairs = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)` `([A-Za-z_]+)`", TEXT)
    assert len(pairs) > 6
    for path, name in pairs:
        tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
        definitions = (ast.FunctionDef, ast.ClassDef)
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, definitions)}, (path, name)


def test_no_package_is_above_its_budget() -> None:
    wrong = list(weight.faults(weight.budgets(TEXT), weight.weights()))
    assert not wrong, f"delete lines, or move them with their budget (scripts/weight.py): {wrong}"
