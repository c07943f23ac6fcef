"""Runs that are cut off and resumed: by a probe that fails, by another process, or with nothing left to
do."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringside.probe.process import find_probe
from tests.support.command_line import RINGSIDE, in_process
from tests.support.stored_trials import kept_runs

Add = Callable[..., None]
# `ringside`, with seconds instead of minutes for a probe that does not report.
IMPATIENT = """
from ringside.probe.process import Probe
Probe.__init__.__kwdefaults__["grace_s"] = 1.0
from ringside.cli.main import main
main()
"""
FAILURES = {
    "dies": ("echo 'out of paint' >&2; exit 3", "the probe ended without an outcome: out of paint"),
    "prints garbage": ("echo 'no message'; exec cat", "the probe sent an invalid message"),
    "hangs": ("exec sleep 1000", "the probe hung"),
}


@pytest.fixture
def probe(workplace: Path) -> Callable[..., str]:
    """Returns a program that is the probe, but for the trials of these numbers, where it fails."""

    def make(failure: str, *failing: int) -> str:
        folder = workplace.parent / "probe"
        folder.mkdir()
        script = folder / "probe"
        script.write_text(
            f"""#!/bin/sh
case "$1" in --*) exec {find_probe()} "$@";; esac
number=$(($(cat {folder}/number 2>/dev/null || echo 0) + 1))
echo $number > {folder}/number
case " {" ".join(map(str, failing))} " in *" $number "*) {FAILURES[failure][0]};; esac
# One request only: each trial gets a process, and a number, of its own.
head -n 1 | {find_probe()}
"""
        )
        script.chmod(0o755)
        return str(script)

    return make


def outcomes(document: str) -> dict[str, Any]:
    return {cell["contender"]: cell["outcomes"] for cell in json.loads(document)["cells"]}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_probe_that_fails_once_is_a_row_and_the_run_goes_on(
    add_fake: Add,
    add_experiment: Add,
    probe: Callable[..., str],
    failure: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add_fake("one")
    add_experiment("solo", "one", blocks=3, more="[limits]\nwall_s = 2\n")
    # The first trial is the warm-up.
    monkeypatch.setenv("RINGSIDE_PROBE", probe(failure, 3))
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, "run", "solo", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done
    assert outcomes(done.stdout) == {"one": {"ok": 2, "probe-failed": 1}}
    (line,) = [line for line in done.stderr.splitlines() if "probe-failed" in line]
    assert FAILURES[failure][1] in line
    ((run, state),) = kept_runs()
    assert state == "done"
    # The trial that the probe has spoilt is carried out again.
    assert outcomes(in_process("run", "--resume", run, "--json").stdout)["one"]["ok"] == 3
    assert "nothing is left" in in_process("run", "--resume", run).stderr


def test_a_probe_that_keeps_failing_ends_the_run_which_can_be_resumed(
    add_fake: Add, add_experiment: Add, probe: Callable[..., str]
) -> None:
    add_fake("one")
    add_experiment("solo", "one", blocks=4)
    done = in_process("run", "solo", status=2, RINGSIDE_PROBE=probe("dies", 3, 4, 5))
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert "the probe failed 2 times in a row, last: the probe ended without an outcome: out of paint" in last
    (resume,) = re.findall(r"`ringside run --resume (\S+)` continues it", last)
    assert kept_runs() == [(resume, "cut off")]
    assert outcomes(in_process("show", resume, "--json").stdout) == {"one": {"ok": 1, "probe-failed": 2}}
    assert outcomes(in_process("run", "--resume", resume, "--json").stdout)["one"]["ok"] == 4
    assert kept_runs() == [(resume, "done")]


def test_a_run_in_progress_is_left_alone(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    add_fake("slow", "hangs")
    add_experiment("solo", "slow", more="[limits]\nwall_s = 6\n")
    process = subprocess.Popen([*RINGSIDE, "run", "solo"], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        first = process.stderr.readline()
        while not process.stderr.readline().startswith("block 1 of 1"):
            assert process.poll() is None
        (run,) = re.findall(r"^run (\S+):", first)
        assert kept_runs() == [(run, "in progress")]
        refused = in_process("run", "--resume", run, status=2)
        assert refused.stdout == ""
        assert refused.stderr == f"ringside: run {run} is in progress in another process: wait for its end\n"
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert kept_runs() == [(run, "cut off")]


def test_resuming_a_finished_run_says_that_nothing_is_left(
    workplace: Path, add_fake: Add, add_experiment: Add
) -> None:
    add_fake("one")
    add_experiment("solo", "one")
    tables = in_process("run", "solo").stdout
    ((run, _),) = kept_runs()
    again = in_process("run", "--resume", "latest")
    assert again.stdout == tables
    assert again.stderr.splitlines()[0] == f"ringside: {run} is finished: nothing is left"
    # Neither is the contender needed any more.
    (workplace / "contenders" / "one" / "contender.toml").write_text("torn")
    assert in_process("run", "--resume", run).stdout == tables
