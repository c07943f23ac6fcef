"""Pages that show the tree and the records (scripts/tour.py), and the commands of docs/TOUR.md."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from scripts import tour

from tests.support.command_line import captured

TEXT = tour.TOUR.read_text(encoding="utf-8")
README = (tour.ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```console\n\s*(.*?)\n\s*```", TEXT)


@pytest.mark.parametrize("page", tour.PAGES, ids=lambda page: page.name)
def test_source_figures_and_output_are_those_of_the_tree_and_the_records(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert tour.filled(text, tour.analyses_of_records()) == text, "run scripts/tour.py"


@pytest.mark.parametrize(
    ("place", "shown"), re.findall(r"<!-- example: (.*?) -->\n(.*?)<!-- end -->", README, re.DOTALL)
)
def test_an_example_of_readme_is_up_to_date(place: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables begin with these columns, and have these rows; its figures are of one measurement."""

    def table(text: str) -> list[str]:
        head, rows = re.findall(r"^( .*)\n─+\n((?:.+\n)+?)(?:\n|```)", text, re.MULTILINE)[0]
        return [*head.split()[:5], *re.findall(r"^[a-z]+", rows, re.MULTILINE)]

    for name in ("RINGSIDE_STORE", "RINGSIDE_LOCK"):
        monkeypatch.setenv(name, "")  # So that what `example` sets is undone.
    assert table(tour.example(place)) == table(shown)


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=() if "c-pthreads" in one else pytest.mark.soak) for one in COMMANDS]
)
def test_a_command_works_as_it_is_written(command: str, tmp_path: Path) -> None:
    """With one block in place of seven: it is a question of the command, not of its figures."""
    words = shlex.split(command.replace("--blocks 7", "--blocks 1"))
    program = str(Path(sys.executable).with_name("ringside"))
    environment = {**os.environ, "RINGSIDE_STORE": str(tmp_path / "store.sqlite")}
    done = captured([program, *words[1:]], cwd=tour.ROOT, env=environment, timeout=None)
    assert done.returncode == 0, done.stdout + done.stderr
