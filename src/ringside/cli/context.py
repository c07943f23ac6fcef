"""Shared by the commands: the store, the catalogue, analyses, and consoles."""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from rich.console import Console

from ringside.catalogue.contenders import added_contenders
from ringside.catalogue.loader import Catalogue, own_folder
from ringside.cli import streams
from ringside.errors import NoStoreError, RingsideError, UsageError
from ringside.files import state_folder
from ringside.measure.runs.inputs import Inputs
from ringside.measure.toolchain.builds import Toolchain
from ringside.model.catalogue import Contender, Question
from ringside.model.results import Run
from ringside.render.text import terminal
from ringside.render.text.cells import TableData
from ringside.render.text.command import NAMED_STORE
from ringside.store import RunSummary, Store, record
from ringside.store.database import runs_of
from ringside.store.plans import read_plan
from ringside.text import one_line

FOLDER = Path(".ringside")
_STORE = "ringside.sqlite"
# If the output is no terminal, tables get this width instead of rich's 80 columns.
_PIPE_WIDTH = 160
# Tables of fewer columns would hold nothing.
_MIN_WIDTH = 20


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let the error through, as for all other output; rich would end with status 1."""
        raise


def open_store(where: str | None, *, create: bool = True, anywhere: bool = False) -> Store:
    """The store of --store, RINGSIDE_STORE, or this folder; else the user's own, where `vs` and `load --vs`
    keep runs of any folder (`anywhere`). `create` makes a missing one. A record is read as a store. Raises
    StoreError, UsageError without runs."""
    NAMED_STORE.set(where or os.environ.get("RINGSIDE_STORE"))
    if not create:
        check_named(where)
    where = locate_store(where, create=create, anywhere=anywhere)
    if where.endswith(record.SUFFIX):
        if create:
            raise UsageError(f"{where} is a record, which is only read: name a store with --store")
        return record.read(Path(where))
    return Store(where, create=create)


def open_runs(
    where: str | None, record_name: str, words: str, is_enough: Callable[[RunSummary], object]
) -> Store:
    """The store to read runs from; where none is named and none of its runs `is_enough`, the record of that
    name that comes with Ringside, which stderr says. `words`: the command that measures."""
    kept = own_folder() / "records" / f"{record_name}{record.SUFFIX}"
    is_only = where or os.environ.get("RINGSIDE_STORE") or not kept.is_file()
    try:
        storage = open_store(where, create=False)
        if is_only or any(map(is_enough, storage.summaries())):
            return storage
    except NoStoreError:
        if is_only:
            raise
    streams.say(f"nothing was measured here: these are the figures of {kept} (`{words}` measures here)")
    return open_store(os.path.relpath(kept) if kept.is_relative_to(Path.cwd()) else str(kept), create=False)


def check_named(where: str | None) -> None:
    """Raises UsageError if --store or RINGSIDE_STORE names a file that does not exist."""
    named = where or os.environ.get("RINGSIDE_STORE") or "://"
    if "://" in named or Path(named).exists():
        return
    if where:
        raise UsageError(
            f"there is no store {one_line(where)}: name another one with --store, or leave it out"
        )
    raise UsageError(
        f"RINGSIDE_STORE names {one_line(named)}, which does not exist yet: `ringside run showdown` makes "
        "it, `unset RINGSIDE_STORE` goes back to the folder's own"
    )


def locate_store(where: str | None, *, create: bool = False, anywhere: bool = False) -> str:
    """The path or the URL of the store that `open_store` opens, whether it exists or not."""
    if where := where or os.environ.get("RINGSIDE_STORE"):
        return where
    here, users = FOLDER / _STORE, state_folder() / _STORE
    if FOLDER.is_dir() or (create and not anywhere) or not (create or users.exists()):
        return str(here)
    return str(users)


def named_runs(store: Store, names: Iterable[str]) -> list[Run]:
    """The runs of these names, each once; the latest one without any."""
    return list({run.id: run for name in names or ["latest"] for run in runs_of(store, name)}.values())


def catalogue(outside: Sequence[str] = ()) -> Catalogue:
    """The catalogue. `outside`: further contenders, as `--with` names them."""
    return Catalogue(outside=outside)


def questions() -> list[Question]:
    """All questions of the catalogue; none, and why on stderr, where a file of them cannot be read."""
    try:
        return catalogue().questions()
    except RingsideError as error:
        streams.say(f"questions are left out: {error}")
        return []


def outside_of(run: Run, named: Sequence[str]) -> list[str]:
    """A run's contenders outside the catalogue that still exist, or `named`. Says on stderr what it uses."""
    if named:
        return list(named)
    chosen = read_plan(run).chosen
    usable = []
    for word in chosen.outside if chosen else ():
        try:
            added_contenders([word])
        except RingsideError:
            streams.say(f"--with {one_line(word, 200)} of run {run.id} is not there: name it with --with")
        else:
            usable.append(word)
    if usable:
        words = " ".join(f"--with {one_line(word, 200)}" for word in usable)
        streams.say(f"{words}, as in run {run.id}")
    return usable


def cluster() -> Any:
    """The module that reaches other machines: of the entry point `ringside.cluster`, else the one for Ray."""
    own = EntryPoint("ray", "ringside.cluster.entry", "ringside.cluster")
    return next(iter(entry_points(group=own.group)), own).load()


def toolchain(on_build: Callable[[Contender], None] | None = None) -> Toolchain:
    return Toolchain(FOLDER / "builds", on_build)


def inputs(on_make: Callable[[str, int], None] | None = None) -> Inputs:
    """The inputs in the folder of RINGSIDE_INPUTS, else in this folder."""
    return Inputs(Path(os.environ.get("RINGSIDE_INPUTS") or FOLDER / "inputs"), on_make)


def stdout_console(*, colours: bool | None = None) -> Console:
    """stdout, for data. rich honours NO_COLOR. `colours`: with or without, wherever it goes."""
    console = _Console(
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=True if colours else None,
        no_color=None if colours is None else not colours,
    )
    # The width is COLUMNS if that is above 0, else the terminal's (rich would accept a 0).
    console.width = max(shutil.get_terminal_size((_PIPE_WIDTH, 0)).columns, _MIN_WIDTH)
    return console


def stderr_console() -> Console:
    """stderr, for all that is no data."""
    console = _Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    console.width = max(console.width, _MIN_WIDTH)
    return console


def show_tables(tables: Iterable[TableData]) -> None:
    """Print tables, an empty line between."""
    console = stdout_console()
    for index, table in enumerate(tables):
        if index:
            console.print()
        terminal.render(table, console)


def left_out(errors: Mapping[str, object]) -> list[str]:
    """A note for each file of the catalogue that cannot be read."""
    return [f"{name} is left out: {error}" for name, error in errors.items()]
