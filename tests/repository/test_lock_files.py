"""The lock files hold what pyproject.toml asks for, so that a fresh environment has all of it, and no package
that needs a newer Rust than Cargo.toml names."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
# If an extra includes others, its requirement is the project itself.
OWN = {"ringside", "ringside-probe"}


def locked(name: str) -> dict[str, set[str]]:
    """The versions by package; more than one where they depend on Python's."""
    found: dict[str, set[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE):
        found.setdefault(canonicalize_name(package), set()).add(version)
    return found


@pytest.mark.parametrize(
    ("lock", "extras", "groups"),
    [("requirements.lock", ["report", "serve"], []), ("requirements-dev.lock", list(EXTRAS), ["dev"])],
)
def test_a_lock_has_every_requirement(lock: str, extras: list[str], groups: list[str]) -> None:
    asked = list(PROJECT["project"]["dependencies"])
    asked += [line for extra in extras for line in EXTRAS[extra]]
    asked += [line for group in groups for line in PROJECT["dependency-groups"][group]]
    requirements = [each for each in map(Requirement, asked) if each.name not in OWN]
    versions = locked(lock)
    missing = {
        str(each): versions.get(canonicalize_name(each.name))
        for each in requirements
        if not any(map(each.specifier.contains, versions.get(canonicalize_name(each.name), ())))
    }
    assert missing == {}, "run scripts/lock"


def test_both_locks_have_the_same_versions() -> None:
    used, tested = locked("requirements.lock"), locked("requirements-dev.lock")
    assert used.items() <= tested.items(), "run scripts/lock"


CRATES = sorted(
    path.parent.relative_to(ROOT)
    for path in [ROOT / "probe/Cargo.toml", *ROOT.glob("contenders/*/Cargo.toml")]
    if "rust-version" in path.read_text(encoding="utf-8")
)
# From these versions of Rust on, Cargo reads an edition and a format of the lock file.
EDITIONS = {"2015": "1.0", "2018": "1.31", "2021": "1.56", "2024": "1.85"}
LOCK_FORMATS = {3: "1.53", 4: "1.78"}


@pytest.mark.parametrize("crate", CRATES, ids=str)
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_no_locked_package_needs_a_newer_rust(crate: Path, machine: str) -> None:
    """By what the packages declare: their own rust-version, where they have one, and their edition."""
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo")
    manifest = ROOT / crate / "Cargo.toml"
    words = ("--locked", "--format-version=1", f"--filter-platform={machine}-unknown-linux-gnu")
    done = subprocess.run(
        ["cargo", "metadata", *words, f"--manifest-path={manifest}"], capture_output=True, check=True
    )
    metadata = json.loads(done.stdout)
    used = {node["id"] for node in metadata["resolve"]["nodes"]}
    packages = [package for package in metadata["packages"] if package["id"] in used]
    [ours] = [one["rust_version"] for one in packages if one["manifest_path"] == str(manifest)]
    needed = {
        f"{one['name']} {one['version']}": max(
            EDITIONS[one["edition"]], one["rust_version"] or "1.0", key=Version
        )
        for one in packages
    }
    needed["Cargo.lock"] = LOCK_FORMATS[tomllib.loads((ROOT / crate / "Cargo.lock").read_text())["version"]]
    assert {name: rust for name, rust in needed.items() if Version(rust) > Version(ours)} == {}
