"""Replaces the part of a page between two comments. A script makes that part; the rest is written by hand."""

from __future__ import annotations


def split(page: str, script: str) -> tuple[str, str, str]:
    """The page up to the first comment, the text between the comments, and the page from the second comment
    on. Raises ValueError unless the page has each comment once, in this order."""
    begin = f"<!-- made by scripts/{script} -->\n"
    end = f"<!-- end of what scripts/{script} makes -->"
    before, _, rest = page.partition(begin)
    made, _, after = rest.partition(end)
    if (page.count(begin), rest.count(end)) != (1, 1) or end in before:
        raise ValueError(f"the page needs the lines {begin.strip()} and {end}")
    return before + begin, made, end + after


def replaced(page: str, script: str, made: str) -> str:
    """The page with that text between the comments."""
    before, _, after = split(page, script)
    return f"{before}{made}\n{after}"
