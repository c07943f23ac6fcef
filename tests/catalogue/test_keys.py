"""The reference of all keys, and what becomes of each mistake in a file."""

import json
import re
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect
from scripts import keys

from ringside.catalogue.decode import decode, read_toml
from ringside.cli import context
from ringside.errors import CatalogueError
from tests.support.cases import cases
from tests.support.command_line import in_process
from tests.support.errors import error_of
from tests.support.fake_contenders import Add, edit, manifest_of

FILES = [file for _, file in keys.FILES]


def test_the_reference_is_that_of_the_types() -> None:
    page = keys.PAGE.read_text(encoding="utf-8")
    assert page == keys.reference(page), "run scripts/keys.py"
    assert ": TODO" not in page


def mistake(workplace: Path, kind: str, text: str) -> str:
    """The error about a file of the catalogue, from its line number on."""
    paths = {
        "contenders": workplace / "contenders" / "x" / "contender.toml",
        "experiments": workplace / "experiments" / "x.toml",
    }
    paths[kind].parent.mkdir(parents=True, exist_ok=True)
    paths[kind].write_text(text, encoding="utf-8")
    catalogue = context.catalogue()
    read = {
        "contenders": catalogue.contender,
        "experiments": catalogue.suite if "parts" in text else catalogue.experiment,
    }[kind]
    line = error_of(CatalogueError, read, "x")
    assert line.startswith(f"{paths[kind]}:")
    return line.removeprefix(f"{paths[kind]}:")


EXPERIMENT = """\
title = "T"
workload = "ring"
contenders = ["go", "limit"]
[factors]
nodes = [10, 100]
[show]
metrics = ["hop_ns"]
"""


@pytest.mark.parametrize(("before", "after", "line"), cases(__file__, "a_mistake_in_an_experiment"))
def test_a_mistake_in_an_experiment_has_its_line(workplace: Path, before: str, after: str, line: str) -> None:
    assert before in EXPERIMENT
    text = EXPERIMENT.replace(before, after, 1)
    if "parts" in after:
        text = text.split("[x]")[0]
    assert mistake(workplace, "experiments", text).startswith(line)


def test_a_number_of_too_many_digits_has_its_line(workplace: Path) -> None:
    text = EXPERIMENT.replace("[10, 100]", "[" + "1" * 5000 + "]")
    assert mistake(workplace, "experiments", text).startswith("7: broken TOML: ")


MANIFEST = """\
title = "T"
family = "threads"
model = "M"
queue = "Q"
[runtime.python]
executable = ["python3"]
version = ["{runtime}", "--version"]
[workload.ring]
command = ["{runtime}", "ring.py"]
"""


@pytest.mark.parametrize(("before", "after", "line"), cases(__file__, "a_mistake_in_a_manifest_has_its_line"))
def test_a_mistake_in_a_manifest_has_its_line(workplace: Path, before: str, after: str, line: str) -> None:
    assert before in MANIFEST
    assert mistake(workplace, "contenders", MANIFEST.replace(before, after, 1)).startswith(line)


@pytest.mark.parametrize("file", FILES)
def test_all_keys_that_are_accepted_are_listed(tmp_path: Path, file: type[msgspec.Struct]) -> None:
    root = inspect.type_info(file)
    assert isinstance(root, inspect.StructType)
    (tmp_path / "x.toml").write_text("zzz = 1\n")
    message = error_of(CatalogueError, decode, read_toml(tmp_path / "x.toml"), file)
    assert message.partition("known here: ")[2].split(", ") == sorted(
        field.encode_name for field in root.fields
    )


def test_a_broken_manifest_disables_only_itself(workplace: Path, add_experiment: Add) -> None:
    add_experiment("trio", "one", "two", "torn")
    edit(manifest_of(workplace, "torn"), ("[workload.ring]", "[workload.rings]"))
    reason = r"torn/contender\.toml:\d+: there is no workload `rings`; did you mean ring\?"
    for words, status in ((["list", "contenders"], 0), (["doctor"], 1)):
        # If PATH has no runtime, none is asked for its version.
        done = in_process(*words, status=status, COLUMNS="250", PATH=str(workplace))
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("torn ")]
        assert re.search(rf"^torn is left out: .*{reason}$", line)
    done = in_process("run", "trio", "--json", status=1)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("torn:")]
    assert re.search(rf"^torn: /.*{reason}", line)
    cells = {cell["contender"]: cell for cell in json.loads(done.stdout)["cells"]}
    assert cells["one"]["outcomes"] == cells["two"]["outcomes"] == {"ok": 1}
    assert cells["torn"]["outcomes"] == {"unavailable": 1}
    assert re.search(reason, cells["torn"]["reason"])
    # If nothing else is asked for, that is the answer.
    assert re.search(reason, in_process("run", "trio", "--only", "torn", status=2).stderr)
