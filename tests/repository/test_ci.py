"""What CI sets up is there, and what it lacks is no reason to skip a test."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.needed import NEEDED, SAMPLE
from tests.support.programs import ready
from tests.support.skips import NO_PACKAGE

TESTS = f"""
import pytest

def test_of_a_missing_program():
    pytest.skip("perl is not installed")

def test_of_a_missing_module():
    pytest.importorskip("no_such_module_anywhere")

@pytest.mark.skipif(True, reason="the `report` extra is not installed")
def test_of_a_missing_extra():
    pass

def test_of_rights():
    pytest.skip("no cgroup can be made here")

def test_of_a_runtime_without_a_package():
    pytest.skip("{NO_PACKAGE} zig: get it elsewhere")

@pytest.mark.xfail
def test_that_fails_as_expected():
    raise ValueError
"""


@pytest.mark.parametrize("name", NEEDED)
def test_a_contender_that_tests_start_is_ready(name: str) -> None:
    assert ready(name).build.is_dir()


def test_the_list_is_what_make_sets_up() -> None:
    command = [sys.executable, "-m", "tests.support.needed"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(SAMPLE) < set(names) == set(NEEDED)
    # Nothing has changed since now, as far as a checkout has no changes of its own.
    since = {**os.environ, "CHANGED_SINCE": "HEAD"}
    changed = subprocess.run([*command, "integration"], cwd=ROOT, env=since, capture_output=True, text=True)
    own = subprocess.run(
        ["git", "diff", "--name-only", "HEAD", "--", "contenders"], cwd=ROOT, capture_output=True, text=True
    )
    assert set(changed.stdout.split()) == {*NEEDED, *(line.split("/")[1] for line in own.stdout.splitlines())}


@pytest.mark.parametrize(
    ("in_ci", "counts"), [(False, "5 skipped, 1 xfailed"), (True, "2 failed, 2 skipped, 1 xfailed, 1 error")]
)
def test_what_is_missing_is_a_failure_in_ci(tmp_path: Path, in_ci: bool, counts: str) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {"PYTHONPATH": str(ROOT), **({"CI": "true"} if in_ci else {})}
    command = [sys.executable, "-m", "pytest", "-p", "tests.support.skips", "--rootdir=.", "-c", os.devnull]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert counts in done.stdout.splitlines()[-1]
    assert ("CI must have what this test needs: perl is not installed" in done.stdout) is in_ci
