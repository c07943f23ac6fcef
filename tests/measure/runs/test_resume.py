"""Runs that are cut off by a probe that fails and resumed, or resumed with nothing left to do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ringside.probe.process import find_probe
from tests.support.command_line import in_process
from tests.support.fake_contenders import Add
from tests.support.stored_trials import kept_runs


def outcomes(document: str) -> dict[str, Any]:
    return {cell["contender"]: cell["outcomes"] for cell in json.loads(document)["cells"]}


def test_a_probe_that_keeps_failing_ends_the_run_which_can_be_resumed(
    workplace: Path, tmp_path: Path, add_fake: Add, add_experiment: Add
) -> None:
    """It dies in the third to the fifth trial; each trial gets a process of its own."""
    add_fake("one")
    add_experiment("solo", "one", blocks=4)
    probe = tmp_path / "probe"
    probe.write_text(
        f"""#!/bin/sh
case "$1" in --*) exec {find_probe()} "$@";; esac
echo >> {tmp_path}/trials
case $(wc -l < {tmp_path}/trials) in [345]) echo 'out of paint' >&2; exit 3;; esac
head -n 1 | {find_probe()}
"""
    )
    probe.chmod(0o755)
    done = in_process("run", "solo", status=2, RINGSIDE_PROBE=str(probe))
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert "the probe failed 2 times in a row, last: the probe ended without an outcome: out of paint" in last
    (resume,) = re.findall(r"`ringside run --resume (\S+)` continues it", last)
    assert kept_runs() == [(resume, "cut off")]
    assert outcomes(in_process("show", resume, "--json").stdout) == {"one": {"ok": 1, "probe-failed": 2}}
    assert outcomes(in_process("run", "--resume", resume, "--json").stdout)["one"]["ok"] == 4
    assert kept_runs() == [(resume, "done")]


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
