"""The lock that keeps two measurements apart."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringside.files import FileLock
from ringside.measure import host
from ringside.measure.host import LOCK_VARIABLE, MachineLock, alone
from tests.support.command_line import RINGSIDE, in_process, ringside
from tests.support.fake_contenders import Add
from tests.support.processes import another
from tests.support.stored_trials import trials_so_far


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(LOCK_VARIABLE, str(tmp_path / "lock"))
    return tmp_path / "lock"


def test_nobody_waits_for_a_free_lock(lock: Path) -> None:
    waits: list[float] = []
    for _ in range(2):
        with alone(lambda: waits.append(time.monotonic())):
            assert lock.exists()
    assert not waits


def test_who_cannot_wait_inside_takes_the_lock_or_not(lock: Path) -> None:
    with alone(lambda: None):
        assert not MachineLock().take()
    ours = MachineLock()
    assert ours.take()
    # It is held until it is gone.
    assert not MachineLock().take()
    waits: list[int] = []

    def give_back() -> None:
        nonlocal ours
        waits.append(1)
        del ours

    with alone(give_back):
        assert waits == [1]


@pytest.mark.parametrize("place", ["/proc/no/such/folder/lock", "/"])
def test_a_lock_that_does_not_open(place: str, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs without it would disturb each other."""
    monkeypatch.setenv(LOCK_VARIABLE, place)
    done = in_process("vs", "--blocks", "1", "true", "true", status=2)
    assert f"the lock {place} that keeps two measurements apart cannot be opened" in done.stderr
    assert "name another file with RINGSIDE_LOCK" in done.stderr
    assert "-vs " not in in_process("list", "runs").stdout


def test_a_lock_that_an_ancestor_holds_is_not_waited_for(lock: Path) -> None:
    """Nor is any other lock of an ancestor taken for it, such as one on another file system that has the same
    inode."""
    inside = "from ringside.measure.host import MachineLock; print(MachineLock().is_of_ancestor())"

    def is_of_ancestor() -> str:
        return subprocess.run([sys.executable, "-c", inside], capture_output=True, text=True).stdout.strip()

    unrelated = FileLock(lock.with_name("unrelated"))
    assert unrelated.acquire()
    lock.touch()
    assert is_of_ancestor() == "False"
    with lock.open(), alone(lambda: None):
        assert is_of_ancestor() == "True"
    # Open, and held by nobody.
    with lock.open():
        assert is_of_ancestor() == "False"


def test_a_failure_inside_gives_the_lock_back(lock: Path) -> None:
    with pytest.raises(KeyboardInterrupt), alone(lambda: None):
        raise KeyboardInterrupt
    assert MachineLock().take()


def test_the_lock_is_the_users_in_any_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A desktop's run and one of cron have other folders for temporary files."""
    monkeypatch.delenv(LOCK_VARIABLE)
    monkeypatch.setattr(host, "_LOCK_FOLDER", tmp_path)
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path / "desktop"))
    with alone(lambda: None):
        (path,) = tmp_path.iterdir()
        assert path.name == f"ringside-{os.getuid()}.lock"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
            monkeypatch.delenv(name)
        assert not MachineLock().take()


def test_a_load_beside_a_measurement_says_so_and_runs_wait_for_a_load(lock: Path, http: str) -> None:
    words = ("load", f"{http}/", "--requests", "2")
    with another():
        beside = ringside(*words)
    assert "another ringside is measuring on this machine: the figures of both may suffer" in beside.stderr
    assert ringside(*words).stderr == ""
    endless = [*RINGSIDE, "load", f"{http}/", "--duration", "1000s", "--rate", "10", "--json"]
    with subprocess.Popen(endless, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        while MachineLock().take():
            time.sleep(0.05)
        with alone(lambda: other.send_signal(signal.SIGINT)):
            assert other.wait(60) == 130


@pytest.mark.parametrize(
    ("words", "end"), [("run mine", "block 1 of 1"), ("check good --quick", "good took")]
)
@pytest.mark.usefixtures("lock", "workplace")
def test_a_second_one_says_so_and_waits(words: str, end: str, add_experiment: Add) -> None:
    add_experiment("mine", "good")
    with another():
        waits = subprocess.Popen([*RINGSIDE, *words.split()], stderr=subprocess.PIPE, text=True)
        said = waits.stderr.readline()
        assert "another ringside is measuring on this machine: waiting until it ends" in said
        assert (waits.poll(), trials_so_far()) == (None, [])
    with waits:
        assert end in waits.communicate(timeout=120)[1]
