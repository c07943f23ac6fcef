"""The GitHub Action: its script with real runs, and a `gh` that notes what it is asked for."""

import os
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support import ROOT
from tests.support.command_line import captured

EXPERIMENT = """title = "Gate"
workload = "ring"
contenders = ["limit"]
blocks = BLOCKS
[factors]
nodes = 10
messages = NUMBER
"""
GH = """#!/bin/sh
for word; do printf '%s\\n' "$word" >>"$NOTES"; done
echo ---- >>"$NOTES"
case "$*" in *--jq*) cat "$COMMENTS";; esac
"""


class Job:
    """A folder as a runner has it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.notes, self.comments, self.summary = place / "notes", place / "comments", place / "summary"
        self.comments.touch()
        (place / "bin").mkdir()
        (place / "bin" / "gh").write_text(GH, encoding="utf-8")
        (place / "bin" / "gh").chmod(0o755)

    def run(self, *, blocks: int = 1, messages: int = 20, **environment: str) -> CompletedProcess[str]:
        text = EXPERIMENT.replace("BLOCKS", str(blocks)).replace("NUMBER", str(messages))
        (self.place / "gate.toml").write_text(text, encoding="utf-8")
        names = {
            "RINGSIDE": str(Path(sys.executable).with_name("ringside")),
            "EXPERIMENT": "gate.toml",
            "RINGSIDE_STORE": str(self.place / "kept" / "ringside.sqlite"),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_REPOSITORY": "owner/project",
            "GH_TOKEN": "none",
            "PULL_REQUEST": "7",
            "NOTES": str(self.notes),
            "COMMENTS": str(self.comments),
            "PATH": f"{self.place / 'bin'}:{os.environ['PATH']}",
        }
        script = ROOT / "scripts" / "compare_and_comment"
        return captured([script], cwd=self.place, env={**os.environ, **names, **environment}, timeout=None)


@pytest.fixture
def job(workplace: Path) -> Job:
    # Builds of the checkout: compilers take their time.
    (workplace / ".ringside").mkdir()
    (workplace / ".ringside" / "builds").symlink_to(ROOT / ".ringside" / "builds")
    return Job(workplace)


def test_a_second_run_is_compared_and_its_comment_replaced(job: Job) -> None:
    first = job.run()
    assert first.returncode == 0, first.stderr
    assert "nothing to compare it with" in first.stdout
    noted = job.notes.read_text(encoding="utf-8")
    assert "POST\nrepos/owner/project/issues/7/comments\n" in noted
    assert "body=<!-- ringside compare: gate -->\n" in noted

    job.notes.unlink()
    job.comments.write_text("1234\n", encoding="utf-8")
    # Runs of one second would have one id otherwise; and no condition holds after one block.
    second = job.run(FAIL_IF="slower:3%")
    assert second.returncode in (0, 1), second.stderr
    noted = job.notes.read_text(encoding="utf-8")
    assert "PATCH\nrepos/owner/project/issues/comments/1234\n" in noted
    assert "| limit |" in second.stdout
    assert second.stdout in job.summary.read_text(encoding="utf-8")
    assert second.stdout.strip().splitlines()[0] in noted


def test_a_condition_that_applies_fails_the_job(job: Job) -> None:
    assert job.run().returncode == 0
    done = job.run(FAIL_IF="inconclusive")
    assert done.returncode == 1, done.stderr
    assert re.search("too close to call|no verdict possible", done.stdout)


def test_without_a_token_there_is_no_comment(job: Job) -> None:
    assert job.run(GH_TOKEN="").returncode == 0
    assert not job.notes.exists()


def test_an_experiment_that_cannot_be_read_is_wrong_use(job: Job) -> None:
    done = job.run(EXPERIMENT="nowhere.toml")
    assert done.returncode == 2
    assert "nowhere.toml" in done.stderr


def test_the_action_passes_what_the_script_reads() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    script = (ROOT / "scripts" / "compare_and_comment").read_text(encoding="utf-8")
    passed = set(re.findall(r"^        ([A-Z_]+): \$\{\{", action, re.MULTILINE))
    assert passed == {"EXPERIMENT", "FAIL_IF", "RINGSIDE_STORE", "ARGUMENTS", "GH_TOKEN", "PULL_REQUEST"}
    for name in passed - {"RINGSIDE_STORE"}:
        assert re.search(rf"\$\{{?{name}\b", script), name
    declared = set(re.findall(r"^  ([a-z-]+):$", action.partition("\nruns:")[0], re.MULTILINE))
    assert set(re.findall(r"inputs\.([a-z-]+)", action)) == declared
