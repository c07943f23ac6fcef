from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from ringside.errors import StoreError, UsageError
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.store import Store, text_hash, without_interrupted

POINT = Point((("nodes", 10), ("messages", 3), ("mode", "token")))


def trial(block: int = 1, outcome: Outcome = Outcome.OK, name: str = "a") -> Trial:
    return Trial(
        block=block,
        position=2,
        cell=Cell(name, POINT),
        outcome=outcome,
        detail="",
        cpus=(1,),
        started_at="2026-01-01T00:00:00.000+00:00",
        outcome_line={"wall_ns": 5},
        phases={"relay": 7},
        marks={"spawned": {"pss_bytes": 9}},
        samples=({"t_ns": 1},),
        missing=("x",),
    )


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    store = Store(tmp_path / "deep" / "s.sqlite")
    run = store.begin_run("ring", 7, {"a": [1]}, {"cpus": 2}, {text_hash("code"): "code"})
    store.add_trial(run, trial())
    again = Store(tmp_path / "deep" / "s.sqlite")
    assert again.run(run.id) == run
    (found,) = again.trials(run)
    assert found == Trial(**{**{key: getattr(trial(), key) for key in Trial.__slots__}, "samples": ()})
    assert again.sources([text_hash("code"), "none"]) == {text_hash("code"): "code"}


def test_levels_keep_their_kinds(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    run = store.begin_run("ring", 7, {}, {}, {})
    store.add_trial(run, trial())
    assert store.trials(run)[0].cell.point == POINT


def test_runs_of_one_second_have_different_names_and_the_latest_is_the_last(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    runs = [store.begin_run("ring", 7, {}, {}, {}) for _ in range(12)]
    assert len({run.id for run in runs}) == 12
    assert store.run("latest").started_at == max(run.started_at for run in runs)
    assert len(store.runs()) == 12


def test_a_trial_is_on_disk_before_the_next_even_when_ringside_is_killed(tmp_path: Path) -> None:
    program = """
import os, signal, sys
sys.path.insert(0, sys.argv[2])
from tests.test_store import Store, trial
store = Store(sys.argv[1])
run = store.begin_run("ring", 7, {}, {}, {})
for block in (1, 2, 3):
    store.add_trial(run, trial(block))
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = str(Path(__file__).resolve().parents[1])
    path = str(tmp_path / "s.sqlite")
    done = subprocess.run([sys.executable, "-c", program, path, root], check=False)
    assert done.returncode == -9
    store = Store(path)
    assert [one.block for one in store.trials(store.run())] == [1, 2, 3]
    assert store.run().ended_at is None


def test_a_store_of_a_newer_format_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE meta SET value = '2'")
    with pytest.raises(StoreError, match="has format 2, this ringside knows 1"):
        Store(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT value FROM meta").fetchall() == [("2",)]


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.write_text("not a database, but long enough to have a header of a hundred bytes " * 4)
    with pytest.raises(StoreError, match="file is not a database; name another one with --store"):
        Store(path)


@pytest.mark.parametrize("url", ["nonsense://x", "postgresql+nodriver://x/y"])
def test_a_bad_url_is_one_line(url: str) -> None:
    with pytest.raises(StoreError, match="cannot be opened") as caught:
        Store(url)
    assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be made: Not a directory|cannot be made: File exists"):
        Store(tmp_path / "file" / "s.sqlite")


def test_a_full_disk_is_one_line_and_keeps_what_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    run = store.begin_run("ring", 7, {}, {}, {})
    store.add_trial(run, trial())
    # SQLite's own limit gives the same error as a full disk.
    pages = store._connection.exec_driver_sql("PRAGMA page_count").scalar()
    store._connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    store._connection.commit()
    big = Trial(1, 0, Cell("b", POINT), Outcome.OK, "x" * 1_000_000)
    with pytest.raises(StoreError, match="disk is full; free some space"):
        store.add_trial(run, big)
    assert len(store.trials(run)) == 1


def test_unknown_runs(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.sqlite")
    with pytest.raises(UsageError, match="holds no run yet"):
        store.run()
    with pytest.raises(UsageError, match="there is no run `x`"):
        store.run("x")


def test_an_interrupted_trial_counts_only_while_it_was_not_made_again() -> None:
    cut = trial(2, Outcome.INTERRUPTED)
    assert without_interrupted([trial(1), cut]) == [trial(1), cut]
    assert without_interrupted([cut, trial(2)]) == [trial(2)]
