"""The page's own files: its looks, its behaviour, its order."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def light_colours() -> dict[str, str]:
    """The page's colours in the light, by the names of its variables."""
    first = read("page.css").split("}", 1)[0]
    return dict(re.findall(r"--([a-z0-9]+): *(#[0-9a-f]{6});", first))
