"""How input files are made, kept and checked."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringside.errors import UsageError
from ringside.measure.runs.inputs import Inputs
from ringside.model.design import InputFile
from ringside.workloads.batch.workload import BATCH
from tests.support.errors import error_of
from tests.support.points import point


def file_of(cases: int) -> InputFile:
    return BATCH.input(point(BATCH, cases=cases, size=3))


def test_an_input_is_made_once_and_again_when_it_was_changed(tmp_path: Path) -> None:
    writes: list[str] = []

    def get() -> Path:
        return Inputs(tmp_path / "i", lambda name, size: writes.append(name)).get(file_of(5)).path

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


def test_an_input_is_checked_once(tmp_path: Path) -> None:
    """A run asks for it at every point; half a gigabyte takes a while to hash."""
    inputs = Inputs(tmp_path)
    first = inputs.get(file_of(5))
    first.path.write_bytes(b"changed")
    assert inputs.get(file_of(5)) is first
    assert Inputs(tmp_path).get(file_of(5)) == first
    assert first.path.read_bytes() != b"changed"


def test_paths_of_inputs_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are started in folders of their own."""
    monkeypatch.chdir(tmp_path)
    made = Inputs(Path("i")).get(file_of(5))
    assert made.path == tmp_path.resolve() / "i" / "batch-5x3-seed1.txt"
    assert made.answers == tmp_path.resolve() / "i" / "batch-5x3-seed1.txt.answers"
    kept = Inputs(Path("i")).get(file_of(5))
    assert kept == made


def test_the_record_beside_an_input(tmp_path: Path) -> None:
    made = Inputs(tmp_path).get(file_of(5))
    record = made.path.with_name(f"{made.path.name}.json")
    text = record.read_text(encoding="utf-8")
    assert json.loads(text) == {
        "sha256": hashlib.sha256(made.path.read_bytes()).hexdigest(),
        "answer_sha256": made.answer_sha256,
    }
    assert text.endswith("}\n")
    heard: list[str] = []
    for key, value in (("sha256", "0"), ("answer_sha256", "0")):
        record.write_text(json.dumps(json.loads(text) | {key: value}), encoding="utf-8")
        assert Inputs(tmp_path, lambda name, size: heard.append(name)).get(file_of(5)) == made
    record.unlink()
    assert Inputs(tmp_path, lambda name, size: heard.append(name)).get(file_of(5)) == made
    assert len(heard) == 3


@pytest.mark.parametrize(("free", "fits"), [(999, False), (1000, True)])
def test_room_for_an_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, fits: bool) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=free))
    file = InputFile("x.txt", 1000, lambda: iter([(b"text", b"answers")]))
    if fits:
        assert Inputs(tmp_path).get(file).size_bytes == 4
    else:
        assert refusal(tmp_path, file) == (
            f"the input x.txt takes up to 0 MB in {tmp_path}, where 0 MB are free: make room, or name "
            "another folder in RINGSIDE_INPUTS"
        )
        assert list(tmp_path.iterdir()) == []


def refusal(folder: Path, file: InputFile) -> str:
    return error_of(UsageError, Inputs(folder).get, file)


def test_numbers_of_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1_499_000_000_000))
    message = refusal(tmp_path, InputFile("x.txt", 12_345_600_000_000, lambda: iter(()), "take fewer cases"))
    assert "takes up to 12,345,600 MB in" in message
    assert "where 1,499,000 MB are free: make room, take fewer cases, or name" in message
    assert "take fewer cases with --set cases=N" in file_of(5).smaller


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "in {folder}, where 0 MB are free:"),
        (OSError(5, "Input/output error"), "{folder}/x.txt cannot be written: Input/output error"),
    ],
)
def test_a_disk_that_fails_meanwhile_leaves_nothing(tmp_path: Path, error: OSError, message: str) -> None:
    def torn() -> Iterator[tuple[bytes, bytes]]:
        yield b"1\n", b""
        raise error

    assert message.format(folder=tmp_path) in refusal(tmp_path, InputFile("x.txt", 10, torn))
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert "cannot be written: " in refusal(tmp_path / "file" / "i", file_of(1))


def test_files_larger_than_a_piece_are_hashed_as_a_whole(tmp_path: Path) -> None:
    file = InputFile("x.txt", 10, lambda: iter([(b"a" * 3_000_000, b"b"), (b"c", b"d" * 3_000_000)]))
    made = Inputs(tmp_path).get(file)
    assert made.size_bytes == 3_000_001
    assert made.answer_sha256 == hashlib.sha256(b"b" + b"d" * 3_000_000).hexdigest()
    # It is kept.
    assert Inputs(tmp_path).get(InputFile("x.txt", 10, lambda: iter(()))) == made


@pytest.mark.parametrize("rest", ["", ".json", ".answers"])
def test_a_pipe_in_the_place_of_an_input_is_not_read(tmp_path: Path, rest: str) -> None:
    """Nobody may ever write to it. It is replaced, as whatever is not the input."""
    text = Inputs(tmp_path).get(file_of(3)).path
    place = text.with_name(text.name + rest)
    content = place.read_bytes()
    place.unlink()
    os.mkfifo(place)
    Inputs(tmp_path).get(file_of(3))
    assert place.read_bytes() == content
