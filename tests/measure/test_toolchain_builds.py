"""Receipts, builds, sources and systems, word by word."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from ringside.errors import BuildError
from ringside.measure import host, toolchain
from ringside.measure.toolchain import Toolchain
from ringside.model.catalogue import Ready, Receipt, Runtime, Unavailable, WorkloadEntry
from tests.measure.test_toolchain import contender, runtime, script
from tests.support import probes
from tests.support.processes import is_over

# --- receipts ---


def test_a_receipt_is_looked_for_once(tmp_path: Path) -> None:
    count = tmp_path / "count"
    thing = script(tmp_path / "thing", f"echo x >> {count}; echo 1.0")
    tools = Toolchain(tmp_path / "builds")
    receipts = [tools.receipt(runtime(str(thing))) for _ in range(3)]
    assert receipts == [Receipt(str(thing), "1.0", "1.0")] * 3
    assert count.read_text() == "x\n"
    # All that decides it counts.
    tools.receipt(runtime(str(thing), minimum="0.5"))
    tools.receipt(runtime(str(thing), str(thing)))
    tools.receipt(replace(runtime(str(thing)), version=("{runtime}", "-v")))
    assert count.read_text() == "x\n" * 4
    located = replace(runtime(str(thing)), locate=("echo", str(thing)))
    assert tools.receipt(located) == receipts[0]
    assert count.read_text() == "x\n" * 5


def test_the_text_of_a_receipt_is_one_short_line(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", f"echo 'a  1.2'; echo; echo {'x' * 300}")
    receipt = toolchain.find_receipt(runtime(str(thing)))
    assert isinstance(receipt, Receipt)
    assert receipt.text == f"a 1.2 {'x' * 194}"


def test_a_program_without_a_version_is_known_by_its_content(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "exit 1")
    digest = hashlib.sha256(thing.read_bytes()).hexdigest()
    plain = Runtime("r", (str(thing),), ())
    assert toolchain.find_receipt(plain) == Receipt(str(thing), digest[:12], f"{thing} sha256:{digest}")


def test_a_program_that_cannot_be_read_has_no_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thing = tmp_path / "thing"
    monkeypatch.setattr(toolchain, "candidates", lambda names: iter(names))
    reason = toolchain.find_receipt(Runtime("r", (str(thing),), ()))
    assert reason == f"{thing} cannot be read: No such file or directory"


def test_a_path_that_is_no_executable_is_not_located(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    for printed in ("/etc/passwd", "/no/such/file", ""):
        reason = toolchain.find_receipt(runtime(str(thing), locate=("echo", printed)))
        assert reason == f"needs {thing}: {thing} printed no path of an executable for `locate`"
    failing = toolchain.find_receipt(runtime(str(thing), locate=("false",)))
    assert failing == f"needs {thing}: {thing} printed no path of an executable for `locate`"
    # The next one may do.
    other = script(tmp_path / "other", "echo 2.0")
    locate = ("sh", "-c", "case $0 in *other) echo $0;; esac", "{runtime}")
    assert toolchain.find_receipt(runtime(str(thing), str(other), locate=locate)) == Receipt(
        str(other), "2.0", "2.0"
    )


def test_what_is_needed_and_the_first_three_reasons(tmp_path: Path) -> None:
    old = [script(tmp_path / f"old{number}", f"echo 1.{number}") for number in range(4)]
    reason = toolchain.find_receipt(runtime(*map(str, old), minimum="2.0"))
    assert reason == (
        f"needs {' or '.join(map(str, old))} 2.0 or newer: "
        + "; ".join(f"{path} is 1.{number}, below 2.0" for number, path in enumerate(old[:3]))
    )


def test_versions_may_be_the_minimum_itself(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.10.0")
    assert isinstance(toolchain.find_receipt(runtime(str(thing), minimum="1.10")), Receipt)


def test_version_commands_see_nothing_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They get no input, and are started in the root folder."""
    monkeypatch.chdir(tmp_path)
    thing = script(tmp_path / "thing", "cat; pwd; echo 1.0")
    receipt = toolchain.find_receipt(runtime(str(thing)))
    assert isinstance(receipt, Receipt)
    assert receipt.text == "/ 1.0"


def test_candidates_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder / "thing-dir").mkdir(parents=True)
        for name in ("thing-1", "thing-2", "other"):
            script(tmp_path / folder / name, "exit")
        (tmp_path / folder / "thing-3").touch()
    a, b = tmp_path / "a", tmp_path / "b"
    monkeypatch.setenv("PATH", f":{a}::{tmp_path / 'none'}:{b}:")
    monkeypatch.chdir(a)
    found = list(toolchain.candidates(["other", "thing-?", "thing-1", f"{b}/thing-*", "THING-1"]))
    assert found == [
        *(f"{folder}/other" for folder in (a, b)),
        *(f"{folder}/thing-{number}" for folder in (a, b) for number in (2, 1)),
    ]
    monkeypatch.delenv("PATH")
    assert list(toolchain.candidates(["other"])) == []
    assert list(toolchain.candidates([f"{b}/o*", f"{b}/other"])) == [f"{b}/other"]


# --- builds ---


def test_the_folder_of_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    made = contender(
        tmp_path / "c", runtime(str(thing)), ("sh", "-c", "pwd; echo $0 $1", "{runtime}", "{build}")
    )
    monkeypatch.chdir(tmp_path)
    tools = Toolchain(Path("deep/builds"))
    receipt = tools.receipt(made.runtime)
    assert isinstance(receipt, Receipt)
    assert not tools.is_built(made, receipt)
    ready = tools.prepare(made)
    assert isinstance(ready, Ready)
    assert tools.is_built(made, receipt)
    content = toolchain.content_hash(made, receipt)
    assert ready == Ready(
        made, receipt, tmp_path.resolve() / "deep/builds" / f"thing-{content[:12]}", content
    )
    # What its commands printed, in the contender's folder.
    assert (ready.build / ".built").read_text() == (
        f"$ sh -c pwd; echo $0 $1 {thing} {ready.build}\n{made.folder}\n{thing} {ready.build}\n"
    )


def test_a_build_that_is_discarded_is_made_again(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    made = contender(tmp_path / "c", runtime(str(thing)), ("touch", "{build}/made"))
    ready = Toolchain(tmp_path / "builds").prepare(made)
    assert isinstance(ready, Ready)
    assert toolchain.has_build(ready)
    (ready.build / "more").touch()
    toolchain.rebuild(ready)
    assert toolchain.has_build(ready)
    assert not (ready.build / "more").exists()
    toolchain.discard(ready)
    assert not toolchain.has_build(ready)
    # Once more, and where there is no folder, it does nothing.
    toolchain.discard(ready)
    toolchain.discard(replace(ready, build=tmp_path / "thing" / "none"))


def test_a_build_that_cannot_be_made_again(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    made = contender(tmp_path / "c", runtime(str(thing)), ("sh", "-c", f"echo text; test ! -e {tmp_path}/x"))
    ready = Toolchain(tmp_path / "builds").prepare(made)
    assert isinstance(ready, Ready)
    (tmp_path / "x").touch()
    with pytest.raises(BuildError) as failed:
        toolchain.rebuild(ready)
    assert str(failed.value) == "cannot be built: `sh` ended with 1"
    assert failed.value.log == f"$ sh -c echo text; test ! -e {tmp_path}/x\ntext\n"


def test_a_build_command_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "BUILD_TIMEOUT_S", 0.3)
    with pytest.raises(BuildError) as failed:
        toolchain.run_build(["sleep", "1000"], tmp_path, "before\n")
    assert str(failed.value) == "cannot be built: `sleep 1000` took over 0 s"
    assert failed.value.log == "before\n$ sleep 1000\n"


@pytest.mark.parametrize("rest", ["", "; sleep 1000"])
def test_a_build_that_leaves_a_daemon_ends_with_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    """The daemon has a session of its own, and keeps the command's output open."""
    monkeypatch.setattr(toolchain, "BUILD_TIMEOUT_S", 2.0 if rest else 1000.0)
    pid = tmp_path / "pid"
    start = f"setsid sh -c 'echo $$ >{pid}; exec sleep 1000' & while ! test -s {pid}; do sleep 0.01; done"
    command = ("sh", "-c", f"{start}; echo built{rest}")
    try:
        if rest:
            with pytest.raises(BuildError, match="took over 2 s") as failed:
                toolchain.run_build(command, tmp_path)
            assert failed.value.log.endswith("\nbuilt\n")
        else:
            assert toolchain.run_build(command, tmp_path).endswith("\nbuilt\n")
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)


def test_what_a_build_leaves_in_its_group_ends_with_it(tmp_path: Path) -> None:
    toolchain.run_build(("sh", "-c", "sleep 1000 & echo $! >pid"), tmp_path)
    assert is_over(lambda: not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/exe").exists(), 30)


def test_a_build_that_hangs_leaves_what_it_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "BUILD_TIMEOUT_S", 0.5)
    thing = script(tmp_path / "thing", "echo 1.0")
    hanging = contender(tmp_path / "c", runtime(str(thing)), ("sh", "-c", "echo fetching; sleep 1000"))
    unavailable = Toolchain(tmp_path / "builds").prepare(hanging)
    assert isinstance(unavailable, Unavailable)
    assert unavailable.log.endswith("\nfetching\n")
    (log,) = (tmp_path / "builds").glob("*.log")
    assert log.read_text() == unavailable.log
    assert unavailable.remedy == f"find in {log} what it waits for"


@pytest.mark.parametrize(
    "line",
    [
        "curl: (6) Could not resolve host: crates.io",
        "Temporary failure in name resolution",
        "connect: Network is unreachable",
    ],
)
def test_a_build_without_its_network_is_no_error_of_the_sources(tmp_path: Path, line: str) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    offline = contender(tmp_path / "c", runtime(str(thing)), ("sh", "-c", f"echo '{line}'; exit 1"))
    unavailable = Toolchain(tmp_path / "builds").prepare(offline)
    assert isinstance(unavailable, Unavailable)
    assert unavailable.remedy.startswith("this build needs a network: connect this machine and run again; ")


def test_a_runtime_that_is_too_old_is_to_be_a_newer_one(tmp_path: Path) -> None:
    old = script(tmp_path / "perl", "echo 'This is perl 5, version 28, subversion 1 (v5.28.1) built for x86'")
    wanted = replace(runtime(str(old), minimum="5.30"), install={})
    unavailable = Toolchain(tmp_path / "builds").prepare(contender(tmp_path / "c", wanted))
    assert isinstance(unavailable, Unavailable)
    assert f"{old} is 5.28.1, below 5.30" in unavailable.reason
    assert unavailable.remedy == f"install a newer {old} (5.30 or later)"


def test_what_a_build_command_prints(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    printed = toolchain.run_build(["sh", "-c", "ls; cat; printf '\\377' >&2"], tmp_path)
    assert printed == "$ sh -c ls; cat; printf '\\377' >&2\nfile\n\ufffd"
    with pytest.raises(BuildError) as failed:
        toolchain.run_build(["no-such-program", "-x"], tmp_path, "before\n")
    assert str(failed.value) == "cannot be built: `no-such-program`: No such file or directory"
    assert failed.value.log == "before\n"
    with pytest.raises(BuildError) as failed:
        toolchain.run_build(["sh", "-c", "echo text; exit 7"], tmp_path, "before\n")
    assert str(failed.value) == "cannot be built: `sh` ended with 7"
    assert failed.value.log == "before\n$ sh -c echo text; exit 7\ntext\n"


def test_an_interrupted_build_command_is_ended(tmp_path: Path) -> None:
    marker = tmp_path / "pid"
    sender = probes.when(lambda: marker.exists() and bool(marker.read_text()), signal.SIGINT, apart_s=0.0)
    with pytest.raises(KeyboardInterrupt):
        toolchain.run_build(["sh", "-c", f"sleep 1000 & echo $! > {marker}; wait"], tmp_path)
    sender.join()
    pid = int(marker.read_text())
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists():
            return
        threading.Event().wait(0.05)
    pytest.fail(f"process {pid} is still alive")


def test_a_log_that_cannot_be_kept(tmp_path: Path) -> None:
    thing = script(tmp_path / "thing", "echo 1.0")
    # The folder of builds goes away during the build.
    broken = contender(tmp_path / "c", runtime(str(thing)), ("sh", "-c", f"rm -r {tmp_path}/builds; exit 3"))
    unavailable = Toolchain(tmp_path / "builds").prepare(broken)
    assert isinstance(unavailable, Unavailable)
    assert unavailable.reason == "cannot be built: `sh` ended with 3"
    assert unavailable.remedy == "fix this and run again"
    assert unavailable.receipt == Receipt(str(thing), "1.0", "1.0")


# --- sources ---


def test_sources_are_known_by_their_paths(tmp_path: Path) -> None:
    made = contender(tmp_path / "c", runtime("x"))
    for name in ("deep/er/z.c", "deep/.hidden/x.c", "target/y", "a.beam", ".x", "a.c"):
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / name).write_text(name, encoding="utf-8")
    (made.folder / "gone").symlink_to("/no/such/file")
    (made.folder / "main.lnk").symlink_to("main.txt")
    assert toolchain.source_files(made) == {
        "a.c": b"a.c",
        "deep/er/z.c": b"deep/er/z.c",
        "main.lnk": b"source",
        "main.txt": b"source",
    }
    assert list(toolchain.source_files(made)) == sorted(toolchain.source_files(made))
    assert toolchain.source_files(replace(made, has_sources=False)) == {}


def test_a_command_alone_is_known_by_its_words_and_the_files_that_they_name(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("one", encoding="utf-8")
    (tmp_path / "main.txt").write_text("unused", encoding="utf-8")
    base = replace(contender(tmp_path / "c", runtime("x")), has_sources=False)
    receipt = Receipt("/bin/x", "1", "x 1")

    def content(*words: str) -> str:
        return toolchain.content_hash(replace(base, workloads={"fib": WorkloadEntry(words)}), receipt)

    hashes = [content(str(program), "-x"), content(str(program), "-y"), content("other", "-x")]
    (base.folder / "main.txt").write_text("no source of it", encoding="utf-8")
    assert content(str(program), "-x") == hashes[0]
    program.write_text("two", encoding="utf-8")
    hashes.append(content(str(program), "-x"))
    assert len(set(hashes)) == 4
    # Words do not run into each other.
    assert content("ab", "c") != content("a", "bc")


# --- systems ---


@pytest.mark.parametrize(
    ("release", "names", "has_apt"),
    [
        ({"ID": "debian", "VERSION_ID": "12"}, ["debian-12", "debian"], True),
        (
            {"ID": "ubuntu", "VERSION_ID": "24.04", "ID_LIKE": "debian"},
            ["ubuntu-24.04", "ubuntu", "debian"],
            True,
        ),
        ({"ID": "mint", "ID_LIKE": "ubuntu debian"}, ["mint", "ubuntu", "debian"], True),
        ({"ID": "pop", "ID_LIKE": "ubuntu"}, ["pop", "ubuntu"], True),
        ({"ID": "arch"}, ["arch"], False),
        ({"VERSION_ID": "1"}, [], False),
        ({}, [], False),
    ],
)
def test_names_of_systems(
    monkeypatch: pytest.MonkeyPatch, release: dict[str, str], names: list[str], has_apt: bool
) -> None:
    monkeypatch.setattr(host, "os_release", lambda: release)
    assert toolchain.system_names() == names
    assert toolchain.has_apt() is has_apt


def test_without_any_instructions_the_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "os_release", lambda: {"ID": "arch"})
    assert toolchain.remedy(Runtime("r", ("go", "gccgo"), ())) == "install go or gccgo"
    wanted = Runtime("r", ("go",), (), install={"debian": ("golang", "make"), "fedora": ("go",)})
    assert toolchain.remedy(wanted) == "install go (Debian: golang make)"
    assert toolchain.packages(wanted) == ()


def test_several_packages_are_installed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Runtime("r", ("go",), (), install={"debian": ("golang", "make"), "fedora": ("go", "gmake")})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(host, "os_release", lambda: {"ID": "debian"})
    assert toolchain.remedy(wanted) == "sudo apt-get install -y golang make"
    monkeypatch.setattr(host, "os_release", lambda: {"ID": "fedora"})
    assert toolchain.remedy(wanted) == "install go gmake"


def test_what_a_user_types_is_not_for_toolchains(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    os.write(write_end, b"9.9\n")
    os.close(write_end)
    own = os.dup(0)
    os.dup2(read_end, 0)
    try:
        assert toolchain.run_build(["cat"], tmp_path) == "$ cat\n"
    finally:
        os.dup2(own, 0)
        os.close(own)
        os.close(read_end)
