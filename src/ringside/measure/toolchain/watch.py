"""Watches the files of contenders during a run: a program runs as the user who measures, and may change the
sources or the build of another."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from ringside.errors import BuildError
from ringside.measure.toolchain.builds import discard, has_build, is_unchanged, rebuild, watched_paths
from ringside.model.catalogue import Ready
from ringside.text import one_line

# The kernel stamps files by its coarse clock, which is some milliseconds behind the precise one.
_CLOCK_REALTIME_COARSE = 5
_MAX_PATH = 300
# The coarse clock ticks each 1 to 10 ms; it stands still as long as the CPU that keeps it gets no time.
_TICK_PATIENCE_S = 0.1

# By path.
Stamps = Mapping[str, tuple[int, ...]]


class FileWatch:
    """Compares files by inode, size, mode and times, and knows in whose trial they changed. What a contender
    changes in its own build counts as its own business: its HOME is there."""

    def __init__(self, contenders: Iterable[Ready]) -> None:
        self._contenders = {ready.contender.name: ready for ready in contenders}
        self._sources = {name: _stamps(watched_paths(each)) for name, each in self._items()}
        self._builds = {name: _stamps_below(each.build) for name, each in self._items()}
        # Of each trial: the contender, begin and end on the clock of files.
        self._trials: list[tuple[str, int, int]] = []

    def _items(self) -> Iterable[tuple[str, Ready]]:
        return self._contenders.items()

    @contextmanager
    def trial(self, ready: Ready) -> Iterator[None]:
        """Around each trial of a contender."""
        name = ready.contender.name
        begin = _file_clock_after(self._trials[-1][2]) if self._trials else file_clock_ns()
        try:
            yield
        finally:
            self._trials.append((name, begin, time.time_ns()))
            self._builds[name] = _stamps_below(ready.build)

    def changed_sources(self, ready: Ready) -> str | None:
        """Why a contender is not what it was when the run began, or None."""
        name = ready.contender.name
        stamps = _stamps(watched_paths(ready))
        path = _changed(self._sources[name], stamps)
        if path is None:
            return None
        with suppress(OSError):
            if is_unchanged(ready):
                self._sources[name] = stamps
                return None
        where = one_line(str(path), _MAX_PATH)
        what = "its sources have" if ready.contender.has_sources else "its program has"
        return f"{what} changed since the run began: {where}{self._when(path)}"

    def mend_build(self, ready: Ready) -> str | None:
        """Make a build anew that was changed; how it was changed, or None. Raises BuildError where it
        cannot be made."""
        name = ready.contender.name
        path = _changed(self._builds[name], _stamps_below(ready.build))
        if path is None and has_build(ready):
            return None
        when = self._when(path) if path else ""
        try:
            rebuild(ready)
        except BuildError as error:
            raise BuildError(f"its build was changed{when}, and cannot be built again: {error}") from error
        self._builds[name] = _stamps_below(ready.build)
        return f"its build was changed{when}, and was built again"

    def discard_changed(self) -> None:
        """At the end of a run: the next one makes builds anew that were changed after the last trial of their
        contender."""
        for name, ready in self._items():
            if _changed(self._builds[name], _stamps_below(ready.build)) is not None:
                discard(ready)

    def _when(self, path: Path) -> str:
        """In whose trial a file was changed, for the end of a sentence; nothing for one that was removed."""
        try:
            changed_ns = path.lstat().st_ctime_ns
        except OSError:
            return ""
        names = [name for name, begin, end in self._trials if begin <= changed_ns <= end]
        return f" during the trial of `{names[-1]}`" if names else ""


def file_clock_ns() -> int:
    return time.clock_gettime_ns(_CLOCK_REALTIME_COARSE)


def _file_clock_after(instant_ns: int) -> int:
    """The clock of files when it has passed an instant, or after a while: a file's time then tells the trials
    before and after the instant apart."""
    give_up = time.monotonic() + _TICK_PATIENCE_S
    while (now_ns := file_clock_ns()) <= instant_ns and time.monotonic() < give_up:
        time.sleep(0.001)
    return now_ns


def _stamps(paths: Iterable[Path]) -> Stamps:
    stamps = {}
    for path in paths:
        # A file may go away meanwhile.
        with suppress(OSError):
            stamps[str(path)] = _stamp(path.lstat())
    return stamps


def _stamps_below(folder: Path) -> Stamps:
    """Those of all files below a folder, links included. Before and after each trial of a contender: a build
    may have thousands of files, so no object is made for each."""
    stamps, pending = {}, [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    continue
                with suppress(OSError):
                    stamps[entry.path] = _stamp(entry.stat(follow_symlinks=False))
    return stamps


def _stamp(state: os.stat_result) -> tuple[int, ...]:
    return state.st_ino, state.st_size, state.st_mode, state.st_mtime_ns, state.st_ctime_ns


def _changed(before: Stamps, after: Stamps) -> Path | None:
    """The first file that was changed, added or removed."""
    if before == after:
        return None
    paths = sorted(before.keys() | after.keys())
    return next(Path(path) for path in paths if before.get(path) != after.get(path))
