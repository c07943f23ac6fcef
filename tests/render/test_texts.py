"""Sentences that readers stumbled over stay away, and the plainer ones are where they belong."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside import units
from ringside.model.results import Interval
from tests.support import ROOT
from tests.support.command_line import ringside

Add = Callable[..., None]

# What was written, and what is written in its place (a regular expression), where that is known.
REPLACED = {
    "the latest if left out": r"Export RUN \(default: latest\)",
    "The tables of RUN, the latest": r"Show RUN's tables \(default: latest\)",
    "Of the engine.": "Requests in flight on a connection of HTTP/2",
    "Before each time, unmeasured": "Run before each execution, untimed",
    "So many, neither more nor fewer": "Exactly N executions of each command",
    "At most so long": "Time limit of one execution",
    "A command that fails counts all the same": "Include failed executions",
    "So many of them at one time": r"Open at one time \[default: 64",
    "each written as one word": "each quoted as one argument",
    "blocks, it takes": r"too few blocks",
    "times as long [default": "Ratios closer to 1 than this are equivalent",
    "prints something else than": "differs from that of",
    "ended with a failure, which counted": "failures included",
    "pairs inside blocks stand it": "paired ratios are robust to this",
    "a machine of one's own": "use a dedicated machine",
    "has a figure of both": r"No block measured the",
    "first so:": "",
    "makes a page of it": "For an HTML report",
    "lends 2": "[{]are[}] available",
    "tells no version": "printed no recognisable version",
    "see the log, mend it": "fix the error in",
    "is no whole number": "must be an integer",
    "https is not spoken": "the server does not speak HTTP/2",
    "are told of": "",
    "it says first": "announces that first",
    "is of use by itself": "",
    "may say more than": "",
    "at a time at the most": "longest stall",
    "only paired figures can be trusted": "trust only paired ratios",
    "not here, see the log": "fix the error in",
    "Three things to try": "Things to try",
    "proves that each did the work": "checks evidence of their work",
    "in which a difference is claimed that is none": "tables with at least one false claim",
    "has what that holds": "shows their real coverage",
    "that the tables show of the headline": "every headline comparison shown has a verdict",
    "make seven blocks nevertheless": "make at least seven blocks",
    "before so many tasks were due": "came only after that many tasks were due",
    "what there was of it does not count": "its earlier trials are discarded",
    "nothing is said where it is missing": "neither installs it nor reports its absence",
    "A new process of the probe": "One probe process carries out trial after trial",
    "Figures are of one machine": "of the machines, that they were measured on",
    "a statement about that ratio and not": "a statement about that ratio, not about medians",
    "two runs of one experiment": "Compare two runs of one workload, OTHER over ONE",
    "as a store that is only read": "reads such a file in place of a store",
}
PLACES = ("src", "README.md", "CONTRIBUTING.md", "docs", "experiments/README.md")


def lines_with(pattern: str, *options: str) -> str:
    command = ["git", "grep", "-nIi", *options, "-e", pattern, "--", *PLACES]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(("before", "after"), REPLACED.items())
def test_a_sentence_was_replaced(before: str, after: str) -> None:
    assert lines_with(before, "-F") == ""
    if after:
        assert lines_with(after, "-E")


def test_the_readme_says_what_other_tools_are_for() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "To measure a function inside a Python process, use pyperf." in text


@pytest.mark.parametrize(
    ("low", "estimate", "high"), [(0.0123, 0.0, 1.5), (1.056, 1.2, 1.5), (-0.4, 0.0, 12.25), (0.0, 0.0, 0.5)]
)
def test_both_ends_of_an_interval_have_the_same_decimals(low: float, estimate: float, high: float) -> None:
    text = units.with_interval(Interval(estimate, low, high, 7), "")
    ends = re.fullmatch(r"\S+ \((.+?)–(.+)\)", text)
    assert ends
    decimals = {len(end.partition(".")[2]) for end in ends.groups() if end != "0"}
    assert len(decimals) == 1, text


def test_one_of_a_kind_is_no_plural(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    add_fake("one")
    add_experiment("solo", "one")
    done = ringside("run", "solo")
    assert re.search(r"^run \S+: 1 cell in 1 block$", done.stderr, re.MULTILINE)
    assert not re.search(r"\b1 (cells|blocks|trials|points|lines|CPUs)\b", done.stdout + done.stderr)


def test_long_texts_of_a_manifest_are_refused_and_leave_lists_readable(
    workplace: Path, add_fake: Add, complaint: Callable[..., str]
) -> None:
    add_fake("one")
    manifest = workplace / "contenders" / "one" / "contender.toml"
    text = manifest.read_text()
    manifest.write_text(text.replace('"A fake"', f'"{"a" * 80}"').replace('"none"', f'"{"q" * 60}"'))
    listed = ringside("list", "contenders", COLUMNS="160").stdout
    assert re.search(r"^one +a{35}… +idiomatic +threads +q{19}… ", listed, re.MULTILINE)
    manifest.write_text(re.sub(r"model .*", f'model = "{"m" * 10_000}"', text))
    line = complaint("setup", "one")
    assert "contender.toml:3: `model` must be text of up to 200 characters, not " in line
    assert len(line) < 400


def test_a_long_model_of_an_earlier_run_does_not_fill_the_page() -> None:
    from ringside.render.tables.contenders import contender_table
    from ringside.store.plans import PlannedContender
    from tests.support.analyses import analysis, point, scaled

    here = point(nodes=10)
    planned = {"go": PlannedContender("Go", model="m" * 10_000, version="1", runs_on="Go")}
    table = contender_table(analysis({("go", here): {"hop_ns": scaled(2.0)}}, contenders=planned))
    assert max(len(cell.text) for row in table.rows for cell in row) == 200
