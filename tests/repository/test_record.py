"""scripts/record and the Containerfile, as far as they go without a system of their own."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.cases import cases
from tests.support.command_line import in_process


@pytest.mark.parametrize(("words", "complaint"), cases(__file__, "wrong_use_is_one_line"))
def test_wrong_use_is_one_line(words: list[str], complaint: str) -> None:
    done = subprocess.run([ROOT / "scripts" / "record", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"record: {complaint}")


def test_the_steps_of_a_container_are_scripts_of_ours() -> None:
    steps = re.findall(r"^RUN (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert [step.split()[0] for step in steps] == ["scripts/runtimes", "scripts/setup"]
    assert all(os.access(ROOT / step.split()[0], os.X_OK) for step in steps)


RECORDS = sorted((ROOT / "records").rglob("*.json.xz"))


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(each, marks=[] if each.name == "sleepers-million.json.xz" else pytest.mark.integration)
        for each in RECORDS
    ],
    ids=str,
)
def test_every_record_has_its_pages(record: Path, tmp_path: Path) -> None:
    """Also where an interval reaches 0, which a logarithmic axis does not."""
    forms = {"-o": "page.html", "--site": "site", "--post": "post"}
    words = [word for option, name in forms.items() for word in (option, str(tmp_path / name))]
    in_process("report", "--store", str(record), *words)
    for place in ("page.html", "site/index.html", "post/post.md"):
        assert (tmp_path / place).is_file()
