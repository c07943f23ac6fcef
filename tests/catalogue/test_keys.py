"""The reference of all keys, and what becomes of each mistake in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec import inspect

from ringside.catalogue import schema
from ringside.catalogue.decode import decode, description, read_toml, table_in
from ringside.catalogue.decode import tables as tables_below
from ringside.catalogue.reference import reference
from ringside.cli import context
from ringside.errors import CatalogueError
from tests.support import ROOT
from tests.support.command_line import ringside

Add = Callable[..., None]
FILES = (schema.ManifestFile, schema.ExperimentFile, schema.SuiteFile, schema.PublishedFile)


def tables(file: type[msgspec.Struct]) -> list[inspect.StructType]:
    root = inspect.type_info(file)
    assert isinstance(root, inspect.StructType)
    return [root, *(table for _, table in tables_below(root))]


def test_the_reference_is_that_of_the_types() -> None:
    page = (ROOT / "docs" / "KEYS.md").read_text(encoding="utf-8")
    assert page == reference(), "run scripts/keys.py"


def test_each_key_has_a_meaning_and_a_row() -> None:
    page = reference()
    for table in (table for file in FILES for table in tables(file)):
        for field in table.fields:
            if table_in(field.type) is None:
                meaning = description(field.type)
                assert meaning.endswith((".", "…")), field
                row = rf"^\| `\[*{field.encode_name}\]*` \|.*{re.escape(meaning)} \|$"
                assert re.search(row, page, re.MULTILINE), field


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "experiments/README.md"])
def test_the_reference_is_linked(document: str) -> None:
    assert re.search(r"\]\((\.\./)?docs/KEYS\.md", (ROOT / document).read_text(encoding="utf-8"))


def mistake(workplace: Path, kind: str, text: str) -> str:
    """The line about a file of the catalogue, without its folder."""
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
    with pytest.raises(CatalogueError) as caught:
        read("x")
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{paths[kind]}:")
    return line.removeprefix(f"{paths[kind].parent}/")


EXPERIMENT = """\
title = "T"
workload = "ring"
contenders = ["go", "limit"]
[factors]
nodes = [10, 100]
[show]
metrics = ["hop_ns"]
"""


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ('"ring"', '"rings"', "x.toml:2: there is no workload `rings`; did you mean ring?"),
        ('"limit"', '"limt"', "x.toml:3: there is no contender `limt`; did you mean limit?"),
        ('"limit"', '"limit@old"', "x.toml:3: contender `limit` has no runtime `old`; it has: limit"),
        ('"limit"', '"twisted"', "x.toml:3: contender `twisted` takes no part in the workload `ring`"),
        ("contenders", "contestants", "x.toml:3: unknown key `contestants`; did you mean `contenders`?"),
        ("nodes", "nods", "x.toml:5: there is no factor of `ring` called `nods`; did you mean nodes?"),
        ("[10, 100]", "[10, 0]", "x.toml:5: nodes=0 is out of range: "),
        ("[10, 100]", '"ten"', "x.toml:5: nodes=ten: nodes must be an integer"),
        ("nodes = [10, 100]", 'cores = "al"', "x.toml:5: cores=al: cores must be an integer"),
        ('"hop_ns"', '"hop_n"', "x.toml:7: there is no metric of `ring` called `hop_n`; did you mean hop_ns"),
        ("metrics = ", 'sweep = "nods" #', "x.toml:7: there is no factor of `ring` called `nods`; did you"),
        ("[factors]", 'published = "2007"\n[factors]', "x.toml:4: there is no source of published figures"),
        (
            "[factors]",
            "wall_s = 3\n[factors]",
            "x.toml:4: unknown key `wall_s`; its place is [limits]; known",
        ),
        (
            "metrics = ",
            "blocks = 3 #",
            "x.toml:7: unknown key `show.blocks`; its place is the top of the file",
        ),
        ('title = "T"', "", "x.toml:1: `title` is missing"),
        ("[10, 100]", "[10, 100", "x.toml:6: broken TOML: "),
        ("[10, 100]", f"[{'1' * 5000}]", "x.toml:7: broken TOML: "),
        (
            'title = "T"',
            'title = "S"\nparts = ["showdow"]\n[x]',
            "x.toml:2: there is no experiment `showdow`",
        ),
    ],
)
def test_a_mistake_in_an_experiment_has_its_line(workplace: Path, before: str, after: str, line: str) -> None:
    assert before in EXPERIMENT
    text = EXPERIMENT.replace(before, after, 1)
    if "parts" in after:
        text = text.split("[x]")[0]
    assert mistake(workplace, "experiments", text).startswith(line)


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


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("[workload.ring]", "[workload.rings]", "contender.toml:8: there is no workload `rings`; did you"),
        (
            '["{runtime}", "ring',
            '["{runtme}", "ring',
            "contender.toml:9: unknown placeholder `{runtme}`; did",
        ),
        ("title", "titel", "contender.toml:1: `title` is missing; is `titel` meant to be `title`?"),
        (
            "[runtime.python]",
            "[runtimes.python]",
            "contender.toml:5: unknown key `runtimes`; did you mean `ru",
        ),
        ('queue = "Q"', "queue = 1", "contender.toml:4: `queue` must be text of up to 60 characters, not 1"),
        (
            'queue = "Q"',
            'queue = "Q"\nclass = "flor"',
            "contender.toml:5: `class` must be bare, floor or idi",
        ),
        (
            "command",
            "comand",
            "contender.toml:9: `workload.ring.command` is missing from [workload.ring]; is",
        ),
        (
            "[workload.ring]\ncommand",
            "[other]\ncommand",
            "contender.toml:8: unknown key `other`; known here: ",
        ),
        (
            'command = ["{runtime}", "ring.py"]',
            'command = ["r"]\n[worklod.fib]\ncommand = ["f"]',
            "contender.toml:10: unknown key `worklod`; did you mean `workload`?",
        ),
        (
            'command = ["{runtime}", "ring.py"]',
            'command = ["r"]\nonly = { capacity = ["ownn"] }',
            "contender.toml:10: capacity=ownn is none of own, 0, 1, 30, 1000, unbounded",
        ),
        (
            'command = ["{runtime}", "ring.py"]',
            'command = ["r"]\ncapabilities = [\n    "hold",\n    "tokne",\n]',
            "contender.toml:10: the workload `ring` has no capability `tokne`; it has: hold, token, cap",
        ),
    ],
)
def test_a_mistake_in_a_manifest_has_its_line(workplace: Path, before: str, after: str, line: str) -> None:
    assert before in MANIFEST
    assert mistake(workplace, "contenders", MANIFEST.replace(before, after, 1)).startswith(line)


def test_a_title_says_something(workplace: Path) -> None:
    text = MANIFEST.replace('title = "T"', 'title = " "')
    assert mistake(workplace, "contenders", text).startswith("contender.toml:1: `title` is empty")


def test_a_runtime_without_a_name(workplace: Path) -> None:
    text = MANIFEST.replace("[runtime.python]", "[runtime]", 1)
    line = text.splitlines().index("[runtime]") + 2
    key = text.splitlines()[line - 1].partition(" ")[0]
    assert mistake(workplace, "contenders", text).endswith(
        f"contender.toml:{line}: `{key}` stands below [runtime]: name the table, as [runtime.NAME]"
    )


def test_the_nearest_of_a_few_words(workplace: Path) -> None:
    text = 'class = "flor"\n' + MANIFEST
    assert mistake(workplace, "contenders", text).endswith('not "flor"; did you mean "floor"?')


@pytest.mark.parametrize("file", FILES)
def test_all_keys_that_are_accepted_are_listed(tmp_path: Path, file: type[msgspec.Struct]) -> None:
    root = inspect.type_info(file)
    assert isinstance(root, inspect.StructType)
    (tmp_path / "x.toml").write_text("zzz = 1\n")
    with pytest.raises(CatalogueError) as caught:
        decode(read_toml(tmp_path / "x.toml"), file)
    _, _, listed = str(caught.value).partition("known here: ")
    assert listed.split(", ") == sorted(field.encode_name for field in root.fields)


def test_a_line_of_text_that_is_not_utf_8(workplace: Path) -> None:
    (workplace / "experiments").mkdir()
    (workplace / "experiments" / "x.toml").write_bytes(b'title = "T"\nnote = "\xff"\n')
    with pytest.raises(CatalogueError, match=r"x\.toml:2: cannot be read: it is not UTF-8 text"):
        context.catalogue().suite("x")


def test_a_broken_manifest_disables_only_itself(workplace: Path, add_fake: Add, add_experiment: Add) -> None:
    add_fake("one")
    add_fake("two")
    add_fake("torn")
    add_experiment("trio", "one", "two", "torn")
    manifest = workplace / "contenders" / "torn" / "contender.toml"
    manifest.write_text(manifest.read_text().replace("[workload.ring]", "[workload.rings]"))
    reason = r"torn/contender\.toml:\d+: there is no workload `rings`; did you mean ring\?"
    for words, status in ((["list", "contenders"], 0), (["doctor"], 1)):
        done = ringside(*words, status=status, COLUMNS="250")
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("torn ")]
        assert re.search(rf"^torn is left out: .*{reason}$", line)
        assert re.search("^one ", done.stdout, re.MULTILINE)
    done = ringside("run", "trio", "--json", status=1)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("torn:")]
    assert re.search(rf"^torn: /.*{reason}", line)
    cells = {cell["contender"]: cell for cell in json.loads(done.stdout)["cells"]}
    assert cells["one"]["outcomes"] == cells["two"]["outcomes"] == {"ok": 1}
    assert cells["torn"]["outcomes"] == {"unavailable": 1}
    assert re.search(reason, cells["torn"]["reason"])
    # Where nothing else is asked for, that is the answer.
    assert re.search(reason, ringside("run", "trio", "--only", "torn", status=2).stderr)
