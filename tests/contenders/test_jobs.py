"""Conformance of `jobs`: every contender does all jobs, at most W at one time, gathers them in order, and its
other work goes on where its model allows that."""

from __future__ import annotations

import subprocess

import pytest

from ringside.measure.executor import LocalExecutor
from ringside.model.results import Outcome, Span
from ringside.workloads.jobs import JOBS
from tests.contenders.test_ring import ready
from tests.support.programs import alive, carry_out, command, directly, kill_a_worker, point
from tests.support.servers import having, killed_at_last

CONTENDERS = having("jobs")
WITH_WORKERS = [
    name for name in CONTENDERS if name.partition("@")[0] in ("python-processes", "parallel-python")
]


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor()


def most_at_one_time(spans: tuple[Span, ...]) -> int:
    edges = [(span.begin_ns, 1) for span in spans] + [(span.end_ns, -1) for span in spans]
    most = now = 0
    for _, step in sorted(edges):
        now += step
        most = max(most, now)
    return most


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize("kind", ["sleep", "cpu", "noop"])
def test_all_kinds_have_right_answers_phases_and_spans(name: str, kind: str, executor: LocalExecutor) -> None:
    at = point(
        "jobs", jobs=7, kind=kind, duration_ms=60, rounds=3000, workers=3, trace=1,
        cores=executor.available_cpus(),
    )  # fmt: skip
    trial = carry_out("jobs", ready(name), executor, at, seed=2**31 - 3)
    assert trial.outcome is Outcome.OK, f"{name}: {trial.detail} {trial.report}"
    wanted = {"submit", "makespan", "gap"} | ({"alone"} if kind == "cpu" else set())
    assert set(trial.phases) == wanted
    spans = JOBS.spans_of(trial)
    assert len(spans) == 7
    assert most_at_one_time(spans) <= 3
    makespan_ns = trial.phases["makespan"][0]
    # Some are handed over before the program's first look at its clock has ended.
    assert all(-1e6 <= span.begin_ns <= span.end_ns <= makespan_ns + 1e6 for span in spans)
    assert len({span.unit for span in spans}) <= 3
    if kind == "sleep":
        assert trial.marks["submitted"].pss_bytes
        assert all(span.end_ns - span.begin_ns >= 59_000_000 for span in spans)
        # Seven of 60 ms on three workers are three turns.
        assert makespan_ns >= 179_000_000
    figures = JOBS.figures(trial)
    assert {"makespan_s", "gap_s", "jobs_per_s"} <= set(figures)
    assert ("over_ideal" in figures) == (kind != "noop")
    assert trial.report
    assert trial.report.left_behind == 0


@pytest.mark.parametrize("name", CONTENDERS)
def test_sleeping_jobs_overlap_and_other_work_goes_on(name: str, executor: LocalExecutor) -> None:
    at = point("jobs", jobs=2, duration_ms=1500, workers=2, trace=1)
    trial = carry_out("jobs", ready(name), executor, at)
    assert trial.outcome is Outcome.OK, f"{name}: {trial.detail} {trial.report}"
    assert most_at_one_time(JOBS.spans_of(trial)) == 2
    assert trial.report
    assert trial.report.result
    assert int(trial.report.result["beats"]) > 3


@pytest.mark.parametrize("name", CONTENDERS)
def test_many_jobs_and_more_workers_than_jobs(name: str, executor: LocalExecutor) -> None:
    one = ready(name)
    for levels in ({"jobs": 2000, "workers": 4}, {"jobs": 1, "workers": 8}):
        trial = carry_out("jobs", one, executor, point("jobs", kind="noop", **levels))
        assert trial.outcome is Outcome.OK, f"{name} {levels}: {trial.detail} {trial.report}"


@pytest.mark.parametrize("name", CONTENDERS)
def test_the_same_again_in_one_process(name: str, executor: LocalExecutor) -> None:
    at = point("jobs", jobs=6, kind="cpu", rounds=1000, workers=2, repeats=3)
    trial = carry_out("jobs", ready(name), executor, at)
    assert trial.outcome is Outcome.OK, f"{name}: {trial.detail} {trial.report}"
    assert all(len(trial.phases[phase]) == 3 for phase in ("submit", "makespan", "gap"))
    assert len(trial.phases["alone"]) == 5


@pytest.mark.parametrize("name", CONTENDERS)
def test_bad_arguments_get_status_2_and_one_line(name: str) -> None:
    one = ready(name)
    good = {"jobs": "2", "kind": "noop", "workers": "1"}
    for change in (
        {"jobs": "0"}, {"jobs": "x"}, {"jobs": ""}, {"kind": "fast"}, {"workers": "0"}, {"workers": "1025"},
        {"duration_ms": "-1"}, {"rounds": "0"}, {"trace": "2"}, {"hold": "yes"}, {"seed": "-1"},
        {"repeats": "0"}, {"repeats": "151"},
    ):  # fmt: skip
        arguments = [f"{key}={value}" for key, value in (good | change).items()]
        done = directly("jobs", one, *arguments)
        assert done.returncode == 2, (change, done)
        assert len(done.stderr.decode().strip().splitlines()) == 1, (change, done)
        assert b"::result" not in done.stdout


@pytest.mark.parametrize("name", WITH_WORKERS)
def test_a_worker_that_is_killed_ends_it_with_one_line(name: str) -> None:
    one = ready(name)
    process = subprocess.Popen(
        command("jobs", one, "jobs=200", "kind=cpu", "rounds=3000000", "workers=2", "cores=2"),
        cwd=one.contender.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with killed_at_last(process):
        everyone = kill_a_worker(process)
        _, said = process.communicate()
        assert process.returncode == 1, said
        assert len(said.decode().strip().splitlines()) == 1, said
        assert not alive(everyone)
