"""Documents that are made from a record: scripts/results.py, with the golden showdown in place of one."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from ringside.analysis.run import RunAnalysis
from tests.render import test_golden
from tests.support import ROOT


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results", ROOT / "scripts" / "results.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RESULTS = script()


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[RunAnalysis]:
    return test_golden.analyses(tmp_path_factory.mktemp("golden"))


def test_claims_are_those_of_each_source_with_figures(parts: list[RunAnalysis]) -> None:
    sources = RESULTS.published()
    text = RESULTS.claims(parts, sources)
    dates = [re.escape(source.date) for source in sorted(sources, key=lambda source: source.date)]
    assert re.search(".*".join(rf"^## [^\n]* \({date}\)$" for date in dates), text, re.DOTALL | re.MULTILINE)
    for source in sources:
        for claim in source.claims:
            assert text.count(f"| {RESULTS.escape(claim.text)} |") == 1
    assert "Then and now" in text
    assert re.search(r"Claims of the posts: (\d+ [a-z ]+, )*\d+ not tested here\. Of other", text)


def test_findings_are_the_widest_gaps_each_with_its_command(parts: list[RunAnalysis]) -> None:
    lines = RESULTS.findings(parts).splitlines()
    assert len(lines) == RESULTS.FINDINGS
    assert all(
        re.fullmatch(r"- \*\*.+\*\*, .+: \S+ .+, [0-9.,]+ times \(.+\)\. `ringside run showdown-\w+`", line)
        for line in lines
    )
    # One for each problem, and none of what is tuned by hand.
    assert len({line.split("`")[1] for line in lines}) == RESULTS.FINDINGS
    assert "limit" not in "".join(lines)


def test_the_overview_as_a_picture(parts: list[RunAnalysis]) -> None:
    assert RESULTS.picture(parts).startswith(b"\x89PNG")
    rows = RESULTS.overview_panel(RESULTS.overview(parts)).spec["datasets"]["rows"]
    of_ring = {row["contender"]: row for row in rows if row["problem"] == "ring"}
    assert of_ring["erlang"]["shown"] == "1.00"
    assert 0.05 < float(of_ring["limit"]["shown"]) < 0.09
    assert of_ring["limit"]["behind"] == 0
    # A hundred times behind, and more, is the darkest.
    assert of_ring["python-threads"]["behind"] == 2
    assert of_ring["python-threads"]["dark"]
    assert "go-workers" not in of_ring


def test_the_documents_are_what_the_record_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert RESULTS.main(["--check"]) == 0, capsys.readouterr().err


def test_only_the_findings_of_the_readme_are_replaced(parts: list[RunAnalysis], tmp_path: Path) -> None:
    del tmp_path
    today = RESULTS.BEGIN.format(RESULTS.TODAY)
    changed = RESULTS.readme(f"before\n{today}\nold\n{RESULTS.END}\nbehind\n", parts)
    assert changed.startswith(f"before\n{today}\n- ")
    assert changed.endswith(f"\n{RESULTS.END}\nbehind\n")
    assert "old" not in changed
    with pytest.raises(SystemExit, match=r"README\.md must have one"):
        RESULTS.readme("nothing", parts)
