"""Tests use the public names of the product; a class name stands for one thing."""

import ast
from collections import defaultdict

import pytest

from tests.support import ROOT, TESTS

SOURCE = ROOT / "src" / "ringside"

# Names with an underscore that are public where they are defined.
PUBLIC = {"_asdict", "_exit", "_fields", "_replace"}
# Until these tests go through the interface of what they test.
NOT_YET = {"store/test_postgresql.py", "store/test_store.py"}


def private_names(source: str) -> list[str]:
    """The attributes with an underscore of anything but `self` and `cls`, and those imports from Ringside."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ast.Name("self" | "cls"), _):
                pass
            case ast.Attribute(_, name) if name.startswith("_") and name not in PUBLIC:
                found.append(name)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "ringside":
                found += [alias.name for alias in node.names if alias.name.startswith("_")]
    return [name for name in found if not name.endswith("__")]


@pytest.mark.parametrize("package", sorted({path.parent.name for path in TESTS.rglob("test_*.py")}))
def test_no_test_reaches_into_private_names(package: str) -> None:
    for path in TESTS.rglob("*.py"):
        place = path.relative_to(TESTS).as_posix()
        if path.parent.name == package and place not in NOT_YET:
            assert private_names(path.read_text(encoding="utf-8")) == [], place


def test_a_class_name_means_one_thing_in_the_whole_program() -> None:
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    places = defaultdict(list)
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
