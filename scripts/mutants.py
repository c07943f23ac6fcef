#!/usr/bin/env python3
"""Mutation testing: how many small changes of the sources the tests notice.

scripts/mutants.py [PACKAGE[/MODULE]…] mutates src/ringside/PACKAGE (stats, measure and analysis by default),
or modules of it only, with the tests of tests/PACKAGE that mirror them; for a whole package with all of its
tests.
It fails if less than 85 % of a package's mutants are killed, or if one survives that tests/mutants.md does
not list with a reason. It takes long and is part of `make soak`. mutmut changes functions only, not the
constants of modules.
MUTANTS_JOBS: how many run at a time, as many as there are CPUs by default.
MUTANTS_SAMPLE: how many of each module are tested, drawn at random and always the same ones; all by default.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KNOWN = ROOT / "tests" / "mutants.md"
PACKAGES = ["stats", "measure", "analysis"]
COMMANDS = re.compile(
    r"from tests\.support\.(command_line import [^\n]*\b(RINGSIDE|ringside)\b|shells import)"
)
# Fewer examples of each property, always the same ones.
PLUGIN = """
from hypothesis import settings

settings.register_profile("mutants", max_examples=25, derandomize=True, deadline=None)


def pytest_configure(config):
    # tests/conftest.py has loaded a profile of its own by now.
    settings.load_profile("mutants")
"""
# What the tests read.
COPIED = ["src", "tests", "contenders", "experiments", "published", "pyproject.toml"]
MIN_KILLED = 0.85
# A mutant that never ends counts as noticed, and so does one whose KeyboardInterrupt ends the tests.
KILLED = {"killed", "timeout", "segfault", "check was interrupted by user"}
# `strict` of zip only asserts something that holds anyway.
EQUIVALENT = re.compile(r",? ?\bstrict=(True|False|None)")
# `function` `old line` → `new line`: reason
LINE = re.compile(r"^- `(?P<function>[^`]+)` `(?P<old>[^`]*)` → `(?P<new>[^`]*)`: (?P<reason>.+)$")
CACHED = re.compile(r"^@(lru_cache\([^\n]*\)|cache)\ndef (\w+)\(", re.MULTILINE)

Mutant = tuple[str, str, str]


def known() -> dict[Mutant, str]:
    """The survivors in the list: function, old and new line → reason."""
    listed = {}
    for line in KNOWN.read_text(encoding="utf-8").splitlines():
        if match := LINE.match(line):
            listed[match["function"], match["old"], match["new"]] = match["reason"]
        elif line.startswith("- "):
            sys.exit(f"{KNOWN}: cannot read {line!r}")
    return listed


def tests_of(package: str, chosen: list[str]) -> list[str]:
    """The test files for a package's modules, or for the chosen modules: test_MODULE.py,
    test_MODULE_SUBJECT.py."""
    folder = ROOT / "tests" / package
    files = [] if chosen else sorted(folder.rglob("test_*.py"))
    for module in chosen:
        of_module = sorted([*folder.rglob(f"test_{module}.py"), *folder.rglob(f"test_{module}_*.py")])
        if not of_module:
            print(f"tests/{package}/test_{module}.py is missing", file=sys.stderr)
        files += of_module
    # Tests of the command start their own processes, which do not contain mutants.
    files = [file for file in files if not COMMANDS.search(file.read_text(encoding="utf-8"))] or files
    return [str(file.relative_to(ROOT)) for file in dict.fromkeys(files)]


def prepare(package: str, modules: list[str], folder: Path) -> None:
    """A copy of the repository in which mutmut is configured for one package, or modules of it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    # mutmut leaves decorated functions alone, so caches are added to the functions at the end of the module
    # instead.
    for path in (folder / "src" / "ringside" / package).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        caches = [f"{name} = {cache}({name})\n" for cache, name in CACHED.findall(text)]
        path.write_text(CACHED.sub(r"def \2(", text) + "".join(caches), encoding="utf-8")
    (folder / "tests" / "few_examples.py").write_text(PLUGIN, encoding="utf-8")
    options: dict[str, object] = {
        "source_paths": ["src"],
        # `*` fits folders of any depth, but not none.
        "only_mutate": [
            f"src/ringside/{package}/{folders}{module}.py"
            for module in modules or ["*"]
            for folders in ("", "*/")
        ],
        "also_copy": [name for name in COPIED if name not in ("src", "tests")],
        "pytest_add_cli_args": ["-p", "no:cacheprovider", "-p", "tests.few_examples"],
        "pytest_add_cli_args_test_selection": [
            *tests_of(package, modules),
            "-m",
            "not soak and not integration",
        ],
        # Workers must not inherit cached values from the first run of the tests.
        "process_isolation": "forkserver",
        # In seconds. A mutant that takes fifteen times as long counts as one that never ends.
        "timeout_constant": 6.0,
    }
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as config:
        config.write("\n[tool.mutmut]\n")
        config.writelines(f"{name} = {json.dumps(value)}\n" for name, value in options.items())


def mutmut(folder: Path, *arguments: str, may_fail: bool = False) -> str:
    """The output of a mutmut command."""
    command = ["nice", "-n", "5", str(ROOT / ".venv" / "bin" / "mutmut"), *arguments]
    result = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if may_fail else None,
        text=True,
    )
    if result.returncode and not may_fail:
        print(result.stdout[-3000:], file=sys.stderr)
        sys.exit(f"mutmut {arguments[0]} failed in {folder}")
    return result.stdout


def statuses(folder: Path) -> dict[str, str]:
    """The status of each mutant by its name."""
    pairs = (line.split(": ") for line in mutmut(folder, "results", "--all", "true").splitlines())
    return {name.strip(): status.strip() for name, status in pairs}


def module_of(name: str) -> str:
    """The module that a mutant changes."""
    return name.split(".")[-2]


def sample(folder: Path, size: int) -> list[str]:
    """The names of this many mutants of each module."""
    # No mutant has this name: mutmut makes the mutants and times the tests, but tests nothing.
    mutmut(folder, "run", "none", may_fail=True)
    by_module: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(statuses(folder)):
        by_module[module_of(name)].append(name)
    return [
        name
        for module, names in by_module.items()
        for name in random.Random(module).sample(names, min(size, len(names)))
    ]


def mutant(folder: Path, name: str) -> Mutant:
    """What a mutant changes: the function, its lines before and after."""
    diff = mutmut(folder, "show", name).splitlines()
    old = [line[1:].strip() for line in diff if line.startswith("-") and not line.startswith("---")]
    new = [line[1:].strip() for line in diff if line.startswith("+") and not line.startswith("+++")]
    function = re.sub(r"__mutmut_\d+$", "", name).removeprefix("ringside.")
    function = re.sub(r"\.xǁ(\w+)ǁ", r".\1.", function).replace(".x_", ".")
    return function, " ".join(old), " ".join(new)


def equivalent(function: str, old: str, new: str) -> bool:
    """Whether no test can notice a change, in any function."""
    return EQUIVALENT.sub("", old) == re.sub(", \\)", ")", EQUIVALENT.sub("", new))


def check(package: str, modules: list[str], listed: dict[Mutant, str]) -> bool:
    """Mutates a package or modules of it, and prints counts and survivors. Returns whether it passes."""
    folder = ROOT / ".ringside" / "mutants" / package
    prepare(package, modules, folder)
    size = int(os.environ.get("MUTANTS_SAMPLE", "0"))
    sampled = sample(folder, size) if size else []
    jobs = os.environ.get("MUTANTS_JOBS", str(os.cpu_count() or 1))
    mutmut(folder, "run", "--max-children", jobs, *sampled)
    by_name = {name: status for name, status in statuses(folder).items() if not sampled or name in sampled}
    changes = {name: mutant(folder, name) for name, status in by_name.items() if status not in KILLED}
    by_module: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, status in by_name.items():
        if name not in changes or not equivalent(*changes[name]):
            by_module[module_of(name)][status] += 1
    counts = sum(by_module.values(), Counter())
    killed = sum(counts[status] for status in KILLED) / max(1, counts.total())
    summary = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    print(f"{package}: {counts.total()} mutants, {killed:.1%} killed ({summary})")
    for module, of_module in sorted(by_module.items()):
        share = sum(of_module[status] for status in KILLED) / of_module.total()
        print(f"    {module}: {of_module.total()} mutants, {share:.1%} killed")
    survivors = {change for change in changes.values() if not equivalent(*change)}
    unlisted = [survivor for survivor in survivors if survivor not in listed]
    for function, old, new in sorted(unlisted):
        print(f"- `{function}` `{old}` → `{new}`: ?")
    if unlisted:
        print(f"{package}: {len(unlisted)} survivors are not in {KNOWN.relative_to(ROOT)}")
    for function, old, new in sorted(set(listed) - survivors if not sampled else ()):
        is_chosen = not modules or any(f".{module}." in function for module in modules)
        if is_chosen and function.startswith(f"{package}."):
            print(f"{package}: listed, but killed or gone: `{function}` `{old}` → `{new}`")
    if killed < MIN_KILLED:
        print(f"{package}: less than {MIN_KILLED:.0%} are killed")
    return killed >= MIN_KILLED and not unlisted


if __name__ == "__main__":
    listed = known()
    modules: defaultdict[str, list[str]] = defaultdict(list)
    for package, _, module in (argument.partition("/") for argument in sys.argv[1:] or PACKAGES):
        modules[package] += [module] if module else []
    passed = [check(package, only, listed) for package, only in modules.items()]
    sys.exit(0 if all(passed) else 1)
