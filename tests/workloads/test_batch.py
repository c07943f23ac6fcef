"""The evidence, the figures and the diagnosis of `batch`."""

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringside.errors import UsageError
from ringside.model.design import Input
from ringside.model.results import Interval
from ringside.workloads.batch.workload import BATCH, MAX, MIN, pieces
from tests.support.cases import cases
from tests.support.points import point

ANSWERS = b"Case #1: 5\nCase #2: -7\n"


def test_the_output_must_be_the_answers_once_for_each_repeat(tmp_path: Path) -> None:
    (tmp_path / "answers").write_bytes(ANSWERS)
    input = Input(tmp_path / "input", 100, hashlib.sha256(ANSWERS).hexdigest(), tmp_path / "answers")
    for repeats in (1, 3):
        evidence = BATCH.evidence(point(BATCH, cases=2, repeats=repeats), 1, input)
        assert evidence.result == {"cases": str(2 * repeats)}
        assert evidence.lines.total == 2 * repeats
        assert evidence.lines.sha256 == hashlib.sha256(repeats * ANSWERS).hexdigest()
    input.answers.unlink()
    with pytest.raises(UsageError, match="answers cannot be read: No such file"):
        BATCH.evidence(point(BATCH, cases=2, repeats=2), 1, input)


def test_its_input() -> None:
    file = BATCH.input(point(BATCH, cases=20, size=3, seed=5))
    text = b"".join(text for text, _ in file.pieces())
    assert file.name == "batch-20x3-seed5.txt"
    assert text.startswith(b"20\n3\n")
    assert len(text) <= file.most_bytes
    assert file.smaller == "take fewer cases with --set cases=N"
    assert BATCH.input_cached(point(BATCH))
    assert not BATCH.input_cached(point(BATCH, source="disk"))


def test_the_size_of_work_and_output() -> None:
    assert BATCH.work(point(BATCH, cases=100, size=20)) == 3000
    once, thrice = (BATCH.output_bytes(point(BATCH, cases=100, repeats=repeats)) for repeats in (1, 3))
    assert thrice - once == 200 * 64


@pytest.mark.parametrize(("read", "write", "busy", "full", "cores", "end"), cases(__file__, "times"))
def test_where_time_went(read: float, write: float, busy: float, full: float, cores: int, end: str) -> None:
    figures = {"wall_s": 10.0, "read_s": read, "write_s": write, "busy_share": busy, "wait_full_s": full}
    intervals = {name: Interval(value, None, None, 1) for name, value in figures.items()}
    sentence = BATCH.diagnosis("go", point(BATCH, cores=cores), intervals)
    core = f"its {cores} cores are" if cores > 1 else "its core is"
    assert sentence is not None
    assert sentence.startswith(
        f"go: reading by one unit takes {read / 10:.0%} of the wall time, writing {write / 10:.0%}; "
        f"{core} busy for {busy:.0%} of it: "
    )
    assert end in sentence


def test_no_diagnosis_without_the_figures() -> None:
    assert BATCH.diagnosis("go", point(BATCH), {}) is None


# --- its input and the answers, against a slow reference ---


def smallest_product(first: list[int], second: list[int]) -> int:
    return sum(a * b for a, b in zip(sorted(first), sorted(second, reverse=True), strict=True))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 40), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_inputs_keep_the_contract_and_answers_are_right(cases: int, size: int, seed: int) -> None:
    parts = list(pieces(cases, size, seed))
    text, answers = b"".join(text for text, _ in parts), b"".join(lines for _, lines in parts)
    levels = {"cases": cases, "size": size, "seed": seed}
    assert len(text) <= BATCH.input(point(BATCH, **levels)).most_bytes
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
        assert all(MIN <= value <= MAX for value in first + second)
        assert all(" ".join(map(str, v)) == text for v, text in zip((first, second), vectors, strict=True))
        right.append(f"Case #{case + 1}: {smallest_product(first, second)}\n")
    assert answers.decode() == "".join(right)


def test_the_bytes_are_the_same_everywhere() -> None:
    digest = hashlib.sha256(b"".join(text for text, _ in pieces(500, 20, 1))).hexdigest()
    assert digest == "fbb4ef54dda0424217a2a991488ad44868ce3485c54d39a6282d08726d82e393"
    other = hashlib.sha256(b"".join(text for text, _ in pieces(500, 20, 2))).hexdigest()
    assert other != digest


def test_pieces_go_together_wherever_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringside.workloads.batch.workload._PIECE_NUMBERS", 100)
    text = b"".join(text for text, _ in pieces(23, 7, 5)).decode().split("\n")
    answers = b"".join(lines for _, lines in pieces(23, 7, 5)).decode().split("\n")
    for case in range(23):
        first, second = ([int(word) for word in text[i + 3 * case].split()] for i in (2, 3))
        assert answers[case] == f"Case #{case + 1}: {smallest_product(first, second)}"
