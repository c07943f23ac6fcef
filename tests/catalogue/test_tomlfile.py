from __future__ import annotations

from pathlib import Path

import pytest

from ringside.catalogue import tomlfile
from ringside.catalogue.tomlfile import Key
from ringside.errors import CatalogueError

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
        tomlfile.read(file)


def test_toml_that_nests_without_end(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match=r"a\.toml:1: broken TOML"):
        tomlfile.read(write(tmp_path, f"x = {'[' * 100_000}"))


def test_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogueError, match="not UTF-8"):
        tomlfile.read(file)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="No such file"):
        tomlfile.read(tmp_path / "none.toml")


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
    file = tomlfile.TomlFile(tmp_path, SOURCE, tomlfile.read(write(tmp_path, SOURCE)).data)
    assert tomlfile.find_line(SOURCE.replace("\n", newline), file.data, keys) == line


def test_an_error_is_one_line_with_its_place(tmp_path: Path) -> None:
    file = tomlfile.read(write(tmp_path, SOURCE))
    assert str(file.error("two\nlines", ("title",))) == f"{file.path}:2: two lines"
    assert str(file.error("no line")) == f"{file.path}:1: no line"
