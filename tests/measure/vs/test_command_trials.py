"""Trials of commands through a fake executor, and their commands."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ringside.errors import RingsideError, UsageError
from ringside.measure.runs.loop import BlockLoop, Listener, StoppingRule
from ringside.measure.runs.trials import padding_bytes
from ringside.measure.vs import command_trials
from ringside.measure.vs.command_trials import POINT, CommandFailedError, CommandTrials, ExecutionOptions
from ringside.measure.vs.commands import parse_commands
from ringside.model.design import Cell, Point
from ringside.model.results import Outcome, Trial
from ringside.probe.protocol import Limits, Sample, TrialMessage, TrialOutcome, TrialRequest
from ringside.store import Store
from ringside.store.plans import PlannedContender, read_plan
from ringside.text import one_line
from ringside.workloads.command import COMMAND
from tests.support import fake_runs
from tests.support.errors import error_of

OK = TrialOutcome("ok", exit_status=0, wall_ns=5_000_000)
RULE = StoppingRule(4)


class FakeExecutor(fake_runs.FakeExecutor):
    """Reports an outcome by the program that is started; keeps the requests."""

    def __init__(self, **by_program: TrialOutcome) -> None:
        super().__init__()
        self.by_program = by_program

    def trial(self, request: TrialRequest) -> list[TrialMessage]:
        self.requests.append(request)
        return [Sample(1, "result", pss_bytes=3), Sample(2), self.by_program.get(request.argv[0], OK)]


def trials_of(
    executor: FakeExecutor, folder: Path, hooks: Mapping[str, Sequence[str]] = {}, **options: Any
) -> CommandTrials:
    """Trials of `true` and `cat -`."""
    commands = parse_commands(["true", "cat -"], hooks=hooks)
    return CommandTrials(commands, ExecutionOptions(folder, {"PATH": "/bin"}, **options), 7, executor)


def execute(of: CommandTrials, name: str = "B") -> Trial:
    return of.trial(1, 0, Cell(name, POINT), first=False)


def test_the_request_is_the_command_as_it_is(tmp_path: Path) -> None:
    executor = FakeExecutor()
    input_file = tmp_path / "in"
    commands = trials_of(
        executor, tmp_path, timeout_s=3.0, memory_bytes=1 << 20, input=input_file, cpus=(1,), warmups=0
    )
    trial = execute(commands)
    (request,) = executor.requests
    assert request.argv == ("cat", "-")
    assert (request.cwd, request.stdin, request.cpus) == (str(tmp_path), str(input_file), (1,))
    assert request.plain
    assert request.limits == Limits(3.0, 1 << 20, 1 << 34, 4096)
    assert (request.expect, request.service) == (None, None)
    assert request.env.keys() == {"PATH", "RINGSIDE_PADDING", "HYPERFINE_ITERATION"}
    assert (trial.outcome, trial.report, trial.cpus, trial.cell) == (Outcome.OK, OK, (1,), Cell("B", POINT))
    assert trial.started_at
    # No figure needs the samples.
    assert (trial.samples, trial.marks) == ((), {})


def test_the_references_are_timed_every_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = trials_of(executor := FakeExecutor(), tmp_path, warmups=1)
    commands.warm_up(Listener())
    for now_s in (100.0, 101.0, 101.99, 102.0, 103.5, 107.0):
        monkeypatch.setattr("time.monotonic", lambda now_s=now_s: now_s)
        execute(commands)
    assert [number for number, request in enumerate(executor.requests) if request.reference] == [2, 5, 7]


def test_each_command_is_warmed_up_as_often_as_the_options_say(tmp_path: Path) -> None:
    executor = FakeExecutor()
    trials_of(executor, tmp_path, warmups=2).warm_up(Listener())
    assert [request.argv[0] for request in executor.requests] == ["true", "true", "cat", "cat"]
    # Their environment is that of no block.
    sizes = {len(request.env["RINGSIDE_PADDING"]) for request in executor.requests}
    assert sizes == {padding_bytes(7, 0, 0)}


def test_an_interrupted_warm_up_ends_the_run(tmp_path: Path) -> None:
    executor = FakeExecutor(true=TrialOutcome("interrupted"))
    with pytest.raises(KeyboardInterrupt):
        trials_of(executor, tmp_path).warm_up(Listener())
    assert len(executor.requests) == 1


def test_an_interrupted_trial_is_a_trial(tmp_path: Path) -> None:
    interrupted = TrialOutcome("interrupted", wall_ns=3)
    trial = execute(trials_of(FakeExecutor(cat=interrupted), tmp_path))
    assert (trial.outcome, trial.report) == (Outcome.INTERRUPTED, interrupted)


# --- failures ---

FAILED = TrialOutcome(
    "crashed", "exit status 3", exit_status=3, stderr_tail="some\nbroken \x1b[31m\n", wall_ns=9
)


def test_a_command_that_fails_ends_a_comparison_of_two_in_one_line(tmp_path: Path) -> None:
    assert error_of(CommandFailedError, execute, trials_of(FakeExecutor(cat=FAILED), tmp_path)) == (
        "B (cat -) crashed: exit status 3: broken ·[31m (--ignore-failure includes what failed, "
        "--ignore-failure=exclude leaves it out)"
    )


KILLED = TrialOutcome("crashed", "killed by signal 11", signal=11, wall_ns=9)


@pytest.mark.parametrize(
    ("failure", "ignored", "counts"),
    [
        (FAILED, "all", True), (FAILED, {3}, True), (FAILED, {1, 2}, False), (FAILED, set(), False),
        (KILLED, "all", True), (KILLED, {11}, False),
    ],
)  # fmt: skip
def test_failures_that_are_success(tmp_path: Path, failure: TrialOutcome, ignored: Any, counts: bool) -> None:
    of = trials_of(FakeExecutor(cat=failure), tmp_path, ignored=ignored)
    if counts:
        trial = execute(of)
        assert (trial.outcome, trial.detail, trial.report) == (Outcome.OK, failure.detail, failure)
    else:
        with pytest.raises(CommandFailedError):
            execute(of)


@pytest.mark.parametrize("outcome", ["timed-out", "out-of-memory", "flooded"])
def test_what_hit_a_limit_is_no_failure_that_could_be_ignored(tmp_path: Path, outcome: str) -> None:
    limited = TrialOutcome(outcome, "3 s have passed", signal=9)
    with pytest.raises(CommandFailedError, match=f"B .cat -. {outcome}: 3 s have passed"):
        execute(trials_of(FakeExecutor(cat=limited), tmp_path, ignored="all"))


@pytest.mark.parametrize("ignored", ["all", frozenset({1})])
def test_a_command_that_cannot_be_started_is_wrong_use(tmp_path: Path, ignored: Any) -> None:
    missing = TrialOutcome("crashed", "cat: Permission denied")
    with pytest.raises(UsageError, match="cat: Permission denied"):
        execute(trials_of(FakeExecutor(cat=missing), tmp_path, ignored=ignored))


# --- the run ---


@pytest.mark.parametrize(
    "rule", [StoppingRule(9), StoppingRule(100, decided=True, time_s=30.0), StoppingRule(102, time_s=31.0)]
)
def test_a_run_keeps_its_rule(tmp_path: Path, rule: StoppingRule) -> None:
    commands, options = parse_commands(["true", "cat"]), ExecutionOptions(tmp_path, {})
    experiment = command_trials.experiment_of(commands, rule, 0.03, {}, options)
    assert experiment.title == "true / cat"
    assert (experiment.blocks, experiment.time_s) == (rule.max_blocks, rule.time_s)
    assert experiment.until_decided == rule.decided
    assert experiment.margin == 0.03


# --- what surrounds the commands ---


def notes(tmp_path: Path) -> list[str]:
    file = tmp_path / "notes"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


def test_the_order_of_hooks(tmp_path: Path) -> None:
    executor = FakeExecutor()
    names = ("setup", "prepare", "conclude", "cleanup")
    line = "sh -c 'echo {}:$HYPERFINE_ITERATION >> notes'"
    of = trials_of(executor, tmp_path, {name: (line.replace("{}", name),) for name in names})
    of.warm_up(Listener())
    assert notes(tmp_path) == ["setup:", "prepare:warmup-0", "conclude:warmup-0"] * 2
    execute(of)
    # hyperfine 781: what surrounds an execution knows its number.
    assert notes(tmp_path)[6:] == ["prepare:0", "conclude:0"]
    of.clean_up()
    assert notes(tmp_path)[8:] == ["cleanup:", "cleanup:"]
    # Once.
    of.clean_up()
    assert len(notes(tmp_path)) == 10
    iterations = [request.env["HYPERFINE_ITERATION"] for request in executor.requests]
    assert iterations == ["warmup-0", "warmup-0", "0"]


def test_only_what_was_set_up_is_cleaned_up(tmp_path: Path) -> None:
    line = "sh -c 'echo setup >> notes; ! grep -c setup notes | grep -q 2'"
    hooks = {"setup": (line,), "cleanup": ("false",)}
    of = trials_of(FakeExecutor(), tmp_path, hooks)
    of.clean_up()
    with pytest.raises(CommandFailedError, match="^--setup sh -c .* failed with exit status 1$"):
        of.warm_up(Listener())
    # One of each, and the first failure of them.
    assert error_of(CommandFailedError, of.clean_up) == "--cleanup false failed with exit status 1"
    of.clean_up()


def test_all_are_cleaned_up_and_the_first_failure_is_reported(tmp_path: Path) -> None:
    line = "sh -c 'echo x >> notes; wc -l < notes >&2; exit 3'"
    of = trials_of(FakeExecutor(), tmp_path, {"cleanup": (line,)}, warmups=0)
    of.warm_up(Listener())
    assert error_of(CommandFailedError, of.clean_up).endswith("exit status 3: 1")
    assert notes(tmp_path) == ["x", "x"]


@pytest.mark.parametrize("failure", [FAILED, TrialOutcome("crashed", "cat: Permission denied")])
def test_a_failure_is_concluded_too_and_more_important(tmp_path: Path, failure: TrialOutcome) -> None:
    line = "sh -c 'echo conclude >> notes; exit 5'"
    of = trials_of(FakeExecutor(cat=failure), tmp_path, {"conclude": (line,)})
    assert "conclude" not in error_of(RingsideError, execute, of)
    assert notes(tmp_path) == ["conclude"]
    # If nothing else failed, it is a failure.
    fine = trials_of(FakeExecutor(), tmp_path, {"conclude": (line,)}, ignored="all")
    with pytest.raises(CommandFailedError, match="^--conclude sh -c .* failed with exit status 5$"):
        execute(fine)


def test_a_failed_preparation_is_not_concluded(tmp_path: Path) -> None:
    hooks = {"prepare": ("false",), "conclude": ("sh -c 'echo conclude >> notes'",)}
    executor = FakeExecutor()
    with pytest.raises(CommandFailedError, match="^--prepare false failed"):
        execute(trials_of(executor, tmp_path, hooks, ignored="all"))
    assert (executor.requests, notes(tmp_path)) == ([], [])


def test_hooks_are_in_the_folder_and_environment_of_the_commands(tmp_path: Path) -> None:
    line = "sh -c 'cat >&2; echo $PATH $HOME. $(ls) >&2; exit 1'"
    (tmp_path / "a-file").touch()
    with pytest.raises(CommandFailedError, match=r"exit status 1: /bin \. a-file$"):
        execute(trials_of(FakeExecutor(), tmp_path, {"prepare": (line,)}))


def test_hooks_go_through_the_shell_of_the_commands(tmp_path: Path) -> None:
    hooks = {"prepare": ("echo {n} | tr 1 x > made",)}
    point = Point((("n", 1),))
    commands = parse_commands(["cat < made"], hooks=hooks, shell=("sh",), points=(point,))
    executor = FakeExecutor()
    of = CommandTrials(commands, ExecutionOptions(tmp_path, {"PATH": "/bin"}), 7, executor, (point,))
    of.trial(1, 0, Cell("A", point), first=False)
    assert (tmp_path / "made").read_text() == "x\n"
    assert executor.requests[0].argv == ("sh", "-c", "cat < made")


def test_long_lines_of_hooks_are_cut(tmp_path: Path) -> None:
    line = f"sh -c 'echo {'y' * 300} >&2; exit 1' {'x' * 100}"
    of = trials_of(FakeExecutor(), tmp_path, {"prepare": (line,)})
    message = f"--prepare {one_line(line, 80)} failed with exit status 1: {one_line('y' * 300, 200)}"
    assert error_of(CommandFailedError, execute, of) == message
    gone = trials_of(FakeExecutor(), tmp_path / "gone", {"prepare": (line,)})
    assert error_of(UsageError, execute, gone) == f"--prepare {one_line(line, 80)}: No such file or directory"


# --- executions ---


def test_commands_are_the_contenders_of_a_run(tmp_path: Path) -> None:
    points = (Point((("n", 1),)), Point((("n", 2),)))
    commands = parse_commands(["true {n}", f"cat {'x' * 100}"], ["plain"], points=points)
    options = ExecutionOptions(tmp_path, {"PATH": "/bin"})
    experiment = command_trials.experiment_of(commands, RULE, 0.05, {"n": (1, 2)}, options)
    assert (experiment.name, experiment.workload, experiment.factors) == ("vs", COMMAND.name, {"n": (1, 2)})
    assert experiment.title == f"true {{n}} / {one_line('cat ' + 'x' * 100, 80)}"
    assert (experiment.contenders, experiment.baseline) == (("plain", "B"), "plain")
    store = Store(tmp_path / "s.sqlite")
    run = command_trials.begin(commands, experiment, options, 5, store, points)
    kept = read_plan(store.run(run.id))
    assert (kept.experiment, kept.points, run.seed) == (experiment, points, 5)
    # With parameters as placeholders.
    assert kept.contenders["plain"] == PlannedContender(title="true {n}", command=("true", "{n}"))
    assert run.host["cpus_usable"] == sorted(os.sched_getaffinity(0))
    assert run.host["revision"] is None
    executor, silent = FakeExecutor(), Listener()
    maker = CommandTrials(commands, options, run.seed, executor, points)
    assert BlockLoop(run, RULE, store, silent, maker=maker).conduct()
    assert [request.argv[1] for request in executor.requests[:4]] == ["1", "x" * 100, "2", "x" * 100]
    assert len(store.trials(run)) == len(executor.requests[4:]) == 16
    # The CPUs of trials, where they are given.
    pinned = dataclasses.replace(options, cpus=(1,))
    assert command_trials.begin(commands, experiment, pinned, 5, store, points).host["cpus_usable"] == [1]


def test_what_hooks_print_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    execute(trials_of(FakeExecutor(), tmp_path, {"prepare": ("sh -c 'echo out; echo err >&2'",)}))
    assert tuple(capfd.readouterr()) == ("", "")
