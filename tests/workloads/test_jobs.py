"""The evidence and the figures of `jobs`."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringside.errors import UsageError
from ringside.model.design import Cell, Level
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import ExpectedLines
from ringside.workloads.evidence import FACTOR, MODULUS, ORDER_BASE
from ringside.workloads.jobs.workload import JOBS, answer, order
from tests.support.points import ok_trial, point


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
    folded = []
    value = 0
    for _ in range(3):
        for job in range(jobs):
            value = (ORDER_BASE * value + answer(job, kind, rounds, seed)) % MODULUS
        folded.append(value)
    for repeats, expected in enumerate(folded, 1):
        assert order(jobs, kind, rounds, seed, repeats) == expected
        found = JOBS.evidence(point(JOBS, jobs=jobs, kind=kind, rounds=rounds, repeats=repeats), seed, None)
        alone = {"alone": str(answer(0, "cpu", 5 * rounds, seed))} if kind == "cpu" else {}
        assert found.result == {"answers": str(repeats * jobs), "order": str(expected)} | alone
        assert found.lines == ExpectedLines(total=0)


def timed(seconds: dict[str, float], **levels: Level) -> Trial:
    return ok_trial(JOBS, {"phases": {name: (round(s * 1e9),) for name, s in seconds.items()}}, **levels)


def test_the_ideal_counts_turns_workers_and_cores() -> None:
    def over(phases: dict[str, float], **levels: Level) -> float:
        return JOBS.figures(timed(phases, **levels))["over_ideal"]

    assert over({"makespan": 6}, jobs=5, duration_ms=1000, workers=2) == pytest.approx(2)
    assert over({"makespan": 8, "alone": 1}, kind="cpu", jobs=8, workers=4, cores=2) == pytest.approx(2)
    # Jobs alone that no machine does so fast: a compiler left them out.
    left_out = timed({"makespan": 8, "alone": 33e-9}, kind="cpu", jobs=8, workers=4, cores=2)
    assert "over_ideal" not in JOBS.figures(left_out)
    assert over({"makespan": 8, "alone": 1}, kind="cpu", jobs=8, workers=1, cores=2) == pytest.approx(1)
    assert over({"makespan": 4, "alone": 1}, kind="cpu", jobs=8, workers="cores", cores=2) == pytest.approx(1)
    assert "over_ideal" not in JOBS.figures(timed({"makespan": 2}, kind="noop", jobs=10))
    assert "over_ideal" not in JOBS.figures(timed({"makespan": 2}, kind="cpu"))


def test_a_makespan_below_the_ideal_is_said() -> None:
    """By the median of a cell: one trial may be off."""

    def trials(name: str, *makespans: float) -> list[Trial]:
        at: dict[str, Level] = {"kind": "cpu", "jobs": 8, "workers": 2, "cores": 2}
        made = [timed({"makespan": each, "alone": 1.0}, **at) for each in makespans]
        return [dataclasses.replace(each, cell=Cell(name, each.cell.point)) for each in made]

    (diagnostic,) = JOBS.diagnostics([*trials("go", 3.0, 3.2, 4.5), *trials("erlang", 3.0, 4.0, 4.1)])
    assert (diagnostic.code, diagnostic.subjects) == ("below-ideal", ("go",))
    assert diagnostic.text.startswith("go: a job took longer alone")
    assert JOBS.diagnostics(trials("go", 3.95)) == []
    crashed = [dataclasses.replace(each, outcome=Outcome.CRASHED) for each in trials("go", 1.0)]
    assert JOBS.diagnostics(crashed) == []


def test_workers_can_be_as_many_as_cores() -> None:
    assert JOBS.factor("workers").check("cores") == "cores"
    assert JOBS.factor("workers").check("7") == 7
    assert JOBS.arguments(point(JOBS, workers="cores", cores=3, kind="cpu")) == {"workers": "3"}
    assert JOBS.arguments(point(JOBS, workers=4, cores=3)) == {"workers": "4"}
    with pytest.raises(UsageError):
        JOBS.factor("workers").check("many")


def test_the_size_of_the_work() -> None:
    assert JOBS.work(point(JOBS, kind="cpu", jobs=5, rounds=7)) == 35
    assert JOBS.work(point(JOBS, kind="noop", jobs=5, rounds=7)) == 5
    # Two turns of three seconds.
    assert JOBS.work(point(JOBS, jobs=5, workers=3, duration_ms=3000)) == 2 * 3000 * 100_000 + 5
