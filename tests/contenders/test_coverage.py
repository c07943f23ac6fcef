"""The table of contenders says what the manifests say, and each workload that it lacks has a reason."""

import re
from pathlib import Path

import pytest
from scripts import blocks, coverage

from ringside.catalogue.contenders import read_contender
from ringside.errors import CatalogueError
from ringside.model.catalogue import Contender
from tests.support.cases import cases

MANIFEST = """
title = "Some"
family = "threads"
model = "a loop"
queue = "none"
language = "L"
[runtime.sh]
executable = ["sh"]
version = ["echo", "1"]
[workload.ring]
command = ["ring"]
[workload.fib]
class = "bare"
command = ["fib"]
"""


def manifest(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some" / "contender.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_page_has_the_table_of_the_manifests() -> None:
    page = coverage.PAGE.read_text(encoding="utf-8")
    made = blocks.replaced(page, "coverage.py", coverage.table(coverage.bundled()))
    assert page == made, "run scripts/coverage.py"


@pytest.mark.parametrize("one", coverage.bundled(), ids=lambda one: one.name)
def test_a_readme_names_all_tuning(one: Contender) -> None:
    readme = (one.folder / "README.md").read_text(encoding="utf-8")
    names = [name.split("=")[0] for text in one.tuning for name in re.findall("`(.+?)`", text)]
    assert [name for name in names if name not in readme] == []
    assert one.idiom or one.kind == "floor"


def test_every_workload_without_a_contender_has_a_reason() -> None:
    assert coverage.gaps(coverage.bundled()) == [], "add them to `[without]` of the manifest"


def test_the_table_of_one_contender(tmp_path: Path) -> None:
    path = manifest(tmp_path, MANIFEST + '[without]\nbatch = "Too slow."\nfanout = "Too slow."\n')
    one = read_contender(path)["some"]
    assert coverage.table([one]).splitlines()[2:] == [
        "| [some](../contenders/some/README.md) | L | fib (bare), ring |  |"
    ]
    assert ("some", "feed") in coverage.gaps([one])
    assert ("some", "batch") not in coverage.gaps([one])


@pytest.mark.parametrize(("reasons", "message"), cases(__file__, "reasons_that_cannot_be"))
def test_reasons_that_cannot_be(tmp_path: Path, reasons: str, message: str) -> None:
    path = manifest(tmp_path, f"{MANIFEST}[without]\n{reasons}\n")
    with pytest.raises(CatalogueError, match=message):
        read_contender(path)
