"""Data flows one way: a module may import those before it, never those behind."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "ringside"

# From the bottom up; modules in one set may not import each other's set members above them.
LAYERS: list[set[str]] = [
    {"__init__", "errors", "model"},
    {"tomlfile", "stats"},
    {"catalogue", "workloads", "host"},
    {"plan", "toolchain", "inputs"},
    {"trial", "store"},
    {"executor"},
    {"runner"},
    {"report"},
    {"progress"},
    {"load", "versus"},
    {"verbs"},
    {"cli"},
]
# What reads the store's rows must not be able to start anything.
READERS = {"stats", "report"}
STARTERS = {"runner", "executor", "toolchain", "inputs", "trial", "subprocess"}


def layer(name: str) -> int:
    for number, names in enumerate(LAYERS):
        if name in names:
            return number
    raise AssertionError(f"module {name} is in no layer: add it to LAYERS")


def imports(file: Path) -> set[tuple[str, str]]:
    """(top module, name) pairs of what a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {(node.module, alias.name) for alias in node.names}
    return found


def own(module: str, name: str) -> str | None:
    """The top-level module of ours that an import means, or None."""
    if module == "ringside":
        return name if name and name[0] != "_" else "__init__"
    return module.split(".")[1] if module.startswith("ringside.") else None


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=[str(file.relative_to(SOURCE)) for file in FILES])
def test_imports_go_downwards(file: Path) -> None:
    part = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    for module, name in imports(file):
        target = own(module, name)
        if target is not None and target != part:
            assert layer(target) <= layer(part), f"{file.name} imports {module}"
            assert layer(target) < layer(part) or part == "__init__" or layer(part) in (0, 2, 3, 4), module


@pytest.mark.parametrize("part", sorted(READERS))
def test_readers_cannot_start_anything(part: str) -> None:
    for file in (SOURCE / part).rglob("*.py"):
        for module, name in imports(file):
            assert module not in STARTERS, f"{file} imports {module}"
            assert own(module, name) not in STARTERS, f"{file} imports {module}"


def test_the_model_imports_nothing_of_ours() -> None:
    assert not [module for module, name in imports(SOURCE / "model.py") if own(module, name)]


def test_help_loads_nothing_heavy() -> None:
    """Imports of the command line wait until a verb is chosen."""
    heavy = {"sqlalchemy", "rich", "numpy", "altair", "jinja2", "click.testing"}
    top = ast.parse((SOURCE / "cli.py").read_text(encoding="utf-8")).body
    names = {
        alias.name.split(".")[0] for node in top if isinstance(node, ast.Import) for alias in node.names
    } | {node.module.split(".")[0] for node in top if isinstance(node, ast.ImportFrom) and node.module}
    assert not names & heavy
