"""What the options of `ringside vs` ask for: commands and their parameters, how they are executed, when the
run ends, and what is written."""

from __future__ import annotations

import os
import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ringside.errors import UsageError
from ringside.model.design import DEFAULT_MARGIN
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.cli.vs_output import Form
    from ringside.measure.command_trials import ExecutionOptions
    from ringside.measure.commands import Command
    from ringside.measure.stopping import StoppingRule
    from ringside.model.design import Goal, Level, Point
    from ringside.model.results import Run

MAX_BLOCKS = 100_000
UNITS = {"second": "s", "millisecond": "ms", "microsecond": "µs", "s": "s", "ms": "ms", "us": "µs"}
_TIME_S = 30.0
_MEMORY_SHARE = 0.9
# A command alone, as hyperfine does: there is no verdict that could end it.
_ALONE_BLOCKS, _ALONE_S = 10, 3.0
_ALL = ("all-non-zero", "")


@dataclass(frozen=True, slots=True)
class VsOptions:
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


def form(options: VsOptions) -> Form:
    """What goes to stdout. Raises UsageError where several things would mix there."""
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
    return Form(kind, is_silent, options.style, options.sort, UNITS.get(options.time_unit or ""))


def factors(options: VsOptions) -> dict[str, tuple[Level, ...]]:
    """The levels of each parameter. Raises UsageError."""
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


def commands(options: VsOptions, points: Sequence[Point]) -> tuple[Command, ...]:
    """The commands with what surrounds them, the reference first. Raises UsageError."""
    from ringside.measure.commands import Hooks, parse_commands, split_shell
    from ringside.measure.outputs import INHERIT, check_output
    from ringside.units import count

    if options.shell and options.no_shell:
        raise UsageError("-N and --shell exclude each other")
    if not options.texts:
        raise UsageError("name a command, or several, each quoted as one argument: ringside vs 'sleep 0.1'")
    if options.reference_name and not options.reference:
        raise UsageError("--reference-name is the name of --reference: add --reference CMD")
    texts, names = list(options.texts), list(options.names)
    if len(names) > len(texts):
        named = f"{count(len(names), 'name')} for {count(len(texts), 'command')}"
        raise UsageError(f"{named}: at most one -n for each")
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


def warn_of_unused(options: VsOptions, factors: Mapping[str, tuple[Level, ...]]) -> None:
    """A parameter in no command is allowed, as in hyperfine, but is more often a typing error."""
    hooks = (options.setup, *options.prepare, *options.conclude, options.cleanup, *options.names)
    everything = "\n".join([*options.texts, *(text for text in hooks if text)])
    for name in factors:
        if f"{{{name}}}" not in everything:
            print(f"ringside: {{{name}}} occurs in no command: every level does the same", file=sys.stderr)


def execution(options: VsOptions) -> ExecutionOptions:
    """How each command is executed. Raises UsageError."""
    from ringside.measure import host, surroundings
    from ringside.measure.command_trials import ExecutionOptions
    from ringside.measure.commands import readable

    environment, left_out = surroundings.environment()
    environment.pop("RINGSIDE_PADDING", None)
    for name in left_out:
        print(
            f"ringside: the variable {one_line(name, 60)} is not UTF-8: the commands do not get it",
            file=sys.stderr,
        )
    return ExecutionOptions(
        folder=Path.cwd(),
        environment=environment,
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


def rule(options: VsOptions, *, is_alone: bool, points: int) -> StoppingRule:
    """Until the goal is reached, or the blocks or the time are over: 30 seconds where neither is given. A
    command alone has no goal, and a time of its own."""
    from ringside.measure.stopping import StoppingRule
    from ringside.stats.sequential import FIRST_LOOK

    others = (options.blocks, options.min_runs, options.until, options.time_s)
    if options.runs is not None:
        if any(value is not None for value in others):
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
        max_blocks=options.blocks or MAX_BLOCKS,
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


def facts(options: VsOptions, rule: StoppingRule, execution: ExecutionOptions, run: Run) -> dict[str, Any]:
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
