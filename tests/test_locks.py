"""The lock files hold what pyproject.toml asks for, so that a fresh environment has all of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
# Where an extra includes others, its requirement is the project itself.
OWN = {"ringside", "ringside-probe"}


def locked(name: str) -> dict[str, set[str]]:
    """The versions by package; more than one where they depend on Python's."""
    found: dict[str, set[str]] = {}
    for package, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE):
        found.setdefault(canonicalize_name(package), set()).add(version)
    return found


@pytest.mark.parametrize(
    ("lock", "extras", "groups"),
    [
        ("requirements.lock", ["report", "serve"], []),
        ("requirements-dev.lock", list(EXTRAS), ["dev"]),
    ],
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
