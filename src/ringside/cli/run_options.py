"""The options of `ringside run`, as run_options.toml has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ringside import units
from ringside.cli import params
from ringside.cli.options import flag_of, option_of, option_tables

if TYPE_CHECKING:
    from ringside.model.design import Goal

_TABLES = option_tables(Path(__file__))


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The command line of `ringside run`; None where an option was left out."""

    EXCLUDES: ClassVar = _TABLES["excludes"]
    NEEDED_BY: ClassVar = _TABLES["needed_by"]

    experiment: str | None = None
    outside: tuple[str, ...] = params.OUTSIDE
    only: tuple[str, ...] = option_of(_TABLES, "only", multiple=True)
    levels: tuple[str, ...] = option_of(_TABLES, "levels", multiple=True)
    cores: str | None = option_of(_TABLES, "cores")
    blocks: int | None = option_of(_TABLES, "blocks", params.Whole(1, 10_000))
    until: Goal | None = option_of(_TABLES, "until", ["decided", "end"])
    margin: float | None = option_of(_TABLES, "margin", units.margin)
    time_s: float | None = option_of(_TABLES, "time_s", params.time_limit)
    seed: int | None = option_of(_TABLES, "seed", params.SEED)
    sessions: int = option_of(_TABLES, "sessions", params.Whole(1, 100), default=1)
    full: bool = flag_of(_TABLES, "full")
    sandbox: bool = flag_of(_TABLES, "sandbox")
    sets_up: bool = flag_of(_TABLES, "sets_up")
    is_dry: bool = flag_of(_TABLES, "is_dry")
    resume: str | None = option_of(_TABLES, "resume")
    on: str | None = option_of(_TABLES, "on")
    engines: int | tuple[str, ...] | None = option_of(_TABLES, "engines", params.engines)
    serves: bool = flag_of(_TABLES, "serves")
    port: int = params.PORT
    everything: bool = flag_of(_TABLES, "everything")
    as_json: bool = flag_of(_TABLES, "as_json")
    report_to: Path | None = option_of(_TABLES, "report_to", params.FILE)
    store: str | None = params.STORE
