"""Imports go one way, between packages and inside them; analysis formats nothing, render computes nothing."""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.support import ROOT

SOURCE = ROOT / "src" / "ringside"

# From the bottom up. A module may import those of lower layers, and those of its own package that do not
# import it; modules of different packages in one layer do not import each other.
LAYERS: list[set[str]] = [
    {"ringside", "errors", "arrays"},
    {"files"},
    {"probe.protocol"},
    {"model"},
    {"stats", "text"},
    {"units", "probe"},
    {"cli.params"},
    {"cli.options"},
    {"workloads"},
    {"catalogue"},
    {"store"},
    {"analysis"},
    {"measure", "measure.host"},
    {"measure.toolchain"},
    {"measure.runs"},
    {"measure.vs"},
    {"render"},
    {"render.site"},
    {"load", "serve", "conformance"},
    {"cluster"},
    # A workload's own rules of `check`, which imports them by their names.
    {"workloads.check"},
    {"cli"},
]
FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {
    ".".join(("ringside", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): file
    for file in FILES
}


def package(module: str) -> str:
    """`ringside.stats.ratio` → `stats`; `ringside` for the package's own `__init__`. A module or package that
    stands in another layer than the rest of its package is named in LAYERS by itself."""
    parts = module.removeprefix("ringside.").split(".")
    if parts[0] == "workloads" and parts[-1] == "check":
        return "workloads.check"
    names = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    return next((name for name in names if any(name in layer for layer in LAYERS)), parts[0])


def layer(name: str) -> int:
    for number, names in enumerate(LAYERS):
        if name in names:
            return number
    raise AssertionError(f"package {name} is in no layer: add it to LAYERS")


def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def imports(file: Path) -> set[str]:
    """All modules that a file imports, anywhere in it, ours as modules of `MODULES`."""
    names = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                names.add(inside if inside in MODULES else node.module)
    return names


def ours(file: Path) -> set[str]:
    return {name for name in imports(file) if name in MODULES}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_go_downwards(module: str) -> None:
    own = package(module)
    for target in ours(MODULES[module]):
        if package(target) != own:
            assert layer(package(target)) < layer(own), f"{module} imports {target}"


def assert_no_circle(graph: Mapping[str, set[str]]) -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path[path.index(name) :], name))
        if name not in done:
            for target in sorted(graph.get(name, ())):
                visit(target, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert_no_circle({module: ours(file) for module, file in MODULES.items()})


# Between the top folders, LAYERS say it.
PACKAGES = sorted(name for name, file in MODULES.items() if file.name == "__init__.py" and name != "ringside")


@pytest.mark.parametrize("parent", PACKAGES)
def test_no_folders_of_a_package_import_each_other_in_a_circle(parent: str) -> None:
    """Modules of two folders may form no circle of their own and still need each other's folder."""

    def child(module: str) -> str:
        return module.removeprefix(f"{parent}.").split(".")[0] if module.startswith(f"{parent}.") else ""

    graph: dict[str, set[str]] = {}
    for module, file in MODULES.items():
        if child(module):
            graph.setdefault(child(module), set()).update(map(child, ours(file)))
    assert_no_circle({name: targets - {name, ""} for name, targets in graph.items()})


def test_render_has_five_folders_and_no_loose_files() -> None:
    children = {path.name for path in (SOURCE / "render").iterdir() if path.name != "__pycache__"}
    # `posts` goes to scripts/.
    assert children - {"posts"} == {"__init__.py", "text", "html", "plots", "site", "export"}


# Modules that only read rows and figures must not be able to start anything.
STARTERS = {"subprocess", "socket", "threading", "multiprocessing"}


@pytest.mark.parametrize("part", ["model", "stats", "analysis", "render"])
def test_readers_cannot_start_anything(part: str) -> None:
    for module, file in MODULES.items():
        if package(module) == part:
            assert not imports(file) & STARTERS, module
            assert not [name for name in ours(file) if package(name).startswith("measure")], module


FORMATTERS = {"json", "rich", "jinja2", "ringside.units"}


def formatting(tree: ast.Module) -> list[int]:
    """The lines that format values: f-strings with a format specification, and templates that are filled in
    by `format` or `%`. Plain f-strings are left to names (`nodes=10`) and to messages of errors."""

    def formats(node: ast.AST) -> bool:
        if isinstance(node, ast.FormattedValue):
            return node.format_spec is not None or node.conversion != -1
        if isinstance(node, ast.Attribute):
            return node.attr in ("format", "format_map")
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "format"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            template = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
            return template or isinstance(node.left, ast.JoinedStr)
        return False

    return [getattr(node, "lineno", 0) for node in ast.walk(tree) if formats(node)]


@pytest.mark.parametrize("module", sorted(name for name in MODULES if package(name) == "analysis"))
def test_analysis_formats_nothing(module: str) -> None:
    names = imports(MODULES[module])
    assert not {name for name in names if name in FORMATTERS or name.split(".")[0] in FORMATTERS}, module
    assert not [name for name in names if name in MODULES and package(name) == "render"], module
    assert formatting(tree_of(MODULES[module])) == [], module


COMPUTERS = {"numpy", "scipy", "statistics", "sqlite3"}
STORES, BELOW = {"ringside.store", "ringside.store.database"}, ("arrays", "stats", "measure")


@pytest.mark.parametrize("module", sorted(name for name in MODULES if package(name) == "render"))
def test_render_computes_nothing_and_opens_no_store(module: str) -> None:
    names = imports(MODULES[module])
    assert not {name for name in names if name.split(".")[0] in COMPUTERS}, module
    assert not [name for name in names if name in MODULES and package(name) in BELOW], module
    assert not names & STORES, module


def imported_from_analysis(tree: ast.Module) -> list[tuple[str, str]]:
    """The names that a module imports from those of `analysis`, with theirs."""
    return [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("ringside.analysis")
        for alias in node.names
    ]


@cache
def classes(module: str) -> set[str]:
    return {node.name for node in tree_of(MODULES[module]).body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("module", sorted(name for name in MODULES if package(name) == "render"))
def test_render_takes_types_and_constants_of_analysis_and_calls_nothing_of_it(module: str) -> None:
    for source, name in imported_from_analysis(tree_of(MODULES[module])):
        assert name in classes(source) or name.isupper(), f"{module} imports {name} of {source}"


def test_the_cluster_is_reached_by_its_entry_point_alone() -> None:
    importers = {each for each, file in MODULES.items() for name in ours(file) if package(name) == "cluster"}
    assert {package(module) for module in importers} == {"cluster"}


# --- all that is known of a workload stands in its folder: no other module of the source names one ---


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
    names = named(tree_of(file)) - OTHER_MEANINGS.get(place, set())
    assert not names, f"{place} names {', '.join(sorted(names))}"
