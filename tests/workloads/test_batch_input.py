"""The input of `batch` and its answers, against a slow reference."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringside.workloads.batch.workload import BATCH, MAX, MIN, pieces
from tests.support.points import point


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
        assert all(
            " ".join(map(str, vector)) == line for vector, line in zip((first, second), vectors, strict=True)
        )
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
