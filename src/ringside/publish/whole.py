"""Single files that Ringside writes and later writes again: pages and badges. They say in themselves who made
them, so that no other file is overwritten."""

from __future__ import annotations

from pathlib import Path

from ringside.errors import ReportError
from ringside.files import whole_file

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
    try:
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(
            f"{path} cannot be written: {error.strerror}; choose another with {option}"
        ) from error
