"""Rows of trials as they stand in stores."""

import dataclasses
import json
from typing import Any

import pytest

from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.store.rows import hashes_of, run_of, trial_of, trial_values
from tests.support import stores
from tests.support.cases import cases
from tests.support.errors import error_of

# Samples have a table of their own.
TRIAL = dataclasses.replace(stores.trial(), samples=())
ROW: dict[str, Any] = {
    "block": 1,
    "position": 2,
    "contender": "a",
    "point": '{"nodes": 10, "messages": 3, "mode": "token"}',
    "outcome": "ok",
    "detail": "exit status 0",
    "started_at": "2026-01-01T00:00:00.000+00:00",
    "cpus": "[1,3]",
    "outcome_line": json.dumps(
        {
            "outcome": "ok",
            "wall_ns": 5,
            "result": {"checksum": "21"},
            "output": {"stdout_bytes": 9, "starting": {":": 6}},
            "cpus": [{"cpu": 1, "busy_ns": 7, "idle_ns": 2}],
            "loads": [{"step": "s", "name": "n", "histograms": {"latency": {"count": 1, "p50_ns": 2}}}],
            "spans": [[1, 500_000_000, 750_000_000]],
            "repeats": {"spawn": [3, 1, 2], "alone": [4, 5]},
            "memory_limit_bytes": 11,
            "input_bytes": 12,
        }
    ),
    "phases": '{"relay": 7, "spawn": 6, "alone": 9}',
    "marks": '{"spawned": {"t_ns": 4, "mark": "spawned", "pss_bytes": 9}}',
    "missing": '["x"]',
}


def row(**changes: Any) -> dict[str, Any]:
    return {**ROW, **changes}


def has(made: Any, known: Any) -> bool:
    """Whether there is all that is known, and perhaps more."""
    if isinstance(known, dict):
        return all(key in made and has(made[key], value) for key, value in known.items())
    if isinstance(known, list):
        return len(made) == len(known) and all(map(has, made, known))
    return bool(made == known)


def test_a_row_has_the_columns_that_it_always_had() -> None:
    values = trial_values(TRIAL)
    assert values.keys() == ROW.keys()
    parsed = ("outcome_line", "phases", "marks")
    for name in ROW:
        made, known = ((json.loads if name in parsed else str)(row[name]) for row in (values, ROW))
        assert has(made, known), name
    # The types stand in the columns' meaning.
    assert '"type"' not in values["outcome_line"]


def test_what_a_trial_does_not_have_is_left_out_of_its_row() -> None:
    bare = Trial(0, 0, Cell("go", Point(())), Outcome.UNAVAILABLE, "no toolchain")
    values = trial_values(bare)
    assert (values["outcome_line"], values["phases"], values["marks"]) == ("{}", "{}", "{}")
    assert trial_of(values) == bare


def test_a_row_is_read() -> None:
    assert trial_of(row()) == TRIAL


def test_keys_that_this_version_does_not_know_are_ignored() -> None:
    line = {**json.loads(ROW["outcome_line"]), "colour": "red"}
    assert trial_of(row(outcome_line=json.dumps(line))) == TRIAL


@pytest.mark.parametrize("changes", cases(__file__, "a_row_that_is_none_is_a_value_error"))
def test_a_row_that_is_none_is_a_value_error(changes: dict[str, Any]) -> None:
    assert error_of(ValueError, trial_of, row(**changes))


def run_row(plan: Any = None, host: Any = None) -> dict[str, Any]:
    return {
        "id": "1-x",
        "experiment": "x",
        "started_at": "2026-01-01T00:00:00.000+00:00",
        "ended_at": None,
        "seed": 1,
        "plan": json.dumps(plan or {}),
        "host": json.dumps(host or {}),
    }


def test_all_facts_of_a_machine_are_kept() -> None:
    own = {"cpu_model": "A", "cpus": 2, "cpus_usable": [0, 1], "memory_bytes": 9, "limits": {"x": 1}}
    host = {**own, "turbo": None, "engines": {"c": own}, "machines": {"a": own, "b": {**own, "cpus": 4}}}
    assert run_of(run_row(host=host)).host == host
    # For `load --from`.
    assert run_of(run_row(host={"engines": ["a", "b"]})).host == {"engines": ["a", "b"]}
    assert run_of(run_row(host={"engines": 2})).host == {"engines": 2}


@pytest.mark.parametrize("host", cases(__file__, "facts_of_another_type_are_a_value_error"))
def test_facts_of_another_type_are_a_value_error(host: dict[str, Any]) -> None:
    """A page made of them would fail later, or show nonsense."""
    assert "`$." in error_of(ValueError, run_of, run_row(host=host))


def test_the_sources_of_a_run() -> None:
    files = {"go": {"files": {"a.go": "1", "b.go": "2"}}, "erlang": {"files": {"a.erl": "3"}, "title": 5}}
    assert hashes_of(run_of(run_row({"contenders": {**files, "none": {}}}))) == {"1", "2", "3"}


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {"suite": "mine", "contenders": ["go"]},
        {"suite": 7, "contenders": {"go": {"files": {"ring.go": 5}}}},
        {"suite": ["id"], "contenders": {"go": "files"}},
    ],
)
def test_a_plan_of_another_shape_is_kept_as_it_is(plan: dict[str, Any]) -> None:
    """A later version may have written it."""
    run = run_of(run_row(plan))
    assert (run.plan, run.suite, hashes_of(run)) == (plan, {}, set())
