"""The options of `ringside vs`, most of which are hyperfine's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ringside import units
from ringside.cli import params
from ringside.cli.options import flag, option

if TYPE_CHECKING:
    from ringside.model.design import Goal

MAX_BLOCKS = 100_000
_RUNS = params.Whole(1, MAX_BLOCKS)


@dataclass(frozen=True, slots=True)
class VsSettings:
    """The command line of `ringside vs`; None where an option was left out. Durations in seconds."""

    EXCLUDES: ClassVar = {
        "--runs": "--min-runs --max-runs --until --time",
        "--parameter-scan": "--parameter-list",
        "--shell": "-N",
        "--output": "--show-output",
        "--json": "--markdown",
        "--rev": "--reference",
        "--metric": "--output --show-output",
    }
    NEEDED_BY: ClassVar = {
        "--parameter-scan": "--parameter-step-size",
        "--reference": "--reference-name",
        "--rev": "--build",
    }

    texts: tuple[str, ...]
    names: tuple[str, ...] = option(
        "-n, --command-name, --name NAME",
        "Instead of A, B, ….",
        multiple=True,
        shown="-n, --command-name NAME",
    )
    warmup: int = option("-w, --warmup N", "Untimed executions first [1].", params.Whole(0, 1000), default=1)
    prepare: tuple[str, ...] = option("-p, --prepare CMD", "Before each execution, untimed.", multiple=True)
    runs: int | None = option("-r, --runs N", "Exactly N executions of each command.", _RUNS)
    time_s: float | None = option("--time 1m", "Time limit [30s or 7 blocks].", params.duration)
    fail_if: tuple[tuple[str, float], ...] = option(
        "--fail-if slower:5%", "Exit status 1 where that much slower.", params.gate, multiple=True
    )
    shell: str | None = option("--shell SHELL", "Run commands through it [sh].", shown="-S, --shell[=SHELL]")
    ignore_failure: str | None = option(
        "--ignore-failure CODES", "Include failed executions.", shown="-i, --ignore-failure[=1,2]"
    )
    scan: tuple[str, str, str] | None = option(
        "-P, --parameter-scan VAR MIN MAX", "Numbers for {VAR}; -D: step.", nargs=3, shown="-P VAR MIN MAX"
    )
    lists: tuple[tuple[str, str], ...] = option(
        "-L, --parameter-list VAR A,B,…", "Values for {VAR}.", nargs=2, multiple=True, shown="-L VAR A,B,…"
    )
    as_json: bool = flag("--json", "One JSON document with every time.")
    export_json: str | None = option("--export-json FILE", "Times in hyperfine's layout.")
    revisions: tuple[str, ...] = option(
        "--rev REV", "Git revisions; the first is the baseline.", multiple=True, section="Commands"
    )
    build: str | None = option("--build CMD", "Run once in the folder of each --rev.")
    patterns: tuple[str, ...] = option("--metric PATTERN", "A number: 'items/s: ([0-9.]+)'.", multiple=True)
    judged: str = option("--judge METRIC", "wall, cpu, memory or a --metric decides [wall].", default="wall")
    reference: str | None = option("--reference CMD", "The baseline, in place of the first command.")
    reference_name: str | None = option("--reference-name NAME", "The name of --reference.")
    no_shell: bool = flag("-N", "Without a shell, whatever it looks like.")
    stdin: str | None = option("--input FILE", "A file that each command reads as stdin.")
    output: tuple[str, ...] = option(
        "--output WHERE", "null, pipe (default: read and compared), tty, inherit, or ./FILE.", multiple=True
    )
    setup: str | None = option("-s, --setup CMD", "Run once for each command, before all blocks.")
    conclude: tuple[str, ...] = option("-C, --conclude CMD", "After each execution, untimed.", multiple=True)
    cleanup: str | None = option("-c, --cleanup CMD", "Run once for each command, at the end.")
    timeout_s: float = option("--timeout 5m", "Limit of one execution.", params.duration, default=300.0)
    cpus: tuple[int, ...] = option("--cpus LIST", "Pin the commands: 1 or 0,2-3.", params.cpus, default=())
    step: str | None = option("-D, --parameter-step-size DELTA", "The step of -P [1].", section="Parameters")
    min_runs: int | None = option("-m, --min-runs N", "N blocks at least.", _RUNS, section="How often")
    blocks: int | None = option("-M, --max-runs, --blocks N", "N blocks at most.", _RUNS)
    until: Goal | None = option("--until GOAL", params.UNTIL_HELP, ["decided", "end"])
    margin: float | None = option("--margin 5%", f"{params.MARGIN_HELP} [default: 5%].", units.margin)
    seed: int | None = option("--seed N", "Seed of the random orders [default: a new one].", params.SEED)
    order: str = option(
        "--order ORDER", "given: as they are written, in each block.", ["random", "given"], default="random"
    )
    resume: str | None = option("--resume RUN", "Continue an interrupted run.")
    everything: bool = flag("--all", "All columns.", section="Output")
    quiet: bool = flag("--quiet", "No lines on what slow commands are at.")
    show_output: bool = flag("--show-output", "Show what the commands print.")
    as_markdown: bool = flag("--markdown", "Markdown.")
    export_csv: str | None = option("--export-csv FILE", "Means, medians and ranges as CSV.")
    export_markdown: str | None = option("--export-markdown FILE", "A table in Markdown.")
    export_asciidoc: str | None = option("--export-asciidoc FILE", "A table in AsciiDoc.")
    export_orgmode: str | None = option("--export-orgmode FILE", "A table for Emacs org-mode.")
    sort: str = option("--sort ORDER", "auto: best first.", ["auto", "command", "mean-time"], default="auto")
    time_unit: units.TimeUnit | None = params.TIME_UNIT
    style: str = option(
        "--style STYLE",
        "nocolor, color, or none: only exports.",
        ["auto", "basic", "full", "nocolor", "color", "none"],
        default="auto",
    )
    store: str | None = option("--store PATH|URL", "The store.")

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
