"""`vs` and `load --vs` keep their runs: the other commands take them as they take those of `run`."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line import in_process, parsed
from tests.support.stored_trials import kept_runs

RUNS = [
    ("vs 'sleep 0.001' 'sleep 0.002'", ("sleep 0.001", "sleep 0.002"), "wall_s"),
    ("load {http}/a --vs {http}/b --requests 60 --connections 2", ("{http}/a", "{http}/b"), "latency_p50"),
]


@pytest.mark.parametrize(("command", "contenders", "metric"), RUNS, ids=["vs", "load"])
def test_show_report_compare_and_export_take_its_runs(
    workplace: Path, http: str, command: str, contenders: tuple[str, str], metric: str
) -> None:
    words = [*shlex.split(command.format(http=http)), "--blocks", "6"]
    printed = [in_process(*words).stdout for _ in range(2)]
    first, second = (re.findall(r"run (\S+-vs[-\d]*)\b", each)[0] for each in printed)
    assert kept_runs() == [(first, "done"), (second, "done")]
    shown = in_process("show", first).stdout
    assert first in shown
    assert in_process("show", "latest").stdout == in_process("show", second).stdout
    document = parsed("show", first)
    assert (document["format"], document["run"], document["blocks"]) == (2, first, 6)
    assert [cell["contender"] for cell in document["cells"]] == ["A", "B"]
    assert all(cell["outcomes"] == {"ok": 6} for cell in document["cells"])
    assert all(cell["metrics"][metric]["n"] == 6 for cell in document["cells"])
    (comparison,) = [each for each in document["comparisons"] if each["metric"] == metric]
    assert comparison["low"] <= comparison["ratio"] <= comparison["high"]
    page = workplace.parent / "page.html"
    in_process("report", first, "-o", str(page))
    text = page.read_text(encoding="utf-8")
    assert all(part.format(http=http) in text for part in (first, *contenders))
    assert f"from {first} to {second}" in in_process("compare", first, second).stdout
    exported = json.loads(in_process("export", first, "--format", "pyperf").stdout)
    values = {each["metadata"]["name"]: len(each["runs"]) for each in exported["benchmarks"]}
    assert [values[f"{document['experiment']} {name} {metric}"] for name in "AB"] == [6, 6]
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
