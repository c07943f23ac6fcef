"""Trials of commands through a fake executor, and their commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringside.errors import UsageError
from ringside.measure import command_trials
from ringside.measure.command_trials import POINT, CommandFailedError, CommandTrials, ExecutionOptions
from ringside.measure.commands import Hooks, parse_commands, readable, split_shell
from ringside.measure.paired import PairedBenchmark, SilentObserver
from ringside.measure.stopping import StoppingRule
from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import Limits, ProgramOutput, Sample, TrialMessage, TrialOutcome, TrialRequest
from ringside.store import Store
from ringside.store.plans import read_plan
from ringside.workloads.command import COMMAND

OK = TrialOutcome("ok", exit_status=0, wall_ns=5_000_000)
RULE = StoppingRule(4)


class FakeExecutor:
    """Reports an outcome by the program that is started; keeps the requests."""

    def __init__(self, **outcomes: TrialOutcome) -> None:
        self.requests: list[TrialRequest] = []
        self.outcomes = outcomes

    def available_cpus(self) -> int:
        return 2

    def descriptors(self) -> int:
        return 1000

    def cpus(self, cores: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (1,), (0,)

    def trial(self, request: TrialRequest, tick: Callable[[], None] | None = None) -> list[TrialMessage]:
        self.requests.append(request)
        return [Sample(1, "result", pss_bytes=3), Sample(2), self.outcomes.get(request.argv[0], OK)]


def made(
    executor: FakeExecutor, folder: Path, prepares: list[str] | None = None, **options: Any
) -> CommandTrials:
    commands = parse_commands(["true", "cat -"], hooks=Hooks(prepares=tuple(prepares or ())))
    return CommandTrials(commands, ExecutionOptions(folder, {"PATH": "/bin"}, **options), 7, executor)


def execute(of: CommandTrials, name: str = "B", block: int = 1, position: int = 0) -> Trial:
    return of.trial(block, position, Cell(name, POINT), first=False, tick=lambda: None)


def test_the_request_is_the_command_as_it_is(tmp_path: Path) -> None:
    executor = FakeExecutor()
    input_file = tmp_path / "in"
    commands = made(
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


def test_samples_are_not_kept(tmp_path: Path) -> None:
    trial = execute(made(FakeExecutor(), tmp_path))
    assert (trial.samples, trial.marks) == ((), {})


def test_the_size_of_the_environment_varies(tmp_path: Path) -> None:
    executor = FakeExecutor()
    commands = made(executor, tmp_path)
    for block in range(1, 9):
        for position in range(2):
            execute(commands, block=block, position=position)
    assert len({request.env["RINGSIDE_PADDING"] for request in executor.requests}) > 10


def test_the_references_are_timed_every_two_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executor = FakeExecutor()
    commands = made(executor, tmp_path)
    for now_s in (100.0, 101.0, 101.99, 102.0, 103.5, 107.0):
        monkeypatch.setattr("time.monotonic", lambda now_s=now_s: now_s)
        execute(commands)
    assert [request.reference for request in executor.requests] == [True, False, False, True, False, True]


def test_each_command_is_warmed_up_as_often_as_the_options_say(tmp_path: Path) -> None:
    executor = FakeExecutor()
    made(executor, tmp_path, warmups=2).warm_up(SilentObserver())
    assert [request.argv[0] for request in executor.requests] == ["true", "cat"] * 2


def test_an_interrupted_warm_up_ends_the_run(tmp_path: Path) -> None:
    executor = FakeExecutor(true=TrialOutcome("interrupted"))
    with pytest.raises(KeyboardInterrupt):
        made(executor, tmp_path).warm_up(SilentObserver())
    assert len(executor.requests) == 1


def test_an_interrupted_trial_is_a_trial(tmp_path: Path) -> None:
    interrupted = TrialOutcome("interrupted", wall_ns=3)
    trial = execute(made(FakeExecutor(cat=interrupted), tmp_path))
    assert (trial.outcome, trial.report) == (Outcome.INTERRUPTED, interrupted)


# --- failures ---

FAILED = TrialOutcome(
    "crashed", "exit status 3", exit_status=3, stderr_tail="some\nbroken \x1b[31m\n", wall_ns=9
)


def test_a_command_that_fails_ends_the_comparison_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandFailedError) as caught:
        execute(made(FakeExecutor(cat=FAILED), tmp_path))
    assert str(caught.value) == "B (cat -) crashed: exit status 3: broken ·[31m"


@pytest.mark.parametrize(
    "outcome", [FAILED, TrialOutcome("crashed", "killed by signal 11", signal=11, wall_ns=9)]
)
def test_failures_count_where_they_are_to_be_ignored(tmp_path: Path, outcome: TrialOutcome) -> None:
    trial = execute(made(FakeExecutor(cat=outcome), tmp_path, ignored="all"))
    assert (trial.outcome, trial.detail, trial.report) == (Outcome.OK, outcome.detail, outcome)


@pytest.mark.parametrize("outcome", ["timed-out", "out-of-memory", "flooded"])
def test_what_hit_a_limit_is_no_failure_that_could_be_ignored(tmp_path: Path, outcome: str) -> None:
    limited = TrialOutcome(outcome, "3 s have passed", signal=9)
    with pytest.raises(CommandFailedError, match=f"B .cat -. {outcome}: 3 s have passed"):
        execute(made(FakeExecutor(cat=limited), tmp_path, ignored="all"))


@pytest.mark.parametrize("ignored", ["all", frozenset({1})])
def test_a_command_that_cannot_be_started_is_wrong_use(tmp_path: Path, ignored: Any) -> None:
    missing = TrialOutcome("crashed", "cat: Permission denied")
    with pytest.raises(UsageError, match="cat: Permission denied"):
        execute(made(FakeExecutor(cat=missing), tmp_path, ignored=ignored))


def test_what_prepares_a_command_runs_before_each_execution_of_it(tmp_path: Path) -> None:
    executor = FakeExecutor()
    commands = made(executor, tmp_path, ["sh -c 'echo a >> prepared'", "sh -c 'echo b >> prepared'"])
    for name in "ABB":
        execute(commands, name)
    assert (tmp_path / "prepared").read_text() == "a\nb\nb\n"
    assert len(executor.requests) == 3


def test_what_prepares_a_command_may_not_fail(tmp_path: Path) -> None:
    executor = FakeExecutor()
    failing = made(executor, tmp_path, ["sh -c 'echo no >&2; exit 4'"], ignored="all")
    with pytest.raises(CommandFailedError, match="--prepare sh -c .* failed with exit status 4: no$"):
        execute(failing)
    gone = made(executor, tmp_path / "gone", ["true"])
    with pytest.raises(UsageError, match="--prepare true: No such file"):
        execute(gone)
    assert executor.requests == []


# --- the run ---


def begun(
    folder: Path, executor: FakeExecutor, rule: StoppingRule = RULE
) -> tuple[PairedBenchmark, Store, Run]:
    commands = parse_commands(["true", "cat -"], ["plain"])
    options = ExecutionOptions(folder, {"PATH": "/bin"}, cpus=(1,))
    store = Store(folder / "s.sqlite")
    experiment = command_trials.experiment_of(commands, rule)
    run = command_trials.begin(commands, experiment, options, 5, store)
    maker = CommandTrials(commands, options, run.seed, executor)
    benchmark = PairedBenchmark(run, experiment, COMMAND, (POINT,), rule, maker, store, SilentObserver())
    return benchmark, store, run


def test_commands_are_the_contenders_of_a_run(tmp_path: Path) -> None:
    benchmark, store, run = begun(tmp_path, FakeExecutor())
    assert benchmark.conduct()
    kept = read_plan(store.run(run.id))
    assert kept.experiment.contenders == ("plain", "B")
    assert (kept.experiment.baseline, kept.experiment.blocks, kept.experiment.until) == ("plain", 4, None)
    assert kept.points == (POINT,)
    assert kept.contenders["B"].title == "cat -"
    assert kept.contenders["B"].command == ("cat", "-")
    assert run.host["cpus_usable"] == [1]
    assert len(store.trials(run)) == 8


def test_the_order_of_commands_differs_between_blocks(tmp_path: Path) -> None:
    benchmark, store, run = begun(tmp_path, FakeExecutor(), StoppingRule(30))
    benchmark.conduct()
    first = [trial.cell.contender for trial in store.trials(run) if trial.position == 0]
    # 30 fair throws.
    assert 5 < first.count("plain") < 25


def test_a_failure_leaves_the_earlier_trials_in_the_store(tmp_path: Path) -> None:
    executor = FakeExecutor()
    benchmark, store, run = begun(tmp_path, executor)

    def fail(request: TrialRequest, tick: Callable[[], None] | None = None) -> list[TrialMessage]:
        executor.requests.append(request)
        return [OK if len(executor.requests) < 8 else FAILED]

    executor.trial = fail  # type: ignore[method-assign]
    with pytest.raises(CommandFailedError):
        benchmark.conduct()
    # Two warm-ups, five trials.
    assert len(store.trials(run)) == 5
    assert store.run(run.id).ended_at is None


@pytest.mark.parametrize(
    "rule",
    [
        StoppingRule(9),
        StoppingRule(100, decided=True, time_s=30.0),
        StoppingRule(101, until=0.02),
        StoppingRule(102, time_s=31.0),
    ],
)
def test_a_run_keeps_its_rule(rule: StoppingRule) -> None:
    commands = parse_commands(["true", "cat"])
    experiment = command_trials.experiment_of(commands, rule, 0.03)
    assert experiment.title == "true / cat"
    assert (experiment.blocks, experiment.time_s) == (rule.max_blocks, rule.time_s)
    assert (experiment.until, experiment.until_decided) == (rule.until, rule.decided)
    assert experiment.margin == 0.03
    assert command_trials.experiment_of(commands, rule).margin == 0.05


def test_output_that_changes_is_a_weak_point() -> None:
    def trials(name: str, hashes: str) -> list[Trial]:
        return [
            Trial(
                block,
                0,
                Cell(name, POINT),
                Outcome.OK,
                "",
                report=TrialOutcome("ok", wall_ns=9_000_000, output=ProgramOutput(sha256=sha256)),
            )
            for block, sha256 in enumerate(hashes, 1)
        ]

    def codes(a: str, b: str) -> list[tuple[str, tuple[str, ...]]]:
        diagnostics = COMMAND.diagnostics([*trials("A", a), *trials("B", b)])
        return [(diagnostic.code, diagnostic.subjects) for diagnostic in diagnostics]

    assert codes("xxx", "xxx") == []
    assert codes("xxx", "yyy") == [("unequal-output", ("B",))]
    assert codes("xxx", "xyx") == [("varying-output", ("B",))]
    assert codes("xyx", "xyx") == [("varying-output", ("A", "B"))]


# --- commands ---


@pytest.mark.parametrize(
    ("texts", "names", "prepares", "word"),
    [
        ([], [], [], "1 to 26 commands"),
        (["true"] * 27, [], [], "1 to 26 commands"),
        (["true", ""], [], [], "empty"),
        (["true", "no-such-program-anywhere -x"], [], [], "no program no-such-program-anywhere"),
        (["true", "no-such | wc"], [], [], "`|` needs a shell: add -S"),
        (["true", "echo 'x"], [], [], "quot"),
        (["true", "/etc/passwd"], [], [], "chmod"),
        (["true", "cat"], ["x", "x"], [], "differ"),
        (["true", "cat"], ["B"], [], "differ"),
        (["true", "cat"], [""], [], "not be empty"),
        (["true", "cat"], ["a", "b", "c"], [], "3 names"),
        (["true", "cat", "ls"], [], ["true", "true"], "--prepare"),
        (["true", "a\0b"], [], [], "NUL"),
        (["true"], [], ["true; true"], "`;` needs a shell"),
    ],
)
def test_what_cannot_be_compared(texts: list[str], names: list[str], prepares: list[str], word: str) -> None:
    with pytest.raises(UsageError, match=re.escape(word)) as refused:
        parse_commands(texts, names, Hooks(prepares=tuple(prepares)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("echo a && sleep 1", "`&&`"),
        ("echo a||true", "`||`"),
        ("echo a;echo b", "`;`"),
        ("cat <in >out", "`<`"),
        ("sleep 1 &", "`&`"),
        ("echo $HOME", "`$H`"),
        ('echo "$(date)"', "`$(`"),
        ("echo `date`", "```"),
        ("echo a\necho b", "a new line"),
        ("FOO=1 env", "`FOO=1` is a variable"),
        ("exit 1", "`exit` is a command of the shell"),
    ],
)
def test_what_only_a_shell_understands_is_refused_unless_it_is_meant(text: str, found: str) -> None:
    with pytest.raises(UsageError, match=re.escape(found)) as refused:
        parse_commands([text])
    assert "add -S" in str(refused.value)
    assert parse_commands([text], shell=("sh",))[0].argv(POINT) == ("sh", "-c", text)
    if text.startswith(("echo", "cat", "sleep")):
        assert parse_commands([text], is_literal=True)[0].argv(POINT)[0] in ("echo", "cat", "sleep")


@pytest.mark.parametrize(
    "text",
    [
        "echo 'a && b | c; $HOME'",
        'echo "a && b"',
        r"find . -exec true {} \;",
        r"echo \$HOME it\'s",
        "awk '{print $1}'",
        "echo --sum='1 & 2' a#b *.txt",
    ],
)
def test_what_is_quoted_is_no_operator(text: str) -> None:
    assert parse_commands([text])[0].argv(POINT) == tuple(shlex.split(text))


def test_commands_are_split_as_a_shell_would_or_given_to_one() -> None:
    first, second = parse_commands(["cat 'a b' c", "true"], [], Hooks(prepares=("sync",)))
    assert (first.name, second.name) == ("A", "B")
    assert first.argv(POINT) == ("cat", "a b", "c")
    assert first.prepare == second.prepare == "sync"
    hooks = Hooks(prepares=("", "sync"))
    first, second = parse_commands(["cat < x | wc", "true"], ["first"], hooks, split_shell("sh -e"))
    assert (first.name, first.argv(POINT)) == ("first", ("sh", "-e", "-c", "cat < x | wc"))
    assert (first.prepare, second.prepare) == (None, "sync")


def test_names_of_shells() -> None:
    assert split_shell("none") is None
    assert split_shell("default") == split_shell("") == ("sh",)
    assert split_shell("bash --norc") == ("bash", "--norc")


def test_a_program_that_setup_makes_need_not_be_there_yet() -> None:
    (command,) = parse_commands(["./not-yet"], hooks=Hooks(setup="make"))
    assert command.argv(POINT) == ("./not-yet",)
    with pytest.raises(UsageError, match="no program"):
        parse_commands(["./not-yet"])


def test_an_input_must_be_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert readable(None) is None
    (tmp_path / "in").touch()
    assert readable(Path("in")) == tmp_path.resolve() / "in"
    for name in ("none", "."):
        with pytest.raises(UsageError, match=f"--input {name}: "):
            readable(Path(name))
