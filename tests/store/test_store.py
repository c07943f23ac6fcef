import dataclasses
import errno
import math
import re
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from ringside.errors import StoreError, UsageError
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import LoadMessage, Sample, SecondOfLoad
from ringside.store import Store, text_hash
from ringside.store.connection import FORMAT
from tests.support import ROOT
from tests.support.errors import error_of
from tests.support.processes import is_over
from tests.support.stores import POINT, begin, holding, sql, trial, whole_trials


def test_what_goes_in_comes_out(where: str) -> None:
    store = Store(where)
    # A source is kept once; seeds have 63 bits.
    other, run = (
        store.begin_run("ring", seed, {"a": [1]}, {"cpus": 2}, {text_hash("code"): "code"})
        for seed in (0, 2**63 - 1)
    )
    bare = Trial(0, 0, Cell("b", POINT), Outcome.UNAVAILABLE, "no toolchain")
    store.add_trial(other, bare)
    store.add_trial(run, trial())
    again = Store(where)
    assert again.runs() == [other, run]
    assert whole_trials(again, other) == [bare]
    assert whole_trials(again, run) == [trial()]
    assert again.trials(run) == [dataclasses.replace(trial(), samples=())]
    assert again.sources([text_hash("code"), "none"]) == {text_hash("code"): "code"}


def test_samples_are_read_when_they_are_used(tmp_path: Path) -> None:
    """Whole, or what figures need of them; those of all trials would not fit into memory."""
    path = tmp_path / "s.sqlite"
    store = Store(path)
    run = begin(store)
    store.add_trial(run, trial())
    (kept,) = store.trials(run, samples=True)
    assert list(kept.samples) == list(trial().samples)
    assert (kept.usage().t_ns.tolist(), trial().usage().t_ns.tolist()) == ([1, 2], [1, 2])
    assert kept.usage().pss_bytes.tolist() == pytest.approx([8, math.nan], nan_ok=True)
    assert trial(name="other").samples != ()
    sql(path, "UPDATE timeline SET samples = '[{}]'")
    (kept,) = store.trials(run, samples=True)
    for use in (lambda: list(kept.samples), kept.usage):
        with pytest.raises(StoreError, match="the samples of a trial in .* cannot be read"):
            use()


def test_usage_and_loads_are_those_of_the_trial(where: str) -> None:
    """Usage is read for many trials of a cell together, some of which have no samples."""
    store = Store(where)
    run = begin(store)
    for block in range(1, 121):
        seconds = tuple(SecondOfLoad(float(second), block) for second in range(2))
        load = LoadMessage(step="s", name="n", series=seconds)
        samples = () if block % 7 == 0 else (Sample(block), Sample(2 * block))
        for name in ("a", "b"):
            each = trial(block, name=name)
            store.add_trial(run, dataclasses.replace(each, samples=samples, loads=(load,)))
    kept = Store(where).trials(run, samples=True)
    assert len(kept) == 240
    for each in (*kept, *kept[::-1]):
        times = [] if each.block % 7 == 0 else [each.block, 2 * each.block]
        assert each.usage().t_ns.tolist() == times
        (load,) = each.loads
        assert [second.requests for second in load.series] == [each.block, each.block]


def test_runs_of_one_second_have_different_names_and_the_latest_is_the_last(where: str) -> None:
    store = Store(where)
    runs = [begin(store) for _ in range(12)]
    assert len({run.id for run in runs}) == 12
    assert store.run("latest").started_at == max(run.started_at for run in runs)
    assert len(store.runs()) == 12
    store.end_run(runs[0])
    assert [run.id for run in store.runs() if run.ended_at] == [runs[0].id]


def test_a_trial_is_on_disk_before_the_next_even_when_ringside_is_killed(where: str) -> None:
    program = """
import os, signal, sys
from tests.support.stores import Store, begin, trial
store = Store(sys.argv[1])
run = begin(store)
for block in (1, 2, 3):
    store.add_trial(run, trial(block))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, where], cwd=ROOT, check=False)
    assert done.returncode == -9
    store = Store(where)
    assert [each.block for each in store.trials(store.run())] == [1, 2, 3]
    assert store.run().ended_at is None


def test_a_trial_that_cannot_be_read_is_one_line(store: Store, tmp_path: Path) -> None:
    run = begin(store)
    store.add_trial(run, trial())
    sql(tmp_path / "s.sqlite", """UPDATE trial SET marks = '{"spawned": {"t_ns": -1}}'""")
    said = error_of(StoreError, store.trials, run)
    assert re.search(f"a trial of run {run.id} in .* cannot be read", said)


# --- what is no store of this format ---


@pytest.mark.parametrize("number", [str(FORMAT + 1), str(FORMAT - 1), "1"])
def test_a_store_of_another_format_is_refused_and_not_touched(tmp_path: Path, number: str) -> None:
    path = tmp_path / "s.sqlite"
    Store(path).close()
    sql(path, "UPDATE meta SET value = ?", number)
    assert f"has format {number}, this ringside knows {FORMAT}: use the" in error_of(StoreError, Store, path)
    assert sql(path, "SELECT value FROM meta") == [(number,)]


FOREIGN = ["CREATE TABLE albums (title)", "CREATE TABLE meta (key, value)", "CREATE TABLE meta (schema)"]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("table", FOREIGN)
def test_a_database_of_something_else_is_refused_and_kept(tmp_path: Path, table: str, create: bool) -> None:
    path = tmp_path / "music.sqlite"
    sql(path, table)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is no database of Ringside: name another store with --store"):
        Store(path, create=create)
    # The journal mode stands in the file's header.
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["music.sqlite"]


def test_several_processes_can_make_and_fill_a_store_at_the_same_time(where: str) -> None:
    program = """
import sys
import time
from tests.support.stores import Store, begin, trial
store = Store(sys.argv[1])
run = begin(store)
with store.hold(run.id):
    for block in range(1, 31):
        store.add_trial(run, trial(block))
store.end_run(run)
"""
    makers = [
        subprocess.Popen([sys.executable, "-c", program, where], cwd=ROOT, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for maker in makers:
        _, errors = maker.communicate(timeout=120)
        assert maker.returncode == 0, errors
    store = Store(where, create=False)
    runs = store.runs()
    assert len({run.id for run in runs}) == 3
    assert all([each.block for each in store.trials(run)] == list(range(1, 31)) for run in runs)
    assert all(run.ended_at for run in runs)


def test_stores_are_made_at_the_same_instant(tmp_path: Path) -> None:
    """SQLite does not wait where two processes switch to a write-ahead log at once."""
    program = (
        "import sys, time; from pathlib import Path; from tests.support.stores import Store\n"
        "print(flush=True); at = float(sys.stdin.readline())\n"
        "for number in range(40):\n"
        "    while time.monotonic() < at + number * 0.05: pass\n"
        "    Store(Path(sys.argv[1], f'{number}.sqlite')).close()\n"
    )
    command, pipe = [sys.executable, "-c", program, str(tmp_path)], subprocess.PIPE
    makers = [
        subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(3)
    ]
    for maker in makers:
        maker.stdout.readline()
    at = time.monotonic() + 0.1
    for maker in makers:
        maker.stdin.write(f"{at}\n")
        maker.stdin.flush()
    for maker in makers:
        _, errors = maker.communicate(timeout=120)
        assert maker.returncode == 0, errors


def test_reading_alone_never_makes_a_store(tmp_path: Path) -> None:
    empty, missing = tmp_path / "empty", tmp_path / "deep" / "s.sqlite"
    empty.touch()
    for path in (empty, missing):
        assert "holds no run yet" in error_of(UsageError, Store, path, create=False)
    assert empty.read_bytes() == b""
    assert not missing.parent.exists()
    # Writing makes one of an empty file.
    begin(Store(empty))
    assert len(Store(empty, create=False).runs()) == 1


def test_reading_a_store_does_not_write_to_it(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    store = Store(path)
    run = begin(store)
    store.add_trial(run, trial())
    store.close()
    before = path.read_bytes()
    reader = Store(path, create=False)
    reader.trials(reader.run(), samples=True)
    reader.close()
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_or_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    text = "not a database, but long enough to have a header of a hundred bytes " * 4
    path.write_text(text)
    assert "file is not a database; name another one with --store" in error_of(StoreError, Store, path)
    assert path.read_text() == text
    path.unlink()
    Store(path).begin_run("ring", 1, {}, {}, {})
    sql(path, "UPDATE run SET plan = CAST(x'7b22ff' AS TEXT)")
    with pytest.raises(StoreError, match="it is damaged: .{0,60}$"):
        Store(path).run()


@pytest.mark.parametrize("url", ["nonsense://x", "postgresql+nodriver://x/y"])
def test_a_bad_url_is_one_line(url: str) -> None:
    assert "cannot be opened" in error_of(StoreError, Store, url)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be made: Not a directory|cannot be made: File exists"):
        Store(tmp_path / "file" / "s.sqlite")


def test_a_lock_that_cannot_be_made_is_named(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a file system without locks."""
    run = begin(store)
    monkeypatch.setattr("fcntl.flock", Mock(side_effect=OSError(errno.ENOLCK, "No locks available")))
    expected = rf"the lock \S+{run.id}\.lock cannot be made: No locks available"
    with pytest.raises(StoreError, match=expected), store.hold(run.id):
        pass


def test_a_full_disk_is_one_line_and_keeps_what_is_there(store: Store) -> None:
    run = begin(store)
    store.add_trial(run, trial())
    # SQLite's own limit gives the same error as a full disk.
    connection = store.connection
    pages = connection.execute("PRAGMA page_count").fetchone()["page_count"]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    big = Trial(1, 0, Cell("b", POINT), Outcome.OK, "x" * 1_000_000)
    assert "disk is full; free some space" in error_of(StoreError, store.add_trial, run, big)
    assert len(store.trials(run)) == 1


# --- one writer ---


def test_a_cell_has_one_trial_in_a_block(store: Store) -> None:
    run, other = begin(store), begin(store)
    store.add_trial(run, trial())
    assert "UNIQUE" in error_of(StoreError, store.add_trial, run, trial(outcome=Outcome.CRASHED))
    assert whole_trials(store, run) == [trial()]
    for distinct in (trial(block=2), trial(name="b")):
        store.add_trial(run, distinct)
    store.add_trial(other, trial())


@pytest.mark.parametrize("outcome", [Outcome.INTERRUPTED, Outcome.PROBE_FAILED])
def test_a_trial_that_says_nothing_of_its_cell_can_come_again(where: str, outcome: Outcome) -> None:
    store = Store(where)
    run = begin(store)
    for each in (trial(outcome=outcome), trial(outcome=outcome), trial()):
        store.add_trial(run, each)
    assert [each.outcome for each in store.trials(run)] == [outcome, outcome, Outcome.OK]


# --- who may add to a run ---


def test_a_second_process_cannot_add_to_a_run(where: str) -> None:
    store = Store(where)
    run, other = begin(store), begin(store)
    assert not store.is_held(run.id)
    with holding(where, run):
        assert store.is_held(run.id)
        assert not store.is_held(other.id)
        busy = f"run {run.id} is in progress in another process"
        with pytest.raises(UsageError, match=busy), store.hold(run.id):
            pass
        assert store.is_held(run.id)
        with store.hold(other.id):
            assert store.is_held(other.id)
        assert not store.is_held(other.id)


def test_a_run_is_free_once_its_process_has_ended_or_was_killed(where: str, tmp_path: Path) -> None:
    store = Store(where)
    run = begin(store)
    with holding(where, run) as process:
        process.stdin.close()
        assert process.wait(60) == 0
    assert not store.is_held(run.id)
    assert not list(tmp_path.rglob("*.lock"))
    with holding(where, run) as process:
        process.kill()
        process.wait(60)
        # PostgreSQL learns of it when its own process for that connection next runs.
        assert is_over(lambda: not store.is_held(run.id), 30)
        with store.hold(run.id):
            pass


@pytest.mark.parametrize("whole_folder", [False, True])
def test_a_store_that_is_removed_meanwhile_loses_nothing(tmp_path: Path, whole_folder: bool) -> None:
    path = tmp_path / "deep" / "s.sqlite"
    store = Store(path)
    run = store.begin_run("e", 1, {}, {}, {"h": "text"})
    with store.hold(run.id):
        store.add_trial(run, trial(1))
        for file in path.parent.iterdir():
            file.unlink()
        if whole_folder:
            path.parent.rmdir()
        store.add_trial(run, trial(2))
        again = Store(path, create=False)
        # The lock was removed as well.
        with pytest.raises(UsageError, match="in progress in another process"), again.hold(run.id):
            pass
        store.add_trial(run, trial(3))
        store.end_run(run)
    assert [each.block for each in again.trials(again.run(run.id))] == [1, 2, 3]
    assert again.run(run.id).ended_at
    assert again.sources(["h"]) == {"h": "text"}
    assert not list(tmp_path.rglob("*.lock"))


def test_a_lock_that_another_process_took_meanwhile_ends_the_run(tmp_path: Path) -> None:
    store, other = Store(tmp_path / "s.sqlite"), Store(tmp_path / "s.sqlite")
    run = begin(store)
    with store.hold(run.id):
        store.add_trial(run, trial(1))
        next(tmp_path.glob("*.lock")).unlink()
        with other.hold(run.id):
            for block in (2, 3):
                with pytest.raises(StoreError, match="was lost, and another process has it"):
                    store.add_trial(run, trial(block))
            other.add_trial(run, trial(4))
    assert [each.block for each in store.trials(run)] == [1, 4]


def test_a_store_that_is_replaced_meanwhile_loses_nothing_either(tmp_path: Path) -> None:
    """As by `mv backup.sqlite s.sqlite`, or by a run in another terminal after `rm -r`."""
    path = tmp_path / "s.sqlite"
    store = Store(path)
    run = begin(store)
    store.add_trial(run, trial(1))
    with store.hold(run.id):
        for file in tmp_path.glob("s.sqlite*"):
            file.unlink()
        new = Store(path)
        other = begin(new, seed=8)
        replaced = error_of(StoreError, store.add_trial, run, trial(2))
        store.add_trial(run, trial(3))
    place = tmp_path / "s-2.sqlite"
    assert "was replaced by another file; all that it held" in replaced
    assert replaced.endswith(f"is in {place}: name that with --store")
    kept = Store(place, create=False)
    assert [each.block for each in kept.trials(kept.run(run.id))] == [1, 2, 3]
    assert new.runs() == [other]


@pytest.mark.parametrize("name", ["why?.sqlite", "a?mode=memory", "50% #1.sqlite", "file:x"])
def test_a_path_may_have_any_characters(name: str, tmp_path: Path) -> None:
    store = Store(tmp_path / name)
    run = begin(store)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    for options in ({}, {"create": False}, {"read_only": True}):
        reader = Store(tmp_path / name, **options)
        assert [each.id for each in reader.runs()] == [run.id]
        reader.close()
