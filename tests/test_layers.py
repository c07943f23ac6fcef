"""Imports go one way, between packages and inside them; analysis formats nothing, render computes nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "ringside"

# From the bottom up. A module may import those of lower layers, and those of its own package that do not
# import it; modules of different packages in one layer do not import each other.
LAYERS: list[set[str]] = [
    {"ringside", "errors"},
    {"model"},
    {"stats", "text"},
    {"units", "probe"},
    {"catalogue", "workloads"},
    {"store"},
    {"analysis"},
    {"measure"},
    {"render"},
    {"load"},
    {"cli"},
]
# Still to be taken apart; each goes when its package is in order.
PENDING = {
    "ringside.analysis.across",
    "ringside.analysis.laws",
    "ringside.analysis.steady",
    "ringside.analysis.summary",
    "ringside.analysis.versus",
    "ringside.analysis.warned",
    "ringside.probe.local",
}
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {
    ".".join(("ringside", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): file
    for file in FILES
}


def package(module: str) -> str:
    """`ringside.stats.ratio` → `stats`; `ringside` for the package's own `__init__`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "ringside"


def layer(name: str) -> int:
    for number, names in enumerate(LAYERS):
        if name in names:
            return number
    raise AssertionError(f"package {name} is in no layer: add it to LAYERS")


def imports(file: Path) -> set[str]:
    """All modules that a file imports, anywhere in it, ours as modules of `MODULES`."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                names.add(inside if inside in MODULES else node.module)
    return names


def ours(file: Path) -> set[str]:
    return {name for name in imports(file) if name in MODULES}


@pytest.mark.parametrize("module", sorted(MODULES.keys() - PENDING))
def test_imports_go_downwards(module: str) -> None:
    own = package(module)
    for target in ours(MODULES[module]):
        if package(target) != own:
            assert layer(package(target)) < layer(own), f"{module} imports {target}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Inside packages, too."""
    graph = {module: ours(file) for module, file in MODULES.items()}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        if module in PENDING and module in path:
            return
        assert module not in path, " → ".join((*path[path.index(module) :], module))
        if module not in done:
            for target in sorted(graph[module]):
                visit(target, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


# What only reads rows and figures must not be able to start anything.
STARTERS = {"subprocess", "socket", "threading", "multiprocessing"}


@pytest.mark.parametrize("part", ["model", "stats", "analysis", "render"])
def test_readers_cannot_start_anything(part: str) -> None:
    for module, file in MODULES.items():
        if package(module) == part and module not in PENDING:
            assert not imports(file) & STARTERS, module
            assert not [name for name in ours(file) if package(name) == "measure"], module


def test_help_loads_nothing_heavy() -> None:
    """Imports of the command line wait until a verb is chosen."""
    heavy = {"sqlalchemy", "rich", "numpy", "altair", "jinja2", "click.testing"}
    top = ast.parse((SOURCE / "cli" / "main.py").read_text(encoding="utf-8")).body
    names = {
        alias.name.split(".")[0] for node in top if isinstance(node, ast.Import) for alias in node.names
    } | {node.module.split(".")[0] for node in top if isinstance(node, ast.ImportFrom) and node.module}
    assert not names & heavy
