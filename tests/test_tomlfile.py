from __future__ import annotations

from pathlib import Path

import pytest

from ringside.catalogue import tomlfile
from ringside.errors import CatalogueError


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "a.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_broken_toml_names_file_and_line(tmp_path: Path) -> None:
    file = write(tmp_path, 'title = "a"\nblocks = = 3\n')
    with pytest.raises(CatalogueError, match=r"a\.toml:2: broken TOML"):
        tomlfile.read(file)


def test_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CatalogueError, match="not UTF-8"):
        tomlfile.read(file)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="No such file"):
        tomlfile.read(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("known = 1\nodd = 2\n", 2),
        ("# odd = 1\nknown = 1\n\nodd = 2\n", 4),
        ("known = 1\n[odd]\nx = 1\n", 2),
        ("known = 1\n[odd.deeper]\nx = 1\n", None),
        ('"odd" = 1\nknown = 1\n', 1),
        ("known = 1\nodd.x = 1\n", 2),
    ],
)
def test_unknown_key_names_its_line(tmp_path: Path, text: str, line: int | None) -> None:
    top = tomlfile.read(write(tmp_path, text))
    top.get("known", int)
    with pytest.raises(CatalogueError, match="unknown key `odd`; known here: known") as caught:
        top.done()
    if line:
        assert f"a.toml:{line}:" in str(caught.value)


def test_unknown_key_in_a_table_names_table_and_line(tmp_path: Path) -> None:
    top = tomlfile.read(write(tmp_path, "odd = 1\n[limits]\nwall_s = 1\nodd = 2\n"))
    limits = top.table("limits")
    limits.get("wall_s", float)
    with pytest.raises(CatalogueError, match=r"a\.toml:4: unknown key `limits\.odd`"):
        limits.done()


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("x = true", int, "must be a whole number"),
        ("x = 1", str, "must be text"),
        ('x = "1"', float, "must be a number"),
        ("x = 1.5", int, "must be a whole number"),
        ("x = 1", bool, "must be true or false"),
    ],
)
def test_wrong_kinds(tmp_path: Path, text: str, kind: type, message: str) -> None:
    top = tomlfile.read(write(tmp_path, text))
    with pytest.raises(CatalogueError, match=message):
        top.get("x", kind)


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    assert tomlfile.read(write(tmp_path, "x = 3")).get("x", float) == 3.0


def test_missing_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="`title` is missing"):
        tomlfile.read(write(tmp_path, "x = 3")).get("title", str)
