"""How input files are made, kept and checked."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.measure.inputs import Inputs
from ringside.model.design import InputFile
from ringside.workloads.batch import BATCH
from ringside.workloads.batch.input import pieces
from tests.points import point


def file_of(cases: int) -> InputFile:
    return BATCH.input(point(BATCH, cases=cases, size=3))


def test_an_input_is_made_once_and_again_when_it_was_changed(tmp_path: Path) -> None:
    writes: list[str] = []

    def get() -> Path:
        return Inputs(tmp_path / "i").get(file_of(5), lambda name, size: writes.append(name)).path

    path = get()
    before = path.read_bytes()
    assert get() == path
    assert writes == ["batch-5x3-seed1.txt"]
    path.write_bytes(before[:-3])
    assert get().read_bytes() == before
    (tmp_path / "i" / "batch-5x3-seed1.txt.json").write_text("[]", encoding="utf-8")
    assert get().read_bytes() == before
    assert len(writes) == 3
    (tmp_path / "i" / "batch-5x3-seed1.txt.answers").write_bytes(b"Case #1: 5\n")
    assert get().read_bytes() == before
    assert len(writes) == 4
    names = [path.name, f"{path.name}.answers", f"{path.name}.json"]
    assert sorted(file.name for file in path.parent.iterdir()) == names


def test_an_input_knows_its_size_and_the_hash_of_its_answers(tmp_path: Path) -> None:
    input = Inputs(tmp_path).get(file_of(5))
    answers = b"".join(lines for _, lines in pieces(5, 3, 1))
    assert input.answer_sha256 == hashlib.sha256(answers).hexdigest()
    assert input.answers.read_bytes() == answers
    assert input.size_bytes == input.path.stat().st_size


def test_a_lack_of_room_is_reported_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000))
    with pytest.raises(
        UsageError, match=r"takes up to .* MB in .*: make room, take fewer cases with --set cases=N, or name"
    ):
        Inputs(tmp_path / "i").get(file_of(1000))
    with pytest.raises(UsageError, match=r"free: make room, or name another folder in RINGSIDE_INPUTS"):
        Inputs(tmp_path / "i").get(InputFile("x.txt", 10**6, lambda: iter(())))
    assert not list((tmp_path / "i").iterdir())


def test_a_disk_that_fills_up_leaves_nothing_behind(tmp_path: Path) -> None:
    def full() -> Iterator[tuple[bytes, bytes]]:
        yield b"1\n", b""
        raise OSError(28, "No space left on device")

    with pytest.raises(UsageError, match="make room"):
        Inputs(tmp_path).get(InputFile("x.txt", 10, full))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        Inputs(tmp_path / "file" / "i").get(file_of(1))
