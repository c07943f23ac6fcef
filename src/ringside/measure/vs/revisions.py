"""Git revisions that are compared: each is checked out in a worktree of its own, and built, for one run."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ringside.errors import BuildError, UsageError
from ringside.measure.toolchain.builds import run_build
from ringside.text import one_line

_BUILD_S = 86_400.0  # Some builds take hours.


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision as it was named, its commit's hash, and what the working folder is in its worktree."""

    name: str
    commit: str
    folder: Path


@contextmanager
def worktrees(
    names: Sequence[str], build: str | None, say: Callable[[str], None]
) -> Iterator[list[Revision]]:
    """The revisions of those names, each with its worktree in a temporary folder, where `build` was executed
    by `sh`; all are removed in the end. Raises UsageError for an unknown one, BuildError for a build."""
    if not names:
        yield []
        return
    commits = {name: _commit(name) for name in names}
    if len(commits) < 2:
        raise UsageError("--rev: name two revisions or more, each with its own --rev")
    prefix = _git("rev-parse", "--show-prefix")
    if _git("status", "--porcelain", "--untracked-files=no"):
        say("--rev: changes here that are not committed are in no revision")
    with tempfile.TemporaryDirectory(prefix="ringside-rev-", ignore_cleanup_errors=True) as temporary:
        trees = [Path(temporary, str(number)).resolve() for number in range(len(commits))]
        try:
            revisions = []
            for tree, (name, commit) in zip(trees, commits.items(), strict=True):
                _git("-c", "core.hooksPath=/dev/null", "worktree", "add", "--detach", str(tree), commit)
                folder = tree / prefix
                if not folder.is_dir():
                    raise UsageError(f"--rev {name}: it has no folder {prefix}: start in one that each has")
                revisions.append(Revision(name, commit[:9], folder))
                if build:
                    say(f"building {name} ({commit[:9]})")
                    try:
                        run_build(("sh", "-c", build), folder, timeout_s=_BUILD_S)
                    except BuildError as error:
                        raise BuildError(f"{one_line(name, 60)} {error}", error.log) from error
            yield revisions
        finally:
            for tree in trees:
                # Twice, since one that was interrupted is locked.
                remove = ["git", "worktree", "remove", "--force", "--force", str(tree)]
                subprocess.run(remove, capture_output=True, check=False)


def _commit(name: str) -> str:
    """The hash of the commit that a name means. Raises UsageError."""
    try:
        return _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except UsageError as error:
        why = str(error) or "there is no such revision; each --rev names one (`git branch -a`, `git tag`)"
        raise UsageError(f"--rev {one_line(name, 60)}: {why}") from error


def _git(*words: str) -> str:
    """The output of git. Raises UsageError with git's error message."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError(f"git cannot be started: {error.strerror}") from error
    if done.returncode:
        raise UsageError(one_line(done.stderr.strip().rpartition("\n")[2], 200))
    return done.stdout.strip()
