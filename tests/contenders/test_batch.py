"""Conformance of `batch`: every contender answers as the reference does, refuses broken inputs in one line,
streams, and ends when a worker of its is killed."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from ringside.measure.executor import LocalExecutor
from ringside.measure.inputs import Inputs
from ringside.model.results import Outcome
from ringside.workloads.batch import BATCH
from tests.contenders.test_ring import ready
from tests.support.programs import alive, carry_out, command, directly, kill_a_worker, point
from tests.support.servers import having, killed_at_last

CONTENDERS = having("batch")
WITH_WORKERS = [
    name for name in CONTENDERS if name.partition("@")[0] in ("python-processes", "parallel-python")
]


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return Inputs(tmp_path_factory.mktemp("inputs"))


@pytest.mark.parametrize("name", CONTENDERS)
def test_answers_phases_and_every_capacity(name: str, executor: LocalExecutor, inputs: Inputs) -> None:
    one = ready(name)
    capacities = one.contender.workloads["batch"].only.get("capacity") or BATCH.factor("capacity").choices
    for capacity in capacities:
        cores = executor.available_cpus() if capacity == "own" else 1
        at = point("batch", cases=300, size=20, capacity=capacity, cores=cores)
        trial = carry_out("batch", one, executor, at, inputs.get(BATCH.input(at)))
        assert trial.outcome is Outcome.OK, f"{name} {at}: {trial.detail} {trial.report}"
        assert {"read", "compute", "write"} <= set(trial.phases), trial.phases
        assert trial.report
        assert trial.report.left_behind == 0
        assert {"wall_s", "cpu_s", "read_share", "busy_share"} <= set(BATCH.figures(trial))


@pytest.mark.parametrize("name", CONTENDERS)
def test_the_same_again_in_one_process(name: str, executor: LocalExecutor, inputs: Inputs) -> None:
    at = point("batch", cases=50, size=20, repeats=3)
    trial = carry_out("batch", ready(name), executor, at, inputs.get(BATCH.input(at)))
    assert trial.outcome is Outcome.OK, f"{name}: {trial.detail} {trial.report}"
    assert all(len(each) == 3 for each in trial.phases.values())
    assert {"work", "read", "compute", "write"} <= set(trial.phases)


def text_of(cases: list[tuple[list[int], list[int]]]) -> str:
    lines = [str(len(cases))]
    for first, second in cases:
        lines += [str(len(first)), " ".join(map(str, first)), " ".join(map(str, second))]
    return "\n".join(lines) + "\n"


def answers(cases: list[tuple[list[int], list[int]]]) -> list[str]:
    return [
        f"Case #{i}: {sum(a * b for a, b in zip(sorted(one), sorted(two, reverse=True), strict=True))}"
        for i, (one, two) in enumerate(cases, 1)
    ]


def cases_of_every_size() -> list[tuple[list[int], list[int]]]:
    rng = random.Random(7)
    sizes = [0, 1, 0, *range(2, 40), 5000, 3]
    trial = [([rng.randint(-100_000, 100_000) for _ in range(n)] for _ in range(2)) for n in sizes]
    cases = [(next(pair), next(pair)) for pair in map(iter, trial)]
    edge = [-100_000, 100_000]
    cases += [
        ([7] * 30, [-7] * 30),
        ([0] * 5, [0] * 5),
        (edge * 10, edge * 10),
        ([-100_000] * 9, [100_000] * 9),
    ]
    # Equal values among others.
    cases.append(([rng.randint(-2, 2) for _ in range(200)], [rng.randint(-2, 2) for _ in range(200)]))
    return cases


@pytest.mark.parametrize("name", CONTENDERS)
def test_cases_of_every_size_and_none_at_all(name: str, tmp_path: Path) -> None:
    one = ready(name)
    for cases in (cases_of_every_size(), [], [([1], [2])]):
        path = tmp_path / "input.txt"
        path.write_text(text_of(cases), encoding="ascii")
        done = directly("batch", one, f"input={path}", "cores=2", "colour=red")
        assert done.returncode == 0, done
        own = [line for line in done.stdout.decode().splitlines() if not line.startswith("::")]
        assert own == answers(cases)
        assert f"::result cases={len(cases)}" in done.stdout.decode()


GOOD = "3\n2\n1 2\n3 4\n1\n5\n6\n2\n7 8\n9 10\n"
BROKEN = {
    "empty": "",
    "cut in a number": GOOD[:-3],
    "cut between cases": "3\n2\n1 2\n3 4\n",
    "cut after a vector": "3\n2\n1 2\n3 4\n1\n5\n6\n2\n7 8\n",
    "fewer cases": GOOD.replace("3\n", "4\n", 1),
    "more cases": GOOD.replace("3\n", "2\n", 1),
    "too few numbers": GOOD.replace("7 8\n", "7\n"),
    "too many numbers": GOOD.replace("7 8\n", "7 8 9\n"),
    "letters": GOOD.replace("8", "x"),
    "letters for a size": GOOD.replace("1\n5", "one\n5"),
    "a negative size": GOOD.replace("1\n5", "-1\n5"),
    "a negative count": "-" + GOOD,
    "out of range": GOOD.replace("8", "100001"),
    "past 64 bits": GOOD.replace("8", "9223372036854775808"),
    "far past 64 bits": GOOD.replace("8", "-" + "9" * 6000),
    "a count past 64 bits": GOOD.replace("3\n", "9" * 30 + "\n", 1),
    "a large count": GOOD.replace("3\n", "999999999999\n", 1),
    "a large size": GOOD.replace("1\n5", "1000000\n5"),
    "a fraction": GOOD.replace("8", "8.5"),
    "a zero byte": GOOD.replace("8", "8\0"),
    "not text": GOOD.replace("8", "\xff"),
}


@pytest.mark.parametrize("name", CONTENDERS)
def test_broken_inputs_get_status_2_and_one_line(name: str, tmp_path: Path) -> None:
    one = ready(name)
    path = tmp_path / "input.txt"
    path.write_text(GOOD, encoding="latin-1")
    assert directly("batch", one, f"input={path}").returncode == 0
    wrong = []
    for what, text in BROKEN.items():
        path.write_text(text, encoding="latin-1")
        done = directly("batch", one, f"input={path}", "cores=1")
        said = done.stderr.decode(errors="replace").strip().splitlines()
        if done.returncode != 2 or len(said) != 1 or b"::result" in done.stdout:
            wrong.append((what, done.returncode, said[:3]))
    assert not wrong


@pytest.mark.parametrize("name", CONTENDERS)
def test_bad_arguments_get_status_2_and_one_line(name: str, tmp_path: Path) -> None:
    one = ready(name)
    path = tmp_path / "input.txt"
    path.write_text(GOOD, encoding="ascii")
    for arguments in (
        (),
        (f"input={tmp_path / 'nothing'}",),
        (f"input={tmp_path}",),
        (f"input={path}", "cores=0"),
    ):
        done = directly("batch", one, *arguments)
        assert done.returncode == 2, (arguments, done)
        assert len(done.stderr.decode().strip().splitlines()) == 1, (arguments, done)


@pytest.mark.parametrize("name", WITH_WORKERS)
def test_a_worker_that_is_killed_ends_it_with_one_line(name: str, inputs: Inputs) -> None:
    one = ready(name)
    made = inputs.get(BATCH.input(point("batch", cases=30_000)))
    process = subprocess.Popen(
        command("batch", one, f"input={made.path}", "cores=2"),
        cwd=one.contender.folder,
        stdin=subprocess.DEVNULL,
        # Nobody reads the answers meanwhile: in a pipe they would hold it up.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with killed_at_last(process):
        everyone = kill_a_worker(process)
        _, said = process.communicate()
        assert process.returncode == 1, said
        assert len(said.decode().strip().splitlines()) == 1, said
        assert not alive(everyone)


@pytest.mark.soak
@pytest.mark.parametrize("name", CONTENDERS)
def test_half_a_gigabyte_is_streamed(name: str, executor: LocalExecutor, inputs: Inputs) -> None:
    at = point("batch", cases=200_000, cores=executor.available_cpus())
    trial = carry_out("batch", ready(name), executor, at, inputs.get(BATCH.input(at)))
    assert trial.outcome is Outcome.OK, f"{trial.detail} {trial.report}"
    assert trial.report
    assert (trial.report.peak_pss_bytes or 0) < 200e6
