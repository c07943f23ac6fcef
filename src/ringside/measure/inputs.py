"""Files that programs read: made once, kept beside the builds, and known by their hash."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from ringside.errors import UsageError
from ringside.model.design import Input, InputFile

# Changes with the meaning of what is kept beside an input.
_FORMAT = 2
_READ_BYTES = 1 << 20


class Inputs:
    """The inputs below a folder. Each is checked by its hash when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._checked: dict[str, Input] = {}

    def get(self, file: InputFile, making: Callable[[str, int], None] = lambda name, size: None) -> Input:
        """The input, made if it is not there or not what it was; `making` is told its name and its largest
        size in bytes before. Raises UsageError where there is no room, or it cannot be written."""
        if file.name not in self._checked:
            self._checked[file.name] = self._kept(file) or self._make(file, making)
        return self._checked[file.name]

    def _kept(self, file: InputFile) -> Input | None:
        path = (self.folder / file.name).resolve()
        try:
            known = json.loads(_beside(path).read_text(encoding="utf-8"))
            right = known["answer_sha256"]
            if (known["format"], known["sha256"], right) == (_FORMAT, _sha256(path), _sha256(_answers(path))):
                return Input(path, path.stat().st_size, right, _answers(path))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def _make(self, file: InputFile, making: Callable[[str, int], None]) -> Input:
        path = (self.folder / file.name).resolve()
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        answers = _answers(partial)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(path.parent).free
            if free < file.most_bytes:
                raise UsageError(_no_room(file, path.parent, free))
            making(file.name, file.most_bytes)
            return _write(file, partial, path)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise UsageError(_no_room(file, path.parent, 0)) from error
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
                answers.unlink(missing_ok=True)


def _write(file: InputFile, partial: Path, path: Path) -> Input:
    text, answer = hashlib.sha256(), hashlib.sha256()
    with partial.open("wb") as out, _answers(partial).open("wb") as right:
        for piece, answers in file.pieces():
            out.write(piece)
            text.update(piece)
            right.write(answers)
            answer.update(answers)
        size = out.tell()
    known = {"format": _FORMAT, "sha256": text.hexdigest(), "answer_sha256": answer.hexdigest()}
    # The text last: without it, what stands beside it is nothing.
    _beside(path).write_text(json.dumps(known) + "\n", encoding="utf-8")
    _answers(partial).replace(_answers(path))
    partial.replace(path)
    return Input(path, size, answer.hexdigest(), _answers(path))


@lru_cache(maxsize=64)
def answers_sha256(known: Input, times: int) -> str:
    """The hash of the right answers, written so many times one after the other. Raises UsageError where the
    file that holds them has gone."""
    if times == 1:
        return known.answer_sha256
    digest = hashlib.sha256()
    try:
        for _ in range(times):
            digest.update(known.answers.read_bytes())
    except OSError as error:
        raise UsageError(f"{known.answers} cannot be read: {error.strerror}; run it again") from error
    return digest.hexdigest()


def _answers(path: Path) -> Path:
    return path.with_name(f"{path.name}.answers")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def _no_room(file: InputFile, folder: Path, free: int) -> str:
    needed, there = file.most_bytes / 1e6, free / 1e6
    return (
        f"the input {file.name} takes up to {needed:,.0f} MB in {folder}, where {there:,.0f} MB are free: "
        "make room, take fewer cases with --set cases=N, or name another folder in RINGSIDE_INPUTS"
    )
