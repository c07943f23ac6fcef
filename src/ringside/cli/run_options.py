"""The options of `ringside run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ringside import units
from ringside.cli import params
from ringside.cli.options import flag, option

if TYPE_CHECKING:
    from pathlib import Path

    from ringside.model.design import Goal


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """The command line of `ringside run`; None where an option was left out."""

    EXCLUDES: ClassVar = {
        "--resume": "--only --set --cores --blocks --until --margin --seed --full --sandbox",
        "--dry-run": "--resume --on --report --json --all --setup --serve --port",
        "--setup": "--on",
    }
    NEEDED_BY: ClassVar = {"--on": "--engines"}

    experiment: str | None = None
    outside: tuple[str, ...] = params.OUTSIDE
    only: tuple[str, ...] = option("--only C[,C…]", "Only these contenders.", multiple=True)
    levels: tuple[str, ...] = option("--set FACTOR=LEVEL[,…]", "Other levels of a factor.", multiple=True)
    cores: str | None = option("--cores N[,N…]|all", "Numbers of CPUs; all: 1, 2, 4 … and all of them.")
    blocks: int | None = option("--blocks N", "At most N passes over all cells.", params.Whole(1, 10_000))
    until: Goal | None = option("--until GOAL", params.UNTIL_HELP, ["decided", "end"])
    margin: float | None = option(
        "--margin 5%", f"{params.MARGIN_HELP} [default: the experiment's, else 5%].", units.margin
    )
    time_s: float | None = option("--time 5m", "Begin no new block after this time.", params.time_limit)
    seed: int | None = option("--seed N", "Seed of the random orders [default: a new one].", params.SEED)
    full: bool = flag("--full", "The suite at full size, however long it takes.")
    sandbox: bool = flag("--sandbox", "Contenders under bubblewrap: read-only system, no other processes.")
    sets_up: bool = flag("--setup", "Install missing runtimes, each before its experiment.")
    is_dry: bool = flag("--dry-run", "Show what would be measured, and measure nothing.")
    resume: str | None = option("--resume RUN", "Continue an interrupted run.")
    on: str | None = option(
        "--on CLUSTER", "Measure on a Ray cluster: ray://HOST:PORT, auto, local (docs/CLUSTER.md)."
    )
    engines: int | tuple[str, ...] | None = option(
        "--engines N|NODE,…",
        "With --on: the load of servers comes from N other nodes, or from these.",
        params.engines,
    )
    serves: bool = flag("--serve", "Show the run in a browser while it is in progress.")
    port: int = params.PORT
    everything: bool = flag("--all", "Show all tables, with all columns.")
    as_json: bool = flag("--json", "Print one JSON document instead of tables.")
    report_to: Path | None = option(
        "--report FILE", "At the end, write a page as `ringside report`.", params.FILE
    )
    store: str | None = params.STORE
