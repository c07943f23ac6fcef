"""`ringside vs`: any commands, in pairs."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringside.cli import params
from ringside.errors import UsageError
from ringside.model.design import DEFAULT_MARGIN

if TYPE_CHECKING:
    from ringside.analysis.run import RunAnalysis
    from ringside.measure.command_trials import CommandTrials
    from ringside.measure.stopping import StoppingRule
    from ringside.model.design import Experiment, Goal
    from ringside.model.results import Run
    from ringside.store import Store

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
_TIME_S = 30.0
_MAX_BLOCKS = 100_000
_MEMORY_SHARE = 0.9


@click.command()
@click.argument("texts", nargs=-1, metavar="'CMD A' 'CMD B' …")
@click.option("-n", "--name", "names", multiple=True, metavar="NAME", help="Instead of A, B, …, in order.")
@click.option("-p", "--prepare", multiple=True, metavar="CMD", help="Run before each execution, untimed.")
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(0, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Untimed executions of each command first.",
)
@click.option("--input", "stdin", type=params.FILE, help="A file that each command reads as stdin.")
@click.option("--blocks", type=click.IntRange(1, 100_000), metavar="N", help="N blocks at most.")
@click.option("--until", type=params.goal, metavar="GOAL", help=params.UNTIL_HELP)
@click.option("--margin", type=params.margin, default="5%", metavar="5%", help=params.MARGIN_HELP)
@click.option(
    "--time", "time_s", type=params.duration, metavar="1m", help="Time limit [30s, minimum seven blocks]."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=params.duration,
    metavar="5m",
    default="5m",
    show_default=True,
    help="Time limit of one execution.",
)
@click.option(
    "-S", "--shell", metavar="SHELL", is_flag=False, flag_value="sh", help="Run commands through it [sh]."
)
@click.option("-N", "no_shell", is_flag=True, help="Run commands without a shell (default).")
@click.option("-i", "--ignore-failure", is_flag=True, help="Include failed runs.")
@click.option("--cpus", type=params.cpus, metavar="LIST", help="Pin the commands: 1 or 0,2-3.")
@click.option("--seed", type=params.SEED, metavar="N", help="Seed of the random orders [default: a new one].")
@click.option("--json", "form", flag_value="json", help="One JSON document with every time.")
@click.option("--markdown", "form", flag_value="markdown", help="Markdown.")
@params.store_option
def vs(
    texts: Sequence[str],
    *,
    names: Sequence[str] = (),
    prepare: Sequence[str] = (),
    warmup: int = 1,
    stdin: Path | None = None,
    blocks: int | None = None,
    until: Goal | None = None,
    margin: float = DEFAULT_MARGIN,
    time_s: float | None = None,
    timeout_s: float = 300.0,
    shell: str | None = None,
    no_shell: bool = False,
    ignore_failure: bool = False,
    cpus: Sequence[int] | None = None,
    seed: int | None = None,
    form: str | None = None,
    store: str | None = None,
) -> int:
    """Compare any commands, each quoted as one argument: in blocks, in random order, in pairs.

    The first is the baseline. Without options the comparison ends when each of the others is shown to be
    faster, slower or equivalent, or after 30 seconds. Exit status 1 where a command failed.
    """
    from ringside.cli import context
    from ringside.measure import command_trials, host
    from ringside.measure.commands import parse_commands, readable
    from ringside.measure.executor import LocalExecutor

    if until == "end" and not (blocks or time_s):
        raise UsageError("--until end: say which end, with --blocks or --time")
    if shell and no_shell:
        raise UsageError("-N and --shell exclude each other")
    commands = parse_commands(texts, names, prepare, shell)
    rule = _rule(blocks, until or "decided", time_s)
    options = command_trials.ExecutionOptions(
        folder=Path.cwd(),
        environment={key: value for key, value in os.environ.items() if key != "RINGSIDE_PADDING"},
        warmups=warmup,
        timeout_s=timeout_s,
        memory_bytes=int(host.memory_available_bytes() * _MEMORY_SHARE),
        input=readable(stdin),
        cpus=_usable(cpus or ()),
        ignore_failure=ignore_failure,
    )
    seed = secrets.randbelow(2**31) if seed is None else seed
    executor = LocalExecutor()
    storage = context.open_store(store, anywhere=True)
    experiment = command_trials.experiment_of(commands, rule, margin)
    run = command_trials.begin(commands, experiment, options, seed, storage)
    trials = command_trials.CommandTrials(commands, options, seed, executor)
    interrupted = False
    try:
        _measure(run, experiment, rule, trials, storage)
    except command_trials.CommandFailedError as error:
        print(
            f"ringside: {error}; nothing is compared (--ignore-failure includes failed runs)", file=sys.stderr
        )
        return EXIT_FAILED
    except KeyboardInterrupt:
        # What was measured until then is shown.
        interrupted = True
    facts = {
        "seed": seed,
        "blocks": blocks,
        "until": until or "decided",
        "margin": margin,
        "time_s": rule.time_s,
        "warmups": warmup,
        "cpus": list(options.cpus),
        "host": dict(run.host),
    }
    analysis = context.analysis(storage, storage.run(run.id))
    if analysis.trial_count:
        _show(analysis, facts, form)
    if interrupted:
        print("ringside: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    return 0


def _measure(
    run: Run, experiment: Experiment, rule: StoppingRule, trials: CommandTrials, store: Store
) -> None:
    from ringside.cli import context
    from ringside.cli.progress import LiveProgress
    from ringside.measure.command_trials import POINT
    from ringside.measure.paired import PairedBenchmark
    from ringside.workloads.command import COMMAND

    with LiveProgress(context.talk(), quiet=True) as progress:
        PairedBenchmark(run, experiment, COMMAND, (POINT,), rule, trials, store, progress).conduct()


def _show(analysis: RunAnalysis, facts: Mapping[str, Any], form: str | None) -> None:
    from ringside.cli import context
    from ringside.render import documents, paired
    from ringside.units import count

    run = analysis.run
    how = f"{count(analysis.blocks_done, 'block')} in random order, seed {run.seed}; run {run.id}"
    if form == "json":
        sys.stdout.write(documents.as_json(paired.vs_document(analysis, facts)))
    elif form == "markdown":
        sys.stdout.write(paired.as_markdown(analysis, how))
    else:
        paired.show(analysis, how, context.out())


def _rule(blocks: int | None, goal: Goal, time_s: float | None) -> StoppingRule:
    """Until the goal is reached, or the blocks or the time are over: 30 seconds where neither is given."""
    from ringside.measure.stopping import StoppingRule

    return StoppingRule(
        max_blocks=blocks or _MAX_BLOCKS,
        decided=goal == "decided",
        until=goal if isinstance(goal, float) else None,
        time_s=time_s if blocks or time_s else _TIME_S,
    )


def _usable(cpus: Sequence[int]) -> tuple[int, ...]:
    usable = os.sched_getaffinity(0)
    missing = [str(cpu) for cpu in cpus if cpu not in usable]
    if missing:
        listed = ", ".join(map(str, sorted(usable)))
        raise UsageError(f"--cpus: {', '.join(missing)} cannot be used here; usable: {listed}")
    return tuple(cpus)
