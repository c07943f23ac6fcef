"""`ringside new`: a contender to begin with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ringside.cli import streams
from ringside.errors import UsageError
from ringside.text import one_line


def _check_kind(_context: click.Context, _parameter: click.Parameter, kind: str) -> str:
    if kind != "contender":
        raise UsageError(
            f"`{one_line(kind, 40)}` cannot be made, only a contender: ringside new contender NAME "
            "--language L"
        )
    return kind


@click.command()
@click.argument("kind", metavar="{contender}", callback=_check_kind)
@click.argument("name")
@click.option("--language", required=True, metavar="L", help="Its language, such as python, go, rust, c.")
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="W",
    help="A workload; may be repeated [default: those that the copied contender teaches].",
)
@click.option(
    "--in",
    "folder",
    default=".",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where its folder is made [default: here].",
)
def new(kind: str, name: str, *, language: str, workloads: Sequence[str] = (), folder: Path = Path()) -> int:
    """Write a contender to begin with: a folder NAME with a copy of a bundled one that conforms.

    Nothing is overwritten.
    """
    from ringside.catalogue.copying import copied_files, write
    from ringside.cli import context

    del kind
    made = copied_files(name, language, workloads, context.known_workloads())
    place = folder / name
    write(place, made)
    for path in sorted(made):
        print(place / path)
    # Without a slash it would be the name of a contender of the catalogue.
    words = place if place.is_absolute() else f"./{place}"
    streams.say(f"next: ringside check {words}")
    return 0
