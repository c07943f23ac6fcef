"""Experiments prepared, begun and resumed, and the requests of their trials; all but the probe is real."""

import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.catalogue.loader import Catalogue
from ringside.cli import context
from ringside.errors import CatalogueError, ProbeError, UsageError
from ringside.measure.runs.campaign import Task
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.loop import Listener, blocks
from ringside.measure.runs.plan import Prepared, check, contenders_of
from ringside.measure.runs.plan import prepare as build
from ringside.measure.runs.trials import ContenderTrials
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender, Ready, Unavailable
from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import TrialMessage, TrialRequest
from ringside.store import Store
from ringside.store.plans import PlannedContender, Selection, read_plan
from tests.support.cases import cases
from tests.support.errors import error_of
from tests.support.fake_contenders import PYTHON, Add, add_build, append, change_workload, edit, manifest_of
from tests.support.fake_runs import (
    FakeExecutor,
    Quiet,
    Started,
    argument,
    campaign,
    conduct,
    prepared_of,
    resume,
)
from tests.support.runs import experiment as own_experiment
from tests.support.runs import make_run


def carried_out(
    workplace: Path, prepared: Prepared, executor: FakeExecutor | None = None
) -> tuple[list[Trial], Run]:
    """The trials of a new run of what is prepared, and the run."""
    store = Store(workplace / "s.sqlite")
    run = begin(workplace, prepared)
    assert conduct(run, prepared, store, executor or FakeExecutor(), Quiet())
    return store.trials(run), run


def begin(workplace: Path, prepared: Prepared, selection: Selection | None = None) -> Run:
    task = Task([prepared.experiment], selection=selection or Selection("pair", seed=5))
    return campaign(workplace, FakeExecutor(), task).begin({"": prepared})


# --- preparing ---


class Recording(Quiet):
    """An observer that remembers what is prepared."""

    def __init__(self) -> None:
        super().__init__()
        self.prepared: list[tuple[str, object]] = []

    def on_prepare(self, contender: str) -> None:
        self.prepared.append(("prepare", contender))

    def on_build(self, contender: Contender) -> None:
        self.prepared.append(("build", contender.name))

    def on_prepared(self, contender: Ready | Unavailable) -> None:
        self.prepared.append((type(contender).__name__, contender.contender.name))

    def on_input(self, name: str, most_bytes: int) -> None:
        self.prepared.append((name, most_bytes))


@pytest.fixture
def prepare(workplace: Path, pair: None) -> Callable[..., Prepared]:
    def make(name: str, observer: Quiet | None = None, **changes: Any) -> Prepared:
        experiment = dataclasses.replace(Catalogue().experiment(name), **changes)
        return prepared_of(experiment, workplace, FakeExecutor(), observer)

    return make


Prepare = Callable[..., Prepared]


@pytest.fixture
def pair(add_fake: Add, add_experiment: Add) -> None:
    add_fake("one", "one")
    add_fake("two", "two")
    add_experiment("pair", "one", "two", blocks=3)


NO_RUNTIME = (f'executable = ["{PYTHON}"]', 'executable = ["nope-x"]')
BUILD = '\n[[build]]\ncommand = ["cp", "fake.py", "{build}"]\n'


def test_an_observer_sees_what_is_prepared(prepare: Prepare, workplace: Path) -> None:
    append(manifest_of(workplace, "two"), BUILD)
    observer = Recording()
    prepared = prepare("pair", observer)
    # Builds go on beside each other.
    build = ("build", "two")
    assert observer.prepared.index(build) < observer.prepared.index(("Ready", "two"))
    observer.prepared.remove(build)
    assert observer.prepared == [("prepare", "one"), ("Ready", "one"), ("prepare", "two"), ("Ready", "two")]
    assert prepared.inputs == {}
    assert prepared.unavailable() == {}


def test_inputs_precede_trials(add_experiment: Add, prepare: Prepare, workplace: Path) -> None:
    change_workload(manifest_of(workplace, "one"), "batch")
    add_experiment("solo", "one", workload="batch", factors="cases = [3, 4]\nsize = 2\n")
    observer = Recording()
    prepared = prepare("solo", observer)
    assert [name for name, _ in observer.prepared[2:]] == ["batch-3x2-seed1.txt", "batch-4x2-seed1.txt"]
    names = {point["cases"]: input.path.name for point, input in prepared.inputs.items()}
    assert names == {3: "batch-3x2-seed1.txt", 4: "batch-4x2-seed1.txt"}
    trials, run = carried_out(workplace, prepared)
    assert {trial.input_bytes for trial in trials} == {input.size_bytes for input in prepared.inputs.values()}
    # A run that goes on reads the same ones.
    assert resume(run, workplace).inputs == prepared.inputs
    # Nobody reads them where no contender is ready.
    add_build(workplace / "contenders" / "one", "false")
    assert prepare("solo").inputs == {}


@pytest.mark.parametrize(("changes", "reason"), cases(__file__, "what_an_experiment_names_is_checked"))
def test_names_are_checked(prepare: Prepare, workplace: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        prepare("pair", **changes)
    assert not (workplace / "b").exists()


def test_a_sandbox_must_be_there(prepare: Prepare, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.measure.runs.sandbox.shutil.which", lambda program: None)
    prepared, needs = prepare("pair"), "^--sandbox needs bubblewrap: apt-get install bubblewrap$"
    with pytest.raises(UsageError, match=needs):
        prepare("pair", sandbox=True)
    # Also where a run goes on, or a trial is repeated: nothing but the build is prepared for that.
    again = dataclasses.replace(prepared.experiment, sandbox=True)
    with pytest.raises(UsageError, match=needs):
        build(again, prepared.points, {}, Toolchain(workplace), Inputs(workplace), Listener())


def test_programs_in_a_sandbox(prepare: Prepare, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.measure.runs.sandbox.shutil.which", lambda program: f"/bin/{program}")
    prepared = prepare("pair", sandbox=True)
    executor = FakeExecutor()
    _, run = carried_out(workplace, prepared, executor)
    for request in executor.requests:
        assert "/bin/bwrap" in request.argv[:3]
        ready = prepared.contenders[argument(request, "how")]
        assert isinstance(ready, Ready)
        for folder in (ready.contender.folder, ready.build):
            assert f"--ro-bind {folder} {folder}" in " ".join(request.argv)
    maker = ContenderTrials(run.seed, prepared, executor)
    outside = maker.request(1, 0, Cell("one", prepared.points[0]), first=False)
    assert outside.argv[0] != "/bin/bwrap"


@pytest.mark.parametrize(("seed", "block", "seed_of_block"), [(7, 3, 10), (2**32 - 1, 1, 0), (2**62, 2, 2)])
def test_contenders_seeds_fit_contracts(prepare: Prepare, seed: int, block: int, seed_of_block: int) -> None:
    prepared = prepare("pair")
    maker = ContenderTrials(seed, prepared, FakeExecutor())
    request = maker.request(block, 0, Cell("one", prepared.points[0]), first=False)
    assert f"seed={seed_of_block}" in request.argv
    # The first trial of a block times the fixed computation.
    first = maker.request(block, 0, Cell("one", prepared.points[0]), first=True)
    assert (first.reference, request.reference) == (True, False)


# --- manifests that are broken ---


@pytest.mark.parametrize(("path", "target"), cases(__file__, "a_broken_contender_is_a_row"))
def test_a_broken_contender_is_a_row(prepare: Prepare, workplace: Path, path: str, target: str) -> None:
    (workplace / "wrong.toml").write_text("title = 3\n", encoding="utf-8")
    broken = manifest_of(workplace, "two").with_name(path)
    broken.unlink(missing_ok=True)
    broken.symlink_to(workplace / target)
    observer = Recording()
    prepared = prepare("pair", observer)
    assert observer.prepared[2:] == [("prepare", "two"), ("Unavailable", "two")]
    two = prepared.contenders["two"]
    assert isinstance(two, Unavailable)
    assert ("two/contender.toml" if "toml" in path else "a source cannot be read") in two.reason
    ((cell, why),) = prepared.unavailable().items()
    assert why.startswith(two.reason)
    trials, run = carried_out(workplace, prepared)
    (row,) = [trial for trial in trials if trial.outcome is Outcome.UNAVAILABLE]
    assert (row.cell, row.cell.contender, row.detail) == (cell, "two", why)
    kept = read_plan(run).contenders["two"]
    assert (kept.title, kept.unavailable, kept.files) == (two.contender.title, two.reason, {})


def test_without_a_manifest_that_can_be_read_there_is_no_run(prepare: Prepare, workplace: Path) -> None:
    for name, title in (("one", "3"), ("two", "[]")):
        manifest_of(workplace, name).write_text(f"title = {title}\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match="one/contender.toml"):  # The first error.
        prepare("pair")


# --- what a run keeps of its contenders ---


def test_a_run_keeps_its_contenders_as_they_were(prepare: Prepare, workplace: Path) -> None:
    folder = workplace / "contenders" / "one"
    (folder / "large.bin").write_bytes(b"x" * (256 * 1024 + 1))
    (folder / "fits.bin").write_bytes(b"\xff" * (256 * 1024))
    prepared, store = prepare("pair"), Store(workplace / "s.sqlite")
    run = begin(workplace, prepared)
    kept = read_plan(run).contenders["one"]
    one = prepared.contenders["one"]
    assert isinstance(one, Ready)
    assert kept == PlannedContender(
        title="A fake",
        family="threads",
        model="pretence",
        language="Python",
        queue="none",
        scheduler="none",
        runtime="cpython",
        runs_on="Python",
        command=one.contender.workloads["ring"].command,
        capabilities=one.contender.workloads["ring"].capabilities,
        files=kept.files,
        version=one.receipt.version,
        receipt=one.receipt.text,
        executable=one.receipt.executable,
        content=one.content,
    )
    assert sorted(kept.files) == ["README.md", "attacks.py", "contender.toml", "fake.py", "fits.bin"]
    sources = store.sources(list(kept.files.values()))
    assert sources[kept.files["README.md"]] == "# one\n"
    assert sources[kept.files["fits.bin"]] == "\ufffd" * (256 * 1024)
    assert run.seed == 5


def test_a_run_without_a_seed_gets_one(prepare: Prepare, workplace: Path) -> None:
    prepared = prepare("pair")
    seeds = {begin(workplace, prepared, Selection("pair")).seed for _ in range(8)}
    assert len(seeds) == 8
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert max(seeds) > 2**24


def test_a_failed_build_keeps_its_receipt_and_the_end_of_its_log(prepare: Prepare, workplace: Path) -> None:
    add_build(workplace / "contenders" / "two", "sh", "-c", "seq 1 9999; exit 3")
    prepared = prepare("pair")
    two = prepared.contenders["two"]
    assert isinstance(two, Unavailable)
    run = begin(workplace, prepared)
    kept = read_plan(run).contenders["two"]
    assert (kept.version, kept.receipt) == (two.receipt.version, two.receipt.text)
    assert (kept.executable, kept.content) == (two.receipt.executable, None)
    assert (kept.unavailable, kept.remedy) == (two.reason, two.remedy)
    assert len(two.log) > 20_000
    assert kept.log == two.log[-20_000:]


# --- resuming ---


def interrupted(started: Started) -> tuple[Store, Run]:
    executor = FakeExecutor(interrupt_after=3)
    prepared, store, run = started(executor)
    with pytest.raises(KeyboardInterrupt):
        conduct(run, prepared, store, executor, Quiet())
    return store, store.run(run.id)


def refusal(run: Run, workplace: Path, executor: FakeExecutor | None = None) -> str:
    return error_of(UsageError, resume, run, workplace, executor)


def test_runs_that_cannot_be_resumed_here(started: Started, workplace: Path) -> None:
    _, run = interrupted(started)
    experiment = {**run.plan["experiment"], "workload": "command"}
    of_commands = dataclasses.replace(run, plan={**run.plan, "experiment": experiment})
    assert refusal(of_commands, workplace) == (
        f"run {run.id} is not one of `ringside run`: `ringside vs --resume {run.id}` continues it"
    )
    of_cluster = dataclasses.replace(run, host={**run.host, "machines": {}})
    assert refusal(of_cluster, workplace) == f"run {run.id} began on a cluster: resume it with --on"
    here = run.host["kernel"]
    elsewhere = dataclasses.replace(run, host={**run.host, "kernel": "1.0", "cpus_usable": [0, 9]})
    assert refusal(elsewhere, workplace) == (
        f"run {run.id} began on another machine (kernel 1.0, here {here}; cpus usable 0,9, here 0,1): resume "
        "it there, or start a new run"
    )


def test_a_run_is_not_resumed_with_less_than_it_needs(started: Started, workplace: Path) -> None:
    _, store, run = started(FakeExecutor(), cores=["2"])
    smaller = FakeExecutor()
    smaller.cores = 1
    assert refusal(run, workplace, smaller) == "this run needs 2 CPUs, and only 1 is available here"
    feed = make_run(store, own_experiment("feed-c10k"), blocks=0, ended=False)
    smaller.cores, smaller.most_descriptors = 2, 1000
    assert "descriptors in one process, and the limit here is 1,000" in refusal(feed, workplace, smaller)


def test_a_contender_that_is_another_by_now_cannot_be_resumed(started: Started, workplace: Path) -> None:
    _, run = interrupted(started)
    program, manifest = workplace / "contenders" / "one" / "fake.py", manifest_of(workplace, "two")
    source, text = program.read_text(), manifest.read_text()
    program.write_text("changed", encoding="utf-8")
    changed = f"contender `one` has changed since run {run.id} began: start a new run"
    assert refusal(run, workplace) == changed
    program.write_text(source)
    manifest.write_text("title = 3\n", encoding="utf-8")
    broken = refusal(run, workplace)
    assert re.search(r"`two` was available .*two/contender\.toml", broken)
    manifest.write_text(text)
    edit(manifest, NO_RUNTIME)
    assert refusal(run, workplace) == (
        f"contender `two` was available when run {run.id} began, and is not any more: needs nope-x 3.11 "
        "or newer: not found (install nope-x); restore it, or start a new run"
    )


@pytest.mark.usefixtures("pair")
def test_what_was_unavailable_stays_so(started: Started, workplace: Path) -> None:
    """A broken manifest, and a runtime that is there by now: the run has rows for them already."""
    manifest = manifest_of(workplace, "two")
    whole = manifest.read_text()
    edit(manifest, NO_RUNTIME)
    _, run = interrupted(started)
    reason = "needs nope-x 3.11 or newer: not found"
    manifest.write_text(whole)
    two = resume(run, workplace).contenders["two"]
    assert isinstance(two, Unavailable)
    assert (two.reason, two.remedy) == (reason, "install nope-x")
    manifest.write_text("title = 3\n")
    two = resume(run, workplace).contenders["two"]
    assert isinstance(two, Unavailable)
    assert two.reason == reason


# --- trials ---


def test_every_cell_of_every_block_is_stored_after_a_rehearsal(started: Started) -> None:
    executor, quiet = FakeExecutor(), Quiet()
    prepared, store, run = started(executor, nodes=["3", "9"])
    assert conduct(run, prepared, store, executor, quiet)
    trials = store.trials(run)
    assert [trial.cell for trial in trials] == [
        cell for cells in blocks(prepared.points, ("one", "two"), 3, 5) for cell in cells
    ]
    assert quiet.ended == trials
    assert store.run(run.id).ended_at is not None
    assert [cell.contender for cell in quiet.warmed_up] == ["one", "two"]
    requests = executor.requests
    assert len(requests) == len(trials) + 2
    # The rehearsal is at the smallest point, and shorter where a program hangs.
    assert [argument(request, "nodes") for request in requests[:2]] == ["3", "3"]
    assert [request.limits.wall_s for request in requests[1:3]] == [60.0, 300.0]
    # The machine is timed, and seeds change, once in each block.
    assert [request.reference for request in requests] == [False, False, *([True, False, False, False] * 3)]
    seeds = [int(argument(request, "seed")) for request in requests]
    assert seeds == [*(run.seed, run.seed), *(run.seed + block for block in (1, 2, 3) for _ in range(4))]
    assert len({len(request.env["RINGSIDE_PADDING"]) for request in requests}) > 3


def test_a_run_keeps_cpus_and_their_runtimes(started: Started, add_fake: Add, workplace: Path) -> None:
    add_fake("one", "one")
    manifest = manifest_of(workplace, "one")
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(re.sub(r"(\[runtime\.\w+\]\n)", r'\1title = "Fakery"\n', text), encoding="utf-8")
    here = os.sched_getaffinity(0)
    try:
        # The CPUs to which ringside restricts itself.
        os.sched_setaffinity(0, {min(here)})
        _, _, run = started(FakeExecutor())
    finally:
        os.sched_setaffinity(0, here)
    assert run.host["cpus_usable"] == [0, 1]
    contenders = read_plan(run).contenders
    assert [contenders[name].runs_on for name in ("one", "two")] == ["Fakery", "Python"]


@pytest.mark.parametrize(
    "executor",
    [FakeExecutor(interrupt_after=1), FakeExecutor({"one": "interrupted"})],
    ids=["without a report", "with one"],
)
def test_an_interrupt_before_the_first_block_leaves_no_row(started: Started, executor: FakeExecutor) -> None:
    prepared, store, run = started(executor)
    with pytest.raises(KeyboardInterrupt):
        conduct(run, prepared, store, executor, Quiet())
    assert (store.trials(run), len(executor.requests)) == ([], 1)


def test_contenders_that_make_the_probe_fail_do_not_end_the_run(started: Started) -> None:
    """A program that does nothing is carried out in the place of the last one."""
    executor = FakeExecutor({"one": "splendid", "two": "splendid"})
    prepared, store, run = started(executor)
    assert conduct(run, prepared, store, executor, Quiet())
    harmless = [request for request in executor.requests if request.argv == ("true",)]
    assert harmless
    assert {request.cpus for request in harmless} <= {request.cpus for request in executor.requests}
    assert {trial.outcome for trial in store.trials(run)} <= {Outcome.PROBE_FAILED, Outcome.UNAVAILABLE}


@pytest.mark.usefixtures("pair")
def test_cells_that_cannot_be_measured_are_rows_and_not_rehearsed(started: Started, workplace: Path) -> None:
    append(manifest_of(workplace, "one"), "most = { nodes = 3 }\n")
    edit(manifest_of(workplace, "two"), NO_RUNTIME)
    executor, quiet = FakeExecutor(), Quiet()
    prepared, store, run = started(executor)
    conduct(run, prepared, store, executor, quiet)
    assert [(trial.block, trial.outcome, trial.detail) for trial in store.trials(run)] == [
        (0, Outcome.UNAVAILABLE, "past this contender's limit: nodes up to 3"),
        (0, Outcome.UNAVAILABLE, "needs nope-x 3.11 or newer: not found; install nope-x"),
    ]
    assert (quiet.warmed_up, executor.requests) == ([], [])


def test_a_source_that_changes_during_the_run_ends_the_contender(started: Started, workplace: Path) -> None:
    class Changing(FakeExecutor):
        def trial(self, request: TrialRequest) -> list[TrialMessage]:
            if len(self.requests) == 2 + 2:
                (workplace / "contenders" / "one" / "fake.py").write_text("# changed\n", encoding="utf-8")
            return super().trial(request)

    executor = Changing()
    prepared, store, run = started(executor)
    conduct(run, prepared, store, executor, Quiet())
    trials = store.trials(run)
    changed = [trial for trial in trials if trial.outcome is Outcome.UNAVAILABLE]
    # From the trial after the one in which it was changed.
    assert {trial.cell.contender for trial in changed} == {"one"}
    assert all(trial.detail.startswith("its sources have changed since the run began: ") for trial in changed)
    assert all(trial.started_at and trial.block in (2, 3) for trial in changed)
    assert [trial.outcome for trial in trials if trial.cell.contender == "two"] == [Outcome.OK] * 3


@pytest.mark.usefixtures("pair")
def test_a_build_that_changes_during_the_run_is_made_anew(started: Started, workplace: Path) -> None:
    append(manifest_of(workplace, "one"), BUILD)

    class Changing(FakeExecutor):
        def trial(self, request: TrialRequest) -> list[TrialMessage]:
            if argument(request, "how") == "two":
                for build in (workplace / "b").glob("one-*/fake.py"):
                    build.write_text(f"# {len(self.requests)}\n", encoding="utf-8")
            return super().trial(request)

    executor = Changing()
    prepared, store, run = started(executor)
    one = prepared.contenders["one"]
    assert isinstance(one, Ready)
    source = (one.contender.folder / "fake.py").read_bytes()
    conduct(run, prepared, store, executor, Quiet())
    trials = [trial for trial in store.trials(run) if trial.cell.contender == "one"]
    assert [trial.outcome for trial in trials] == [Outcome.OK] * 3
    anew = [text for trial in trials if trial.report for text in trial.report.interference]
    assert anew
    # It was changed in a trial of `two`, or in its rehearsal.
    assert set(anew) == {"its build was changed, and was built again"}
    # The next run makes it anew where it was changed after its last trial.
    again = Toolchain(workplace / "b").prepare(one.contender)
    assert again == one
    assert (one.build / "fake.py").read_bytes() == source


def test_requests_of_trials(started: Started) -> None:
    executor = FakeExecutor()
    prepared, _, run = started(executor)
    maker = ContenderTrials(run.seed, prepared, executor)
    cell = Cell("one", prepared.points[0])
    request = maker.request(2, 1, cell, first=True)
    assert (request.cpus, request.probe_cpus) == ((1,), (0,))
    short = dataclasses.replace(
        prepared,
        experiment=dataclasses.replace(
            prepared.experiment, limits=msgspec.structs.replace(prepared.experiment.limits, wall_s=5.0)
        ),
    )
    maker = ContenderTrials(run.seed, short, executor)
    assert maker.request(0, 0, cell, first=False).limits.wall_s == 5.0
    trial = maker.trial(2, 1, cell, first=False)
    assert (trial.block, trial.position, trial.cell) == (2, 1, cell)
    assert (trial.cpus, trial.input_bytes) == ((1,), None)
    assert trial.memory_limit_bytes == executor.requests[-1].limits.memory_bytes > 0
    assert trial.started_at


def test_a_server_that_is_never_ready_costs_less_in_its_rehearsal(workplace: Path) -> None:
    catalogue, executor = context.catalogue(["mine=sleep {port}"]), FakeExecutor()
    experiment = dataclasses.replace(catalogue.experiment("fib"), contenders=("mine",), baseline="mine")
    points = check(experiment, catalogue, executor.capacity())
    tools = (Toolchain(workplace / "b"), Inputs(workplace / "i"), Quiet())
    prepared = build(experiment, points, contenders_of(experiment, catalogue), *tools)
    maker = ContenderTrials(1, prepared, executor)
    made = [maker.request(n, 0, Cell("mine", prepared.points[0]), first=False).service for n in (0, 1)]
    assert [service and service.ready_s for service in made] == [15.0, 60.0]


def test_a_probe_that_fails_in_a_rehearsal_does_not_end_the_run(started: Started) -> None:
    class Failing(FakeExecutor):
        def trial(self, request: TrialRequest) -> list[TrialMessage]:
            messages = super().trial(request)
            if len(self.requests) <= 2:
                raise ProbeError("out of paint")
            return messages

    executor = Failing()
    prepared, store, run = started(executor)
    assert conduct(run, prepared, store, executor, Quiet())
    assert [trial.outcome for trial in store.trials(run)] == [Outcome.OK] * 6
