"""Ringside, its probe, or both, killed at random moments of real runs: no finished trial is lost, the store
is whole, `--resume` completes the same plan with no trial twice, and nothing is left: no process, no
cgroup."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

import pytest

from tests.cgroups import probe_cgroups
from tests.command_line import RINGSIDE, ringside
from tests.processes import is_over, processes_of
from tests.programs import descendants

Add = Callable[..., None]

BLOCKS = 6
NAMES = ("one", "two", "three")
RUN = [*RINGSIDE, "run", "mine", "--until", "end"]
REPEATED = ("probe-failed", "interrupted")


def trials(store: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(store)) as connection:
        (answer,) = connection.execute("PRAGMA integrity_check").fetchone()
        assert answer == "ok"
        query = "SELECT block, contender, point, outcome FROM trial ORDER BY id"
        return connection.execute(query).fetchall()


def is_alive(cgroup: Path) -> bool:
    """Whether the probe that a cgroup is named for lives."""
    return Path("/proc", cgroup.name.split("-")[1]).exists()


def stale_cgroups() -> set[Path]:
    """Cgroups of probes that do not live any more."""
    return {path for path in probe_cgroups() if not is_alive(path)}


@cache
def measuring_s(place: Path) -> float:
    """How long a whole run takes from its first contender on."""
    with subprocess.Popen(RUN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        assert is_over(lambda: bool(processes_of(place)), 120)
        begun = time.monotonic()
        assert process.wait(120) == 0
        return time.monotonic() - begun


def killed(place: Path, dice: random.Random, whom: str) -> subprocess.Popen[bytes]:
    """A run, and a SIGKILL somewhere on the way, mostly in its trials: of "ringside", of its "probe", which
    does not end the run, or of "both"."""
    process = subprocess.Popen(RUN, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if dice.random() < 0.8:
        is_over(lambda: bool(processes_of(place)) or process.poll() is not None, 60)
        time.sleep(dice.uniform(0, measuring_s(place)))
    else:
        time.sleep(dice.uniform(0, 2))
    probes = descendants(process.pid)[:1]
    victims = {"ringside": [process.pid], "probe": probes, "both": [process.pid, *probes]}[whom]
    for victim in victims:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    process.communicate(timeout=120)
    return process


@pytest.fixture
def runs(workplace: Path, add_fake: Add, add_experiment: Add) -> Path:
    for name in NAMES:
        add_fake(name)
    add_experiment("mine", *NAMES, blocks=BLOCKS)
    return workplace


def check(place: Path, dice: random.Random, whom: str) -> str:
    """Kill, look at the store, resume, look again. When the kill came, in words."""
    store = place / ".ringside" / "ringside.sqlite"
    measuring_s(place)
    store.unlink(missing_ok=True)
    for rest in ("-wal", "-shm"):
        store.with_name(store.name + rest).unlink(missing_ok=True)
    killed(place, dice, whom)
    assert is_over(lambda: not processes_of(place)), "a contender outlived the kill"
    if not store.exists():
        return "before there was a store"
    try:
        before = trials(store)
        with closing(sqlite3.connect(store)) as connection:
            run, ended = connection.execute("SELECT id, ended_at FROM run").fetchone()
    except (sqlite3.OperationalError, TypeError):
        return "before the run began"
    ringside("run", "--resume", run, status=None)
    after = trials(store)
    assert after[: len(before)] == before
    counted = Counter((block, name) for block, name, _, outcome in after if block and outcome not in REPEATED)
    # A run that went on after its probe had died, to its end, has that row.
    lost = {(block, name) for block, name, _, outcome in after if outcome == "probe-failed"}
    wanted = {(block, name): 1 for block in range(1, BLOCKS + 1) for name in NAMES}
    assert counted | Counter(lost) == wanted
    assert len(lost) <= 1
    assert not processes_of(place)
    return "after its end" if ended and not lost else "in the run" if before else "before the first trial"


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
    assert moments["in the run"]
    # The next probe removed what the killed ones had left.
    ringside("run", "mine", "--blocks", "1", "--until", "end")
    assert not stale_cgroups()


def test_ctrl_c_ends_within_two_seconds(runs: Path) -> None:
    process = subprocess.Popen(RUN, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert is_over(lambda: bool(processes_of(runs)))
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    # The contract is two seconds; the rest is for a host that stalls.
    assert time.monotonic() - begun < 6
    assert process.returncode == 130
    assert b"ringside run --resume" in complaint
    assert not processes_of(runs)
