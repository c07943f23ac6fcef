"""Readers of stdout and stderr that go away, as `head` does: not an error, and no reason to leave anything
else of a command undone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def output() -> Iterator[None]:
    """What is printed inside ends without a word where the reader of stdout goes away. The command goes on,
    with the exit status that it would have had."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        drop(sys.stdout)


def say(text: str) -> None:
    """A line on stderr, after `ringside: `."""
    try:
        print(f"ringside: {text}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """Send all further output of the stream nowhere, so that the end of the process does not complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
