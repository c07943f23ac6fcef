"""`vs` and `load --vs` keep their runs: the other commands take them as they take those of `run`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import in_process
from tests.support.started import LOAD_SERVER, ports_of
from tests.support.stored_trials import kept_runs


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    with ports_of(LOAD_SERVER) as (http, _):
        yield f"http://127.0.0.1:{http}"


def check_commands_take(first: str, second: str, contenders: tuple[str, str], metric: str) -> None:
    """Show, report, compare and export two runs."""
    shown = in_process("show", first).stdout
    assert first in shown
    assert in_process("show", "latest").stdout == in_process("show", second).stdout
    document = json.loads(in_process("show", first, "--json").stdout)
    assert (document["format"], document["run"], document["blocks"]) == (2, first, 6)
    assert [cell["contender"] for cell in document["cells"]] == ["A", "B"]
    assert all(cell["outcomes"] == {"ok": 6} for cell in document["cells"])
    assert all(cell["metrics"][metric]["n"] == 6 for cell in document["cells"])
    (comparison,) = [each for each in document["comparisons"] if each["metric"] == metric]
    assert comparison["low"] <= comparison["ratio"] <= comparison["high"]
    page = Path.cwd().parent / "page.html"
    in_process("report", first, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert first in text
    assert all(contender in text for contender in contenders)
    changes = in_process("compare", first, second).stdout
    assert f"from {first} to {second}" in changes
    exported = json.loads(in_process("export", first, "--format", "pyperf").stdout)
    values = {each["metadata"]["name"]: len(each["runs"]) for each in exported["benchmarks"]}
    experiment = document["experiment"]
    assert [values[f"{experiment} {name} {metric}"] for name in "AB"] == [6, 6]


def test_runs_of_vs(workplace: Path) -> None:
    words = ("vs", "sleep 0.001", "sleep 0.002", "--blocks", "6")
    printed = in_process(*words).stdout
    (first,) = re.findall(r"run (\S+-vs); one build, one boot$", printed, re.MULTILINE)
    in_process(*words)
    (listed, state), (second, other_state) = kept_runs()
    assert (listed, state, other_state) == (first, "done", "done")
    check_commands_take(first, second, ("sleep 0.001", "sleep 0.002"), "wall_s")
    assert not list(workplace.iterdir())


def test_runs_of_load_vs(workplace: Path, target: str) -> None:
    words = ("load", f"{target}/a", "--vs", f"{target}/b", "--requests", "60", "--connections", "2")
    printed = in_process(*words, "--blocks", "6").stdout
    (first,) = re.findall(r"run (\S+-load-vs)$", printed, re.MULTILINE)
    in_process(*words, "--blocks", "6")
    (listed, state), (second, other_state) = kept_runs()
    assert (listed, state, other_state) == (first, "done", "done")
    check_commands_take(first, second, (f"{target}/a", f"{target}/b"), "latency_p50")
    assert not list(workplace.iterdir())


def test_where_runs_of_vs_are_kept(workplace: Path) -> None:
    words = ("vs", "true", "true", "--blocks", "1")
    in_process(*words)
    assert not list(workplace.iterdir())
    users = workplace.parent / "state" / "ringside" / "ringside.sqlite"
    assert users.exists()
    in_process(*words, "--store", "mine.sqlite")
    assert (workplace / "mine.sqlite").exists()
    # A folder that has a store of its own keeps them itself.
    (workplace / ".ringside").mkdir()
    in_process(*words)
    assert (workplace / ".ringside" / "ringside.sqlite").exists()
    assert len(kept_runs()) == 1


def test_a_command_that_failed_leaves_a_run_that_was_cut_off(workplace: Path) -> None:
    in_process("vs", "true", "false", "--blocks", "2", status=1)
    ((run, state),) = kept_runs()
    assert state == "cut off"
    line = in_process("run", "--resume", run, status=2).stderr
    resume = f"`ringside vs --resume {run}` continues it"
    assert line == f"ringside: run {run} is not one of `ringside run`: {resume}\n"
