"""The input of `batch`, and its right answers: pure, the same bytes for the same numbers on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ringside.errors import UsageError
from ringside.model.design import Input

MIN, MAX = -100_000, 100_000
# Text of a number and its separator: `-100000 `.
_WORD_BYTES = 8
# Numbers in a piece: some megabytes, which caches still hold in part.
_PIECE_NUMBERS = 400_000


def max_bytes(cases: int, size: int) -> int:
    """An upper bound of the size of the input."""
    return len(str(cases)) + 1 + cases * (len(str(size)) + 3 + 2 * size * _WORD_BYTES)


def pieces(cases: int, size: int, seed: int) -> Iterator[tuple[bytes, bytes]]:
    """The input in pieces, each with the lines that answer its cases.

    Numbers are uniform from -100,000 to 100,000: 32 bits b of the generator PCG64, whose stream numpy keeps
    the same for good, make floor(b · 200,001 / 2^32) - 100,000. First come those of all first vectors of a
    piece, then those of the second ones.
    """
    import numpy as np  # here, since most commands do without

    yield f"{cases}\n".encode(), b""
    source = np.random.PCG64(seed)
    words = _words()
    head = np.frombuffer(f"{size}\n".encode(), dtype=np.uint8)
    per_piece = max(1, _PIECE_NUMBERS // max(1, 2 * size))
    for first in range(0, cases, per_piece):
        count = min(per_piece, cases - first)
        if size == 0:
            answers = "".join(f"Case #{first + i + 1}: 0\n" for i in range(count))
            yield b"0\n\n\n" * count, answers.encode()
            continue
        bits = np.asarray(source.random_raw(count * size), dtype="<u8").view("<u4")
        values = ((bits.astype(np.uint64) * (MAX - MIN + 1)) >> 32).astype(np.int64) + MIN
        vectors = values.reshape(2, count, size)
        text = words[(vectors - MIN).transpose(1, 0, 2)]
        last = text[:, :, -1, :]
        last[last == ord(" ")] = ord("\n")
        lines = np.concatenate(
            [np.broadcast_to(head, (count, len(head))), text.reshape(count, 2 * size * _WORD_BYTES)], axis=1
        )
        ordered = np.sort(vectors, axis=2)
        products = np.einsum("ij,ij->i", ordered[0], ordered[1, :, ::-1])
        answers = "".join(f"Case #{first + i + 1}: {y}\n" for i, y in enumerate(products.tolist()))
        yield lines.tobytes().translate(None, b"\0"), answers.encode()


def _words() -> Any:
    """For each number its text and a space, with zero bytes up to the width of the longest."""
    import numpy as np

    text = b"".join(f"{value} ".encode().ljust(_WORD_BYTES, b"\0") for value in range(MIN, MAX + 1))
    return np.frombuffer(text, dtype=np.uint8).reshape(-1, _WORD_BYTES)


@lru_cache(maxsize=64)
def answers_sha256(input: Input, repeats: int) -> str:
    """The hash of the right answers, written `repeats` times one after the other. Raises UsageError where the
    file that holds them has gone."""
    if repeats == 1:
        return input.answer_sha256
    digest = hashlib.sha256()
    try:
        for _ in range(repeats):
            digest.update(input.answers.read_bytes())
    except OSError as error:
        raise UsageError(f"{input.answers} cannot be read: {error.strerror}; run it again") from error
    return digest.hexdigest()
