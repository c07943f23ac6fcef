from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path

import pytest

from ringside.measure import host
from tests.runs import ROOT

OWN = '[project]\nname = "ringside"\n'


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with one commit, of a project that is not ringside."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "other"\n', encoding="utf-8")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=folder, check=True)


def test_facts_are_json_and_true() -> None:
    facts = host.facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["cpus"] == os.cpu_count()
    assert facts["kernel"] == os.uname().release
    assert facts["memory_bytes"] > facts["memory_available_bytes"] > 0
    assert facts["cpu_model"]


def test_the_revision_of_ringsides_own_checkout(repository: Path) -> None:
    (repository / "pyproject.toml").write_text(OWN, encoding="utf-8")
    commit(repository)
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=repository, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert host.facts(repository)["revision"] == head
    (repository / "pyproject.toml").write_text(f"{OWN}# changed\n", encoding="utf-8")
    assert host.facts(repository)["revision"] == f"{head}+changes"


def test_another_projects_revision_is_not_ringsides(repository: Path) -> None:
    """An installed ringside, with its catalogue, in the environment of a checkout of something else."""
    bundled = repository / ".venv" / "lib" / "ringside" / "bundled"
    bundled.mkdir(parents=True)
    assert host.facts(repository)["revision"] is None
    assert host.facts(bundled)["revision"] is None
    # A copy of ringside's sources in it has no revision of its own.
    (bundled / "pyproject.toml").write_text(OWN, encoding="utf-8")
    assert host.facts(bundled)["revision"] is None


def test_outside_a_repository_there_is_no_revision(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(OWN, encoding="utf-8")
    assert host.facts(tmp_path)["revision"] is None


@pytest.mark.parametrize("text", ["", "[project", "project = 1", "[project]\nname = ['ringside']", "[tool]"])
def test_what_is_no_checkout_of_ringside(tmp_path: Path, text: str) -> None:
    assert not host.is_checkout(tmp_path)
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    assert not host.is_checkout(tmp_path)


def test_these_sources_are_a_checkout() -> None:
    assert host.is_checkout(ROOT)
    assert host.SOURCE_FOLDER == ROOT


def test_a_system_without_os_release(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> dict[str, str]:
        raise OSError("no file")

    monkeypatch.setattr(platform, "freedesktop_os_release", missing)
    assert host.os_release() == {}
    assert host.facts()["system"] == "Linux"


def test_what_makes_another_machine() -> None:
    before = {
        "cpu_model": "A",
        "architecture": "x86_64",
        "kernel": "6.1",
        "cpus_usable": [0, 1],
        "load_average": [1.0],
    }
    assert host.differences(before, {**before, "load_average": [2.0]}) == []
    assert host.differences(before, {}) == host.differences({}, before) == []
    assert host.differences(before, {**before, "kernel": "6.2", "cpus_usable": [0]}) == [
        "kernel 6.1, here 6.2",
        "cpus usable 0,1, here 0",
    ]
    assert host.differences(before, {**before, "cpu_model": "B"}) == ["cpu model A, here B"]
    assert host.differences(before, {**before, "architecture": "arm64"}) == [
        "architecture x86_64, here arm64"
    ]
