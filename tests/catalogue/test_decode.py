"""TOML files: what is wrong with one, in one line that names its place."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.catalogue.decode import Key, TomlFile, decode, find_line, read_toml
from ringside.errors import CatalogueError
from ringside.model.catalogue import Manifest, PublishedFile
from ringside.model.design import ExperimentFile
from tests.support.cases import cases
from tests.support.errors import error_of

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
seed = "post.txt"
[[figure]]
workload = "ring"
contender = "erlang"
metric = "cpu_s"
value = 0.5
[[claim]]
text = "Faster"
id = "x"
workload = "ring"
test = { never = "no" }
"""


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "a.toml"
    file.write_text(text, encoding="utf-8")
    return file


def complaint(tmp_path: Path, text: str, shape: type[Any]) -> str:
    file = write(tmp_path, text)
    return error_of(CatalogueError, decode, read_toml(file), shape).removeprefix(f"{file}:")


@pytest.mark.parametrize(("before", "after", "message"), cases(__file__, "a_mistake_in_a_manifest"))
def test_a_mistake_in_a_manifest(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in MANIFEST
    text = MANIFEST.replace(before, after, 1)
    if "runtime = 3" in after or "build = {}" in after:
        text = text.partition("[runtime.one]")[0]
    line = complaint(tmp_path, text, Manifest)
    assert line.startswith(message) or line.endswith(message)


@pytest.mark.parametrize(("text", "message"), cases(__file__, "a_mistake_in_an_experiment"))
def test_a_mistake_in_an_experiment(tmp_path: Path, text: str, message: str) -> None:
    assert message in complaint(tmp_path, EXPERIMENT + text, ExperimentFile)


@pytest.mark.parametrize(("before", "after", "start"), cases(__file__, "a_mistake_in_published_figures"))
def test_a_mistake_in_published_figures(tmp_path: Path, before: str, after: str, start: str) -> None:
    assert complaint(tmp_path, PUBLISHED.replace(before, after, 1), PublishedFile).startswith(start)


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    file = write(tmp_path, f"{EXPERIMENT}limits = {{ wall_s = 3 }}\n")
    assert decode(read_toml(file), ExperimentFile).limits.wall_s == 3.0


_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
_KEYS = st.sampled_from(["title", "runtime", "build", "workload", "command", "most", "`", "a.b", " - at `$"])
_TABLES = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_KEYS, _TABLES, max_size=6))
def test_whatever_a_file_holds_the_error_is_ours(data: dict[str, Any]) -> None:
    with pytest.raises(CatalogueError, match=r"^a\.toml:1: "):
        decode(TomlFile(Path("a.toml"), "", data), Manifest)


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


@pytest.mark.parametrize(("keys", "line"), cases(__file__, "the_line_of_a_value"))
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_line_of_a_value(tmp_path: Path, keys: tuple[Key, ...], line: int, newline: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SOURCE, encoding="utf-8", newline=newline)
    assert find_line(read_toml(file).source, keys) == line
    assert str(read_toml(file).error("two\nlines", *keys)) == f"{file}:{line}: two lines"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'title = "a"\nblocks = = 3\n', r"a\.toml:2: broken TOML"),
        (b"x = [1,\n2", r"a\.toml:2: broken TOML"),
        (b"x = " + b"[" * 100_000, r"a\.toml:1: broken TOML"),
        (b'title = "T"\nnote = "\xff"\n', r"a\.toml:2: cannot be read: it is not UTF-8 text"),
        (None, "No such file"),
    ],
    ids=["value", "end", "depth", "text", "none"],
)
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "a.toml").write_bytes(content)
    assert re.search(message, error_of(CatalogueError, read_toml, tmp_path / "a.toml"))


def test_a_line_names_the_first_thing_of_several(tmp_path: Path) -> None:
    """If msgspec does not say which of several named tables it is."""
    text = MANIFEST.replace('version = ["{runtime}"]\n[', "version = 1\n[").replace(
        'version = ["{runtime}"]\ninstall', "version = 2\ninstall"
    )
    assert re.match(r"8: `runtime\.one\.version`", complaint(tmp_path, text, Manifest))
