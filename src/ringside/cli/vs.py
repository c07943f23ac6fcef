"""Carries out `ringside vs` with its options: commands compared in pairs, or one command alone."""

import os
import secrets
import shlex
import string
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import click

from ringside.analysis.run import RunAnalysis, analysis_of
from ringside.cli import EXIT_FAILED, EXIT_INTERRUPTED, context, gates, streams
from ringside.cli.options import command_line_options
from ringside.cli.progress import LiveProgress
from ringside.errors import BuildError, ProbeError, RingsideError, UsageError
from ringside.measure import host
from ringside.measure.host import Executor, alone
from ringside.measure.runs.loop import BlockLoop, StoppingRule
from ringside.measure.runs.trials import PADDING
from ringside.measure.vs import command_trials
from ringside.measure.vs import commands as parsing
from ringside.measure.vs.command_trials import CommandTrials, ExecutionOptions
from ringside.measure.vs.outputs import INHERIT, check_output, pattern
from ringside.measure.vs.revisions import Revision, worktrees
from ringside.model.design import DEFAULT_MARGIN, Goal, Level, Point
from ringside.model.results import Outcome, Run
from ringside.render.export import documents, formats
from ringside.render.text import paired
from ringside.render.text.command import comparison_words, option_words, with_store
from ringside.render.text.words import listed
from ringside.stats.sequential import FIRST_LOOK
from ringside.store import Store, stamp
from ringside.store.database import free_suite_id, runs_of
from ringside.store.plans import SuiteSelection, read_plan
from ringside.text import LOG_LINES, last_lines, one_line
from ringside.units import TimeUnit, count, time_unit, whole
from ringside.workloads.command import COMMAND

_TIME_S = 30.0
_MAX_BLOCKS = 100_000
_TIMED_BLOCKS = 3  # --time ends a run only after this many.
_MEMORY_SHARE = 0.9
# A command alone, as hyperfine does: there is no verdict that could end it.
_ALONE_BLOCKS, _ALONE_S = 10, 3.0
# The options that say how a run is shown, not how it is measured.
_SHOWN = {
    *("form", "show_output", "everything", "quiet", "sort", "time_unit", "style", "store"),
    *("fail_if", "export_json", "export_csv", "export_markdown", "export_asciidoc", "export_orgmode"),
}
_COLOURS = {"basic": False, "nocolor": False, "full": True, "color": True}


@dataclass(frozen=True, slots=True)
class VsSettings:
    """The command line of `ringside vs`, as vs.toml has it; None: left out. Durations in seconds."""

    texts: tuple[str, ...]
    names: tuple[str, ...] = ()
    warmup: int = 1
    prepare: tuple[str, ...] = ()
    runs: int | None = None
    time_s: float | None = None
    fail_if: tuple[tuple[str, float], ...] = ()
    shell: str | None = None
    ignore_failure: str | None = None
    scans: tuple[tuple[str, str, str], ...] = ()
    lists: tuple[tuple[str, str], ...] = ()
    form: str | None = None
    export_json: str | None = None
    revisions: tuple[str, ...] = ()
    build: str | None = None
    patterns: tuple[str, ...] = ()
    judged: str = "wall"
    counters: bool = False
    reference: str | None = None
    reference_name: str | None = None
    no_shell: bool = False
    stdin: str | None = None
    output: tuple[str, ...] = ()
    setup: str | None = None
    conclude: tuple[str, ...] = ()
    cleanup: str | None = None
    timeout_s: float = 300.0
    cpus: tuple[int, ...] = ()
    step: str | None = None
    min_runs: int | None = None
    blocks: int | None = None
    until: Goal | None = None
    margin: float = DEFAULT_MARGIN
    seed: int | None = None
    order: str = "random"
    sessions: int = 1
    resume: str | None = None
    everything: bool = False
    quiet: bool = False
    show_output: bool = False
    export_csv: str | None = None
    export_markdown: str | None = None
    export_asciidoc: str | None = None
    export_orgmode: str | None = None
    sort: str = "auto"
    time_unit: TimeUnit | None = None
    style: str = "auto"
    store: str | None = None

    @property
    def hooks(self) -> dict[str, tuple[str, ...]]:
        """The commands around the measured ones, by option."""
        once = {"setup": (self.setup or "",), "cleanup": (self.cleanup or "",)}
        return {**once, "prepare": self.prepare, "conclude": self.conclude}

    @property
    def exports(self) -> dict[str, Path]:
        """The file of each export that is asked for, by its option."""
        files = {f"--export-{name}": getattr(self, f"export_{name}") for name in formats.VS_FORMATS}
        return {option: Path(file) for option, file in files.items() if file}


def vs(**options: Any) -> int:
    """Carry out the command; the exit status."""
    settings, runs = VsSettings(**options), list[Run]()
    if settings.resume:
        runs, settings = _resumed(settings)
    if settings.revisions and len(settings.texts) > 1:
        raise UsageError("--rev compares revisions of one command: name one, and vary it with -L")
    stdin, status = "/dev/stdin" if settings.stdin == "-" else settings.stdin, 0
    is_begun = bool(runs) and (settings.sessions == 1 or not runs[-1].ended_at)
    resumed = runs.pop() if is_begun else None
    try:
        with parsing.input_file(None if stdin in (None, "null") else Path(stdin)) as file:
            while len(runs) < settings.sessions:
                if settings.sessions > 1:
                    streams.say(f"session {len(runs) + 1} of {settings.sessions}")
                with worktrees(settings.revisions, settings.build, streams.say) as revisions:
                    status = _compare(settings, file, revisions, resumed, runs) or status
                if not runs[-1].ended_at:
                    return status
                resumed = None
    except BuildError as error:
        for line in last_lines(error.log, LOG_LINES):
            streams.say(f"  | {line}")
        raise
    if settings.sessions > 1:
        from ringside.cli import show  # only here: its imports take a while

        storage, id = context.open_store(settings.store, anywhere=True), runs[0].suite["id"]
        with time_unit(settings.time_unit):
            show.present(storage, runs, id, form="text", everything=settings.everything)
    return status


def _resumed(settings: VsSettings) -> tuple[list[Run], VsSettings]:
    """The run to continue, or its sessions, with the options it began with. Raises UsageError."""
    if own := [*command_line_options({*_SHOWN, "resume", "time_s"}), *settings.texts]:
        raise UsageError(f"--resume continues a run as it began: leave out {one_line(own[0], 60)}")
    storage = context.open_store(settings.store, create=False)
    runs = runs_of(storage, settings.resume or "")
    run = runs[-1]
    plan = read_plan(run)
    if plan.experiment.workload != COMMAND.name:
        way = "start it anew" if plan.options else f"`ringside run --resume {run.id}` continues it"
        raise UsageError(f"run {run.id} is not one of `ringside vs`: {way}")
    if plan.folder != str(Path.cwd()):
        there = shlex.quote(plan.folder)
        raise UsageError(f"run {run.id} began in another folder: continue it there, after `cd {there}`")
    command = click.get_current_context().command
    given = command.make_context("vs", comparison_words(plan)[1:]).params
    if given["stdin"] == "-":
        raise UsageError(f"run {run.id} read its input from stdin, which is not kept: start a new run")
    shown = {name: getattr(settings, name) for name in (*_SHOWN, "resume")}
    began = VsSettings(**{name: value for name, value in given.items() if value is not None})
    # One of the sessions stands for all of them.
    runs = runs_of(storage, plan.suite.id) if plan.suite else runs
    return runs, replace(began, **shown, time_s=settings.time_s or began.time_s)


def _compare(
    settings: VsSettings, stdin: Path | None, revisions: Sequence[Revision], run: Run | None, runs: list[Run]
) -> int:
    """Measure, and show unless it is one of several sessions; the exit status. The run joins `runs`."""
    factors = _factors(settings)
    points = parsing.scan_points(factors)
    commands = _commands(settings, points, revisions)
    if not runs:
        _say_notes(settings, commands, points, factors)
    rule = _rule(settings, is_alone=len(commands) == 1, points=len(points))
    execution = _execution(settings, stdin)
    printed = [f"--{settings.form}"] if settings.form else []
    printed += ["what the commands print"] * (settings.show_output or "inherit" in settings.output)
    streams.check_outputs(settings.exports, printed)
    experiment = command_trials.experiment_of(commands, rule, settings.margin, factors, execution)
    storage = context.open_store(settings.store, anywhere=True)
    progress = LiveProgress(context.stderr_console(), quiet=True, paces=not settings.quiet)
    status, is_whole = 0, True
    # Begun only now: Ctrl-C while waiting for the machine leaves no empty run behind.
    with alone(progress.on_wait), _quota_watched():
        execution = replace(execution, memory_bytes=int(host.memory_available_bytes() * _MEMORY_SHARE))
        if run:
            command_trials.check_unchanged(run, commands, execution)
        else:
            seed = secrets.randbelow(2**31) if settings.seed is None else settings.seed + len(runs)
            kept = read_plan(runs[0]).options if runs else command_line_options(_SHOWN)
            what = (commands, experiment, execution, seed, storage, points, kept)
            run = command_trials.begin(*what, _suite(settings, runs, storage))
        if run.ended_at is None:
            executor = Executor(on_tick=progress.on_tick)
            trials = CommandTrials(commands, execution, run.seed, executor, points)
            loop = BlockLoop(run, rule, storage, progress, maker=trials, is_drawn=settings.order == "random")
            status, is_whole = _measure(loop, trials, progress)
        else:
            streams.say(f"{run.id} is finished: nothing is left")
    runs.append(storage.run(run.id))
    is_one = settings.sessions == 1 or runs[-1].ended_at is None
    analysis = analysis_of(storage, runs[-1])
    if analysis.descriptions and is_one:
        with time_unit(settings.time_unit):
            if is_whole:
                _show(analysis, settings, rule)
            # After a late failure in a long run, the earlier measurements remain.
            for option, path in settings.exports.items():
                text = formats.VS_FORMATS[option.removeprefix("--export-")](analysis, settings.sort)
                streams.write_output(option, path, text, "; what was measured is in the store")
    elif is_whole and not status and is_one:
        if not execution.excludes:
            raise ProbeError(analysis.trials[-1].detail)
        ends = {f"{each.cell.contender} {each.outcome}: {each.detail}" for each in analysis.trials}
        streams.say(f"no execution counts: {'; '.join(sorted(ends))}")
    if status == EXIT_INTERRUPTED:
        own = command_line_options(set(VsSettings.__dataclass_fields__) - _SHOWN | {"store"})
        streams.say(f"interrupted; `{with_store('vs', '--resume', run.id, *option_words(own))}` continues it")
    if any(trial.outcome not in (Outcome.OK, Outcome.INTERRUPTED) for trial in analysis.trials):
        status = status or (0 if execution.excludes and analysis.descriptions else EXIT_FAILED)
    return status or (gates.status(settings.fail_if, list(gates.judged(analysis))) if is_one else 0)


def _say_notes(
    settings: VsSettings, commands: Sequence[parsing.Command], points: Sequence[Point], factors: Iterable[str]
) -> None:
    """Report anything unusual about the commands. Raises UsageError if --fail-if can judge nothing."""
    for note in parsing.notes(commands, points):
        streams.say(note)
    # A parameter in no command is allowed, as in hyperfine, but is more often a typing error.
    reference = filter(None, (settings.reference, settings.reference_name))
    everything = "\n".join(chain(settings.texts, settings.names, reference, *settings.hooks.values()))
    for name in factors:
        if f"{{{name}}}" not in everything:
            streams.say(f"{{{name}}} is in no command: all levels do the same")
    if settings.fail_if and len(commands) == len(points) == 1:
        raise UsageError("--fail-if compares with the first command or level: name two commands, or use -L")


def _suite(settings: VsSettings, runs: Sequence[Run], storage: Store) -> SuiteSelection | None:
    """The suite of several sessions, after the `runs` of earlier ones."""
    if settings.sessions == 1:
        return None
    id = runs[0].suite["id"] if runs else free_suite_id(storage, f"{stamp()}-vs-x{settings.sessions}")
    return SuiteSelection("vs", sessions=settings.sessions, id=id)


@contextmanager
def _quota_watched() -> Iterator[None]:
    """Say where a quota stopped the processes of this machine meanwhile."""
    before = host.quota()
    yield
    quota = host.quota()
    if quota and (stops := quota.stopped - (before.stopped if before else 0)) > 0:
        streams.say(
            f"a CPU quota of {quota.cpus:.3g} CPUs stopped processes {count(stops, 'time')} during the run: "
            "wall times include that; run it without a quota, or with a larger one"
        )


def _measure(loop: BlockLoop, trials: CommandTrials, progress: LiveProgress) -> tuple[int, bool]:
    """Carry out all trials with the machine's lock held: the exit status, and whether ratios are possible."""
    status, is_whole = 0, True
    try:
        with progress:
            loop.conduct()
    except command_trials.CommandFailedError as error:
        what = "is compared" if len(loop.experiment.contenders) > 1 else "is shown"
        streams.say(f"{error}; nothing {what}")
        status, is_whole = EXIT_FAILED, False
    except KeyboardInterrupt:
        # The figures measured until then are shown.
        status = EXIT_INTERRUPTED
    finally:
        try:
            trials.clean_up()
        except RingsideError as error:
            streams.say(str(error))
            status = status or EXIT_FAILED
    return status, is_whole


def _factors(settings: VsSettings) -> dict[str, tuple[Level, ...]]:
    """The levels of each parameter. Raises UsageError."""
    factors: dict[str, tuple[Level, ...]] = {}
    for name, least, most in settings.scans:
        parsing.check_parameter(name, factors)
        factors[name] = parsing.scanned_levels(least, most, settings.step)
    for name, values in settings.lists:
        parsing.check_parameter(name, factors)
        factors[name] = parsing.listed_levels(values)
    return factors


def _commands(
    settings: VsSettings, points: Sequence[Point], revisions: Sequence[Revision]
) -> tuple[parsing.Command, ...]:
    """The commands with what surrounds them, the reference first. Raises UsageError."""
    texts, names = list(settings.texts), list(settings.names)
    if revisions:
        texts *= len(revisions)
        names += [revision.name for revision in revisions[len(names) :]]
    if len(names) > len(texts):
        named = f"{count(len(names), 'name')} for {count(len(texts), 'command')}"
        raise UsageError(f"{named}: at most one -n for each")
    if settings.reference is not None:
        # The other commands keep their letters.
        names += string.ascii_uppercase[len(names) : len(texts)]
        texts.insert(0, settings.reference)
        names.insert(0, settings.reference_name or "reference")
    return parsing.parse_commands(
        texts,
        names,
        settings.hooks,
        parsing.split_shell(settings.shell) if settings.shell else None,
        points=points,
        outputs=[INHERIT] if settings.show_output else [check_output(each) for each in settings.output],
        is_literal=settings.no_shell or settings.shell == "none",
        revisions=revisions,
    )


def _execution(settings: VsSettings, stdin: Path | None) -> ExecutionOptions:
    """How each command is executed. Raises UsageError."""
    folder = Path.cwd()
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the working folder {one_line(str(folder))} is not UTF-8: rename it") from error
    environment, left_out = host.environment()
    environment.pop(PADDING, None)
    for name in left_out:
        streams.say(f"the variable {one_line(name, 60)} is not UTF-8: the commands do not get it")
    usable = os.sched_getaffinity(0)
    if missing := [str(cpu) for cpu in settings.cpus if cpu not in usable]:
        here = ", ".join(map(str, sorted(usable)))
        raise UsageError(f"--cpus: {listed(missing)} cannot be used here; usable: {here}")
    return ExecutionOptions(
        folder=folder,
        environment=environment,
        warmups=settings.warmup,
        timeout_s=settings.timeout_s,
        input=stdin,
        cpus=settings.cpus,
        ignored=_ignored(settings.ignore_failure),
        excludes=settings.ignore_failure == "exclude",
        counters=settings.counters or settings.judged in command_trials.COUNTED,
        judged=settings.judged,
        patterns=[pattern(text) for text in settings.patterns],
    )


def _ignored(text: str | None) -> frozenset[int] | Literal["all"]:
    if text in (None, "exclude", "all-non-zero", ""):
        return "all" if text in ("all-non-zero", "") else frozenset()
    try:
        statuses = frozenset(map(whole, text.split(",")))
    except ValueError:
        statuses = frozenset({-1})
    if not all(0 <= status <= 255 for status in statuses):
        raise UsageError(f"--ignore-failure={text}: write exit statuses as 1 or 1,2, `exclude`, or no value")
    return statuses


def _rule(settings: VsSettings, *, is_alone: bool, points: int) -> StoppingRule:
    """Until decided, or the end of blocks or time [30 s]. A command alone has no goal and its own time."""
    until, blocks, min_runs, time_s = settings.until, settings.blocks, settings.min_runs, settings.time_s
    if settings.runs is not None:
        return StoppingRule(max_blocks=settings.runs, time_s=time_s, min_timed_blocks=_TIMED_BLOCKS)
    if min_runs and blocks and min_runs > blocks:
        raise UsageError(f"--min-runs {min_runs} is more than --max-runs {blocks}")
    if until == "end" and not (blocks or time_s):
        raise UsageError("--until end: say which end, with --blocks or --time")
    # For a command alone, blocks are an upper limit, so that --max-runs means the same as in hyperfine.
    least = _ALONE_BLOCKS if is_alone else FIRST_LOOK
    least = least if time_s is None else _TIMED_BLOCKS
    if time_s is None and until != "end" and (is_alone or not blocks):
        time_s = _ALONE_S * points if is_alone else _TIME_S
    return StoppingRule(
        max_blocks=blocks or _MAX_BLOCKS,
        decided=until in (None, "decided") and not is_alone,
        min_blocks=min_runs or 1,
        time_s=time_s,
        min_timed_blocks=min_runs or least if is_alone else max(least, min_runs or 1),
    )


def _show(analysis: RunAnalysis, settings: VsSettings, rule: StoppingRule) -> None:
    """Write verdicts and figures to stdout, unless an export goes there: a pipe then gets only the export."""
    if settings.style == "none" or Path("-") in settings.exports.values():
        return
    run = analysis.run
    how = count(analysis.blocks_done, "block")
    if len(analysis.cells) > 1:
        how += f" in random order, seed {run.seed}" if settings.order == "random" else " in the order given"
    how += f"; run {run.id}" + "; one build, one boot" * (len(analysis.cells) > 1)
    if settings.form == "json":
        facts = {
            "seed": run.seed,
            "blocks": settings.runs or settings.blocks,
            "until": "end" if settings.runs else settings.until or "decided",
            "margin": analysis.experiment.margin,
            "time_s": rule.time_s,
            "warmups": settings.warmup,
            "cpus": list(settings.cpus),
            "order": settings.order,
            "host": dict(run.host),
        }
        sys.stdout.write(documents.as_json(documents.vs_document(analysis, facts)))
    elif settings.form == "markdown":
        sys.stdout.write(paired.as_markdown(analysis, how, settings.sort))
    else:
        console = context.stdout_console(colours=_COLOURS.get(settings.style))
        everything = settings.everything or settings.counters
        paired.show(analysis, how, console, settings.sort, everything=everything)
