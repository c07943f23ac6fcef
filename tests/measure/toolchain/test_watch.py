"""Files of contenders that change during a run."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.cli import context
from ringside.errors import BuildError
from ringside.measure.toolchain.builds import FileWatch, Toolchain, has_build
from ringside.model.catalogue import Ready
from ringside.text import one_line
from tests.support.fake_contenders import append, manifest_of
from tests.support.toolchains import ready_of, script

BUILD = """
[[build]]
command = ["sh", "-c", "mkdir $0/deep; cp fake.py $0/deep/; ln -s deep/fake.py $0/link", "{build}"]
"""


@pytest.fixture
def make(workplace: Path, add_fake: Callable[..., None]) -> Callable[..., Ready]:
    """A contender with a build of its own."""

    def add(name: str, build: str = BUILD) -> Ready:
        add_fake(name)
        append(manifest_of(workplace, name), build)
        return ready_of(Toolchain(workplace / "builds"), Catalogue([workplace]).contender(name))

    return add


Make = Callable[..., Ready]


def source(ready: Ready, name: str = "fake.py") -> Path:
    return ready.contender.folder / name


def test_what_does_not_change_is_not_reported(make: Make) -> None:
    one = make("one")
    watch = FileWatch(one)
    for _ in range(2):
        assert watch.changed_sources() is None
        assert watch.mend_build() is None
        watch.end_trial()
    # Written as it was, it has other times but is the same; so it is with another mode.
    source(one).write_bytes(source(one).read_bytes())
    assert watch.changed_sources() is None
    source(one).chmod(0o700)
    assert watch.changed_sources() is None
    # From then on these are its times.
    source(one).unlink()
    assert watch.changed_sources() is not None


@pytest.mark.parametrize("change", ["add", "remove", "change"])
def test_every_change_of_sources_is_seen(make: Make, change: str) -> None:
    one, other = make("one"), make("other")
    watch, other_watch = FileWatch(one), FileWatch(other)
    path = source(one, "added.py" if change == "add" else "fake.py")
    if change == "remove":
        path.unlink()
    else:
        path.write_text("# other\n", encoding="utf-8")
    expected = f"its sources have changed since the run began: {path}"
    assert watch.changed_sources() == expected
    # Again, and only of that contender.
    assert watch.changed_sources() == expected
    assert other_watch.changed_sources() is None


def test_of_several_changes_the_first_is_named(make: Make) -> None:
    one = make("one")
    watch = FileWatch(one)
    for name in ("zebra.py", "bear.py", "cat.py"):
        source(one, name).write_text("# new\n", encoding="utf-8")
    assert (watch.changed_sources() or "").endswith(f": {source(one, 'bear.py')}")


def test_names_of_files_are_hostile(make: Make) -> None:
    one = make("one")
    watch = FileWatch(one)
    path = source(one, "a\x1b[31m" + "x" * 200)
    folder = path.parent / ("y" * 200)
    folder.mkdir()
    long = folder / ("z" * 200)
    long.touch()
    reason = watch.changed_sources()
    assert reason == f"its sources have changed since the run began: {one_line(str(long), 300)}"
    long.unlink()
    path.touch()
    assert "·[31mxxx" in (watch.changed_sources() or "")


# --- builds ---


CHANGES = ("echo '# changed' > deep/fake.py", "rm deep/fake.py", "touch deep/more", "ln -fs /etc/passwd link")


@pytest.mark.parametrize("change", [*CHANGES, "touch deep/fake.py"])
def test_a_build_that_was_changed_is_made_anew(make: Make, change: str) -> None:
    one, two = make("one"), make("two")
    text = (one.build / "deep" / "fake.py").read_text()
    watch, other = FileWatch(one), FileWatch(two)
    subprocess.run(change, shell=True, cwd=one.build, check=True)
    assert other.mend_build() is None
    assert watch.mend_build() == "its build was changed, and was built again"
    assert watch.mend_build() is None
    assert sorted(path.name for path in one.build.iterdir()) == [".built", "deep", "link"]
    assert [path.name for path in (one.build / "deep").iterdir()] == ["fake.py"]
    assert (one.build / "link").read_text() == text


def test_what_a_contender_does_to_its_own_build_is_its_business(make: Make) -> None:
    one = make("one")
    watch = FileWatch(one)
    (one.build / "cache").touch()
    watch.end_trial()
    assert watch.mend_build() is None
    watch.discard_changed()
    assert has_build(one)
    # Without its marker it is made anew.
    (one.build / ".built").unlink()
    watch.end_trial()
    assert watch.mend_build() == "its build was changed, and was built again"
    assert has_build(one)


def test_a_build_that_cannot_be_made_anew(make: Make, workplace: Path) -> None:
    build = f'\n[[build]]\ncommand = ["sh", "-c", "test ! -e {workplace}/broken || exit 3"]\n'
    one = make("one", build)
    watch = FileWatch(one)
    (one.build / "more").touch()
    (workplace / "broken").touch()
    with pytest.raises(BuildError) as failed:
        watch.mend_build()
    assert str(failed.value) == (
        "its build was changed, and cannot be built again: cannot be built: `sh` ended with 3"
    )
    assert isinstance(failed.value.__cause__, BuildError)


def test_at_the_end_builds_that_others_changed_are_discarded(make: Make) -> None:
    one, two = make("one"), make("two")
    watches = [FileWatch(one), FileWatch(two)]
    watches[0].end_trial()
    (one.build / "more").touch()
    for watch in watches:
        watch.discard_changed()
    assert (has_build(one), has_build(two)) == (False, True)


def test_a_program_of_a_command_that_is_built_anew_during_a_run_is_noticed(workplace: Path) -> None:
    program = script(workplace / "server", "exec sleep 100")
    argument = workplace / "setting.txt"
    argument.write_text("one")
    contender = context.catalogue([f"mine={program} setting.txt {{port}}"]).contender("mine")
    ready = ready_of(Toolchain(workplace / "builds"), contender)
    watch = FileWatch(ready)
    # The same content written again is no change.
    program.write_bytes(program.read_bytes())
    assert watch.changed_sources() is None
    for file in (program, argument):
        before = file.read_bytes()
        file.write_bytes(before + b"# built anew\n")
        reason = watch.changed_sources()
        assert reason
        assert reason.startswith("its program has changed since the run began: ")
        assert file.name in reason
        # A file with its old content again is no change either.
        file.write_bytes(before)
        assert watch.changed_sources() is None
