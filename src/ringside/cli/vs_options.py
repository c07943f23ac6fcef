"""The options of `ringside vs`, most of which are hyperfine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ringside.cli import params
from ringside.cli.options import COMMON, option
from ringside.model.design import DEFAULT_MARGIN

if TYPE_CHECKING:
    from ringside.model.design import Goal

MAX_BLOCKS = 100_000
# As hyperfine names them, then as `load` does.
UNITS = {"second": "s", "millisecond": "ms", "microsecond": "us"} | {
    symbol: symbol for symbol in ("s", "ms", "us")
}
_RUNS = click.IntRange(1, MAX_BLOCKS)

_COMMANDS = "Commands"
_PARAMETERS = "Parameters"
_HOW_OFTEN = "How often"
_OUTPUT = "Output"


@dataclass(frozen=True, slots=True)
class VsSettings:
    """The command line of `ringside vs`; None where an option was left out. Durations in seconds."""

    texts: tuple[str, ...]
    names: tuple[str, ...] = option(
        COMMON,
        "-n, --command-name, --name NAME",
        "Instead of A, B, …, in order.",
        multiple=True,
        shown="-n, --command-name NAME",
    )
    warmup: int = option(
        COMMON, "-w, --warmup N", "Untimed executions first [1].", type=click.IntRange(0, 1000), default=1
    )
    prepare: tuple[str, ...] = option(
        COMMON, "-p, --prepare CMD", "Run before each execution, untimed.", multiple=True
    )
    runs: int | None = option(COMMON, "-r, --runs N", "Exactly N executions of each command.", type=_RUNS)
    time_s: float | None = option(
        COMMON, "--time 1m", "Time limit [30s, at least 7 blocks].", type=params.duration
    )
    fail_if: tuple[tuple[str, float], ...] = option(
        COMMON,
        "--fail-if slower:5%",
        "Exit status 1 where that much slower.",
        type=params.gate,
        multiple=True,
    )
    shell: str | None = option(
        COMMON, "--shell SHELL", "Run commands through it [sh].", shown="-S, --shell[=SHELL]"
    )
    ignore_failure: str | None = option(
        COMMON, "--ignore-failure CODES", "Include failed executions.", shown="-i, --ignore-failure[=1,2]"
    )
    scan: tuple[str, str, str] | None = option(
        COMMON,
        "-P, --parameter-scan VAR MIN MAX",
        "Numbers for {VAR} in commands; -D is the step.",
        nargs=3,
        shown="-P VAR MIN MAX",
    )
    lists: tuple[tuple[str, str], ...] = option(
        COMMON,
        "-L, --parameter-list VAR A,B,…",
        "Values for {VAR} in commands.",
        nargs=2,
        multiple=True,
        shown="-L VAR A,B,…",
    )
    show_output: bool = option(COMMON, "--show-output", "Show what the commands print.", is_flag=True)
    as_json: bool = option(COMMON, "--json", "One JSON document with every time.", is_flag=True)
    export_json: str | None = option(COMMON, "--export-json FILE", "Times in hyperfine's layout.")
    reference: str | None = option(
        _COMMANDS, "--reference CMD", "The baseline, in place of the first command."
    )
    reference_name: str | None = option(_COMMANDS, "--reference-name NAME", "The name of --reference.")
    no_shell: bool = option(_COMMANDS, "-N", "Without a shell, whatever it looks like.", is_flag=True)
    stdin: str | None = option(_COMMANDS, "--input FILE", "A file that each command reads as stdin.")
    output: tuple[str, ...] = option(
        _COMMANDS,
        "--output WHERE",
        "null, pipe (default: read and compared), inherit, or ./FILE.",
        multiple=True,
    )
    setup: str | None = option(_COMMANDS, "-s, --setup CMD", "Run once for each command, before all blocks.")
    conclude: tuple[str, ...] = option(
        _COMMANDS, "-C, --conclude CMD", "Run after each execution, untimed.", multiple=True
    )
    cleanup: str | None = option(_COMMANDS, "-c, --cleanup CMD", "Run once for each command, at the end.")
    timeout_s: float = option(
        _COMMANDS, "--timeout 5m", "Time limit of one execution [5m].", type=params.duration, default=300.0
    )
    cpus: tuple[int, ...] = option(
        _COMMANDS, "--cpus LIST", "Pin the commands: 1 or 0,2-3.", type=params.cpus, default=()
    )
    step: str | None = option(_PARAMETERS, "-D, --parameter-step-size DELTA", "The step of -P [1].")
    min_runs: int | None = option(_HOW_OFTEN, "-m, --min-runs N", "N blocks at least.", type=_RUNS)
    blocks: int | None = option(_HOW_OFTEN, "-M, --max-runs, --blocks N", "N blocks at most.", type=_RUNS)
    until: Goal | None = option(_HOW_OFTEN, "--until GOAL", params.UNTIL_HELP, type=params.goal)
    margin: float = option(
        _HOW_OFTEN,
        "--margin 5%",
        f"{params.MARGIN_HELP} [default: 5%].",
        type=params.margin,
        default=DEFAULT_MARGIN,
    )
    seed: int | None = option(
        _HOW_OFTEN, "--seed N", "Seed of the random orders [default: a new one].", type=params.SEED
    )
    everything: bool = option(_OUTPUT, "--all", "All columns.", is_flag=True)
    as_markdown: bool = option(_OUTPUT, "--markdown", "Markdown.", is_flag=True)
    export_csv: str | None = option(_OUTPUT, "--export-csv FILE", "Means, medians and ranges as CSV.")
    export_markdown: str | None = option(_OUTPUT, "--export-markdown FILE", "A table in Markdown.")
    export_asciidoc: str | None = option(_OUTPUT, "--export-asciidoc FILE", "A table in AsciiDoc.")
    export_orgmode: str | None = option(_OUTPUT, "--export-orgmode FILE", "A table for Emacs org-mode.")
    sort: str = option(
        _OUTPUT,
        "--sort ORDER",
        "auto (best first), command, or mean-time.",
        type=click.Choice(["auto", "command", "mean-time"]),
        default="auto",
    )
    time_unit: str | None = option(
        _OUTPUT,
        "-u, --time-unit UNIT",
        "millisecond, second, or microsecond.",
        type=click.Choice(list(UNITS)),
    )
    style: str = option(
        _OUTPUT,
        "--style STYLE",
        "nocolor, color, or none: only exports.",
        type=click.Choice(["auto", "basic", "full", "nocolor", "color", "none"]),
        default="auto",
    )
    store: str | None = option(_OUTPUT, "--store PATH|URL", "The store.")

    @property
    def exports(self) -> dict[str, str]:
        """The file of each export that is asked for, by its format."""
        formats = ("json", "csv", "markdown", "asciidoc", "orgmode")
        return {name: file for name in formats if (file := getattr(self, f"export_{name}"))}
