"""Conformance: every contender of the catalogue, through the real probe, in every mode that it takes part
in. One that is missing its runtime fails in CI, where `make setup` gets all of them."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.measure import plan, trials
from ringside.measure.executor import LocalExecutor
from ringside.measure.toolchain import Toolchain, expand
from ringside.model.catalogue import Ready, Unavailable
from ringside.model.design import Cell, Limits, Point
from ringside.model.results import Outcome, Trial
from ringside.workloads.ring import RING
from tests.support import ROOT

CATALOGUE = Catalogue([ROOT])
CONTENDERS = [
    one.name
    for folder in CATALOGUE.contender_names()
    for one in CATALOGUE.runtimes(folder)
    if "ring" in one.workloads and not one.runtime.optional
]


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor()


# Once for each runtime: to ask for a version takes as long as many a test.
TOOLCHAIN = Toolchain(ROOT / ".ringside" / "builds")


def ready(name: str, catalogue: Catalogue = CATALOGUE, toolchain: Toolchain = TOOLCHAIN) -> Ready:
    result = toolchain.prepare(catalogue.contender(name))
    if isinstance(result, Unavailable):
        reason = f"{name}: {result.reason}; {result.remedy}\n{result.log}"
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    return result


def make(one: Ready, executor: LocalExecutor, **levels: int | str) -> Trial:
    base: dict[str, int | str] = {"nodes": 10, "messages": 10, "mode": "pipelined", "trace": 0, "cores": 1}
    cell = Cell(one.contender.name, Point(tuple((base | levels).items())))
    cpus, probe_cpus = executor.cpus(int((base | levels)["cores"]))
    request = trials.request(
        one,
        cell,
        RING,
        limits=Limits(wall_s=120),
        cpus=cpus,
        probe_cpus=probe_cpus,
        environment=trials.environment(os.environ, one.build, 1, 2, 3),
        seed=1,
        memory_available_bytes=8 << 30,
    )
    return trials.with_messages(Trial(1, 0, cell, Outcome.INTERRUPTED, ""), executor.trial(request))


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_mode_gives_right_evidence_phases_and_memory(name: str, executor: LocalExecutor) -> None:
    one = ready(name)
    for mode, trace in itertools.product(("pipelined", "token"), (0, 1)):
        for nodes, messages in ((2, 1), (7, 13)):
            trial = make(one, executor, nodes=nodes, messages=messages, mode=mode, trace=trace)
            where = f"{name} {trial.cell.point}"
            assert trial.outcome is Outcome.OK, f"{where}: {trial.detail} {trial.report}"
            assert set(trial.phases) == {"spawn", "relay"}, where
            assert trial.marks["spawned"].pss_bytes, where
            assert trial.report
            assert trial.report.left_behind == 0, where
            assert {"hop_ns", "spawn_ns", "cpu_s", "wall_s"} <= set(RING.figures(trial)), where


@pytest.mark.parametrize("name", CONTENDERS)
def test_a_wide_ring_and_all_cores(name: str, executor: LocalExecutor) -> None:
    one = ready(name)
    trial = make(one, executor, nodes=2000, messages=3)
    assert trial.outcome is Outcome.OK, f"{trial.detail} {trial.report}"
    trial = make(one, executor, nodes=50, messages=50, cores=executor.available_cpus())
    assert trial.outcome is Outcome.OK, f"{trial.detail} {trial.report}"


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize("mode", ["pipelined", "token"])
def test_the_same_again_in_one_process(name: str, mode: str, executor: LocalExecutor) -> None:
    trial = make(ready(name), executor, nodes=7, messages=13, mode=mode, trace=1, repeats=3)
    assert trial.outcome is Outcome.OK, f"{name}: {trial.detail} {trial.report}"
    assert {phase: len(each) for phase, each in trial.phases.items()} == {
        "spawn": 3,
        "relay": 3,
    }


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize(
    "bad",
    ["nodes=abc", "nodes=1", "messages=0", "messages=-3", "mode=fast", "trace=2", "nodes=", "repeats=0"],
)
def test_a_bad_value_gets_status_2_and_one_line(name: str, bad: str) -> None:
    done = run_directly(ready(name), "nodes=3", "messages=3", bad)
    assert done.returncode == 2, done
    assert len(done.stderr.decode().strip().splitlines()) == 1, done
    assert b"::result" not in done.stdout


@pytest.mark.parametrize("name", CONTENDERS)
def test_unknown_keys_are_ignored_and_nothing_is_held_without_hold(name: str) -> None:
    done = run_directly(ready(name), "nodes=3", "messages=3", "colour=red", "seed=99")
    assert done.returncode == 0, done
    assert b"::await" not in done.stdout
    assert b"::result checksum=12 " in done.stdout


def run_directly(one: Ready, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    names = {"runtime": one.receipt.executable, "build": one.build, "cores": 1}
    command = expand(one.contender.workloads["ring"].command, names)
    environment = trials.environment(os.environ, one.build, 1, 2, 3)
    return subprocess.run(
        [*command, *arguments],
        cwd=one.contender.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )


def test_threads_past_their_limit_are_a_row_that_says_so() -> None:
    contender = CATALOGUE.contender("python-threads")
    most = contender.workloads["ring"].most["nodes"]
    assert plan.past_limit(contender, RING, Point((("nodes", most),))) is None
    reason = plan.past_limit(contender, RING, Point((("nodes", most + 1),)))
    assert reason == f"past this contender's limit: nodes up to {most}"


# Their builds take minutes where cores are few, and fetch packages.
SLOW_BUILDS = {
    *("cpp-coroutines", "gevent", "limit", "python-aiohttp", "python-trio", "python-uvloop", "rust-tokio"),
    "stackless-greenlet",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.soak if name in SLOW_BUILDS else ()) for name in CONTENDERS],
)
def test_no_contender_writes_into_its_sources(name: str, executor: LocalExecutor, tmp_path: Path) -> None:
    """Neither its build nor a trial: a catalogue may lie where nothing can be written."""
    folder = name.partition("@")[0]
    sources = tmp_path / "contenders" / folder
    shutil.copytree(ROOT / "contenders" / folder, sources)
    before = tree(sources)
    one = ready(name, Catalogue([tmp_path]), Toolchain(tmp_path / "builds"))
    assert one.contender.folder == sources
    assert tree(sources) == before
    row = make(one, executor)
    assert row.outcome is Outcome.OK, f"{row.detail} {row.report}"
    assert tree(sources) == before


def tree(folder: Path) -> dict[str, bytes | None]:
    """Each file below a folder with what is in it, each folder with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }
