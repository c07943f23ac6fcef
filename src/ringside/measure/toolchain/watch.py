"""Watches the files of contenders during a run: a program runs as the user who measures, and may change the
sources or the build of another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ringside.errors import BuildError
from ringside.measure.toolchain.builds import discard, has_build, is_unchanged, rebuild, watched_paths
from ringside.model.catalogue import Ready
from ringside.text import one_line

_MAX_PATH = 300

# By path.
Stamps = Mapping[str, tuple[int, ...]]


class FileWatch:
    """Compares files by inode, size, mode and times. What a contender changes in its own build counts as its
    own business: its HOME is there."""

    def __init__(self, contenders: Iterable[Ready]) -> None:
        self._contenders = list(contenders)
        self._sources = {each.contender.name: _stamps(watched_paths(each)) for each in self._contenders}
        self._builds = {each.contender.name: _stamps_below(each.build) for each in self._contenders}

    def end_trial(self, ready: Ready) -> None:
        """After each trial of a contender."""
        self._builds[ready.contender.name] = _stamps_below(ready.build)

    def changed_sources(self, ready: Ready) -> str | None:
        """Why a contender is not what it was when the run began, or None."""
        name = ready.contender.name
        stamps = _stamps(watched_paths(ready))
        if stamps == self._sources[name]:
            return None
        with suppress(OSError):
            if is_unchanged(ready):
                self._sources[name] = stamps
                return None
        paths = sorted(stamps.keys() | self._sources[name].keys())
        path = next(each for each in paths if stamps.get(each) != self._sources[name].get(each))
        what = "its sources have" if ready.contender.has_sources else "its program has"
        return f"{what} changed since the run began: {one_line(path, _MAX_PATH)}"

    def mend_build(self, ready: Ready) -> str | None:
        """Make a build anew that another program changed; a sentence that says so, or None. Raises BuildError
        where it cannot be made."""
        if self._builds[ready.contender.name] == _stamps_below(ready.build) and has_build(ready):
            return None
        try:
            rebuild(ready)
        except BuildError as error:
            raise BuildError(f"its build was changed, and cannot be built again: {error}") from error
        self.end_trial(ready)
        return "its build was changed, and was built again"

    def discard_changed(self) -> None:
        """At the end of a run: the next one makes builds anew that were changed after the last trial of their
        contender."""
        for ready in self._contenders:
            if self._builds[ready.contender.name] != _stamps_below(ready.build):
                discard(ready)


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
