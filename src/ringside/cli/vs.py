"""`ringside vs`: any commands, in pairs, or one by itself."""

from __future__ import annotations

import secrets
import sys
from typing import TYPE_CHECKING, Any

import click

from ringside.cli import EXIT_FAILED, EXIT_INTERRUPTED, params, vs_options
from ringside.cli.vs_command import VsCommand, option
from ringside.errors import RingsideError

if TYPE_CHECKING:
    from ringside.measure.command_trials import CommandTrials
    from ringside.measure.stopping import StoppingRule
    from ringside.model.design import Experiment, Point
    from ringside.model.results import Run
    from ringside.store import Store

_HINT = " (--ignore-failure includes failed runs)"
_RUNS = click.IntRange(1, vs_options.MAX_BLOCKS)


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
    "--margin",
    type=params.margin,
    default="5%",
    metavar="5%",
    section="How often",
    help=f"{params.MARGIN_HELP} [default: 5%].",
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
    type=click.Choice(list(vs_options.UNITS)),
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
    options = vs_options.VsOptions(
        texts, **values, exports={kind: file for kind, file in files.items() if file}
    )
    return _conduct(options)


def _conduct(options: vs_options.VsOptions) -> int:
    from ringside.analysis.run import analysis_of
    from ringside.cli import context, vs_output
    from ringside.cli.progress import LiveProgress
    from ringside.measure import command_trials
    from ringside.measure.exclusive import alone
    from ringside.measure.executor import LocalExecutor
    from ringside.measure.scans import scan_points

    form = vs_options.form(options)
    factors = vs_options.factors(options)
    points = scan_points(factors)
    commands = vs_options.commands(options, points)
    rule = vs_options.rule(options, is_alone=len(commands) == 1, points=len(points))
    vs_options.warn_of_unused(options, factors)
    execution = vs_options.execution(options)
    exports = vs_output.opened(options.exports)
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    storage = context.open_store(options.store, anywhere=True)
    experiment = command_trials.experiment_of(commands, rule, options.margin, factors)
    # Who gives up while another one measures leaves no empty run behind.
    with alone(LiveProgress(context.talk()).on_wait):
        run = command_trials.begin(commands, experiment, execution, seed, storage, points)
        trials = command_trials.CommandTrials(commands, execution, seed, LocalExecutor(), points)
        status, is_whole = _measured(run, experiment, points, rule, trials, storage)
    analysis = analysis_of(storage, storage.run(run.id), for_plots=False)
    if analysis.trial_count:
        if is_whole:
            vs_output.show(analysis, vs_options.facts(options, rule, execution, run), form)
        # A failure late in a long run leaves what was measured before it.
        vs_output.export(analysis, exports, form)
    if status == EXIT_INTERRUPTED:
        print("ringside: interrupted", file=sys.stderr)
    return status


def _measured(
    run: Run,
    experiment: Experiment,
    points: tuple[Point, ...],
    rule: StoppingRule,
    trials: CommandTrials,
    store: Store,
) -> tuple[int, bool]:
    """Carry out all trials while this process has the lock of the machine. The exit status, and whether what
    was measured can be compared."""
    from ringside.cli import context
    from ringside.cli.progress import LiveProgress
    from ringside.measure import command_trials
    from ringside.measure.paired import PairedBenchmark
    from ringside.workloads.command import COMMAND

    status, is_whole = 0, True
    try:
        with LiveProgress(context.talk(), quiet=True) as progress:
            benchmark = PairedBenchmark(run, experiment, COMMAND, points, rule, trials, store, progress)
            benchmark.conduct(is_alone=True)
    except command_trials.CommandFailedError as error:
        hint = "" if isinstance(error, command_trials.HookFailedError) else _HINT
        what = "is compared" if len(experiment.contenders) > 1 else "is shown"
        print(f"ringside: {error}; nothing {what}{hint}", file=sys.stderr)
        status, is_whole = EXIT_FAILED, False
    except KeyboardInterrupt:
        # What was measured until then is shown.
        status = EXIT_INTERRUPTED
    finally:
        if not _clean_up(trials):
            status = status or EXIT_FAILED
    return status, is_whole


def _clean_up(trials: CommandTrials) -> bool:
    """Whether it could be done. What was measured is worth showing in any case."""
    try:
        trials.clean_up()
    except RingsideError as error:
        print(f"ringside: {error}", file=sys.stderr)
        return False
    return True
