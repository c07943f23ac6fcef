"""`ringside new`: a contender to begin with."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ringside.catalogue.copying import copied_files, write
from ringside.cli import streams


def new(kind: str, name: str, language: str, workloads: Sequence[str], folder: Path = Path()) -> int:
    """Write a contender of that name into a new folder inside `folder`."""
    made = copied_files(name, language, workloads)
    place = folder / name
    write(place, made)
    for path in sorted(made):
        print(place / path)
    # Without a slash it would be the name of a contender of the catalogue.
    words = place if place.is_absolute() else f"./{place}"
    streams.say(f"next: {shlex.join(['ringside', 'check', str(words)])}")
    return 0
