"""`ringside vs`: any commands, in pairs, or one by itself."""

from __future__ import annotations

import os
import secrets
import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ringside.cli import params
from ringside.cli.vs_command import VsCommand, option
from ringside.errors import RingsideError, UsageError
from ringside.model.design import DEFAULT_MARGIN

if TYPE_CHECKING:
    from ringside.cli.vs_output import Form
    from ringside.measure.command_trials import CommandTrials, ExecutionOptions
    from ringside.measure.commands import Command
    from ringside.measure.stopping import StoppingRule
    from ringside.model.design import Experiment, Goal, Level, Point
    from ringside.model.results import Run
    from ringside.store import Store

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
_TIME_S = 30.0
_MAX_BLOCKS = 100_000
_MEMORY_SHARE = 0.9
# A command alone, as hyperfine does: there is no verdict that could end it.
_ALONE_BLOCKS, _ALONE_S = 10, 3.0
_HINT = " (--ignore-failure includes failed runs)"
_RUNS = click.IntRange(1, _MAX_BLOCKS)
_UNITS = {"second": "s", "millisecond": "ms", "microsecond": "µs", "s": "s", "ms": "ms", "us": "µs"}
_ALL = ("all-non-zero", "")


@dataclass(frozen=True, slots=True)
class _Options:
    """What the command line says, by the names of the options."""

    texts: tuple[str, ...]
    names: tuple[str, ...] = ()
    warmup: int = 1
    prepare: tuple[str, ...] = ()
    runs: int | None = None
    time_s: float | None = None
    shell: str | None = None
    no_shell: bool = False
    ignore_failure: str | None = None
    scan: tuple[str, str, str] | None = None
    step: str | None = None
    lists: tuple[tuple[str, str], ...] = ()
    show_output: bool = False
    output: tuple[str, ...] = ()
    as_json: bool = False
    as_markdown: bool = False
    exports: Mapping[str, str] = field(default_factory=dict)
    reference: str | None = None
    reference_name: str | None = None
    stdin: str | None = None
    setup: str | None = None
    conclude: tuple[str, ...] = ()
    cleanup: str | None = None
    timeout_s: float = 300.0
    cpus: tuple[int, ...] | None = None
    min_runs: int | None = None
    blocks: int | None = None
    until: Goal | None = None
    margin: float = DEFAULT_MARGIN
    seed: int | None = None
    style: str = "auto"
    sort: str = "auto"
    time_unit: str | None = None
    store: str | None = None


@click.command(cls=VsCommand)
@click.argument("texts", nargs=-1, metavar="'CMD A' ['CMD B' …]")
@option(
    "-n",
    "--command-name",
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    shown="-n, --command-name NAME",
    help="Instead of A, B, …, in order.",
)
@option(
    "-w",
    "--warmup",
    type=click.IntRange(0, 1000),
    default=1,
    metavar="N",
    help="Untimed executions first [1].",
)
@option("-p", "--prepare", multiple=True, metavar="CMD", help="Run before each execution, untimed.")
@option("-r", "--runs", type=_RUNS, metavar="N", help="Exactly N executions of each command.")
@option("--time", "time_s", type=params.duration, metavar="1m", help="Time limit [30s, at least 7 blocks].")
@option("--shell", metavar="SHELL", shown="-S, --shell[=SHELL]", help="Run commands through it [sh].")
@option(
    "--ignore-failure", metavar="CODES", shown="-i, --ignore-failure[=1,2]", help="Include failed executions."
)
@option(
    "-P",
    "--parameter-scan",
    "scan",
    nargs=3,
    metavar="VAR MIN MAX",
    shown="-P VAR MIN MAX",
    help="Numbers for {VAR} in commands; -D is the step.",
)
@option(
    "-L",
    "--parameter-list",
    "lists",
    nargs=2,
    multiple=True,
    metavar="VAR A,B,…",
    shown="-L VAR A,B,…",
    help="Values for {VAR} in commands.",
)
@option("--show-output", is_flag=True, help="Show what the commands print.")
@option("--json", "as_json", is_flag=True, help="One JSON document with every time.")
@option("--export-json", metavar="FILE", help="Times in hyperfine's layout.")
@option("--reference", metavar="CMD", section="Commands", help="The baseline, in place of the first command.")
@option("--reference-name", metavar="NAME", section="Commands", help="The name of --reference.")
@option(
    "-N",
    "no_shell",
    is_flag=True,
    section="Commands",
    help="Without a shell (default), whatever it looks like.",
)
@option(
    "--input", "stdin", metavar="FILE", section="Commands", help="A file that each command reads as stdin."
)
@option(
    "--output",
    multiple=True,
    metavar="WHERE",
    section="Commands",
    help="null, pipe (default: read and compared), inherit, or ./FILE.",
)
@option(
    "-s", "--setup", metavar="CMD", section="Commands", help="Run once for each command, before all blocks."
)
@option(
    "-C",
    "--conclude",
    multiple=True,
    metavar="CMD",
    section="Commands",
    help="Run after each execution, untimed.",
)
@option("-c", "--cleanup", metavar="CMD", section="Commands", help="Run once for each command, at the end.")
@option(
    "--timeout",
    "timeout_s",
    type=params.duration,
    metavar="5m",
    default="5m",
    section="Commands",
    help="Time limit of one execution [5m].",
)
@option("--cpus", type=params.cpus, metavar="LIST", section="Commands", help="Pin the commands: 1 or 0,2-3.")
@option(
    "-D", "--parameter-step-size", "step", metavar="DELTA", section="Parameters", help="The step of -P [1]."
)
@option("-m", "--min-runs", type=_RUNS, metavar="N", section="How often", help="N blocks at least.")
@option(
    "-M",
    "--max-runs",
    "--blocks",
    "blocks",
    type=_RUNS,
    metavar="N",
    section="How often",
    help="N blocks at most.",
)
@option("--until", type=params.goal, metavar="GOAL", section="How often", help=params.UNTIL_HELP)
@option(
    "--margin", type=params.margin, default="5%", metavar="5%", section="How often", help=params.MARGIN_HELP
)
@option(
    "--seed",
    type=params.SEED,
    metavar="N",
    section="How often",
    help="Seed of the random orders [default: a new one].",
)
@option("--markdown", "as_markdown", is_flag=True, section="Output", help="Markdown.")
@option("--export-csv", metavar="FILE", section="Output", help="Means, medians and ranges as CSV.")
@option("--export-markdown", metavar="FILE", section="Output", help="A table in Markdown.")
@option("--export-asciidoc", metavar="FILE", section="Output", help="A table in AsciiDoc.")
@option("--export-orgmode", metavar="FILE", section="Output", help="A table for Emacs org-mode.")
@option(
    "--sort",
    type=click.Choice(["auto", "command", "mean-time"]),
    default="auto",
    metavar="ORDER",
    section="Output",
    help="auto (best first), command, or mean-time.",
)
@option(
    "-u",
    "--time-unit",
    type=click.Choice(list(_UNITS)),
    metavar="UNIT",
    section="Output",
    help="millisecond, second, or microsecond.",
)
@option(
    "--style",
    type=click.Choice(["auto", "basic", "full", "nocolor", "color", "none"]),
    default="auto",
    metavar="STYLE",
    section="Output",
    help="nocolor, color, or none: only exports.",
)
@option("--store", metavar="PATH|URL", section="Output", help="The store.")
def vs(texts: tuple[str, ...], **values: Any) -> int:
    """Compare any commands, each quoted as one argument: in blocks, in random order, in pairs.

    The first is the baseline; a command alone is timed. It ends when all is decided, or after 30 seconds.
    Exit status 1 where a command failed.
    """
    kinds = ("json", "csv", "markdown", "asciidoc", "orgmode")
    files = {kind: values.pop(f"export_{kind}") for kind in kinds}
    options = _Options(texts, **values, exports={kind: file for kind, file in files.items() if file})
    return _conduct(options)


def _conduct(options: _Options) -> int:
    from ringside.cli import context, vs_output
    from ringside.measure import command_trials
    from ringside.measure.executor import LocalExecutor
    from ringside.measure.scans import scan_points

    form = _form(options)
    factors = _factors(options)
    points = scan_points(factors)
    commands = _commands(options, points)
    rule = _rule(options, is_alone=len(commands) == 1, points=len(points))
    _warn_of_unused(options, factors)
    execution = _execution(options)
    exports = vs_output.opened(options.exports)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    storage = context.open_store(options.store, anywhere=True)
    experiment = command_trials.experiment_of(commands, rule, options.margin, factors)
    run = command_trials.begin(commands, experiment, execution, seed, storage, points)
    trials = command_trials.CommandTrials(commands, execution, seed, LocalExecutor(), points)
    status = 0
    is_whole = True
    try:
        _measure(run, experiment, points, rule, trials, storage)
    except command_trials.CommandFailedError as error:
        hint = "" if isinstance(error, command_trials.HookFailedError) else _HINT
        what = "is compared" if len(commands) > 1 else "is shown"
        print(f"ringside: {error}; nothing {what}{hint}", file=sys.stderr)
        status, is_whole = EXIT_FAILED, False
    except KeyboardInterrupt:
        # What was measured until then is shown.
        status = EXIT_INTERRUPTED
    finally:
        if not _clean_up(trials):
            status = status or EXIT_FAILED
    analysis = context.analysis(storage, storage.run(run.id))
    if analysis.trial_count:
        if is_whole:
            vs_output.show(analysis, _facts(options, rule, execution, run), form)
        # A failure late in a long run leaves what was measured before it.
        vs_output.export(analysis, exports, form)
    if status == EXIT_INTERRUPTED:
        print("ringside: interrupted", file=sys.stderr)
    return status


def _measure(
    run: Run,
    experiment: Experiment,
    points: tuple[Point, ...],
    rule: StoppingRule,
    trials: CommandTrials,
    store: Store,
) -> None:
    from ringside.cli import context
    from ringside.cli.progress import LiveProgress
    from ringside.measure.paired import PairedBenchmark
    from ringside.workloads.command import COMMAND

    with LiveProgress(context.talk(), quiet=True) as progress:
        PairedBenchmark(run, experiment, COMMAND, points, rule, trials, store, progress).conduct()


def _clean_up(trials: CommandTrials) -> bool:
    """Whether it could be done. What was measured is worth showing in any case."""
    try:
        trials.clean_up()
    except RingsideError as error:
        print(f"ringside: {error}", file=sys.stderr)
        return False
    return True


def _form(options: _Options) -> Form:
    from ringside.cli.vs_output import Form

    if options.as_json and options.as_markdown:
        raise UsageError(
            "--json and --markdown exclude each other: --export-markdown FILE writes both at once"
        )
    kind: Literal["json", "markdown", "text"] = (
        "json" if options.as_json else "markdown" if options.as_markdown else "text"
    )
    to_stdout = [f"--export-{name} -" for name, file in options.exports.items() if file == "-"]
    if options.show_output and options.output:
        raise UsageError("--show-output and --output exclude each other: --output=inherit is the same")
    data = [*([f"--{kind}"] if kind != "text" else []), *to_stdout]
    if data and (options.show_output or "inherit" in options.output):
        raise UsageError(f"{data[0]} and what the commands print would mix on stdout: export to a file")
    if len(data) > 1:
        raise UsageError(f"{data[0]} and {data[1]} would mix on stdout: export to files")
    # Only the export is on stdout then, so that a pipe gets it alone.
    is_silent = options.style == "none" or bool(to_stdout)
    return Form(kind, is_silent, options.style, options.sort, _UNITS.get(options.time_unit or ""))


def _factors(options: _Options) -> dict[str, tuple[Level, ...]]:
    from ringside.measure import scans

    factors: dict[str, tuple[Level, ...]] = {}
    if options.scan and options.lists:
        raise UsageError("-P and -L exclude each other: list the numbers with -L")
    if options.step and not options.scan:
        raise UsageError("-D is the step of -P: add -P VAR MIN MAX")
    if options.scan:
        name, least, most = options.scan
        scans.check_parameter(name, factors)
        factors[name] = scans.scanned_levels(least, most, options.step)
    for name, values in options.lists:
        scans.check_parameter(name, factors)
        factors[name] = scans.listed_levels(values)
    return factors


def _commands(options: _Options, points: Sequence[Point]) -> tuple[Command, ...]:
    from ringside.measure.commands import Hooks, parse_commands, split_shell
    from ringside.measure.outputs import INHERIT, check_output

    if options.shell and options.no_shell:
        raise UsageError("-N and --shell exclude each other")
    if not options.texts:
        raise UsageError("name a command, or several, each quoted as one argument: ringside vs 'sleep 0.1'")
    if options.reference_name and not options.reference:
        raise UsageError("--reference-name is the name of --reference: add --reference CMD")
    texts, names = list(options.texts), list(options.names)
    if len(names) > len(texts):
        raise UsageError(f"{len(names)} names for {len(texts)} commands: at most one -n for each")
    if options.reference is not None:
        # The other commands keep their letters.
        names += string.ascii_uppercase[len(names) : len(texts)]
        texts.insert(0, options.reference)
        names.insert(0, options.reference_name or "reference")
    return parse_commands(
        texts,
        names,
        Hooks(options.setup, options.prepare, options.conclude, options.cleanup),
        split_shell(options.shell) if options.shell else None,
        points=points,
        outputs=[INHERIT] if options.show_output else [check_output(each) for each in options.output],
        is_literal=options.no_shell or options.shell == "none",
    )


def _warn_of_unused(options: _Options, factors: Mapping[str, tuple[Level, ...]]) -> None:
    """A parameter in no command is allowed, as in hyperfine, but is more often a typing error."""
    hooks = (options.setup, *options.prepare, *options.conclude, options.cleanup, *options.names)
    everything = "\n".join([*options.texts, *(text for text in hooks if text)])
    for name in factors:
        if f"{{{name}}}" not in everything:
            print(f"ringside: {{{name}}} occurs in no command: every level does the same", file=sys.stderr)


def _execution(options: _Options) -> ExecutionOptions:
    from ringside.measure import host
    from ringside.measure.command_trials import ExecutionOptions
    from ringside.measure.commands import readable

    return ExecutionOptions(
        folder=Path.cwd(),
        environment={key: value for key, value in os.environ.items() if key != "RINGSIDE_PADDING"},
        warmups=options.warmup,
        timeout_s=options.timeout_s,
        memory_bytes=int(host.memory_available_bytes() * _MEMORY_SHARE),
        input=readable(Path(options.stdin)) if options.stdin not in (None, "null") else None,
        cpus=_usable(options.cpus or ()),
        ignored=_ignored(options.ignore_failure),
    )


def _ignored(text: str | None) -> frozenset[int] | Literal["all"]:
    if text is None or text in _ALL:
        return frozenset() if text is None else "all"
    try:
        statuses = frozenset(int(each) for each in text.split(","))
    except ValueError:
        statuses = frozenset({-1})
    if not all(0 <= status <= 255 for status in statuses):
        raise UsageError(f"--ignore-failure={text}: write exit statuses as 1 or 1,2, or leave the value out")
    return statuses


def _rule(options: _Options, *, is_alone: bool, points: int) -> StoppingRule:
    """Until the goal is reached, or the blocks or the time are over: 30 seconds where neither is given. A
    command alone has no goal, and a time of its own."""
    from ringside.measure.stopping import StoppingRule
    from ringside.stats.sequential import FIRST_LOOK

    given = (options.blocks, options.min_runs, options.until, options.time_s)
    if options.runs is not None:
        if any(value is not None for value in given):
            raise UsageError(
                "--runs is exactly so many: leave out --min-runs, --max-runs, --until and --time"
            )
        return StoppingRule(max_blocks=options.runs)
    if options.min_runs and options.blocks and options.min_runs > options.blocks:
        raise UsageError(f"--min-runs {options.min_runs} is more than --max-runs {options.blocks}")
    if options.until == "end" and not (options.blocks or options.time_s):
        raise UsageError("--until end: say which end, with --blocks or --time")
    if is_alone and isinstance(options.until, float):
        raise UsageError("--until narrows the ratio of two commands: a command alone has --runs or --time")
    goal = options.until or "decided"
    default_s = _ALONE_S * points if is_alone else _TIME_S
    # Of a command alone blocks are the most, so that --max-runs means what it says in hyperfine.
    is_timed = options.time_s is None and (is_alone or not options.blocks)
    least = _ALONE_BLOCKS if is_alone and options.time_s is None else FIRST_LOOK
    return StoppingRule(
        max_blocks=options.blocks or _MAX_BLOCKS,
        decided=goal == "decided" and not is_alone,
        until=goal if isinstance(goal, float) else None,
        min_blocks=options.min_runs or 1,
        time_s=None
        if options.until == "end" and options.time_s is None
        else default_s
        if is_timed
        else options.time_s,
        min_timed_blocks=options.min_runs or least if is_alone else max(FIRST_LOOK, options.min_runs or 1),
    )


def _facts(options: _Options, rule: StoppingRule, execution: ExecutionOptions, run: Run) -> dict[str, Any]:
    """How it was measured, for the JSON document."""
    return {
        "seed": run.seed,
        "blocks": options.runs or options.blocks,
        "until": "end" if options.runs else options.until or "decided",
        "margin": options.margin,
        "time_s": rule.time_s,
        "warmups": execution.warmups,
        "cpus": list(execution.cpus),
        "host": dict(run.host),
    }


def _usable(cpus: Sequence[int]) -> tuple[int, ...]:
    usable = os.sched_getaffinity(0)
    missing = [str(cpu) for cpu in cpus if cpu not in usable]
    if missing:
        listed = ", ".join(map(str, sorted(usable)))
        raise UsageError(f"--cpus: {', '.join(missing)} cannot be used here; usable: {listed}")
    return tuple(cpus)
