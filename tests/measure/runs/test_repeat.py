"""Decides which trial is repeated, and how: through a fake executor."""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringside.catalogue.loader import Catalogue
from ringside.errors import UsageError
from ringside.measure.runs.inputs import Inputs
from ringside.measure.runs.trials import Repetition, plain_command, repetition
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Unavailable
from ringside.model.design import Cell
from ringside.model.results import Outcome, Run, Trial
from ringside.probe.protocol import Limits, TrialRequest
from tests.support.errors import error_of
from tests.support.fake_runs import FakeExecutor, Quiet, Started, argument, conduct


def again(
    run: Run,
    earlier: Sequence[Trial],
    contender: str,
    executor: FakeExecutor | None = None,
    **settings: Sequence[str],
) -> Repetition | Unavailable:
    tools: dict[str, Any] = {
        "catalogue": Catalogue(),
        "toolchain": Toolchain(Path("b")),
        "inputs": Inputs(Path("i")),
        "executor": executor or FakeExecutor(),
    }
    return repetition(run, earlier, contender, settings, **tools)


def trial_of(repeated: Repetition | Unavailable) -> tuple[int, int, Cell]:
    assert isinstance(repeated, Repetition)
    return repeated.place


def test_the_first_failure_is_repeated(started: Started) -> None:
    prepared, _, run = started(FakeExecutor(), nodes=["3", "9"])
    small, large = prepared.points
    ignored = (Outcome.OK, Outcome.UNAVAILABLE, Outcome.INTERRUPTED, Outcome.PROBE_FAILED)
    earlier = [
        Trial(1, 0, Cell("two", small), Outcome.CRASHED, ""),
        *(Trial(2, 3, Cell("one", small), outcome, "") for outcome in ignored),
        Trial(3, 1, Cell("one", large), Outcome.TIMED_OUT, ""),
        Trial(4, 2, Cell("one", small), Outcome.CRASHED, ""),
    ]
    assert trial_of(again(run, earlier, "one")) == (3, 1, Cell("one", large))
    assert trial_of(again(run, earlier, "two")) == (1, 0, Cell("two", small))
    # At the point that is named.
    assert trial_of(again(run, earlier, "one", nodes=["3"])) == (4, 2, Cell("one", small))
    assert trial_of(again(run, earlier, "one", nodes=["4", "9"])) == (3, 1, Cell("one", large))
    # Without a failure, the first point in the first block.
    assert trial_of(again(run, earlier[:5], "one")) == (1, 0, Cell("one", small))
    assert trial_of(again(run, [], "one", nodes=["9"], messages=["5"])) == (1, 0, Cell("one", large))


def test_the_request_is_that_of_the_trial(started: Started) -> None:
    executor = FakeExecutor({"one": "crashed"})
    prepared, store, run = started(executor)
    conduct(run, prepared, store, executor, Quiet())
    first = next(trial for trial in store.trials(run) if trial.cell.contender == "one")
    repeated = again(run, store.trials(run), "one", executor)
    assert isinstance(repeated, Repetition)
    assert not repeated.has_changed
    request = repeated.trials.request(*repeated.place, first=False)
    assert argument(request, "seed") == str(run.seed + first.block)
    # As it was, but for the reference computation.
    before = executor.requests[2 + first.position]
    assert (request.argv, request.env, request.cwd, request.cpus) == (
        *(before.argv, before.env, before.cwd),
        before.cpus,
    )
    assert not request.reference
    count = len(executor.requests)
    trial = repeated.trials.trial(*repeated.place, first=False)
    assert (trial.block, trial.position, trial.cell) == (first.block, first.position, first.cell)
    assert trial.outcome is Outcome.CRASHED
    assert executor.requests[count:] == [request]


def test_what_a_run_does_not_have(started: Started) -> None:
    _, _, run = started(FakeExecutor(), nodes=[str(number) for number in range(2, 13)])

    def refusal(contender: str, **settings: Sequence[str]) -> str:
        return error_of(UsageError, again, run, [], contender, None, **settings)

    assert refusal("best") == f"run {run.id} has no contender `best`; it has: one, two"
    assert "has no factor `colour`" in refusal("one", colour=["red"])
    message = refusal("one", nodes=["99"])
    assert message.startswith(f"run {run.id} has no such point; it has: nodes=2 messages=5 ")
    # Not all of them, where there are many.
    assert message.count("; nodes=") == 8


def test_the_machine_must_be_large_enough(started: Started) -> None:
    _, _, run = started(FakeExecutor(), cores=["1", "2"])
    smaller = FakeExecutor()
    smaller.cores = 1
    assert isinstance(again(run, [], "one", smaller), Repetition)
    with pytest.raises(UsageError, match="this run needs 2 CPUs, and only 1 is available here"):
        again(run, [], "one", smaller, cores=["2"])


def test_a_line_for_a_shell_starts_the_program_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "a folder; exit 9"
    folder.mkdir()
    script = 'pwd; env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= | sort; echo "$1"'
    request = TrialRequest(
        argv=("sh", "-c", script, "sh", "it's $HOME"),
        cwd=str(folder),
        env={"PATH": "/usr/bin:/bin", "B": "two words", "RINGSIDE_PADDING": "....", "A": "$x"},
        limits=Limits(1.0, 1, 1, 1),
    )
    line = plain_command(request)
    assert "\n" not in line
    assert shlex.split(line)[:5] == ["cd", str(folder), "&&", "env", "-i"]
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        *(str(folder), "A=$x", "B=two words", "PATH=/usr/bin:/bin", "it's $HOME"),
    ]
    # One that waits for a line gets one.
    waits = msgspec.structs.replace(request, argv=("sh", "-c", "read -r _ && echo on"), awaits=("spawned",))
    done = subprocess.run(["sh", "-c", plain_command(waits)], capture_output=True, text=True, check=True)
    assert done.stdout == "on\n"
