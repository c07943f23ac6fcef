"""`ringside check`: every rule has a contender that breaks it, and no other. Each is a copy of a contender of
the catalogue with one thing changed."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringside.conformance.subject import RULES as SHARED
from ringside.workloads import WORKLOADS
from tests.support import ROOT
from tests.support.cases import cases, tables
from tests.support.command_line import RINGSIDE, captured, ringside
from tests.support.fake_contenders import edit

ORIGINAL = "python-threads"
RULES = dict(SHARED)
for each in WORKLOADS.values():
    RULES |= each.rules

# For each rule, and what tells its cases apart: the workload, a file of the original, a text in it, and what
# takes its place; and what the command that repeats the finding shows.
WRONG: dict[str, tuple[str, str, str, str, str]] = tables(__file__, "broken_rules.toml")


def findings(*words: str, status: int) -> list[dict[str, Any]]:
    done = ringside("check", *words, "--json", status=status)
    document = json.loads(done.stdout)
    return [
        finding
        for contender in document["contenders"]
        for workload in contender["workloads"]
        for finding in workload["findings"]
    ]


def test_every_rule_has_a_contender_that_breaks_it() -> None:
    assert {rule.partition(",")[0] for rule in WRONG} == set(RULES)


# A quick check looks at nothing that breaks these.
WHOLE = ("evidence", "growth", "fanout-400", "fanout-ticks", "feed-slow")
# Two are tested by `make test`, those that take a minute by `make soak`, the others by `make integration`.
QUICK, SLOW = ("args-unknown", "quiet"), ("sigterm", "stdin-end")


def _marks(rule: str) -> list[pytest.MarkDecorator]:
    return [] if rule in QUICK else [pytest.mark.soak if rule in SLOW else pytest.mark.integration]


@pytest.mark.parametrize("rule", [pytest.param(rule, marks=_marks(rule)) for rule in WRONG])
def test_a_broken_rule_is_the_only_finding(rule: str, workplace: Path) -> None:
    workload, file, old, new, shown = WRONG[rule]
    folder = shutil.copytree(ROOT / "contenders" / ORIGINAL, workplace / "wrong")
    edit(folder / file, (old, new))
    quick = [] if rule in WHOLE else ["--quick"]
    broken = findings(str(folder), "--workload", workload, *quick, status=1)
    assert [finding["rule"] for finding in broken] == [rule.partition(",")[0]], broken
    line = broken[0]["command"]
    assert str(folder) in line
    if shown:
        # One at a time: these commands share their ports.
        done = captured(["flock", __file__, "sh", "-c", line])
        assert shown in f"{done.stdout} {done.stderr} status {done.returncode}", done


def test_a_contender_that_conforms(workplace: Path) -> None:
    shutil.copytree(ROOT / "contenders" / ORIGINAL, workplace / "mine")
    # The manifest stands for its folder.
    done = ringside("check", "mine/contender.toml", "--quick", "--workload", "jobs")
    assert done.stdout == "mine: jobs: conforms\n"
    assert re.search(r"check: mine took \d+\.\d s \(jobs \d+\.\d\)", done.stderr)


def test_the_rules_are_those_of_the_contract() -> None:
    page = (ROOT / "docs" / "PROTOCOL.md").read_text(encoding="utf-8")
    contract, _, index = page.partition("## The rules that")
    assert sorted(re.findall(r'<a id="rule-([a-z0-9-]+)"></a>', contract)) == sorted(RULES)
    assert sorted(re.findall(r"`([a-z0-9-]+)`\]\(#rule-\1\)", index)) == sorted(RULES)


def test_a_file_is_no_folder(complaint: Callable[..., str]) -> None:
    Path("perl").mkdir()
    Path("perl/ring.pl").touch()
    assert "is a file: name its folder, as in `ringside check ./perl`" in complaint("check", "./perl/ring.pl")


@pytest.mark.parametrize(("words", "text"), cases(__file__, "wrong_use"))
def test_wrong_use(complaint: Callable[..., str], words: tuple[str, ...], text: str) -> None:
    Path("empty").mkdir()
    assert text in complaint("check", *words)


@pytest.mark.parametrize("limit", [90, 227])
def test_too_few_descriptors_for_the_clients_are_an_error(limit: int) -> None:
    """With fewer the rule could not fail: no client would be connected, and none left without an answer."""
    words = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *RINGSIDE]
    words += ["check", ORIGINAL, "--workload", "fib", "--quick"]
    done = captured(words, timeout=60)
    assert done.returncode == 2
    assert f"takes 228 open files, but the hard limit is {limit}" in done.stderr


def test_a_contender_that_cannot_be_built(workplace: Path) -> None:
    (workplace / "mine").mkdir()
    manifest = 'title = "x"\nfamily = "threads"\nmodel = "x"\nqueue = "none"\n'
    manifest += '[runtime.x]\nexecutable = ["no-such-runtime"]\n'
    manifest += 'version = ["{runtime}"]\n[workload.ring]\ncommand = ["{runtime}"]\n'
    (workplace / "mine" / "contender.toml").write_text(manifest, encoding="utf-8")
    done = ringside("check", "./mine", status=1)
    assert done.stdout.startswith("mine cannot be checked: needs no-such-runtime: not found; install")
