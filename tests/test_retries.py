"""What stands at the end of a test run about tests that were repeated, and of steps that go on after one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs import ROOT

TESTS = """
from pathlib import Path

HERE = Path(__file__).parent

def tries(name):
    file = HERE / name
    file.write_text(file.read_text() + "." if file.exists() else ".")
    return len(file.read_text())

def test_steady():
    pass

def test_flaky():
    assert tries("flaky") == 2, "the first reason"

def test_flaky_twice():
    number = tries("twice")
    assert number == 3, f"reason {number}"

def test_broken():
    assert False, "always"
"""


def repeated(folder: Path, *words: str, **environment: str) -> tuple[str, int]:
    (folder / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.retries", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--reruns", "2", "-c", os.devnull, "--rootdir", ".", *words, "test_some.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.returncode


def listed(output: str) -> list[str]:
    """The lines of the section, and whatever follows that is not pytest's own."""
    _, head, rest = output.partition("passed only at a second try")
    assert head, output
    lines = rest.splitlines()[1:]
    end = next(number for number, line in enumerate(lines) if re.match(r"=|\d+ (failed|passed)|FAILED", line))
    return lines[:end]


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_flaky_tests_are_listed_with_their_first_failure(tmp_path: Path, workers: tuple[str, ...]) -> None:
    output, status = repeated(tmp_path, *workers)
    assert status == 1
    assert listed(output) == [
        "test_some.py::test_flaky: AssertionError: the first reason",
        "test_some.py::test_flaky_twice: AssertionError: reason 1",
    ]


def test_those_of_the_probe_stand_with_them_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "retried"
    file.write_text("test_probe: FLAKY\n  load::some_test\n")
    output, _ = repeated(tmp_path, RETRIED=str(file))
    assert listed(output)[1:] == [
        "test_some.py::test_flaky_twice: AssertionError: reason 1",
        "test_probe: FLAKY",
        "  load::some_test",
    ]
    assert output.count("load::some_test") == 1
    # Where nothing else was repeated, too.
    output, status = repeated(tmp_path, "-k", "steady", RETRIED=str(file))
    assert status == 0
    assert listed(output) == ["test_probe: FLAKY", "  load::some_test"]


def test_where_nothing_was_repeated_nothing_is_listed(tmp_path: Path) -> None:
    file = tmp_path / "retried"
    file.touch()
    output, status = repeated(tmp_path, "-k", "steady", RETRIED=str(file))
    assert status == 0
    assert "second try" not in output


def test_all_steps_run_and_those_that_failed_are_listed(tmp_path: Path) -> None:
    steps = [f"touch {tmp_path}/first; exit 3", "exit 77", "false", f"touch {tmp_path}/last"]
    done = subprocess.run(
        [ROOT / "scripts" / "each", *steps], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "last"]
    assert done.stderr.splitlines()[-3:] == [
        "each: 2 of 4 failed:",
        f"  exit status 3: {steps[0]}",
        "  exit status 1: false",
    ]
    assert "each: left out: exit 77" in done.stderr
    subprocess.run([ROOT / "scripts" / "each", "true", "exit 77"], check=True)


CARGO = """#!/bin/sh
case " $* " in *" --no-run "*) exit 0 ;; esac
echo "$*" >>"$CARGO_TARGET_DIR/asked"
[ "$(wc -l <"$CARGO_TARGET_DIR/asked")" = 1 ] || exit 0
cat <<'END'
---- pacer::late stdout ----

thread 'pacer::late' panicked at src/pacer.rs:7:5:
3 ms late

failures:
    pacer::late

END
exit 101
"""


def test_flaky_tests_of_the_probe_are_kept_for_the_end(tmp_path: Path) -> None:
    programs, target, retried = tmp_path / "bin", tmp_path / "target", tmp_path / "retried"
    programs.mkdir()
    target.mkdir()
    (programs / "cargo").write_text(CARGO)
    (programs / "cargo").chmod(0o755)
    done = subprocess.run(
        [ROOT / "scripts" / "test_probe"],
        env={
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "CARGO_TARGET_DIR": str(target),
            "RETRIED": str(retried),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert retried.read_text().splitlines() == [
        "test_probe: FLAKY: these tests failed, and passed when they ran again; their first failure:",
        "  pacer::late",
        "    thread 'pacer::late' panicked at src/pacer.rs:7:5:",
        "    3 ms late",
    ]
    assert done.stdout.endswith(retried.read_text())
    assert (target / "asked").read_text().splitlines()[1].endswith("--exact --test-threads 1 pacer::late")
