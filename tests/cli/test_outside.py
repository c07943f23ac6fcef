"""Contenders from outside the catalogue: `--with`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cases import cases
from tests.support.command_line import in_process
from tests.support.fake_contenders import FAKES, PYTHON, write_fake


@pytest.fixture
def mine(workplace: Path) -> Callable[..., Path]:
    def make(name: str, parent: str = "elsewhere") -> Path:
        folder = workplace / parent / name
        write_fake(folder)
        return folder

    return make


SMALL = ("--set", "nodes=4", "--set", "messages=5", "--blocks", "1", "--json")


def test_a_workload_with_two_folders(mine: Callable[..., Path]) -> None:
    one, other = mine("mine"), mine("other")
    done = in_process("run", "ring", "--with", f"{one}/", "--with", "elsewhere/other/contender.toml", *SMALL)
    document = json.loads(done.stdout)
    assert {cell["contender"]: cell["outcomes"] for cell in document["cells"]} == {
        "mine": {"ok": 1},
        "other": {"ok": 1},
    }
    table = in_process("list", "contenders", "--with", str(other)).stdout
    assert "other " in table
    assert "python-threads" in table
    # The run can go on and be repeated, with the same words or without them.
    named = ("--with", str(one), "--with", str(other))
    used = f", as in run {document['run']}\n"
    for words in (named, ()):
        again = in_process("run", "--resume", "latest", *words, "--json")
        repeated = in_process("repeat", "latest", "mine", *words)
        assert "is finished" in again.stderr
        assert "mine at nodes=4" in repeated.stdout
        assert (used in again.stderr, used in repeated.stderr) == (not words, not words)
    other.rename(other.with_name("renamed"))
    repeated = in_process("repeat", "latest", "mine")
    assert f" of run {document['run']} is not there: name it with --with\n" in repeated.stderr
    assert "mine at nodes=4" in repeated.stdout


def test_a_server_without_a_manifest(workplace: Path) -> None:
    """It speaks no contract, and gets its port as its users are used to."""
    server = f"mine={PYTHON} {FAKES / 'server.py'} plain port={{port}}"
    small = ("--set", "load=single", "--set", "n=20", "--blocks", "1", "--json")
    done = in_process("run", "fib", "--with", server, *small)
    (cell,) = json.loads(done.stdout)["cells"]
    assert (cell["contender"], cell["outcomes"]) == ("mine", {"ok": 1}), done.stderr


def test_the_folder_of_a_contender_of_the_catalogue_is_no_second_one(mine: Callable[..., Path]) -> None:
    folder = mine("mine", "contenders")
    assert json.loads(in_process("run", "ring", "--with", str(folder), *SMALL).stdout)["cells"]


@pytest.mark.parametrize(("words", "text"), cases(__file__, "what_is_wrong_is_one_line"))
def test_what_is_wrong_is_one_line(
    complaint: Callable[..., str], mine: Callable[..., Path], words: tuple[str, ...], text: str
) -> None:
    for folder, parent in (("mine", "a"), ("mine", "b"), ("limit", "a"), ("broken", "a")):
        mine(folder, parent)
    Path("a/broken/contender.toml").write_text("titel = 'x'\n", encoding="utf-8")
    Path("elsewhere").mkdir()
    options = [option for word in words for option in ("--with", word)]
    for command in (("run", "fib"), ("list", "contenders")):
        assert text in complaint(*command, *options)
