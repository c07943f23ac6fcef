"""The input of `batch` and its answers, against a slow reference; and how input files are kept."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringside.errors import UsageError
from ringside.measure.inputs import Inputs, answers_sha256
from ringside.model.design import InputFile, Point
from ringside.workloads.batch import BATCH
from ringside.workloads.batch_input import LEAST, MOST, most_bytes, pieces


def smallest_product(first: list[int], second: list[int]) -> int:
    return sum(a * b for a, b in zip(sorted(first), sorted(second, reverse=True), strict=True))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_inputs_keep_the_contract_and_answers_are_right(cases: int, size: int, seed: int) -> None:
    made = list(pieces(cases, size, seed))
    text, answers = b"".join(one for one, _ in made), b"".join(one for _, one in made)
    assert len(text) <= most_bytes(cases, size)
    assert text.endswith(b"\n")
    lines = text.decode().split("\n")[:-1]
    assert len(lines) == 1 + 3 * cases
    assert lines[0] == str(cases)
    right = []
    for case in range(cases):
        length, *vectors = lines[1 + 3 * case : 4 + 3 * case]
        assert length == str(size)
        first, second = ([int(word) for word in line.split(" ") if word] for line in vectors)
        assert len(first) == len(second) == size
        assert all(LEAST <= value <= MOST for value in first + second)
        assert all(
            " ".join(map(str, one)) == line for one, line in zip((first, second), vectors, strict=True)
        )
        right.append(f"Case #{case + 1}: {smallest_product(first, second)}\n")
    assert answers.decode() == "".join(right)


def test_the_bytes_are_the_same_everywhere() -> None:
    digest = hashlib.sha256(b"".join(text for text, _ in pieces(500, 20, 1))).hexdigest()
    assert digest == "fbb4ef54dda0424217a2a991488ad44868ce3485c54d39a6282d08726d82e393"
    other = hashlib.sha256(b"".join(text for text, _ in pieces(500, 20, 2))).hexdigest()
    assert other != digest


def test_pieces_go_together_wherever_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.workloads.batch_input._PIECE_NUMBERS", 100)
    text = b"".join(one for one, _ in pieces(23, 7, 5)).decode().split("\n")
    answers = b"".join(one for _, one in pieces(23, 7, 5)).decode().split("\n")
    for case in range(23):
        first, second = ([int(word) for word in text[i + 3 * case].split()] for i in (2, 3))
        assert answers[case] == f"Case #{case + 1}: {smallest_product(first, second)}"


def file_of(cases: int) -> InputFile:
    levels = {factor.name: factor.default for factor in BATCH.factors} | {"cases": cases, "size": 3}
    return BATCH.input(Point(tuple(levels.items())))


def test_an_input_is_made_once_and_again_when_it_was_changed(tmp_path: Path) -> None:
    made: list[str] = []

    def get() -> Path:
        return Inputs(tmp_path / "i").get(file_of(5), lambda name, size: made.append(name)).path

    path = get()
    before = path.read_bytes()
    assert get() == path
    assert made == ["batch-5x3-seed1.txt"]
    path.write_bytes(before[:-3])
    assert get().read_bytes() == before
    (tmp_path / "i" / "batch-5x3-seed1.txt.json").write_text("[]", encoding="utf-8")
    assert get().read_bytes() == before
    assert len(made) == 3
    (tmp_path / "i" / "batch-5x3-seed1.txt.answers").write_bytes(b"Case #1: 5\n")
    assert get().read_bytes() == before
    assert len(made) == 4
    names = [path.name, f"{path.name}.answers", f"{path.name}.json"]
    assert sorted(one.name for one in path.parent.iterdir()) == names


def test_what_a_right_program_writes_has_the_answers_hash(tmp_path: Path) -> None:
    one = Inputs(tmp_path).get(file_of(5))
    answers = b"".join(text for _, text in pieces(5, 3, 1))
    assert one.answer_sha256 == hashlib.sha256(answers).hexdigest()
    assert one.size_bytes == one.path.stat().st_size
    assert answers_sha256(one, 1) == one.answer_sha256
    assert answers_sha256(one, 3) == hashlib.sha256(3 * answers).hexdigest()
    one.answers.unlink()
    with pytest.raises(UsageError, match="cannot be read"):
        answers_sha256(one, 2)


def test_no_room_is_said_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1000))
    with pytest.raises(UsageError, match=r"takes up to .* MB in .*: make room, take fewer cases"):
        Inputs(tmp_path / "i").get(file_of(1000))
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
