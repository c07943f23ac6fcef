"""Ringside, its probe, or both, killed at random moments of real runs: no finished trial is lost, the store
is whole, `--resume` completes the same plan with no trial twice, and nothing is left: no process, no port, no
folder, no cgroup. Ctrl-C, too."""

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.support.cgroups import probe_cgroups
from tests.support.command_line import RINGSIDE, ringside
from tests.support.fake_contenders import Add, add_build, write_server
from tests.support.processes import is_over, is_refused, processes_of
from tests.support.programs import cpu_ticks, descendants
from tests.support.stores import sql

BLOCKS = 6
# One of them listens on a port while it works.
NAMES = {"one": "good", "two": "good", "three": "listens-meanwhile"}
STORE_FILES = {f"ringside.sqlite{rest}" for rest in ("", "-wal", "-shm")}
RUN = [*RINGSIDE, "run", "mine", "--until", "end"]
REPEATED = ("probe-failed", "interrupted")


def trials(store: Path) -> list[tuple[object, ...]]:
    assert sql(store, "PRAGMA integrity_check") == [("ok",)]
    return sql(store, "SELECT block, contender, point, outcome FROM trial ORDER BY id")


def stored(store: Path) -> int:
    """How many trials a store has, while a run writes to it."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM trial").fetchone()
        return int(count)
    return 0


def wait_for_moment(process: subprocess.Popen[bytes], store: Path, dice: random.Random) -> None:
    """Until a moment at random: mostly one between the first trial that is stored and the last but one, else
    one on the way to the first."""
    if dice.random() < 0.1:
        time.sleep(dice.uniform(0, 2))
        return
    count = dice.randrange(1, BLOCKS * len(NAMES) - 1)
    while stored(store) < count and process.poll() is None:
        time.sleep(0.002)
    # Anywhere in the next trial, which takes some 50 ms.
    time.sleep(dice.uniform(0, 0.05))


def killed(store: Path, dice: random.Random, whom: str) -> int:
    """A run, and a SIGKILL on the way: of "ringside", of its "probe", which does not end the run, or of
    "both". How many trials were stored by then."""
    process = subprocess.Popen(RUN, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_moment(process, store, dice)
    probes = descendants(process.pid)[:1]
    count = stored(store)
    victims = {"ringside": [process.pid], "probe": probes, "both": [process.pid, *probes]}[whom]
    for victim in victims:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    process.communicate(timeout=120)
    return count


@pytest.fixture
def runs(workplace: Path, add_fake: Add, add_experiment: Add, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, how in NAMES.items():
        add_fake(name, how)
    add_experiment("mine", *NAMES, blocks=BLOCKS)
    temporary = workplace.parent / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    return workplace


def check_nothing_is_left(place: Path, *, swept: bool = True) -> None:
    """`swept`: False where ringside and the probe were both killed: the next probe removes the folder."""
    assert is_over(lambda: not processes_of(place)), "a contender outlived the kill"
    ports = place / "ports"
    in_use = [int(port) for port in ports.read_text().split()] if ports.exists() else []
    assert is_over(lambda: all(map(is_refused, in_use))), f"one of these ports is in use: {in_use}"
    temporary = place.parent / "temporary"
    if swept:
        # A probe without ringside ends in order, which takes a moment.
        assert is_over(lambda: not os.listdir(temporary)), os.listdir(temporary)
    else:
        assert all(name.startswith("ringside-tmp-") for name in os.listdir(temporary))


def check(place: Path, dice: random.Random, whom: str) -> str:
    """Kill, look at the store, resume, look again. When the kill came, in words."""
    store = place / ".ringside" / "ringside.sqlite"
    for file in (store, *(store.with_name(store.name + rest) for rest in ("-wal", "-shm")), place / "ports"):
        file.unlink(missing_ok=True)
    at_kill = killed(store, dice, whom)
    check_nothing_is_left(place, swept=whom != "both")
    if not store.exists():
        return "before there was a store"
    try:
        before = trials(store)
        ((run,),) = sql(store, "SELECT id FROM run")
    except (sqlite3.OperationalError, ValueError):
        return "before the run began"
    resumed = ringside("run", "--resume", run, status=None)
    assert resumed.returncode in (0, 1), resumed
    after = trials(store)
    assert after[: len(before)] == before
    counted = Counter((block, name) for block, name, _, outcome in after if block and outcome not in REPEATED)
    # A run that went on after its probe had died, to its end, has that row.
    lost = {(block, name) for block, name, _, outcome in after if outcome == "probe-failed"}
    wanted = {(block, name): 1 for block in range(1, BLOCKS + 1) for name in NAMES}
    assert counted | Counter(lost) == wanted
    assert len(lost) <= 1
    # If no trial was missing, there was no probe either.
    check_nothing_is_left(place, swept=whom != "both" or len(after) > len(before))
    assert {path.name for path in store.parent.iterdir()} <= {"builds", "uv", "inputs", *STORE_FILES}
    assert not [it for it in (store.parent / "builds").iterdir() if not it.name.startswith(tuple(NAMES))]
    planned = BLOCKS * len(NAMES)
    return "after its end" if at_kill >= planned else "in the run" if at_kill else "before the first trial"


@pytest.mark.integration
@pytest.mark.parametrize("whom", ["ringside", "probe", "both"])
def test_killed_at_random_moments(runs: Path, whom: str) -> None:
    dice = random.Random(7)
    for _ in range(2):
        check(runs, dice, whom)


@pytest.mark.soak
@pytest.mark.parametrize("whom", ["ringside", "probe", "both"])
def test_killed_two_hundred_times(runs: Path, whom: str) -> None:
    """Sixty-seven times each; `pytest -s` shows when the kills came."""
    dice = random.Random()
    moments = Counter(check(runs, dice, whom) for _ in range(67))
    print(f"\nSIGKILL of {whom}: {dict(moments)}")
    assert sum(moments.values()) == 67
    assert moments["in the run"] > 40
    # The next probe removed what the killed ones had left; a cgroup is named for its probe.
    ringside("run", "mine", "--blocks", "1", "--until", "end")
    assert all(Path("/proc", cgroup.name.split("-")[1]).exists() for cgroup in probe_cgroups())


def interrupted(command: Sequence[str], is_time: Callable[[], bool]) -> tuple[float, str]:
    """Ctrl-C for a command when it is time: how long it took to end, in s, and its last words."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert is_over(is_time, 30), "nothing was started"
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=30)
        took_s = time.monotonic() - begun
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, complaint
    assert b"Traceback" not in complaint
    return took_s, complaint.decode()


def ends_soon(place: Path, words: Sequence[str], is_time: Callable[[], bool]) -> str:
    """Ctrl-C ends `ringside run` within two seconds, and nothing is left. A host that stalls gets two more
    attempts; what always takes longer fails. Its last words."""
    took_s: list[float] = []
    while not took_s or (took_s[-1] > 2 and len(took_s) < 3):
        (place / ".ringside" / "ringside.sqlite").unlink(missing_ok=True)
        one_s, complaint = interrupted([*RINGSIDE, "run", *words], is_time)
        took_s.append(one_s)
        check_nothing_is_left(place)
    assert min(took_s) <= 2, took_s
    return complaint


def test_ctrl_c_in_a_trial(runs: Path) -> None:
    store = runs / ".ringside" / "ringside.sqlite"
    said = ends_soon(runs, ["mine", "--until", "end", "--blocks", "1000"], lambda: stored(store) > 2)
    assert "ringside run --resume" in said


def test_ctrl_c_in_a_load_of_a_server_that_ignores_sigterm(runs: Path, add_experiment: Add) -> None:
    write_server(runs / "contenders" / "deaf", "deaf-under-load")
    add_experiment("serve", "deaf", workload="fib", factors="seconds = 10\nclients = 2\n")

    def has_connections() -> bool:
        """The load has begun: its server has worked for a while."""
        return any(cpu_ticks(pid) > 30 for pid in processes_of(runs))

    assert "ringside run --resume" in ends_soon(runs, ["serve"], has_connections)


def test_ctrl_c_in_a_build(runs: Path, add_experiment: Add) -> None:
    add_experiment("built", "built", blocks=1)
    add_build(runs / "contenders" / "built", "sh", "-c", "sleep 600; true")
    ends_soon(runs, ["built"], lambda: len(processes_of(runs)) > 1)
    # An incomplete build counts for nothing.
    assert not list((runs / ".ringside" / "builds").glob("built-*/.built"))
