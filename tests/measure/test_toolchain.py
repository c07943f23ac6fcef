from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.measure import host, toolchain
from ringside.measure.toolchain import Toolchain
from ringside.model.catalogue import Contender, Ready, Receipt, Runtime, Unavailable, WorkloadEntry
from tests.contenders.test_ring import CATALOGUE


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def runtime(*executable: str, minimum: str | None = None, locate: tuple[str, ...] = ()) -> Runtime:
    return Runtime("r", executable, ("{runtime}", "--version"), minimum, locate, {"debian": ("thing",)})


def contender(folder: Path, one: Runtime, *builds: tuple[str, ...]) -> Contender:
    folder.mkdir(exist_ok=True)
    (folder / "main.txt").write_text("source", encoding="utf-8")
    entry = WorkloadEntry(("{build}/thing",))
    return Contender("thing", folder, "T", one, {"ring": entry}, builds=builds)


def test_the_first_executable_that_is_new_enough_is_taken(tmp_path: Path) -> None:
    old = script(tmp_path / "old", "echo 'thing version 1.9.2'")
    new = script(tmp_path / "new", "echo 'thing version 1.10 (2026)' >&2")
    found = toolchain.find_receipt(runtime(str(old), str(new), minimum="1.10"))
    assert isinstance(found, Receipt)
    assert found.executable == str(new)
    assert found.version == "1.10"


def test_why_there_is_no_receipt(tmp_path: Path) -> None:
    silent = script(tmp_path / "silent", "exit 0")
    failing = script(tmp_path / "failing", "echo 9.9; exit 1")
    old = script(tmp_path / "old", "echo 1.0")
    found = toolchain.find_receipt(runtime(str(silent), str(failing), str(old), minimum="2"))
    assert isinstance(found, str)
    assert "silent printed no recognisable version" in found
    assert "failing printed no recognisable version" in found
    assert "old is 1.0, below 2" in found
    missing = toolchain.find_receipt(runtime("no-such-thing-at-all"))
    assert missing == "needs no-such-thing-at-all: not found"


def test_names_are_looked_up_on_path_and_may_be_globs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path / "thing-1", "echo 1.0")
    script(tmp_path / "thing-2", "echo 2.0")
    monkeypatch.setenv("PATH", f"/nowhere:{tmp_path}:{os.environ['PATH']}")
    found = toolchain.find_receipt(runtime("thing-*"))
    assert isinstance(found, Receipt)
    assert found.version == "2.0"


def test_a_path_may_begin_with_a_variable_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "thing", "echo 1.5")
    # Without the variable, nothing is looked for in `/bin`.
    monkeypatch.delenv("THING_HOME", raising=False)
    assert isinstance(toolchain.find_receipt(runtime("$THING_HOME/bin/thing")), str)
    assert list(toolchain.candidates(["$THING_HOME/bin/sh"])) == []
    monkeypatch.setenv("THING_HOME", str(tmp_path))
    receipt = toolchain.find_receipt(runtime("$THING_HOME/bin/thing"))
    assert isinstance(receipt, Receipt)
    assert receipt.executable == str(tmp_path / "bin" / "thing")


def test_a_shim_is_seen_through(tmp_path: Path) -> None:
    real = script(tmp_path / "real", "echo 3.0")
    shim = script(tmp_path / "shim", f'[ "$1" = where ] && echo {real} || exec {real}')
    found = toolchain.find_receipt(runtime(str(shim), locate=("{runtime}", "where")))
    assert isinstance(found, Receipt)
    assert found.executable == str(real)


def test_a_version_command_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "VERSION_TIMEOUT_S", 0.5)
    marker = tmp_path / "pid"
    hanging = script(tmp_path / "hang", f"sleep 1000 & echo $! > {marker}; wait")
    found = toolchain.find_receipt(runtime(str(hanging)))
    assert isinstance(found, str)
    pid = int(marker.read_text())
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists():
            return
        threading.Event().wait(0.05)
    pytest.fail(f"process {pid} is still alive")


def test_a_build_is_made_once_and_again_when_the_sources_change(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    count = tmp_path / "count"
    build = ("sh", "-c", f"echo x >> {count}; cp main.txt $0/thing", "{build}")
    made = contender(tmp_path / "c", runtime(str(thing)), build)
    tools = Toolchain(tmp_path / "builds")
    first = tools.prepare(made)
    assert isinstance(first, Ready)
    assert (first.build / "thing").read_text() == "source"
    assert tools.prepare(made) == first
    assert tools.is_built(made, first.receipt)
    assert count.read_text() == "x\n"
    (made.folder / "main.txt").write_text("changed", encoding="utf-8")
    second = tools.prepare(made)
    assert isinstance(second, Ready)
    assert second.build != first.build
    assert (second.build / "thing").read_text() == "changed"
    (made.folder / "__pycache__").mkdir()
    (made.folder / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert tools.prepare(made) == second


def test_a_failed_build_is_a_reason_with_its_log_and_is_tried_again(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    first = ("sh", "-c", "echo the first went well")
    second = ("sh", "-c", f"echo broken here >&2; test -e {tmp_path}/repaired || exit 3")
    broken = contender(tmp_path / "c", runtime(str(thing)), first, second)
    tools = Toolchain(tmp_path / "builds")
    for _ in range(2):
        unavailable = tools.prepare(broken)
        assert isinstance(unavailable, Unavailable)
        assert unavailable.reason == "cannot be built: `sh` ended with 3"
        assert "broken here" in unavailable.log
        (log,) = (tmp_path / "builds").glob("*.log")
        assert unavailable.remedy == f"fix the error in {log} and run again"
        assert log.read_text() == unavailable.log
        assert "the first went well\n$ sh -c echo broken here" in unavailable.log
    (tmp_path / "repaired").touch()
    ready = tools.prepare(broken)
    assert isinstance(ready, Ready)
    assert not log.exists()
    assert "the first went well" in (ready.build / ".built").read_text()
    missing = contender(tmp_path / "d", runtime(str(thing)), ("no-such-compiler",))
    unavailable = tools.prepare(missing)
    assert isinstance(unavailable, Unavailable)
    assert unavailable.reason == "cannot be built: `no-such-compiler`: No such file or directory"
    assert unavailable.remedy == "fix this and run again"


def test_a_build_is_announced_where_there_is_something_to_do(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    tools, announced = Toolchain(tmp_path / "builds"), list[str]()
    built = contender(tmp_path / "c", runtime(str(thing)), ("cp", "main.txt", "{build}"))
    for each in (built, built, contender(tmp_path / "d", runtime(str(thing)))):
        assert isinstance(tools.prepare(each, lambda one: announced.append(one.folder.name)), Ready)
    assert announced == ["c"]


def test_runs_at_the_same_time_build_once(tmp_path: Path) -> None:
    thing, count = script(tmp_path / "thing", "echo 1.0"), tmp_path / "count"
    slow = contender(tmp_path / "c", runtime(str(thing)), ("sh", "-c", f"echo x >> {count}; sleep 0.3"))
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: Toolchain(tmp_path / "builds").prepare(slow), range(3)))
    assert all(isinstance(result, Ready) for result in results)
    assert count.read_text() == "x\n"


def test_a_build_is_known_by_all_that_decides_it(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    base = contender(tmp_path / "c", runtime(str(thing)), ("cc", "-O1"), ("strip",))
    receipt = Receipt("/bin/cc", "1.0", "cc 1.0")
    hashes = {
        toolchain.content_hash(base, receipt),
        toolchain.content_hash(replace(base, builds=(("cc", "-O2"), ("strip",))), receipt),
        toolchain.content_hash(replace(base, builds=(("cc", "-O1"),)), receipt),
        toolchain.content_hash(replace(base, runtime=replace(base.runtime, name="s")), receipt),
        toolchain.content_hash(base, replace(receipt, executable="/usr/bin/cc")),
        toolchain.content_hash(base, replace(receipt, version="1.1")),
        toolchain.content_hash(base, replace(receipt, text="cc 1.0 (patched)")),
    }
    (base.folder / "main.txt").write_text("other source", encoding="utf-8")
    hashes.add(toolchain.content_hash(base, receipt))
    (base.folder / "main.txt").rename(base.folder / "main2.txt")
    hashes.add(toolchain.content_hash(base, receipt))
    assert len(hashes) == 9
    before = toolchain.content_hash(base, receipt)
    for left in ("target/x", "__pycache__/x.py", ".hidden", "x.beam", "x.pyc"):
        (base.folder / left).parent.mkdir(exist_ok=True)
        (base.folder / left).touch()
    assert toolchain.content_hash(base, receipt) == before


def test_a_build_that_was_cut_off_is_made_anew(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    made = contender(tmp_path / "c", runtime(str(thing)), ("cp", "main.txt", "{build}/thing"))
    tools = Toolchain(tmp_path / "builds")
    ready = tools.prepare(made)
    assert isinstance(ready, Ready)
    (ready.build / ".built").unlink()
    (ready.build / "rubbish").touch()
    assert tools.prepare(made) == ready
    assert not (ready.build / "rubbish").exists()


@pytest.mark.parametrize(
    ("release", "user", "remedy"),
    [
        ({"ID": "ubuntu", "ID_LIKE": "debian"}, 1000, "sudo apt-get install -y thing"),
        ({"ID": "debian"}, 0, "apt-get install -y thing"),
        ({"ID": "fedora"}, 0, "install thing-rpm"),
        ({"ID": "arch"}, 0, "install no-such-thing (Debian: thing)"),
        ({}, 0, "install no-such-thing (Debian: thing)"),
    ],
)
def test_a_missing_runtime_comes_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: dict[str, str], user: int, remedy: str
) -> None:
    monkeypatch.setattr(host, "os_release", lambda: release)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    wanted = replace(runtime("no-such-thing"), install={"debian": ("thing",), "fedora": ("thing-rpm",)})
    unavailable = Toolchain(tmp_path).prepare(contender(tmp_path / "c", wanted))
    assert isinstance(unavailable, Unavailable)
    assert unavailable.remedy == remedy


@pytest.mark.parametrize(("release", "package"), [("debian-12", "cargo-web"), ("debian-13", "cargo")])
def test_packages_of_a_release_go_before_those_of_its_system(
    release: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolchain, "system_names", lambda: [release, "debian"])
    install = {"debian": ("cargo",), "debian-12": ("cargo-web",)}
    rust = Runtime("rust", ("cargo",), ("{runtime}", "--version"), install=install)
    assert toolchain.packages(rust) == (package,)


@pytest.mark.parametrize(
    ("release", "packages", "remedy"),
    [
        ({"ID": "debian", "VERSION_ID": "12"}, (), "look at https://thing.test/"),
        ({"ID": "debian", "VERSION_ID": "13"}, ("thing",), "apt-get install -y thing"),
        ({"ID": "fedora"}, (), "get thing.rpm"),
    ],
)
def test_instructions_take_the_place_of_packages(
    monkeypatch: pytest.MonkeyPatch, release: dict[str, str], packages: tuple[str, ...], remedy: str
) -> None:
    monkeypatch.setattr(host, "os_release", lambda: release)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    instructions = {"debian-12": "look at https://thing.test/", "fedora": "get thing.rpm"}
    wanted = replace(runtime("no-such-thing"), instructions=instructions)
    assert toolchain.packages(wanted) == packages
    assert toolchain.remedy(wanted) == remedy


@pytest.mark.parametrize("name", ["go", "go-sync", "go-workers"])
def test_ways_to_get_go(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 12's own Go cannot build these, so that it must not be offered there."""
    one = CATALOGUE.contender(name).runtime
    release = {"ID": "debian", "VERSION_ID": "12"}
    monkeypatch.setattr(host, "os_release", lambda: release)
    assert toolchain.packages(one) == ()
    assert "-t bookworm-backports golang-go" in toolchain.remedy(one)
    assert "https://go.dev/dl/" in toolchain.remedy(one)
    assert "\n" not in toolchain.remedy(one)
    release["VERSION_ID"] = "13"
    assert toolchain.packages(one) == ("golang-go",)


def test_a_builds_folder_that_cannot_be_made(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    (tmp_path / "file").touch()
    found = Toolchain(tmp_path / "file" / "builds").prepare(contender(tmp_path / "c", runtime(str(thing))))
    assert isinstance(found, Unavailable)
    assert "failed: Not a directory" in found.reason


@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=5), st.lists(st.integers(0, 99), min_size=1, max_size=5)
)
def test_versions_compare_by_number(one: list[int], other: list[int]) -> None:
    def padded(parts: list[int]) -> list[int]:
        return parts + [0] * (5 - len(parts))

    text, minimum = ".".join(map(str, one)), ".".join(map(str, other))
    assert toolchain.at_least(text, minimum) == (padded(one) >= padded(other))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("go version go1.26.8 linux/amd64", "1.26.8"),
        ("\nThis is perl 5, version 36, subversion 0 (v5.36.0) built for x86_64\n(with 1.2.3)", "5.36.0"),
        ("25, mochiweb 3.1.1", "25"),
        ("openjdk 21 (build 21)\n1.2", "21"),
        ("R11B-5", "11"),
        ("25.2.3, mochiweb 2.20.1", "25.2.3"),
        ("v007", "007"),
        ("no digits", None),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_the_version_in_a_text(text: str, version: str | None) -> None:
    assert toolchain.version_of(text) == version


@given(st.text())
def test_no_text_of_a_program_breaks_the_reading_of_versions(text: str) -> None:
    version = toolchain.version_of(text)
    assert version is None or toolchain.at_least(version, "0")


def test_unknown_names_in_braces_stay() -> None:
    assert toolchain.expand(["{runtime}", "a{b}c", "{x y}"], {"runtime": "r", "b": 1}) == [
        "r",
        "a1c",
        "{x y}",
    ]
