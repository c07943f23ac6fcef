"""Runs through a fake executor: everything but the probe is real."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ringside.errors import ProbeError, UsageError
from ringside.measure.executor import LocalExecutor
from ringside.measure.loop import blocks
from ringside.model.results import Outcome
from ringside.probe.process import Probe
from ringside.store import Store
from ringside.store.plans import read_plan
from tests.support import probes
from tests.support.fake_contenders import PYTHON
from tests.support.fake_runs import FakeExecutor, Quiet, Started, argument, conduct, resume, start
from tests.support.runs import experiment as own_experiment
from tests.support.runs import make_run


@pytest.fixture
def started(add_fake: Callable[..., None], add_experiment: Callable[..., None], workplace: Path) -> Started:
    return partial(start, workplace, add_fake, add_experiment)


def test_every_cell_of_every_block_is_stored_after_a_rehearsal(started: Started) -> None:
    executor, quiet = FakeExecutor(), Quiet()
    prepared, store, run = started(executor, nodes=["3", "9"])
    assert conduct(run, prepared, store, executor, quiet)
    trials = store.trials(run)
    assert len(trials) == 2 * 2 * 3
    assert len(executor.requests) == len(trials) + 2
    # The rehearsal is at the smallest point, and shorter where a program hangs.
    assert [argument(request, "nodes") for request in executor.requests[:2]] == ["3", "3"]
    assert [request.limits.wall_s for request in executor.requests[1:3]] == [60.0, 300.0]
    assert [cell.contender for cell in quiet.warmed_up] == ["one", "two"]
    assert quiet.ended == trials
    assert [trial.cell for trial in trials] == [
        cell for block in blocks(prepared.points, ("one", "two"), 3, 5) for cell in block.cells
    ]
    assert store.run(run.id).ended_at is not None
    kept = read_plan(store.run(run.id))
    assert (kept.experiment, kept.points) == (prepared.experiment, prepared.points)


def test_a_run_keeps_the_cpus_of_trials_and_what_contenders_run_on(
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
    contenders = read_plan(run).contenders
    assert contenders["one"].runs_on == "Fakery"
    assert contenders["two"].runs_on == contenders["two"].language == "Python"


def test_sizes_of_the_environment_vary(started: Started) -> None:
    executor = FakeExecutor()
    prepared, store, run = started(executor)
    conduct(run, prepared, store, executor, Quiet())
    assert len({len(request.env["RINGSIDE_PADDING"]) for request in executor.requests}) > 3


def test_an_interrupt_before_the_first_block_leaves_no_row(started: Started) -> None:
    executor = FakeExecutor(interrupt_after=1)
    prepared, store, run = started(executor)
    with pytest.raises(KeyboardInterrupt):
        conduct(run, prepared, store, executor, Quiet())
    assert store.trials(run) == []


def test_a_rehearsal_that_is_interrupted_ends_the_run(started: Started) -> None:
    executor = FakeExecutor({"one": "interrupted"})
    prepared, store, run = started(executor)
    with pytest.raises(KeyboardInterrupt):
        conduct(run, prepared, store, executor, Quiet())
    assert (store.trials(run), len(executor.requests)) == ([], 1)


def test_an_interrupted_trial_is_kept_with_what_the_probe_reported(started: Started, tmp_path: Path) -> None:
    """A whole run with a probe of its own: the first trial after the rehearsals waits for Ctrl-C."""
    folder = tmp_path / "probe"
    folder.mkdir()
    (folder / "ok").write_text(probes.OUTCOME + "\n")
    (folder / "phase").write_text('{"type":"phase","t_ns":1,"name":"relay","ns":7}\n')
    (folder / "interrupted").write_text(probes.INTERRUPTED + "\n")
    body = """
echo >> count
[ "$(wc -l < count)" -le 2 ] && say ok && exit
cat phase
trap 'say interrupted; exit 0' INT
: > ready
while :; do sleep 0.1; done
"""
    executor = LocalExecutor(Probe(probes.script(folder, body)))
    prepared, store, run = started(executor)
    sender = probes.when((folder / "ready").exists, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        conduct(run, prepared, store, executor, Quiet())
    sender.join()
    (trial,) = store.trials(run)
    assert trial.outcome is Outcome.INTERRUPTED
    assert trial.phases == {"relay": (7,)}


def test_a_probe_that_talks_nonsense_is_two_rows_and_the_end(started: Started, tmp_path: Path) -> None:
    folder = tmp_path / "probe"
    folder.mkdir()
    executor = LocalExecutor(probes.printing(folder, "nonsense"))
    prepared, store, run = started(executor)
    with pytest.raises(ProbeError, match="2 times in a row, last: the probe sent an invalid message"):
        conduct(run, prepared, store, executor, Quiet())
    trials = store.trials(run)
    assert [trial.outcome for trial in trials] == [Outcome.PROBE_FAILED] * 2
    assert all("nonsense" in trial.detail for trial in trials)


def test_contenders_that_make_the_probe_fail_do_not_end_the_run(started: Started) -> None:
    """A program that does nothing is carried out in the place of the last one."""
    executor = FakeExecutor({"one": "splendid", "two": "splendid"})
    prepared, store, run = started(executor)
    assert conduct(run, prepared, store, executor, Quiet())
    harmless = [request for request in executor.requests if request.argv == ("true",)]
    assert harmless
    assert {request.cpus for request in harmless} <= {request.cpus for request in executor.requests}
    assert {trial.outcome for trial in store.trials(run)} <= {Outcome.PROBE_FAILED, Outcome.UNAVAILABLE}


def test_a_contender_that_changed_cannot_be_resumed(started: Started, workplace: Path) -> None:
    executor = FakeExecutor(interrupt_after=3)
    prepared, store, run = started(executor)
    with pytest.raises(KeyboardInterrupt):
        conduct(run, prepared, store, executor, Quiet())
    (workplace / "contenders" / "one" / "fake.py").write_text("changed", encoding="utf-8")
    with pytest.raises(UsageError, match="contender `one` has changed since run .* began: start a new run"):
        resume(run, workplace)


def test_a_run_is_not_resumed_with_fewer_cores(started: Started, workplace: Path) -> None:
    _, _, run = started(FakeExecutor(), cores=["2"])
    smaller = FakeExecutor()
    smaller.cores = 1
    with pytest.raises(UsageError, match="this run needs 2 CPUs, and only 1 is available here"):
        resume(run, workplace, smaller)
    assert resume(run, workplace).points == read_plan(run).points


def test_a_run_is_not_resumed_with_fewer_descriptors(workplace: Path) -> None:
    run = make_run(Store(workplace / "s.sqlite"), own_experiment("feed-c10k"), blocks=0, ended=False)
    smaller = FakeExecutor()
    smaller.most_descriptors = 1000
    with pytest.raises(UsageError, match="descriptors in one process, and the limit here is 1,000"):
        resume(run, workplace, smaller)


def test_seeds_of_contenders_differ_between_blocks_and_are_equal_inside(started: Started) -> None:
    executor = FakeExecutor()
    prepared, store, run = started(executor, nodes=["3", "9"])
    conduct(run, prepared, store, executor, Quiet())
    seeds = [int(argument(request, "seed")) for request in executor.requests]
    assert seeds == [*(run.seed, run.seed), *(run.seed + block for block in (1, 2, 3) for _ in range(4))]


def test_a_missing_toolchain_is_a_row_with_the_way_out(
    started: Started, add_fake: Callable[..., None], workplace: Path
) -> None:
    add_fake("two", "two")
    manifest = workplace / "contenders" / "two" / "contender.toml"
    text = manifest.read_text().replace(f'executable = ["{PYTHON}"]', 'executable = ["nope-x"]')
    manifest.write_text(text)
    executor = FakeExecutor()
    prepared, store, run = started(executor)
    conduct(run, prepared, store, executor, Quiet())
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
    conduct(run, prepared, store, executor, Quiet())
    rows = [t for t in store.trials(run) if t.outcome is Outcome.UNAVAILABLE]
    assert [(row.cell.contender, row.cell.point["nodes"]) for row in rows] == [("two", 6)]
    assert "past this contender's limit: nodes up to 5" in rows[0].detail


def test_a_bad_factor_stops_before_anything_is_built(started: Started, workplace: Path) -> None:
    with pytest.raises(UsageError, match="has no factor `colour`"):
        started(FakeExecutor(), colour=["red"])
    assert not (workplace / "b").exists()
    assert not (workplace / "s.sqlite").exists()


def test_the_machine_is_timed_once_in_each_block(started: Started) -> None:
    executor = FakeExecutor()
    prepared, store, run = started(executor, nodes=["3", "9"])
    conduct(run, prepared, store, executor, Quiet())
    # Two rehearsals, then three blocks of four trials.
    assert [request.reference for request in executor.requests] == [
        *(False, False),
        *([True, False, False, False] * 3),
    ]
    assert all((trial.memory_limit_bytes or 0) > 0 for trial in store.trials(run))
