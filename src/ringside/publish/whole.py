"""Single files that Ringside writes and later writes again: pages and badges. They say in themselves who made
them, so that no other file is overwritten."""

from __future__ import annotations

import os
from pathlib import Path

from ringside.errors import ReportError

# In each page, the second in pages of earlier versions; and in each badge.
PAGE_MARKS = (b'<meta name="generator" content="ringside ', b"<footer>Made by ringside ")
BADGE_MARKS = (b'data-generator="ringside"',)


def refuse_others(path: Path, marks: tuple[bytes, ...], option: str) -> None:
    """Raises ReportError where a file of another stands at the path; an empty file is nobody's."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return
        data = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path} cannot be read: {error.strerror}; choose another with {option}") from error
    if not any(mark in data for mark in marks):
        raise ReportError(
            f"{path} was not written by ringside: it stays as it is; move it away, or choose another with "
            f"{option}"
        )


def write_whole(path: Path, text: str, option: str) -> None:
    """Write a file, or leave what was there."""
    partial = path.with_name(f"{path.name}.partial-{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ReportError(
            f"{path} cannot be written: {error.strerror}; choose another with {option}"
        ) from error
