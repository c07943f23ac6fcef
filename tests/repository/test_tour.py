"""Pages that show the tree and the records (scripts/tour.py), and the commands of docs/TOUR.md."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import tour

from ringside.workloads import WORKLOADS

TEXT = tour.TOUR.read_text(encoding="utf-8")
COMMANDS = re.findall(r"```console\n\s*(.*?)\n\s*```", TEXT)


@pytest.mark.parametrize("page", tour.PAGES, ids=lambda page: page.name)
def test_source_figures_and_output_are_those_of_the_tree_and_the_records(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert tour.filled(text, tour.analyses_of_records()) == text, "run scripts/tour.py"


def test_what_a_command_prints_is_filled_in() -> None:
    made = tour.output("--help: Usage ... Options:")
    assert made.startswith("```\n$ ringside --help\nUsage: ringside [OPTIONS] COMMAND")
    assert made.endswith("\nOptions:\n```\n")
    with pytest.raises(SystemExit, match="--help has no line with `nothing like it`"):
        tour.output("--help: nothing like it")


def test_each_of_the_five_models_has_source_figures_and_exercises() -> None:
    sections = re.split(r"^## \d\. ", TEXT, flags=re.MULTILINE)[1:]
    assert len(sections) == 5
    for section in sections:
        assert "<!-- source: contenders/" in section, section[:40]
        assert "<!-- figures: " in section, section[:40]
        assert section.count("```console") >= 2, section[:40]


def test_source_that_is_not_there_is_an_error() -> None:
    with pytest.raises(SystemExit, match="has no line with `relay_nothing`"):
        tour.source("contenders/go/ring/ring.go: relay_nothing")


def test_a_place_is_filled_anew() -> None:
    text = "<!-- source: contenders/go/ring/ring.go: func terminator ... ^} -->\nold\n<!-- end -->\n"
    made = tour.filled(text, {})
    assert "old" not in made
    assert "```go\nfunc terminator(" in made
    assert tour.filled(made, {}) == made


def test_commands_name_workloads() -> None:
    for command in COMMANDS:
        assert command.split()[:2] == ["ringside", "run"]
        assert command.split()[2] in WORKLOADS


@pytest.mark.parametrize(
    "command",
    [pytest.param(one, marks=() if "c-pthreads" in one else pytest.mark.soak) for one in COMMANDS],
)
def test_a_command_works_as_it_is_written(command: str, tmp_path: Path) -> None:
    """With one block in place of seven: it is a question of the command, not of its figures."""
    words = shlex.split(command.replace("--blocks 7", "--blocks 1"))
    program = str(Path(sys.executable).with_name("ringside"))
    environment = {**os.environ, "RINGSIDE_STORE": str(tmp_path / "store.sqlite")}
    done = subprocess.run(
        [program, *words[1:]], cwd=tour.ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
