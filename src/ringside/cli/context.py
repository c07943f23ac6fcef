"""What the verbs share: where the store and the builds lie, and consoles."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ringside.catalogue.loader import Catalogue
from ringside.measure.inputs import Inputs
from ringside.measure.toolchain import Toolchain
from ringside.model.catalogue import Contender
from ringside.store import Store

FOLDER = Path(".ringside")
# Where output is no terminal, tables get room instead of rich's 80 columns.
_PIPE_WIDTH = 160


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the error through, as for all other output; rich would end with status 1."""
        raise


def open_store(where: str | None) -> Store:
    """The store given by --store, else RINGSIDE_STORE, else the one of this folder."""
    return Store(where or os.environ.get("RINGSIDE_STORE") or FOLDER / "ringside.sqlite")


def toolchain() -> Toolchain:
    return Toolchain(FOLDER / "builds")


def inputs() -> Inputs:
    """Where RINGSIDE_INPUTS says, else in this folder."""
    return Inputs(Path(os.environ.get("RINGSIDE_INPUTS") or FOLDER / "inputs"))


def out() -> Console:
    """stdout, for data. rich honours NO_COLOR and COLUMNS."""
    console = _Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _PIPE_WIDTH
    return console


def talk() -> Console:
    """stderr, for talk."""
    return _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def contenders(names: Sequence[str]) -> list[Contender]:
    """The contenders of these names; all of the catalogue, on each of their runtimes, for none."""
    catalogue = Catalogue()
    if names:
        return [catalogue.contender(name) for name in names]
    return [one for name in catalogue.contender_names() for one in catalogue.runtimes(name)]
