"""Builds and sources of contenders."""

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringside.errors import BuildError
from ringside.measure.toolchain import builds as toolchain
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender, Ready, Receipt, Unavailable, WorkloadEntry
from tests.support import probes
from tests.support.processes import is_over
from tests.support.toolchains import contender, ready_of, runtime, script, unavailable_of


@pytest.fixture
def built_by(tmp_path: Path, thing: Path) -> Callable[..., Contender]:
    """A contender on that runtime, built by these lines of a shell, to which `$0` is its build."""

    def make(*lines: str) -> Contender:
        builds = (("sh", "-c", line, "{build}") for line in lines)
        return contender(tmp_path / "c", runtime(thing), *builds)

    return make


BuiltBy = Callable[..., Contender]


def test_a_build_is_made_again_when_sources_change(
    tmp_path: Path, built_by: BuiltBy, tools: Toolchain
) -> None:
    count, announced = tmp_path / "count", list[Contender]()
    made = built_by(f"echo x >> {count}; cp main.txt $0/thing")
    tools = Toolchain(tools.builds, announced.append)
    first = ready_of(tools, made)
    assert (first.build / "thing").read_text() == "source"
    assert tools.prepare(made) == first
    assert count.read_text() == "x\n"
    # A build is announced where there is something to do.
    assert announced == [made]
    assert isinstance(tools.prepare(built_by()), Ready)
    assert announced == [made]
    (made.folder / "main.txt").write_text("changed", encoding="utf-8")
    second = ready_of(tools, made)
    assert second.build != first.build
    assert (second.build / "thing").read_text() == "changed"
    (made.folder / "__pycache__").mkdir()
    (made.folder / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert tools.prepare(made) == second


def test_a_variant_without_steps_uses_the_plain_build(built_by: BuiltBy, tools: Toolchain) -> None:
    plain = built_by("touch $0/made")
    variant = replace(plain, name="thing@tuned", built_as="thing")
    assert ready_of(tools, plain).build == ready_of(tools, variant).build
    assert ready_of(tools, replace(variant, built_as="")).build != ready_of(tools, plain).build


def test_one_program_is_built_where_it_is_enough(tmp_path: Path, thing: Path, tools: Toolchain) -> None:
    builds = [("sh", "-c", "echo $1 >> $0/made", "{build}", name) for name in ("first", "{workload}", "last")]
    made = replace(contender(tmp_path / "c", runtime(thing), *builds), programs=("ring", "jobs"))

    def prepared(program: str) -> tuple[Ready, list[str]]:
        ready = tools.prepare(made, program=program)
        assert isinstance(ready, Ready)
        return ready, (ready.build / "made").read_text().split()

    (ring, built), (jobs, _) = prepared("ring"), prepared("jobs")
    assert built == ["first", "ring", "last"]
    assert (ring.content, ring.program) == (jobs.content, "ring")
    (ring.build / "made").unlink()
    toolchain.rebuild(ring)
    assert prepared("ring") == (ring, built)
    whole, built = prepared("")
    assert (built, whole.content) == (["first", "ring", "jobs", "last"], ring.content)
    # A build for a run stays its own; others use the whole.
    assert prepared("ring")[0] == ring
    assert prepared("fib")[0] == whole


def test_the_folder_of_a_build(tmp_path: Path, thing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("sh", "-c", "pwd; echo $0 $1", "{runtime}", "{build}")
    made = contender(tmp_path / "c", runtime(thing), command)
    monkeypatch.chdir(tmp_path)
    tools = Toolchain(Path("deep/builds"))
    receipt = tools.receipt(made.runtime)
    assert isinstance(receipt, Receipt)
    ready = ready_of(tools, made)
    assert toolchain.has_build(ready)
    content = toolchain.content_hash(made, receipt)
    folder = tmp_path.resolve() / "deep/builds" / f"thing-{content[:12]}"
    assert ready == Ready(made, receipt, folder, content)
    # The output of its commands, in the contender's folder.
    assert (ready.build / ".built").read_text() == (
        f"$ sh -c pwd; echo $0 $1 {thing} {ready.build}\n{made.folder}\n{thing} {ready.build}\n"
    )


def test_a_failed_build_is_tried_again(tmp_path: Path, built_by: BuiltBy, tools: Toolchain) -> None:
    bad = built_by("echo the first went well", f"echo broken here >&2; test -e {tmp_path}/repaired || exit 3")
    for _ in range(2):
        unavailable = unavailable_of(tools, bad)
        assert unavailable.reason == "cannot be built: `sh` ended with 3"
        assert unavailable.receipt == tools.receipt(bad.runtime)
        assert "the first went well\n$ sh -c echo broken here" in unavailable.log
        assert "\nbroken here\n" in unavailable.log
        (log,) = tools.builds.glob("*.log")
        assert unavailable.remedy == f"fix the error in {log} and run again"
        assert log.read_text() == unavailable.log
    (tmp_path / "repaired").touch()
    ready = ready_of(tools, bad)
    assert not log.exists()
    assert "the first went well" in (ready.build / ".built").read_text()


NETWORK = "this build needs a network: connect this machine and run again; "
LOCK = "the lock file does not match its packages: restore the contender's folder, or lock anew; "


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        # The folder of builds goes away during the build.
        ("rm -r ${0%/*}", "fix this and run again"),
        ("echo 'remedy: delete the old jar'; echo 'no such host'", "delete the old jar"),
        ("echo 'curl: (6) Could not resolve host: crates.io'", NETWORK),
        ("echo 'npm error code ENOTFOUND'", NETWORK),
        ("echo 'npm error code EINTEGRITY'", LOCK),
        ("echo 'your package.json and package-lock.json or npm-shrinkwrap.json are in sync.'", LOCK),
    ],
)
def test_the_way_out_of_a_failed_build(built_by: BuiltBy, tools: Toolchain, line: str, remedy: str) -> None:
    unavailable = unavailable_of(tools, built_by(f"{line}; exit 3"))
    assert unavailable.reason == "cannot be built: `sh` ended with 3"
    assert unavailable.remedy.startswith(remedy)


def test_a_build_whose_program_or_whose_folder_cannot_be_there(
    tmp_path: Path, thing: Path, tools: Toolchain, built_by: BuiltBy
) -> None:
    unavailable = unavailable_of(tools, contender(tmp_path / "c", runtime(thing), ("no-such-compiler",)))
    assert unavailable.reason == "cannot be built: `no-such-compiler`: No such file or directory"
    assert unavailable.remedy == "fix this and run again"
    (tmp_path / "file").touch()
    unavailable = unavailable_of(Toolchain(tmp_path / "file" / "builds"), built_by())
    assert "failed: Not a directory" in unavailable.reason


def test_a_build_that_hangs(built_by: BuiltBy, tools: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "BUILD_TIMEOUT_S", 0.5)
    unavailable = unavailable_of(tools, built_by("echo the first", "echo fetching; sleep 1000"))
    assert unavailable.reason == "cannot be built: `sh` took over 0 s"
    assert "\nthe first\n$ sh -c echo fetching" in unavailable.log
    assert unavailable.log.endswith("\nfetching\n")
    (log,) = tools.builds.glob("*.log")
    assert log.read_text() == unavailable.log
    assert unavailable.remedy == f"find in {log} what it waits for"


def test_runs_at_the_same_time_build_once(tmp_path: Path, built_by: BuiltBy, tools: Toolchain) -> None:
    slow = built_by(f"echo x >> {tmp_path}/count; sleep 0.3")
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda _: Toolchain(tools.builds).prepare(slow), range(3)))
    assert all(isinstance(result, Ready) for result in results)
    assert (tmp_path / "count").read_text() == "x\n"


def test_builds_run_side_by_side(tmp_path: Path, built_by: BuiltBy, tools: Toolchain) -> None:
    """Each waits for what the other has begun; more than two would wait for a third."""
    one = built_by('touch "${0%/*}/one"; until [ -e "${0%/*}/two" ]; do sleep 0.01; done')
    two = built_by('touch "${0%/*}/two"; until [ -e "${0%/*}/one" ]; do sleep 0.01; done')
    results = list(tools.prepare_all([one, replace(two, name="other"), one]))
    assert [type(each) for each in results] == [Ready] * 3
    assert [each.contender.name for each in results] == ["thing", "other", "thing"]


def test_an_interrupt_ends_builds_that_run(tmp_path: Path, built_by: BuiltBy, tools: Toolchain) -> None:
    slow = replace(built_by('echo $$ >"${0%/*}/pid"; exec sleep 1000'), name="slow")
    quick = built_by('until [ -s "${0%/*}/pid" ]; do sleep 0.01; done')
    results = tools.prepare_all([quick, slow])
    assert isinstance(next(results), Ready)
    results.close()
    group = (tools.builds / "pid").read_text().strip()
    assert is_over(lambda: not Path(f"/proc/{group}/exe").exists())


def test_an_interrupt_ends_builds_that_are_about_to_run(built_by: BuiltBy, tools: Toolchain) -> None:
    """One has said that it builds and has no process yet, one waits for another that builds the same."""
    one = built_by("exec sleep 1000")
    begun = threading.Event()

    def on_build(contender: Contender) -> None:
        if contender is one:
            begun.set()
            time.sleep(0.3)

    tools = Toolchain(tools.builds, on_build)
    results = tools.prepare_all([built_by("true"), one, one])
    assert isinstance(next(results), Ready)
    assert begun.wait(60)
    results.close()
    receipt = tools.receipt(one.runtime)
    assert isinstance(receipt, Receipt)
    folder = tools.builds / f"{one.name}-{toolchain.content_hash(one, receipt)[:12]}"
    assert not (folder / ".built").exists()
    # It can be used again.
    assert isinstance(tools.prepare(built_by("echo again")), Ready)


def test_a_build_cut_off_or_discarded_is_redone(tmp_path: Path, built_by: BuiltBy, tools: Toolchain) -> None:
    made = built_by(f"echo text; test ! -e {tmp_path}/x")
    ready = ready_of(tools, made)
    assert toolchain.has_build(ready)
    for again in (lambda: toolchain.rebuild(ready), lambda: ready_of(tools, made)):
        toolchain.discard(ready)
        assert not toolchain.has_build(ready)
        (ready.build / "rubbish").touch()
        again()
        assert toolchain.has_build(ready)
        assert not (ready.build / "rubbish").exists()
    (tmp_path / "x").touch()
    with pytest.raises(BuildError) as failed:
        toolchain.rebuild(ready)
    assert str(failed.value) == "cannot be built: `sh` ended with 1"
    assert failed.value.log == f"$ sh -c echo text; test ! -e {tmp_path}/x {ready.build}\ntext\n"
    # Once more, and where there is no folder, it does nothing.
    toolchain.discard(ready)
    toolchain.discard(dataclasses.replace(ready, build=tmp_path / "thing" / "none"))


def test_a_daemon_ends_with_its_build(
    tmp_path: Path, built_by: BuiltBy, tools: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon has a session of its own, and keeps the command's output open."""
    pid = tmp_path / "pid"
    start = f"setsid sh -c 'echo $$ >{pid}; exec sleep 1000' & while ! test -s {pid}; do sleep 0.01; done"
    for rest, limit_s in (("", 1000.0), ("; sleep 1000", 2.0)):
        monkeypatch.setattr(toolchain, "BUILD_TIMEOUT_S", limit_s)
        result = tools.prepare(built_by(f"{start}; echo built{rest}"))
        assert isinstance(result, Unavailable) == bool(rest)
        if isinstance(result, Unavailable):
            assert result.reason.endswith("took over 2 s")
            assert result.log.endswith("\nbuilt\n")
        assert not Path(f"/proc/{pid.read_text().strip()}").exists()
        pid.unlink()


@pytest.mark.parametrize("rest", ["", "; wait"], ids=["ends", "interrupted"])
def test_what_a_build_leaves_in_its_group_ends_with_it(tmp_path: Path, rest: str) -> None:
    pid = tmp_path / "pid"
    command = ("sh", "-c", f"sleep 1000 & echo $! >pid{rest}")
    if rest:
        sender = probes.when(lambda: pid.exists() and pid.read_text() != "", signal.SIGINT, apart_s=0.0)
        with pytest.raises(KeyboardInterrupt):
            toolchain.run_build(command, tmp_path)
        sender.join()
    else:
        toolchain.run_build(command, tmp_path)
    assert is_over(lambda: not Path(f"/proc/{pid.read_text().strip()}/exe").exists(), 30)


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


# --- runtimes from a registry ---


def test_a_build_can_bring_the_runtime_whose_version_counts(tmp_path: Path, thing: Path) -> None:
    """Whatever the version of the package manager: the lock among the sources decides."""
    bring = ("sh", "-c", 'printf "#!/bin/sh\\necho 7.2\\n" >"$0/own-a"; chmod +x "$0/own-a"', "{build}")
    brings = replace(runtime(thing), brings=("{build}/own-*", "-v"))
    one = contender(tmp_path / "c", brings, bring)
    first = ready_of(Toolchain(tmp_path / "builds"), one)
    assert first.receipt == Receipt(f"{first.build}/own-a", "7.2", "7.2")
    script(thing, "echo 2.0")
    again = Toolchain(tmp_path / "builds").prepare(one)
    assert again == first
    manager = Receipt(str(thing), "2.0", "2.0")
    for builds, installed in (("builds", first.receipt), ("others", None)):
        assert Toolchain(tmp_path / builds).installed(one, manager) == installed
    plain = replace(one, runtime=runtime(thing))
    assert Toolchain(tmp_path / "others").installed(plain, manager) == manager
    assert toolchain.is_unchanged(first)
    nothing = unavailable_of(Toolchain(tmp_path / "builds"), replace(one, builds=(("true",),)))
    assert nothing.reason.startswith(f"its build brings no runtime for this machine ({os.uname().machine}): ")
    assert nothing.remedy == "connect it to a network and run again"
    # npm calls it no failure that it could get nothing, but there is a build to make then.
    (marker,) = (tmp_path / "builds").glob("*/.built")
    assert marker.parent == first.build


# --- sources ---


def test_a_build_is_known_by_all_that_decides_it(tmp_path: Path) -> None:
    base = contender(tmp_path / "c", runtime("cc"), ("cc", "-O1"), ("strip",))
    receipt = Receipt("/bin/cc", "1.0", "cc 1.0")
    hashes = {
        toolchain.content_hash(base, receipt),
        toolchain.content_hash(replace(base, builds=(("cc", "-O2"), ("strip",))), receipt),
        toolchain.content_hash(replace(base, builds=(("cc", "-O1"),)), receipt),
        toolchain.content_hash(replace(base, runtime=replace(base.runtime, name="s")), receipt),
        toolchain.content_hash(base, dataclasses.replace(receipt, executable="/usr/bin/cc")),
        toolchain.content_hash(base, dataclasses.replace(receipt, version="1.1")),
        toolchain.content_hash(base, dataclasses.replace(receipt, text="cc 1.0 (patched)")),
    }
    (base.folder / "main.txt").write_text("other source", encoding="utf-8")
    hashes.add(toolchain.content_hash(base, receipt))
    (base.folder / "main.txt").rename(base.folder / "main2.txt")
    hashes.add(toolchain.content_hash(base, receipt))
    assert len(hashes) == 9


def test_sources_are_known_by_their_paths(tmp_path: Path) -> None:
    made = contender(tmp_path / "c", runtime("x"))
    left_behind = ("deep/.hidden/x.c", "target/y", "__pycache__/x.py", "a.beam", "x.pyc", ".x")
    for name in ("deep/er/z.c", "a.c", *left_behind):
        (made.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (made.folder / name).write_text(name, encoding="utf-8")
    (made.folder / "gone").symlink_to("/no/such/file")
    (made.folder / "main.lnk").symlink_to("main.txt")
    sources = toolchain.source_files(made)
    assert sources == {
        "a.c": b"a.c",
        "deep/er/z.c": b"deep/er/z.c",
        "main.lnk": b"source",
        "main.txt": b"source",
    }
    assert list(sources) == sorted(sources)
    assert toolchain.source_files(replace(made, has_sources=False)) == {}


def test_a_command_alone_is_known_by_its_words_and_the_files_that_they_name(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("one", encoding="utf-8")
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
