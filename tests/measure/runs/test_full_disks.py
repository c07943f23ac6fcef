"""A disk that becomes full at any write: the run ends in one line, loses no trial that was reported, and goes
on when there is room again (docs/RELIABILITY.md)."""

import re
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.measure.runs.test_hostile_run import add_built
from tests.support import ROOT
from tests.support.fake_contenders import Add, edit, manifest_of
from tests.support.shells import can_mount, outcomes, shell

BLOCKS = 2
NAMES = ("one", "built")
WANTED = {(block, name): 1 for block in range(1, BLOCKS + 1) for name in NAMES}
FULL = re.compile(
    "No space left on device|disk is full|the disk fails, is full|make its folder writable, with room"
)

# `ringside`, which notes each trial that it reports as finished.
NOTING = """
import sys
from ringside.cli import main, progress

reported = progress.LiveProgress.on_trial_end

def noted(self, trial):
    reported(self, trial)
    with open("reported", "a") as file:
        print(trial.block, trial.cell.contender, file=file)

progress.LiveProgress.on_trial_end = noted
main.main()
"""

# A run on a small disk; then, with room, what is left of it, or a new one where there was none.
TRY = """
noting() {{ '{python}' noting.py "$@"; }}
mount -t tmpfs -o {limit} none .ringside || exit 9
noting run mine --until end --json >first.json 2>first.err; echo $? >first.status
mkdir before after; cp .ringside/ringside.sqlite* before 2>/dev/null
mount -o remount,size=30m,nr_inodes=9999 .ringside || exit 9
ringside run --resume latest --json >after.json 2>after.err; status=$?
if grep -q 'holds no run yet' after.err; then ringside run mine --until end --json >after.json; status=$?; fi
cp .ringside/ringside.sqlite* after; exit $status
"""


@pytest.fixture
def place(workplace: Path, add_fake: Add, add_experiment: Add) -> Path:
    """A workplace with the experiment `mine`: of two contenders, one of which is built."""
    add_built(workplace, add_fake, "built")
    # Python takes a cache of bytecode for whole that a full disk has cut off.
    edit(manifest_of(workplace, "built"), ('"-S"', '"-B", "-S"'))
    add_experiment("mine", *NAMES, blocks=BLOCKS)
    (workplace / "noting.py").write_text(NOTING)
    (workplace / ".ringside").mkdir()
    return workplace


def answers(folder: Path, query: str) -> list[Any]:
    """The rows of a store in a folder, after its integrity check; none if there is no store."""
    path = folder / "ringside.sqlite"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'trial'").fetchone():
            return []
        return connection.execute(query).fetchall()


def rows(folder: Path) -> list[Any]:
    """The trials of a store."""
    return answers(folder, "SELECT block, contender, outcome FROM trial ORDER BY id")


def tried(place: Path, limit: str) -> str:
    """The end of a run on a disk with this limit: `complete`, or where it was stopped."""
    for name in ("before", "after"):
        shutil.rmtree(place / name, ignore_errors=True)
    (place / "reported").write_text("")
    done = shell(TRY.format(python=sys.executable, limit=limit), mounts=True)
    assert done.returncode == 0, (limit, done, (place / "after.err").read_text())
    talk = (place / "first.err").read_text()
    lines = [line for line in talk.splitlines() if line.startswith("ringside: ")]
    status = int((place / "first.status").read_text())
    before, after = rows(place / "before"), rows(place / "after")
    assert not re.search("Traceback|Exception", talk), (limit, talk)
    assert (status, len(lines)) in ((0, 0), (2, 1)), (limit, talk)
    assert status == 0 or (FULL.search(lines[0]) and talk.endswith(f"{lines[0]}\n")), (limit, talk)

    # All that was reported is there, and stays; all that is missing is carried out, once.
    reported = [line.split() for line in (place / "reported").read_text().splitlines()]
    assert [[str(block), name] for block, name, _ in before][: len(reported)] == reported, limit
    assert after[: len(before)] == before, limit
    assert Counter((block, name) for block, name, _ in after) == WANTED, (limit, after)
    assert outcomes((place / "after.json").read_text()) == {name: {"ok": BLOCKS} for name in NAMES}
    if status == 0:
        return "complete"
    has_run = "ringside run --resume" in lines[0]
    # `--resume` found a run of before, or there was none.
    assert has_run == bool(answers(place / "before", "SELECT id FROM run")), (limit, talk)
    return f"after {len(before)} trials" if has_run else "before the run"


@can_mount
@pytest.mark.parametrize(
    "limit", ["size=8k", "size=60k", "size=132k", "size=220k", "nr_inodes=5", "nr_inodes=13"]
)
def test_a_disk_that_becomes_full(place: Path, limit: str) -> None:
    assert tried(place, limit) != "complete"


@can_mount
@pytest.mark.soak
@pytest.mark.parametrize("limit", ["size={}k", "nr_inodes={}"])
def test_a_disk_that_is_full_at_each_write(place: Path, limit: str) -> None:
    """One page more each time, or one file: from none at all up to enough for the whole run. `pytest -s`
    shows where the runs were stopped."""
    by_number: dict[int, str] = {}
    # Not the first that is enough: the checkpoint at the end of a run needs more, and may fail.
    while list(by_number.values())[-3:] != ["complete"] * 3:
        number = len(by_number) + 1
        by_number[number] = tried(place, limit.format(4 * number if "size" in limit else number + 1))
    print(f"\n{limit}: {len(by_number)} tried, {dict(Counter(by_number.values()))}")
    assert "before the run" in by_number.values()


# Made-up trials without an end; how many were kept when there was no room for the next.
FILL = """
import sys
from tests.support.stores import trial
from ringside.errors import StoreError
from ringside.store import Store

store = Store(".ringside/ringside.sqlite")
run = store.begin_run("filled", 1, {}, {}, {})
kept = 0
try:
    while True:
        store.add_trial(run, trial(kept + 1))
        kept += 1
except StoreError as error:
    print(kept, error)
"""


@can_mount
@pytest.mark.parametrize("kib", [4000, 6000])
def test_a_full_disk_when_sqlite_folds_a_log(place: Path, monkeypatch: pytest.MonkeyPatch, kib: int) -> None:
    """SQLite writes its log into the file when it has 4 MB, and at the end."""
    (place / "fill.py").write_text(FILL)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    script = f"""
        mount -t tmpfs -o size={kib}k none .ringside || exit 9
        '{sys.executable}' fill.py; status=$?
        mkdir before after; cp .ringside/ringside.sqlite* before
        mount -o remount,size=99m .ringside; ringside list runs >&2
        cp .ringside/ringside.sqlite* after; exit $status
    """
    done = shell(script, mounts=True)
    assert done.returncode == 0, done
    kept, _, complaint = done.stdout.strip().partition(" ")
    assert FULL.search(complaint), done
    for name in ("before", "after"):
        assert len(rows(place / name)) == int(kept), (kib, name)


@can_mount
def test_a_contender_that_fills_the_stores_disk(place: Path, add_fake: Add, add_experiment: Add) -> None:
    """It keeps what it wrote, so that there is no room for its own trial: the second of the run, after the
    one that warms up."""
    add_fake("filler", "fills-the-disk", "disk=.ringside", "start=3")
    add_experiment("filled", "one", "filler", blocks=4)
    script = """
        mount -t tmpfs -o size=2m none .ringside || exit 9
        ringside run filled --until end >&2; status=$?
        mkdir before after; cp .ringside/ringside.sqlite* before
        rm .ringside/filler || exit 8
        ringside run --resume latest --json || exit 7
        cp .ringside/ringside.sqlite* after; exit $status
    """
    done = shell(script, mounts=True)
    assert done.returncode == 2, done
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("ringside: ")]
    assert re.search("disk is full; free some space; `ringside run --resume .* continues it", line), line
    before, after = rows(place / "before"), rows(place / "after")
    assert 2 <= len(before) <= 3
    assert after[: len(before)] == before
    wanted = {(block, name): 1 for block in range(1, 5) for name in ("one", "filler")}
    assert Counter((block, name) for block, name, _ in after) == wanted
    assert outcomes(done.stdout) == {name: {"ok": 4} for name in ("one", "filler")}
