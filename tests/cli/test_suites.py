"""Suites and services as a user meets them: the real command, real trials, fakes for contenders."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from scripts import showdown

from ringside.measure import host
from ringside.measure.runs.campaign import LocalCampaign
from ringside.measure.toolchain import apt
from tests.support.cases import cases
from tests.support.command_line import in_process, parsed
from tests.support.fake_contenders import PYTHON, Add, add_build, append, edit, manifest_of

Complaint = Callable[..., str]


@pytest.fixture
def suite(workplace: Path, add_experiment: Add, add_suite: Add) -> Path:
    """A suite of two experiments, with a contender in both and one in the second alone."""
    add_experiment("first", "one")
    add_experiment("second", "one", "two")
    add_suite("both", "first", "second")
    return workplace


def test_a_suite_is_run_shown_and_reported_together(suite: Path) -> None:
    document = parsed("run", "both")
    assert [run["experiment"] for run in document["runs"]] == ["first", "second"]
    assert document["suite"].endswith("-both")
    assert parsed("show") == document
    assert parsed("show", document["suite"]) == document
    single = parsed("show", document["runs"][0]["run"])
    assert single["experiment"] == "first"
    in_process("report", "-o", "page.html")
    page = (suite / "page.html").read_text()
    assert all(run["run"] in page for run in document["runs"])
    assert in_process("show", "--csv").stdout.count("contender,nodes") == 2
    assert "Both (first, second)" in " ".join(in_process("list", "experiments", COLUMNS="300").stdout.split())


def test_what_would_be_measured_is_shown_and_nothing_is(suite: Path) -> None:
    planned = in_process("run", "both", "--dry-run", "--blocks", "9", "--set", "nodes=10,100").stdout
    rows = {row.split()[0]: row.split()[1:] for row in planned.splitlines() if row[:5] in ("first", "secon")}
    most = ["up", "to", "9", "about"]
    first, second = [*most, "1", "s", "per", "block"], [*most, "2", "s", "per", "block"]
    assert rows == {"first": ["ring", "1", "2", "2", *first], "second": ["ring", "2", "2", "4", *second]}
    assert not list(suite.rglob("*.sqlite"))
    refused = in_process("run", "both", "--dry-run", "--json", status=2)
    assert refused.stderr.startswith("ringside: --dry-run and --json exclude each other")
    assert len(in_process("run", "nothing", "--dry-run", status=2).stderr.splitlines()) == 1


def test_each_part_is_printed_once_and_the_overview_behind_all(suite: Path) -> None:
    printed = in_process("run", "both").stdout
    titles = [r"first: \d", r"second: \d", "Times the best"]
    for text in (printed, shown := in_process("show").stdout):
        assert re.findall("|".join(titles), text) == [re.search(each, text)[0] for each in titles]  # type: ignore[index]
        assert "\n\n\n" not in text
    # Two experiments of one problem are told apart by their own names.
    assert re.search(r"^program +first +second *$", shown, re.MULTILINE)
    everything = in_process("show", "--all").stdout.splitlines()
    titles = ["first", "second", "Contenders", "Times the best of each problem; * may be first"]
    assert [line for line in everything if line in titles] == titles


def test_parts_are_made_ready_one_after_the_other(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first table waits for no build, and no package, of the second part."""
    add_build(suite / "contenders" / "two", "cp", "fake.py", "{build}")
    manifest = manifest_of(suite, "two")
    edit(manifest, (f'"{PYTHON}"', '"two-runtime"'), ('"3.11"\n', '"3.11"\ninstall = { debian = ["two"] }\n'))
    programs = suite / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(host, "os_release", lambda: {"ID": "debian", "VERSION_ID": "12"})
    asked: list[tuple[str, ...]] = []

    def bring(log: Path, *words: str, tries: int = 1) -> bool:
        asked.append(words)
        if words[0] == "install":
            (programs / "two-runtime").symlink_to(sys.executable)
        return True

    monkeypatch.setattr(apt, "apt_get", bring)
    without = in_process("run", "both", status=1)
    assert "needs two-runtime 3.11 or newer: not found" in without.stderr
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    told = in_process("run", "both", "--setup", status=1).stderr
    assert told.count("missing runtimes; get them with: sudo apt-get install -y two") == 1
    assert told.index("missing runtimes") < told.index("part 2")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not asked
    done = in_process("run", "both", "--setup", "--json")
    assert [words[0] for words in asked] == ["update", "install"]
    assert [line for line in done.stderr.splitlines() if line != "warming up"] == [
        "part 1 of 2: first (then second)",
        "part 1 of 2: first (then second): block 1 of 1",
        "part 2 of 2: second",
        "installing runtimes with apt-get: two",
        "building two",
        "part 2 of 2: second: block 1 of 1",
    ]
    assert [len(run["cells"]) for run in json.loads(done.stdout)["runs"]] == [1, 2]


def test_a_later_part_has_no_room(suite: Path, add_experiment: Add, monkeypatch: pytest.MonkeyPatch) -> None:
    add_experiment("second", "one", "two", workload="batch", factors="cases = 3\nsize = 2\n")
    for name in ("one", "two"):
        append(manifest_of(suite, name), "\n[workload.batch]\ncommand = ['true']\n")
    usage = shutil.disk_usage(suite)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1))
    done = in_process("run", "both", status=2)
    said = done.stderr.splitlines()[-1]
    assert said.startswith("ringside: the input batch-3x2-seed1.txt takes up to 0 MB in ")
    hint = re.search(r"`ringside run --resume (\S+)` continues it, `ringside show \1` shows", said)
    assert hint is not None
    assert "first" in in_process("show", hint[1]).stdout
    assert "first" in in_process("run", "--resume", hint[1], status=2).stdout


def test_an_interrupt_before_the_first_run_ends_all(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalCampaign, "prepare", interrupt)
    said = in_process("run", "both", status=130).stderr.splitlines()
    assert said == ["part 1 of 2: first (then second)", "ringside: interrupted"]


def test_a_suite_that_was_cut_off_goes_on(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`scripts/showdown.py` finds it for a day."""
    monkeypatch.setattr(showdown, "NAME", "both")
    assert showdown.unfinished() is None
    # The time is over in the warm-up of the first part.
    document = parsed("run", "both", "--blocks", "3", "--time", "1ms", status=1)
    assert [run["blocks"] for run in document["runs"]] == [0]
    assert showdown.unfinished() == document["suite"]
    with monkeypatch.context() as patch:
        patch.setattr(showdown, "RECENT", timedelta())
        assert showdown.unfinished() is None
    resumed = in_process("run", "--resume", document["suite"], "--json")
    assert [run["blocks"] for run in json.loads(resumed.stdout)["runs"]] == [3, 3]
    assert in_process("show", document["suite"], "--json").stdout == resumed.stdout
    assert showdown.unfinished() is None
    again = in_process("run", "--resume", "both", "--json")
    assert f"ringside: {document['suite']} is finished: nothing is left" in again.stderr
    assert again.stdout == resumed.stdout


@pytest.mark.parametrize(("text", "line"), cases(__file__, "wrong_use_of_suites"))
@pytest.mark.usefixtures("suite")
def test_wrong_use_of_suites(add_suite: Add, complaint: Complaint, text: str, line: str) -> None:
    add_suite("both", "first", more=text)
    assert line in complaint("run", "both")
