"""Conformance: every contender of the catalogue, through the real probe, in every mode that it takes part
in. One that is missing its runtime fails in CI, where `make setup` gets all of them."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.measure import trials as trial
from ringside.measure.toolchain import Toolchain, expand
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell, Limits, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.local import LocalExecutor
from ringside.workloads.ring import RING

ROOT = Path(__file__).resolve().parents[1]
CATALOGUE = Catalogue([ROOT])
CONTENDERS = [
    one.name
    for folder in CATALOGUE.contender_names()
    for one in CATALOGUE.runtimes(folder)
    if "ring" in one.workloads
]


@pytest.fixture(scope="module")
def executor() -> LocalExecutor:
    return LocalExecutor()


def ready(name: str) -> Ready:
    found = Toolchain(ROOT / ".ringside" / "builds").prepare(CATALOGUE.contender(name))
    if isinstance(found, Unavailable):
        reason = f"{name}: {found.reason}; {found.remedy}\n{found.log}"
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    return found


def make(one: Ready, executor: LocalExecutor, **levels: int | str) -> Trial:
    base: dict[str, int | str] = {"nodes": 10, "messages": 10, "mode": "pipelined", "trace": 0, "cores": 1}
    cell = Cell(one.contender.name, Point(tuple((base | levels).items())))
    cpus, probe_cpus = executor.cpus(int((base | levels)["cores"]))
    request = trial.request(
        one,
        cell,
        RING,
        limits=Limits(wall_s=120),
        cpus=cpus,
        probe_cpus=probe_cpus,
        environment=trial.environment(os.environ, one.build, 1, 2, 3),
        seed=1,
        memory_available_bytes=8 << 30,
    )
    return trial.parse(executor.run(request), Trial(1, 0, cell, Outcome.INTERRUPTED, ""))


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_mode_gives_right_evidence_phases_and_memory(name: str, executor: LocalExecutor) -> None:
    one = ready(name)
    for mode, trace in itertools.product(("pipelined", "token"), (0, 1)):
        for nodes, messages in ((2, 1), (7, 13)):
            found = make(one, executor, nodes=nodes, messages=messages, mode=mode, trace=trace)
            where = f"{name} {found.cell.point}"
            assert found.outcome is Outcome.OK, f"{where}: {found.detail} {found.outcome_line}"
            assert set(found.phases) == {"spawn", "relay"}, where
            assert found.marks["spawned"]["pss_bytes"] > 0, where
            assert found.outcome_line["left_behind"] == 0, where
            assert {"hop_ns", "spawn_ns", "cpu_s", "wall_s"} <= set(RING.figures(found)), where


@pytest.mark.parametrize("name", CONTENDERS)
def test_a_wide_ring_and_all_cores(name: str, executor: LocalExecutor) -> None:
    one = ready(name)
    found = make(one, executor, nodes=2000, messages=3)
    assert found.outcome is Outcome.OK, f"{found.detail} {found.outcome_line}"
    found = make(one, executor, nodes=50, messages=50, cores=executor.available_cpus())
    assert found.outcome is Outcome.OK, f"{found.detail} {found.outcome_line}"


@pytest.mark.parametrize("name", CONTENDERS)
@pytest.mark.parametrize("mode", ["pipelined", "token"])
def test_the_same_again_in_one_process(name: str, mode: str, executor: LocalExecutor) -> None:
    found = make(ready(name), executor, nodes=7, messages=13, mode=mode, trace=1, repeats=3)
    assert found.outcome is Outcome.OK, f"{name}: {found.detail} {found.outcome_line}"
    assert {phase: len(each) for phase, each in found.outcome_line["repeats"].items()} == {
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
    environment = trial.environment(os.environ, one.build, 1, 2, 3)
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
    contender: Contender = CATALOGUE.contender("python-threads")
    assert contender.workloads["ring"].most["nodes"] >= 1000


def test_no_contender_writes_into_its_sources(executor: LocalExecutor) -> None:
    status = subprocess.run(
        ["git", "status", "--porcelain", "--ignored", "contenders"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    left = [line for line in status.stdout.splitlines() if line.startswith("!!")]
    assert not left, json.dumps(left)
