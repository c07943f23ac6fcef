from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.catalogue import schema
from ringside.catalogue.decode import Key, TomlFile, decode, find_line, read_toml
from ringside.errors import CatalogueError

MANIFEST = """
title = "A thing"
family = "threads"
model = "things"
queue = "1"
[runtime.one]
executable = ["one"]
version = ["{runtime}"]
[runtime.two]
executable = ["two"]
version = ["{runtime}"]
install = { debian = ["two"] }
[[build]]
command = ["make"]
[[build]]
command = ["make", "install"]
[workload.ring]
command = ["{runtime}"]
[workload.fib]
command = ["{runtime}"]
most = { clients = 8 }
"""
EXPERIMENT = """
title = "An experiment"
workload = "ring"
contenders = ["thing"]
"""
PUBLISHED = """
[source]
title = "A post"
date = "2007"
[[figure]]
workload = "ring"
contender = "erlang"
metric = "cpu_s"
value = 0.5
[[figure]]
workload = "ring"
contender = "erlang"
metric = "cpu_s"
value = { p50 = 1 }
[[claim]]
text = "Faster"
id = "x"
workload = "ring"
"""


def complaint(tmp_path: Path, text: str, shape: type[Any]) -> str:
    file = tmp_path / "a.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError) as caught:
        decode(read_toml(file), shape)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{file}:")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (MANIFEST, schema.ManifestFile),
        (EXPERIMENT, schema.ExperimentFile),
        (PUBLISHED, schema.PublishedFile),
        ('title = "x"\nparts = ["a"]\n', schema.SuiteFile),
    ],
)
def test_files_as_they_should_be(tmp_path: Path, text: str, shape: type[Any]) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text, encoding="utf-8")
    assert isinstance(decode(read_toml(file), shape), shape)


def test_an_unknown_key_comes_with_the_nearest_and_all_known(tmp_path: Path) -> None:
    assert complaint(tmp_path, f"{EXPERIMENT}[limits]\nwall = 3\n", schema.ExperimentFile) == (
        "6: unknown key `limits.wall`; did you mean `wall_s`? "
        "known here: memory_bytes, output_bytes, processes, wall_s"
    )
    # A key that stands there already is not proposed.
    text = f"{EXPERIMENT}[limits]\nwall_s = 3\nwall = 3\n"
    assert "did you mean" not in complaint(tmp_path, text, schema.ExperimentFile)


@pytest.mark.parametrize(
    ("before", "after", "shape", "start"),
    [
        ("[runtime.two]", "colour = 1\n[runtime.two]", "manifest", "9: unknown key `runtime.one.colour`"),
        ("[workload.fib]", "colour = 1\n[workload.fib]", "manifest", "19: unknown key `workload.ring.col"),
        ('["make", "install"]', "[]", "manifest", "16: `build.command` must be a list with something"),
        ('command = ["make"]', 'command = ["make"]\nx = 1', "manifest", "15: unknown key `build.x`"),
        ("contenders =", "[show]\nx = 1\n[y]\ncontenders =", "experiment", "5: unknown key `show.x`"),
        ("value = 0.5", "value = 0.5\nx = 1", "published", "10: unknown key `figure.x`"),
        ("text =", "x = 1\ntext =", "published", "16: unknown key `claim.x`"),
        ('title = "A post"', 'title = "A post"\nx = 1', "published", "4: unknown key `source.x`"),
        ("[source]", "x = 1\n[source]", "published", "2: unknown key `x`"),
    ],
)
def test_each_table_knows_its_keys(tmp_path: Path, before: str, after: str, shape: str, start: str) -> None:
    text, of = {
        "manifest": (MANIFEST, schema.ManifestFile),
        "experiment": (EXPERIMENT, schema.ExperimentFile),
        "published": (PUBLISHED, schema.PublishedFile),
    }[shape]
    assert before in text
    assert complaint(tmp_path, text.replace(before, after, 1), of).startswith(start)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("title =", "titel =", "2: `title` is missing; is `titel` meant to be `title`?"),
        ('title = "A thing"', "", "1: `title` is missing"),
        ('family = "threads"', "", "1: `family` is missing"),
        (
            '[workload.ring]\ncommand = ["{runtime}"]',
            "[workload.ring]\nmost = {}",
            "17: `workload.ring.command` is missing from [workload.ring]",
        ),
        (
            'executable = ["two"]',
            'executables = ["two"]',
            "10: `runtime.two.executable` is missing from [runtime.two]; "
            "is `executables` meant to be `executable`?",
        ),
        ('command = ["make"]', "", "13: `build.command` is missing from [[build]]"),
    ],
)
def test_a_missing_key_names_its_table(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in MANIFEST
    assert complaint(tmp_path, MANIFEST.replace(before, after, 1), schema.ManifestFile) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 1", "`title` must be text of up to 80 characters, not 1"),
        ('parallel = "yes"', '`parallel` must be true or false, not "yes"'),
        ("parallel = 1", "`parallel` must be true or false, not 1"),
        ('class = "flor"', '`class` must be bare, floor or idiomatic, not "flor"; did you mean "floor"?'),
        (
            'family = "actor"',
            "`family` must be actors, channels, event-loop, generators, green-threads, processes, tasks or "
            'threads, not "actor"; did you mean "actors"?',
        ),
        ("runtime = 3", "`runtime` must be a table, not 3"),
        ("[runtime]\none = 3", "`runtime.one` must be a table, not 3"),
        (
            '[runtime.x]\nexecutable = "x"',
            '`runtime.x.executable` must be a list with something in it, not "x"',
        ),
        (
            "[runtime.x]\nexecutable = []",
            "`runtime.x.executable` must be a list with something in it, not an empty",
        ),
        ('[runtime.x]\nexecutable = ["x", 2]', "item 2 of `runtime.x.executable` must be text, not 2"),
        (
            "[runtime.x]\ninstall = { debian = [1] }",
            "item 1 of `runtime.x.install.debian` must be text, not 1",
        ),
        ("[build]\ncommand = []", "`build` must be a list of tables, each below its [[header]], not a table"),
        ("[workload.x]\nmost = { n = true }", "`workload.x.most.n` must be a whole number, not true"),
        (
            "[workload.x]\nmost = { n = 1979-05-27 }",
            "`workload.x.most.n` must be a whole number, not 1979-05-27",
        ),
    ],
)
def test_a_wrong_value_in_a_manifest(tmp_path: Path, text: str, message: str) -> None:
    assert message in complaint(tmp_path, text, schema.ManifestFile)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blocks = 0", "`blocks` must be a whole number from 1 to 10000, not 0"),
        ("blocks = 10001", "`blocks` must be a whole number from 1 to 10000, not 10001"),
        (f"blocks = {10**40}", "`blocks` must be a whole number from 1 to 10000, not 1000"),
        ("blocks = 1.5", "`blocks` must be a whole number from 1 to 10000, not 1.5"),
        ("baseline = []", "`baseline` must be text, not an empty list"),
        (
            "factors = { nodes = [] }",
            "a whole number, text or a list with something in it, not an empty list",
        ),
        (
            "factors = { nodes = 1.5 }",
            "`factors.nodes` must be a whole number, text or a list with something",
        ),
        (
            "factors = { nodes = [1, 1.5] }",
            "item 2 of `factors.nodes` must be a whole number or text, not 1.5",
        ),
        ("factors = { nodes = true }", "`factors.nodes` must be a whole number, text or a list"),
        ("point = [{ nodes = [1] }]", "`point.nodes` must be a whole number or text, not a list"),
        ("limits = { wall_s = 0 }", "`limits.wall_s` must be a number above 0 and up to 1e+09, not 0"),
        ("limits = { wall_s = nan }", "`limits.wall_s` must be a number above 0 and up to 1e+09, not NaN"),
        (
            "limits = { wall_s = inf }",
            "`limits.wall_s` must be a number above 0 and up to 1e+09, not Infinity",
        ),
        ("limits = { processes = 0 }", "`limits.processes` must be a whole number above 0, not 0"),
    ],
)
def test_a_wrong_value_in_an_experiment(tmp_path: Path, text: str, message: str) -> None:
    assert message in complaint(tmp_path, text, schema.ExperimentFile)


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f"{EXPERIMENT}limits = {{ wall_s = 3 }}\n", encoding="utf-8")
    assert decode(read_toml(file), schema.ExperimentFile).limits.wall_s == 3.0


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
_KEYS = st.sampled_from(["title", "runtime", "build", "workload", "command", "most", "`", "a.b", " - at `$"])
_TABLES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_KEYS, _TABLES, max_size=6))
def test_whatever_a_file_holds_the_error_is_ours(data: dict[str, Any]) -> None:
    file = TomlFile(Path("a.toml"), "", data)
    message = ""
    try:
        decode(file, schema.ManifestFile)
    except CatalogueError as error:
        message = str(error)
    assert re.match(r"$|a\.toml(:\d+)?: ", message)


# --- files and lines ------------------------------------------------------------------------------

SOURCE = '''# nodes = 1
title = "A title"
note = """
[limits]
nodes = 2
"""
contenders = [
    "one",
    "two=2",  # nodes = 3
]
limits.wall_s = 1

[factors]
"messages" = 7
nodes = { low = 1, high = [
    1,
    2,
] }

[runtime.otp.install]
debian = ["erlang-base"]

[[figure]]
value = 1

[[figure]]

value = 2
'''


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "a.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    file = write(tmp_path, 'title = "a"\nblocks = = 3\n')
    with pytest.raises(CatalogueError, match=r"a\.toml:2: broken TOML"):
        read_toml(file)


def test_toml_that_nests_without_end(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"a\.toml:1: broken TOML"):
        read_toml(write(tmp_path, f"x = {'[' * 100_000}"))


def test_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogueError, match="not UTF-8"):
        read_toml(file)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="No such file"):
        read_toml(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ((), None),
        (("title",), 2),
        (("note",), 3),
        (("contenders", 1), 7),
        (("limits", "wall_s"), 11),
        (("factors",), 13),
        (("factors", "messages"), 14),
        (("factors", "nodes", "high", 1), 15),
        (("runtime", "otp"), 20),
        (("runtime", "otp", "install", "debian"), 21),
        (("figure", 0, "value"), 24),
        (("figure", 1), 26),
        (("figure", 1, "value"), 28),
        # What is not there is where its table is.
        (("factors", "cores", "x"), 13),
        (("figure", 2, "value"), 23),
        (("title", "x"), 2),
        (("contenders", "x"), 7),
        (("nothing",), None),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_line_of_a_value(tmp_path: Path, keys: tuple[Key, ...], line: int | None, newline: str) -> None:
    file = TomlFile(tmp_path, SOURCE, read_toml(write(tmp_path, SOURCE)).data)
    assert find_line(SOURCE.replace("\n", newline), file.data, keys) == line


def test_an_error_is_one_line_with_its_place(tmp_path: Path) -> None:
    file = read_toml(write(tmp_path, SOURCE))
    assert str(file.error("two\nlines", ("title",))) == f"{file.path}:2: two lines"
    assert str(file.error("no line")) == f"{file.path}:1: no line"
