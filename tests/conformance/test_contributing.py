"""CONTRIBUTING, followed literally, with the core of a contract alone: in Perl, part of every Debian."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.cases import cases
from tests.support.command_line import in_process, parsed
from tests.support.fake_contenders import edit

pytestmark = pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")


def manifest() -> str:
    """The minimal manifest, as the page has it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = re.search(r"^A minimal manifest:\n\n```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block
    return block[1]


@pytest.fixture
def mine(workplace: Path) -> Path:
    folder = workplace / "mine"
    folder.mkdir()
    (folder / "contender.toml").write_text(manifest(), encoding="utf-8")
    shutil.copy(ROOT / "tests" / "fakes" / "ring.pl", folder)
    return folder


@pytest.mark.usefixtures("mine")
def test_a_ring_in_perl_conforms_and_is_measured() -> None:
    checked = in_process("check", "./mine")
    assert checked.stdout == "mine: ring: conforms; not offered: hold, token, capacity, trace, repeats\n"
    document = parsed("check", "./mine", "--quick")
    (workload,) = document["contenders"][0]["workloads"]
    assert workload["not_offered"] == ["hold", "token", "capacity", "trace", "repeats"]
    words = ("--with", "./mine", "--only", "mine", "--set", "nodes=20", "--blocks", "1", "--json")
    document = json.loads(in_process("run", "ring", *words).stdout)
    assert [cell["outcomes"] for cell in document["cells"]] == [{"ok": 1}]
    assert document["cells"][0]["metrics"]["hop_ns"]["n"] == 1


@pytest.mark.usefixtures("mine")
def test_cells_that_need_more_say_what_is_missing() -> None:
    words = ("--with", "./mine", "--set", "mode=pipelined,token", "--blocks", "1", "--json")
    document = json.loads(in_process("run", "ring", *words, status=1).stdout)
    cells = {cell["point"]["mode"]: cell for cell in document["cells"]}
    assert cells["pipelined"]["outcomes"] == {"ok": 1}
    assert cells["token"]["outcomes"] == {"unavailable": 1}
    missing = "mode=token needs the capability `token`, which its manifest does not name"
    assert missing in in_process("show", status=1).stdout


@pytest.mark.parametrize(("changes", "rule"), cases(__file__, "a_mistake_is_named_with_its_rule"))
def test_a_mistake_is_named_with_its_rule(mine: Path, changes: list[tuple[str, str]], rule: str) -> None:
    edit(mine / "ring.pl", *changes)
    done = in_process("check", "./mine", "--quick", status=1)
    assert f"  {rule} (docs/PROTOCOL.md#rule-{rule})" in done.stdout
    assert "by hand:  cd " in done.stdout
