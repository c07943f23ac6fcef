"""The options of `ringside vs`, as vs_options.toml has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ringside import units
from ringside.cli import params
from ringside.cli.options import flag_of, option_of, option_tables

if TYPE_CHECKING:
    from ringside.model.design import Goal

MAX_BLOCKS = 100_000
_RUNS = params.Whole(1, MAX_BLOCKS)
_TABLES = option_tables(Path(__file__))


@dataclass(frozen=True, slots=True)
class VsSettings:
    """The command line of `ringside vs`; None where an option was left out. Durations in seconds."""

    EXCLUDES: ClassVar = _TABLES["excludes"]
    NEEDED_BY: ClassVar = _TABLES["needed_by"]

    texts: tuple[str, ...]
    names: tuple[str, ...] = option_of(_TABLES, "names", multiple=True)
    warmup: int = option_of(_TABLES, "warmup", params.Whole(0, 1000), default=1)
    prepare: tuple[str, ...] = option_of(_TABLES, "prepare", multiple=True)
    runs: int | None = option_of(_TABLES, "runs", _RUNS)
    time_s: float | None = option_of(_TABLES, "time_s", params.duration)
    fail_if: tuple[tuple[str, float], ...] = option_of(_TABLES, "fail_if", params.gate, multiple=True)
    shell: str | None = option_of(_TABLES, "shell")
    ignore_failure: str | None = option_of(_TABLES, "ignore_failure")
    scan: tuple[str, str, str] | None = option_of(_TABLES, "scan", nargs=3)
    lists: tuple[tuple[str, str], ...] = option_of(_TABLES, "lists", nargs=2, multiple=True)
    as_json: bool = flag_of(_TABLES, "as_json")
    export_json: str | None = option_of(_TABLES, "export_json")
    revisions: tuple[str, ...] = option_of(_TABLES, "revisions", multiple=True)
    build: str | None = option_of(_TABLES, "build")
    patterns: tuple[str, ...] = option_of(_TABLES, "patterns", multiple=True)
    judged: str = option_of(_TABLES, "judged", default="wall")
    counters: bool = flag_of(_TABLES, "counters")
    reference: str | None = option_of(_TABLES, "reference")
    reference_name: str | None = option_of(_TABLES, "reference_name")
    no_shell: bool = flag_of(_TABLES, "no_shell")
    stdin: str | None = option_of(_TABLES, "stdin")
    output: tuple[str, ...] = option_of(_TABLES, "output", multiple=True)
    setup: str | None = option_of(_TABLES, "setup")
    conclude: tuple[str, ...] = option_of(_TABLES, "conclude", multiple=True)
    cleanup: str | None = option_of(_TABLES, "cleanup")
    timeout_s: float = option_of(_TABLES, "timeout_s", params.duration, default=300.0)
    cpus: tuple[int, ...] = option_of(_TABLES, "cpus", params.cpus, default=())
    step: str | None = option_of(_TABLES, "step")
    min_runs: int | None = option_of(_TABLES, "min_runs", _RUNS)
    blocks: int | None = option_of(_TABLES, "blocks", _RUNS)
    until: Goal | None = option_of(_TABLES, "until", ["decided", "end"])
    margin: float | None = option_of(_TABLES, "margin", units.margin)
    seed: int | None = option_of(_TABLES, "seed", params.SEED)
    order: str = option_of(_TABLES, "order", ["random", "given"], default="random")
    sessions: int = option_of(_TABLES, "sessions", params.Whole(1, 100), default=1)
    resume: str | None = option_of(_TABLES, "resume")
    everything: bool = flag_of(_TABLES, "everything")
    quiet: bool = flag_of(_TABLES, "quiet")
    show_output: bool = flag_of(_TABLES, "show_output")
    as_markdown: bool = flag_of(_TABLES, "as_markdown")
    export_csv: str | None = option_of(_TABLES, "export_csv")
    export_markdown: str | None = option_of(_TABLES, "export_markdown")
    export_asciidoc: str | None = option_of(_TABLES, "export_asciidoc")
    export_orgmode: str | None = option_of(_TABLES, "export_orgmode")
    sort: str = option_of(_TABLES, "sort", ["auto", "command", "mean-time"], default="auto")
    time_unit: units.TimeUnit | None = params.TIME_UNIT
    style: str = option_of(
        _TABLES, "style", ["auto", "basic", "full", "nocolor", "color", "none"], default="auto"
    )
    store: str | None = option_of(_TABLES, "store")

    @property
    def hooks(self) -> dict[str, tuple[str, ...]]:
        """The commands around the measured ones, by option."""
        once = {"setup": (self.setup or "",), "cleanup": (self.cleanup or "",)}
        return {**once, "prepare": self.prepare, "conclude": self.conclude}

    @property
    def exports(self) -> dict[str, str]:
        """The file of each export that is asked for, by its format."""
        formats = ("json", "csv", "markdown", "asciidoc", "orgmode")
        return {name: file for name in formats if (file := getattr(self, f"export_{name}"))}
