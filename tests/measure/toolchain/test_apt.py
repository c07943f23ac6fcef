"""The apt release that brings a runtime, and the packages that `setup` installs; programs answer as apt
does."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringside.catalogue.loader import Catalogue
from ringside.cli.main import cli
from ringside.measure import host
from ringside.measure.toolchain import apt
from ringside.measure.toolchain.apt import Package, newer_release, packages_of
from ringside.measure.toolchain.receipts import find_receipt
from ringside.model.catalogue import Runtime
from tests.support import ROOT
from tests.support.cases import cases
from tests.support.fake_contenders import PYTHON, Add, edit, manifest_of
from tests.support.toolchains import script

DEBIAN_12 = """\
     thing | 2:1.24~1 | https://deb.test/debian experimental/main amd64 Packages
     thing | 2:1.23~2~bpo12+1 | https://deb.test/debian bookworm-backports/main amd64 Packages
     thing |   2:1.19~1 | https://deb.test/debian bookworm/main amd64 Packages
     thing |   2:1.19~1 | https://deb.test/debian bookworm/main Sources
"""
THING = Runtime(
    name="thing",
    executable=("no-such-thing",),
    version=("{runtime}",),
    minimum="1.21",
    install={"debian": ("thing", "other")},
)


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has `apt-cache madison` print a text, here and in processes, on a Debian 12."""
    programs = tmp_path / "apt"

    def prints(text: str) -> None:
        script(programs / "apt-cache", f'[ "$1" = madison ] && exec cat {programs}/answer')
        (programs / "answer").write_text(text)

    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(host, "os_release", lambda: {"ID": "debian", "VERSION_ID": "12"})
    return prints


@pytest.mark.parametrize(("minimum", "release"), cases(__file__, "the_release_that_will_do"))
def test_the_release_that_will_do(policy: Callable[[str], None], minimum: str, release: str) -> None:
    policy(DEBIAN_12)
    assert newer_release("thing", minimum) == release


@pytest.mark.parametrize("text", ["", "N: Unable to locate package thing\n"])
def test_a_package_that_apt_does_not_know(policy: Callable[[str], None], text: str) -> None:
    policy(text)
    assert newer_release("thing", "1.21") == ""
    assert packages_of(THING) == (Package("thing"), Package("other"))


def test_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert newer_release("thing", "1.21") == ""


def test_only_the_first_package_comes_from_another_release(policy: Callable[[str], None]) -> None:
    policy(DEBIAN_12)
    assert packages_of(THING) == (Package("thing", "bookworm-backports"), Package("other"))
    assert packages_of(replace(THING, minimum=None)) == (Package("thing"), Package("other"))
    assert packages_of(replace(THING, install={})) == ()
    assert apt.commands([Package("thing", "bookworm-backports")]) == ["-t bookworm-backports thing"]


def test_instructions_are_for_a_system_without_such_a_release(policy: Callable[[str], None]) -> None:
    told = replace(THING, instructions={"debian-12": "look at https://thing.test/"})
    policy(DEBIAN_12)
    assert packages_of(told)[0] == Package("thing", "bookworm-backports")
    policy(re.sub(r"(?m)^.*2:1\.2.*$", "", DEBIAN_12))
    assert packages_of(told) == ()


def test_setup_installs_from_that_release(
    workplace: Path,
    tmp_path: Path,
    add_fake: Add,
    policy: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    policy(DEBIAN_12)
    add_fake("one")
    ways = 'install = { debian = ["thing", "other"] }\ninstructions = { debian-12 = "look there" }\n'
    changes = (f'"{PYTHON}"', '"no-such-thing"'), ('"3.11"\n', f'"1.21"\n{ways}')
    edit(manifest_of(workplace, "one"), *changes)
    called = tmp_path / "called"
    answers = f'echo "$@" >> {called}\n[ "$1" = update ] || {{ echo no; exit 1; }}'
    script(tmp_path / "apt" / "apt-get", answers)
    monkeypatch.setattr("ringside.measure.toolchain.apt.time.sleep", lambda seconds: None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert cli.main(["setup", "one"], standalone_mode=False) == 1
    written = capsys.readouterr().err
    assert "with apt-get: other, -t bookworm-backports thing" in written
    assert "other could not be installed: .ringside/setup.log has the output of apt-get\n" in written
    quiet = "install -y -qq --no-install-recommends"
    other, backport = f"{quiet} other", f"{quiet} -t bookworm-backports thing"
    # Together, and then, since that fails, each by itself, three times.
    installed = ["update -qq", *[other] * 4, *[backport] * 3]
    assert called.read_text().splitlines() == installed
    assert Path(".ringside/setup.log").read_text() == "no\n" * 7
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cli.main(["setup", "one"], standalone_mode=False) == 1
    written = capsys.readouterr().err
    assert "get them with: sudo apt-get install -y other\n" in written
    assert "get them with: sudo apt-get install -y -t bookworm-backports thing\n" in written
    assert called.read_text().splitlines() == installed


def test_contenders_of_one_compiler_get_each_its_library(
    policy: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine with g++, and without any library, whatever this one has."""
    policy("")
    compiler = script(
        tmp_path / "apt" / "g++",
        "case $1 in -dumpfullversion) echo 12.2.0 && exit;; esac\n"
        "echo '<stdin>:1:10: fatal error: x.hpp: No such file or directory' >&2\nexit 1",
    )
    for name, to in {"gcc": compiler, "sh": "/bin/sh", "tail": "/usr/bin/tail", "tr": "/usr/bin/tr"}.items():
        (tmp_path / "apt" / name).symlink_to(str(to))
    monkeypatch.setenv("PATH", str(tmp_path / "apt"))
    catalogue = Catalogue([ROOT])
    contenders = [catalogue.contender(name) for name in ("cpp-beast", "cpp-coroutines")]
    for each in (contenders[0], catalogue.contender("c-microhttpd")):
        reason = str(find_receipt(each.runtime))
        assert "printed no recognisable version: <stdin>:1:10: fatal error: x.hpp: No such" in reason
    assert {each.name for each in apt.packages_for(contenders)} == {"g++", "libboost-dev", "libasio-dev"}
