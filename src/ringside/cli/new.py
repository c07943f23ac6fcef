"""`ringside new`: a contender to begin with."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from ringside.cli import params, streams
from ringside.cli.options import option, takes


@click.command()
@click.argument("kind", metavar="{contender}", type=click.Choice(["contender"]))
@click.argument("name")
@takes()
def new(
    kind: str,
    name: str,
    *,
    language: str = option("--language L", "Its language, such as python, go, rust, c.", required=True),
    workloads: Sequence[str] = option(
        "--workload W",
        "A workload; may be repeated [default: those that the copied contender teaches].",
        multiple=True,
    ),
    folder: Path | None = option("--in FOLDER", "Where its folder is made [default: here].", params.FILE),
) -> int:
    """Write a contender to begin with: a folder NAME with a copy of a bundled one that conforms.

    Nothing is overwritten."""
    from ringside.catalogue.copying import copied_files, write

    del kind
    made = copied_files(name, language, workloads)
    place = (folder or Path()) / name
    write(place, made)
    for path in sorted(made):
        print(place / path)
    # Without a slash it would be the name of a contender of the catalogue.
    words = place if place.is_absolute() else f"./{place}"
    streams.say(f"next: {shlex.join(['ringside', 'check', str(words)])}")
    return 0
