"""Runs by the names that users give them."""

from pathlib import Path
from typing import Any

import pytest

from ringside.errors import UsageError
from ringside.model.results import Run
from ringside.store import Store
from ringside.store.database import runs_of, single_run, suite_of
from tests.support.command_line import in_process
from tests.support.errors import error_of
from tests.support.stores import sql


def begin(store: Store, suite: str | None = None, experiment: str = "x") -> Run:
    plan: dict[str, Any] = {"suite": {"id": suite} if suite else None}
    return store.begin_run(experiment, 1, plan, {}, {})


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run begins a second later."""
    times = iter(f"2026-01-01T00:00:0{second}.000+00:00" for second in range(10))
    monkeypatch.setattr("ringside.store.database.now", lambda: next(times))


@pytest.mark.usefixtures("seconds")
def test_a_name_is_the_latest_run_of_that_experiment_or_suite(store: Store) -> None:
    old, new = "20260101-000000-posts", "20260102-000000-posts"
    begin(store, old, "posts-ring")
    ring, fib = begin(store, new, "posts-ring"), begin(store, new, "posts-fib")
    assert runs_of(store, "posts-ring") == [ring]
    assert single_run(store, "posts-fib") == fib
    assert runs_of(store, "posts") == runs_of(store, new) == [ring, fib]
    with pytest.raises(UsageError, match=f"{new} is a suite of runs: name one of {ring.id}, {fib.id}"):
        single_run(store, new)
    assert suite_of([ring], "posts-ring") is suite_of([ring], ring.id) is None
    assert suite_of([ring, fib], "posts") == suite_of([ring], new) == new
    # An id is always that run.
    alone = begin(store, experiment="posts-ring")
    assert runs_of(store, "posts-ring") == [alone]
    assert runs_of(store, ring.id) == [ring]
    assert single_run(store, fib.id) == fib


@pytest.mark.usefixtures("seconds")
def test_the_latest_is_the_latest_run_with_the_others_of_its_suite(store: Store) -> None:
    first, second = begin(store, "s"), begin(store, "s")
    assert runs_of(store, "latest") == [first, second]
    alone = begin(store)
    assert runs_of(store, "latest") == [alone]
    assert single_run(store, "latest") == alone


def test_unknown_runs_and_suites(store: Store) -> None:
    assert "holds no run yet" in error_of(UsageError, runs_of, store, "latest")
    begin(store)
    for name in ("y", ""):
        assert f"there is no run `{name}`" in error_of(UsageError, runs_of, store, name)


@pytest.mark.parametrize("damage", ["plan = '{'", """host = '{"cpus": "two"}'"""])
def test_an_unreadable_run_keeps_nobody_from_the_others(store: Store, workplace: Path, damage: str) -> None:
    first, bad, last = begin(store, "s"), begin(store), begin(store, "s")
    sql(str(store.where), f"UPDATE run SET {damage} WHERE id = ?", bad.id)
    assert runs_of(store, "s") == runs_of(store, "latest") == [first, last]
    listed = in_process("list", "runs", "--store", store.where).stdout
    lines = [line.split() for line in listed.splitlines() if "cut off" in line]
    # The last is the id that `show` and `run --resume` take for the whole suite.
    assert [(line[0], line[-1]) for line in lines] == [(first.id, "s"), (bad.id, "off"), (last.id, "s")]
    assert "cannot be read" in in_process("show", bad.id, "--store", store.where, status=2).stderr
