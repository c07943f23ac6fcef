"""The `--with` of a run that goes on or is repeated: its own, where none is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ringside.cli import streams
from ringside.errors import RingsideError
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.model.results import Run


def outside_of(run: Run, named: Sequence[str]) -> list[str]:
    """The contenders outside the catalogue that a run was made with, except those that are not there any
    more; `named`: what the command line names in their place. Says on stderr what it uses."""
    from ringside.catalogue.outside import added_contenders
    from ringside.store.plans import read_plan

    if named:
        return list(named)
    chosen = read_plan(run).chosen
    kept = chosen.get("outside", []) if chosen else []
    usable = []
    for word in kept:
        try:
            added_contenders([word], None)
        except RingsideError:
            streams.say(f"--with {one_line(word, 200)} of run {run.id} is not there: name it with --with")
        else:
            usable.append(word)
    if usable:
        words = " ".join(f"--with {one_line(word, 200)}" for word in usable)
        streams.say(f"{words}, as in run {run.id}")
    return usable
