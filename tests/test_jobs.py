"""The evidence and figures of `jobs`, and those of `batch` that follow from trials."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.errors import UsageError
from ringside.model.design import Cell
from ringside.model.results import Interval, Outcome, Trial
from ringside.workloads.batch import BATCH
from ringside.workloads.jobs import FACTOR, JOBS, MODULUS, ORDER_BASE, answer, order
from tests.programs import point


@given(
    st.integers(0, 20),
    st.sampled_from(["sleep", "cpu", "noop"]),
    st.integers(1, 50),
    st.integers(0, 2**32 - 1),
)
def test_answers_in_closed_form_are_those_of_the_loop(job: int, kind: str, rounds: int, seed: int) -> None:
    x = 1 + (seed + job) % (MODULUS - 1)
    for _ in range(rounds if kind == "cpu" else 1):
        x = FACTOR * x % MODULUS
    assert answer(job, kind, rounds, seed) == x


@given(st.integers(1, 30), st.sampled_from(["cpu", "noop"]), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_the_order_folds_all_answers(jobs: int, kind: str, rounds: int, seed: int) -> None:
    found = 0
    for job in range(jobs):
        found = (ORDER_BASE * found + answer(job, kind, rounds, seed)) % MODULUS
    assert order(jobs, kind, rounds, seed) == found
    assert JOBS.expectation(point("jobs", jobs=jobs, kind=kind, rounds=rounds), seed).result["order"] == str(
        found
    )
    again = found
    for job in range(jobs):
        again = (ORDER_BASE * again + answer(job, kind, rounds, seed)) % MODULUS
    assert order(jobs, kind, rounds, seed, 2) == again


def trial_of(
    workload: str, phases: dict[str, float], outcome: dict[str, object], **levels: int | str
) -> Trial:
    blank = Trial(1, 0, Cell("x", point(workload, **levels)), Outcome.OK, "")
    nanoseconds = {name: round(seconds * 1e9) for name, seconds in phases.items()}
    return dataclasses.replace(blank, phases=nanoseconds, outcome_line=outcome)


def test_the_ideal_counts_turns_workers_and_cores() -> None:
    def over(phases: dict[str, float], **levels: int | str) -> float:
        return JOBS.figures(trial_of("jobs", phases, {}, **levels))["over_ideal"]

    assert over({"makespan": 6}, jobs=5, duration_ms=1000, workers=2) == pytest.approx(2)
    assert over({"makespan": 8, "alone": 1}, kind="cpu", jobs=8, workers=4, cores=2) == pytest.approx(2)
    assert over({"makespan": 8, "alone": 1}, kind="cpu", jobs=8, workers=1, cores=2) == pytest.approx(1)
    assert over({"makespan": 4, "alone": 1}, kind="cpu", jobs=8, workers="cores", cores=2) == pytest.approx(1)
    noop = JOBS.figures(trial_of("jobs", {"makespan": 2}, {}, kind="noop", jobs=10))
    assert "over_ideal" not in noop
    assert noop["jobs_per_s"] == 5


def test_workers_can_be_as_many_as_cores() -> None:
    assert JOBS.factor("workers").check("cores") == "cores"
    assert JOBS.factor("workers").check("7") == 7
    assert JOBS.arguments(point("jobs", workers="cores", cores=3, kind="cpu")) == {"workers": "3"}
    with pytest.raises(UsageError):
        JOBS.factor("workers").check("many")


def test_so_many_jobs_cannot_be_traced() -> None:
    JOBS.check(point("jobs", jobs=1900, trace=1))
    with pytest.raises(UsageError, match="without repeats"):
        JOBS.check(point("jobs", jobs=2, trace=1, repeats=2))
    with pytest.raises(UsageError, match="1900 jobs at most, not 1901"):
        JOBS.check(point("jobs", jobs=1901, trace=1))


def test_figures_of_a_batch() -> None:
    outcome: dict[str, object] = {
        "wall_ns": 10**10,
        "cpu_user_ns": 12 * 10**9,
        "cpu_system_ns": 4 * 10**9,
        "input_bytes": 8 * 10**9,
        "cpus": [
            {"cpu": 0, "busy_ns": 9, "idle_ns": 1, "stolen_ns": 0},
            {"cpu": 1, "busy_ns": 3, "idle_ns": 3, "stolen_ns": 6},
        ],
    }
    found = BATCH.figures(
        trial_of("batch", {"read": 9, "write": 0.5, "compute": 7}, outcome, cases=1000, cores=2)
    )
    assert found["cases_per_s"] == 100
    assert found["read_share"] == pytest.approx(0.9)
    assert found["input_per_cpu_s"] == 5e8
    assert (found["busy_share"], found["busiest_core"], found["idlest_core"]) == (0.8, 0.9, 0.25)


@pytest.mark.parametrize(
    ("read", "write", "busy", "full", "cores", "end"),
    [
        (9, 0.5, 0.6, 0, 2, "reading holds back the rest, and more cores cannot help"),
        (1, 8, 0.6, 0, 2, "writing holds back the rest, and more cores cannot help"),
        (1, 0.5, 0.97, 0, 2, "the cores are what it lacks"),
        (9, 0.5, 1.0, 0, 1, "the cores are what it lacks"),
        (1, 0.5, 0.2, 18, 2, "its units wait for places in the queue of answers"),
        (1, 0.5, 0.5, 18, 2, "its units wait for places in the queue of answers"),
        (1, 0.5, 0.5, 0, 2, "share one lock, and more cores cannot help"),
        (1, 0.5, 0.13, 0, 8, "share one lock, and more cores cannot help"),
        (
            1,
            0.5,
            0.2,
            0,
            2,
            "neither explains it: units wait for each other, the disk, or a host that gives no CPU",
        ),
    ],
)
def test_where_the_time_went(
    read: float, write: float, busy: float, full: float, cores: int, end: str
) -> None:
    figures = {"wall_s": 10.0, "read_s": read, "write_s": write, "busy_share": busy, "wait_full_s": full}
    intervals = {name: Interval(value, None, None, 1) for name, value in figures.items()}
    said = BATCH.diagnosis("go", point("batch", cores=cores), intervals)
    assert said is not None
    assert said.startswith(f"go: reading by one unit takes {read / 10:.0%} of the wall time")
    assert said.endswith(end)
    assert BATCH.diagnosis("go", point("batch"), {}) is None
