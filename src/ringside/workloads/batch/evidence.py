"""The hash of what a program that is right writes."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from ringside.errors import UsageError
from ringside.model.design import Input


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
