"""The trials of a run of another process, as the store in the working directory has them."""

import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

from ringside.analysis.run import analysis_of
from ringside.cli import context
from ringside.errors import StoreError, UsageError
from ringside.model.results import REPEATABLE, Outcome, Run, Trial
from ringside.render.text.command import command
from ringside.store import Store
from tests.support.command_line import RINGSIDE, in_process

STORE = Path(".ringside/ringside.sqlite")


def begun(*words: str) -> subprocess.Popen[str]:
    """`ringside run` with these words, in a process of its own."""
    return subprocess.Popen([*RINGSIDE, "run", *words], stderr=subprocess.PIPE, text=True)


def stored(*, samples: bool = False) -> tuple[Run, list[Trial]]:
    """The latest run, and its trials."""
    with closing(Store(STORE, create=False)) as store:
        run = store.run()
        return run, store.trials(run, samples=samples)


def trials_so_far() -> list[Trial]:
    """The trials of the latest run; none while there is no store yet."""
    with suppress(StoreError, UsageError):
        return stored()[1]
    return []


def has_trials(least: int, *machines: str) -> bool:
    """Whether there are so many trials, some of them of each of these machines."""
    trials = trials_so_far()
    return len(trials) >= least and {*machines} <= {trial.machine for trial in trials}


def counted(trials: Iterable[Trial]) -> list[Trial]:
    """The trials that are not repeated."""
    return [trial for trial in trials if trial.outcome not in REPEATABLE]


def identities(trials: Iterable[Trial]) -> set[tuple[object, ...]]:
    """The identities of the counted trials: trials are kept where these are."""
    return {(trial.block, trial.cell, trial.started_at) for trial in counted(trials)}


def assert_whole(trials: Iterable[Trial], blocks: int, cells: int = 2, *, only_ok: bool = True) -> None:
    """Each cell counts once in each block, and pairs are of one machine."""
    trials = counted(trials)
    by_cell = Counter((trial.block, trial.cell) for trial in trials)
    assert set(by_cell.values()) == {1}
    assert len(by_cell) == blocks * cells
    assert len({(trial.block, trial.cell.point, trial.machine) for trial in trials}) == blocks
    if only_ok:
        assert [trial.detail for trial in trials if trial.outcome is not Outcome.OK] == []


def kept_runs() -> list[tuple[str, str]]:
    """Run and state of each row of `list runs`."""
    rows = in_process("list", "runs", COLUMNS="200").stdout.splitlines()
    return re.findall(r"^(\d{8}-\d{6}-\S+) .*? (done|in progress|cut off) *$", "\n".join(rows), re.MULTILINE)


def words_again() -> list[str]:
    """The words of the command that would make the user's latest run again."""
    with closing(context.open_store(None, create=False, anywhere=True)) as store:
        return shlex.split(command(analysis_of(store, store.run())))
