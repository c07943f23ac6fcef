"""Runs through a fake executor: everything but the probe is real."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure import plan, runner
from ringside.measure.inputs import Inputs
from ringside.measure.toolchain import Toolchain
from ringside.model.catalogue import Ready, Unavailable
from ringside.model.design import Cell
from ringside.model.results import Outcome, Trial
from ringside.store import Run, Store, experiment_of
from ringside.workloads.base import Workload


class FakeExecutor:
    """Answers each request with an outcome by the contender's `how`; keeps the requests."""

    def __init__(self, outcomes: Mapping[str, str] | None = None, interrupt_after: int | None = None) -> None:
        self.requests: list[Mapping[str, Any]] = []
        self.outcomes = outcomes or {}
        self.interrupt_after = interrupt_after

    def available_cpus(self) -> int:
        return 2

    def descriptors(self) -> int:
        return 20_000

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (0, 1)[-cores:], (0, 1)[:-cores]

    def run(self, request: Mapping[str, Any], tick: Callable[[], None] | None = None) -> list[bytes]:
        if self.interrupt_after is not None and len(self.requests) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.requests.append(request)
        how = next(word for word in request["argv"] if word.startswith("how=")).removeprefix("how=")
        outcome = {"type": "outcome", "outcome": self.outcomes.get(how, "ok"), "detail": "", "wall_ns": 1}
        return [json.dumps(outcome).encode()]


class NoisyExecutor(FakeExecutor):
    """Tells a relay phase whose logarithm has so much noise."""

    def __init__(self, noise: float) -> None:
        super().__init__()
        self.dice, self.noise = random.Random(7), noise

    def run(self, request: Mapping[str, Any], tick: Callable[[], None] | None = None) -> list[bytes]:
        ns = round(1e9 * math.exp(self.dice.gauss(0, self.noise)))
        phase = {"type": "phase", "name": "relay", "ns": ns, "t_ns": 1}
        return [json.dumps(phase).encode(), *super().run(request, tick)]


class Quiet:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.ended: list[Trial] = []

    def preparing(self, contender: str) -> None: ...

    def prepared(self, found: Ready | Unavailable) -> None: ...

    def begins(self, run: Run, blocks: int, cells: Sequence[Cell], workload: Workload) -> None: ...

    def rehearses(self, cell: Cell) -> None: ...

    def trial_begins(self, block: int, cell: Cell) -> None: ...

    def making(self, name: str, most_bytes: int) -> None: ...

    def tick(self) -> None: ...

    def trial_ended(self, trial: Trial, seconds: float) -> None:
        self.ended.append(trial)


@pytest.fixture
def started(
    add_fake: Callable[..., None], add_experiment: Callable[..., None], workplace: Path
) -> Callable[..., tuple[runner.Prepared, Store, Run]]:
    def start(executor: FakeExecutor, **changes: Any) -> tuple[runner.Prepared, Store, Run]:
        for name in ("one", "two"):
            if not (workplace / "contenders" / name).exists():
                add_fake(name, name)
        add_experiment("pair", "one", "two", blocks=3)
        catalogue = Catalogue()
        experiment = plan.with_settings(catalogue.experiment("pair"), changes)
        prepared = runner.prepare(
            experiment, catalogue, Toolchain(workplace / "b"), Inputs(workplace / "i"), executor, Quiet()
        )
        store = Store(workplace / "s.sqlite")
        return prepared, store, runner.begin(prepared, store, catalogue, executor, 5)

    return start


Started = Callable[..., tuple[runner.Prepared, Store, Run]]


def test_every_cell_of_every_block_is_stored_after_a_rehearsal(started: Started) -> None:
    executor, quiet = FakeExecutor(), Quiet()
    prepared, store, run = started(executor, nodes=["3", "9"])
    assert runner.conduct(run, prepared, store, executor, quiet)
    trials = store.trials(run)
    assert len(trials) == 2 * 2 * 3
    assert len(executor.requests) == len(trials) + 2
    assert "nodes=3" in executor.requests[0]["argv"]
    assert [trial.cell for trial in trials] == [
        cell for block in plan.blocks(prepared.points, ("one", "two"), 3, 5) for cell in block.cells
    ]
    assert store.run(run.id).ended_at is not None
    assert experiment_of(store.run(run.id)) == prepared.experiment


def test_a_run_tells_the_cpus_of_trials_and_what_contenders_run_on(
    started: Started, add_fake: Callable[..., None], workplace: Path
) -> None:
    add_fake("one", "one")
    manifest = workplace / "contenders" / "one" / "contender.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(re.sub(r"(\[runtime\.\w+\]\n)", r'\1title = "Fakery"\n', text), encoding="utf-8")
    here = os.sched_getaffinity(0)
    try:
        # Where ringside keeps itself to.
        os.sched_setaffinity(0, {min(here)})
        _, _, run = started(FakeExecutor())
    finally:
        os.sched_setaffinity(0, here)
    assert run.host["cpus_usable"] == [0, 1]
    contenders = run.plan["contenders"]
    assert contenders["one"]["runs_on"] == "Fakery"
    assert contenders["two"]["runs_on"] == contenders["two"]["language"]


def test_sizes_of_the_environment_vary(started: Started) -> None:
    executor = FakeExecutor()
    prepared, store, run = started(executor)
    runner.conduct(run, prepared, store, executor, Quiet())
    assert len({len(request["env"]["RINGSIDE_PADDING"]) for request in executor.requests}) > 3


def test_an_interrupted_run_goes_on_where_it_was(started: Started, workplace: Path) -> None:
    executor = FakeExecutor(interrupt_after=5)
    prepared, store, run = started(executor)
    with pytest.raises(KeyboardInterrupt):
        runner.conduct(run, prepared, store, executor, Quiet())
    assert len(store.trials(run)) == 3
    assert store.run(run.id).ended_at is None
    again = FakeExecutor()
    prepared = runner.resumed(
        store.run(run.id), Catalogue(), Toolchain(workplace / "b"), Inputs(workplace / "i"), Quiet()
    )
    assert runner.conduct(run, prepared, store, again, Quiet())
    cells = [(trial.block, trial.cell) for trial in store.trials(run)]
    assert len(cells) == len(set(cells)) == 6
    assert len(again.requests) == 3 + 2


def test_a_contender_that_changed_cannot_be_resumed(started: Started, workplace: Path) -> None:
    executor = FakeExecutor(interrupt_after=3)
    prepared, store, run = started(executor)
    with pytest.raises(KeyboardInterrupt):
        runner.conduct(run, prepared, store, executor, Quiet())
    (workplace / "contenders" / "one" / "fake.py").write_text("changed", encoding="utf-8")
    with pytest.raises(UsageError, match="contender `one` has changed since run .* began: start a new run"):
        runner.resumed(run, Catalogue(), Toolchain(workplace / "b"), Inputs(workplace / "i"), Quiet())


def test_a_cell_that_fails_hopelessly_twice_is_left_out_and_the_others_go_on(started: Started) -> None:
    executor = FakeExecutor({"one": "timed-out"})
    prepared, store, run = started(executor)
    runner.conduct(run, prepared, store, executor, Quiet())
    by_name: dict[str, list[Outcome]] = {"one": [], "two": []}
    for trial in store.trials(run):
        by_name[trial.cell.contender].append(trial.outcome)
    assert by_name["one"] == [Outcome.TIMED_OUT, Outcome.TIMED_OUT, Outcome.UNAVAILABLE]
    assert by_name["two"] == [Outcome.OK] * 3


def test_wrong_evidence_is_tried_in_every_block(started: Started) -> None:
    executor = FakeExecutor({"two": "wrong-evidence"})
    prepared, store, run = started(executor)
    runner.conduct(run, prepared, store, executor, Quiet())
    assert [t.outcome for t in store.trials(run) if t.cell.contender == "two"] == [Outcome.WRONG_EVIDENCE] * 3


def test_a_missing_toolchain_is_a_row_with_the_way_out(
    started: Started, add_fake: Callable[..., None], workplace: Path
) -> None:
    add_fake("two", "two")
    manifest = workplace / "contenders" / "two" / "contender.toml"
    text = manifest.read_text().replace(
        'executable = ["python3.13", "python3.12", "python3.11", "python3"]', 'executable = ["nope-x"]'
    )
    manifest.write_text(text)
    executor = FakeExecutor()
    prepared, store, run = started(executor)
    runner.conduct(run, prepared, store, executor, Quiet())
    rows = [trial for trial in store.trials(run) if trial.cell.contender == "two"]
    assert [row.outcome for row in rows] == [Outcome.UNAVAILABLE]
    assert rows[0].detail == "needs nope-x 3.11 or newer: not found; install nope-x"
    assert rows[0].block == 0
    assert len(store.trials(run)) == 1 + 3


def test_a_point_past_a_contenders_limit_is_a_row(
    started: Started, add_fake: Callable[..., None], workplace: Path
) -> None:
    add_fake("two", "two")
    manifest = workplace / "contenders" / "two" / "contender.toml"
    manifest.write_text(manifest.read_text() + "most = { nodes = 5 }\n")
    executor = FakeExecutor()
    prepared, store, run = started(executor, nodes=["5", "6"])
    runner.conduct(run, prepared, store, executor, Quiet())
    rows = [t for t in store.trials(run) if t.outcome is Outcome.UNAVAILABLE]
    assert [(row.cell.contender, row.cell.point["nodes"]) for row in rows] == [("two", 6)]
    assert "past this contender's limit: nodes up to 5" in rows[0].detail


def test_a_bad_factor_stops_before_anything_is_built(started: Started, workplace: Path) -> None:
    with pytest.raises(UsageError, match="has no factor `colour`"):
        started(FakeExecutor(), colour=["red"])
    assert not (workplace / "b").exists()
    assert not (workplace / "s.sqlite").exists()


def test_no_block_begins_after_the_time_is_up(started: Started) -> None:
    executor = FakeExecutor()
    prepared, store, run = started(executor)
    assert not runner.conduct(run, prepared, store, executor, Quiet(), time_limit_s=0)
    assert store.trials(run) == []
    assert store.run(run.id).ended_at is None


@pytest.mark.parametrize(("noise", "least", "most"), [(0.001, 10, 10), (0.02, 11, 40), (1.0, 45, 45)])
def test_blocks_are_made_until_intervals_are_narrow(
    started: Started, monkeypatch: pytest.MonkeyPatch, noise: float, least: int, most: int
) -> None:
    monkeypatch.setattr(plan, "_UNTIL_BLOCKS", 45)
    executor = NoisyExecutor(noise)
    prepared, store, run = started(executor)
    wanted = dataclasses.replace(prepared, experiment=plan.with_until(prepared.experiment, 0.03))
    assert runner.conduct(run, wanted, store, executor, Quiet())
    blocks = {trial.block for trial in store.trials(run)}
    assert least <= len(blocks) <= most
    assert blocks == set(range(1, len(blocks) + 1))


def test_the_machine_is_timed_once_in_each_block(started: Started) -> None:
    executor = FakeExecutor()
    prepared, store, run = started(executor, nodes=["3", "9"])
    runner.conduct(run, prepared, store, executor, Quiet())
    # Two rehearsals, then three blocks of four trials.
    assert [request["reference"] for request in executor.requests] == [
        *(False, False),
        *([True, False, False, False] * 3),
    ]
    assert all(trial.outcome_line["memory_limit_bytes"] > 0 for trial in store.trials(run))
