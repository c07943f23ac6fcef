"""`ringside load`: the load engine by itself, at a server that is there already."""

from __future__ import annotations

import json
import os
import resource
import secrets
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringside.cli import params
from ringside.errors import UsageError
from ringside.model.design import DEFAULT_MARGIN
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.load.live import Screen
    from ringside.load.result import LoadResult
    from ringside.load.target import Target
    from ringside.probe.protocol import EngineMessage, LoadPlan

EXIT_INTERRUPTED = 130
_BLOCKS = 10


@click.command()
@click.argument("target")
@click.option(
    "--connections", type=params.COUNT, metavar="N", help="Open at one time [default: 64; 100 streams]."
)
@click.option(
    "--rate",
    "rate_per_s",
    type=params.rate,
    metavar="N",
    help="Requests per second, whatever the server does (open loop).",
)
@click.option("--burst", type=params.COUNT, metavar="N", help="Requests per burst [default: 1].")
@click.option("--poisson", is_flag=True, help="Random instants at that rate.")
@click.option(
    "--staircase",
    "steps",
    type=params.staircase,
    metavar="RATE:TIME,…",
    help="One rate after another: 100:5s,200:5s.",
)
@click.option(
    "--duration",
    "duration_s",
    type=params.duration,
    metavar="10s",
    help="How long [default: 10s, unless --requests ends it].",
)
@click.option("--requests", type=click.IntRange(1, 10**15), metavar="N", help="End after N requests.")
@click.option(
    "--ramp",
    "ramp_per_s",
    type=params.rate,
    metavar="N/s",
    help="Connections opened per second [default: all at once].",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 256),
    metavar="N",
    default=1,
    show_default=True,
    help="Engine threads.",
)
@click.option("--cpus", type=params.cpus, metavar="LIST", help="CPUs for these threads, in turn: 0,2-3.")
@click.option("--io", type=click.Choice(["auto", "uring", "epoll"]), default="auto", show_default=True)
@click.option(
    "--timeout",
    "timeout_s",
    type=params.duration,
    metavar="5s",
    default="5s",
    show_default=True,
    help="For a connect, a reply, a stream's silence.",
)
@click.option("--method", type=params.method, metavar="NAME", help="[default: GET; POST with --body]")
@click.option(
    "--header", "headers", type=params.header, multiple=True, metavar="'NAME: VALUE'", help="May be repeated."
)
@click.option("--body", type=params.body, metavar="TEXT|@FILE", help="What each request carries.")
@click.option("--close", is_flag=True, help="A connection for each request.")
@click.option("--line", metavar="TEXT", help="What a tcp target is sent [default: 1].")
@click.option("--expect-status", type=click.IntRange(200, 599), metavar="N", help="[default: any 2xx or 3xx]")
@click.option("--expect-body", metavar="TEXT", help="What body or line must be.")
@click.option("--expect-contains", metavar="TEXT", help="What body or line must contain.")
@click.option("--expect-pattern", metavar="REGEX", help="What body or line as a whole must match.")
@click.option(
    "--framing", type=click.Choice(["chunk", "line"]), help="What a stream's message is [default: chunk]."
)
@click.option("--first", metavar="TEXT", help="A stream's first message: 'Welcome: {id}'.")
@click.option("--chunk", metavar="TEXT", help="Its other messages, from k = 1: 'Chunk {k} for {id}'.")
@click.option(
    "--interval",
    "interval_s",
    type=params.duration,
    metavar="1s",
    help="Time from one message of a stream to the next.",
)
@click.option("--due-field", metavar="TEXT", help="Text before the nanoseconds at which a message is due.")
@click.option(
    "--vs", "other_target", metavar="TARGET2", help="Compare two targets in alternating short runs."
)
@click.option(
    "--blocks", type=click.IntRange(1, 1000), metavar="N", help="With --vs: pairs of runs [default: 10]."
)
@click.option("--margin", type=params.margin, metavar="5%", help="With --vs: equivalent below it.")
@click.option("--seed", type=params.SEED, metavar="N", help="Seed of --poisson, and of the order of --vs.")
@click.option("--hdr", "hdr_file", type=params.FILE, help="Write percentiles as HdrHistogram does.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
@params.store_option
@click.pass_context
def load(
    context: click.Context,
    *,
    target: str,
    connections: int | None,
    rate_per_s: float | None,
    burst: int | None,
    poisson: bool,
    steps: tuple[tuple[float, float], ...] | None,
    duration_s: float | None,
    requests: int | None,
    ramp_per_s: float | None,
    threads: int,
    cpus: tuple[int, ...] | None,
    io: str,
    timeout_s: float,
    method: str | None,
    headers: tuple[tuple[str, str], ...],
    body: bytes | None,
    close: bool,
    line: str | None,
    expect_status: int | None,
    expect_body: str | None,
    expect_contains: str | None,
    expect_pattern: str | None,
    framing: str | None,
    first: str | None,
    chunk: str | None,
    interval_s: float | None,
    due_field: str | None,
    other_target: str | None,
    blocks: int | None,
    margin: float | None,
    seed: int | None,
    hdr_file: Path | None,
    as_json: bool,
    store: str | None,
) -> int:
    """Drive load at TARGET and show what its users would see.

    TARGET is http://…, stream+http://… (held-open responses) or tcp://host:port (lines).
    Without --rate each connection sends its next request when the reply has come (closed loop). Exit status
    1 where nothing was answered as expected.
    """
    from ringside.load import options
    from ringside.load import target as targets

    parsed = targets.parse(target)
    options.check_protocol(parsed.protocol, _options_in_use(context))
    if seed is not None and not poisson and not other_target:
        raise UsageError("--seed is for --poisson or --vs: leave it out")
    for name, value in (("--blocks", blocks), ("--margin", margin)):
        if value is not None and not other_target:
            raise UsageError(f"{name} is for --vs: leave it out")
    if hdr_file and other_target:
        raise UsageError("--hdr is for one target: leave out --vs")
    seed = secrets.randbelow(2**32) if seed is None else seed
    plan_for = partial(
        options.load_plan,
        connections=connections,
        threads=threads,
        cpus=cpus or (),
        io=io,
        pacing=options.pacing(
            rate_per_s=rate_per_s, burst=burst, poisson=poisson, steps=steps or (), seed=seed
        ),
        duration_s=duration_s,
        requests=requests,
        ramp_per_s=ramp_per_s,
        timeout_s=timeout_s,
        method=method,
        headers=headers,
        body=body,
        close=close,
        line=line,
        expect=options.expected_reply(
            status=expect_status, body=expect_body, contains=expect_contains, pattern=expect_pattern
        ),
        stream=options.stream_messages(
            framing=framing, first=first, chunk=chunk, interval_s=interval_s, due_field=due_field
        ),
    )
    plan = plan_for(parsed)
    _, hard_descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
    options.check_machine(plan, sorted(os.sched_getaffinity(0)), hard_descriptors)
    if hdr_file:
        _check_writable(hdr_file)
    if other_target is None:
        return _load(parsed, plan, as_json=as_json, hdr_file=hdr_file)
    other = targets.parse(other_target)
    return _compare(
        {"A": parsed, "B": other},
        {"A": plan, "B": plan_for(other)},
        blocks or _BLOCKS,
        DEFAULT_MARGIN if margin is None else margin,
        seed,
        as_json=as_json,
        store=store,
    )


def _options_in_use(context: click.Context) -> list[str]:
    """The options on the command line, as `--rate`."""
    return [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]


def _load(target: Target, plan: LoadPlan, *, as_json: bool, hdr_file: Path | None) -> int:
    from ringside.cli import context
    from ringside.load import document, result, summary
    from ringside.load.live import Screen, progress_interval_s
    from ringside.load.versus import with_addresses
    from ringside.probe.process import Probe
    from ringside.probe.protocol import EngineWarning, LoadRequest

    addresses, silent = _addresses(target)
    probe = Probe()
    with Screen(context.talk(), wanted=not as_json) as screen:
        progress_s = progress_interval_s(plan) if screen.is_shown else None
        screen.begin(target.text, plan)
        request = LoadRequest(with_addresses(plan, addresses, progress_s))
        load_result = result.from_messages(probe.load(request, screen.receive))
    load_result = load_result.with_warnings(
        EngineWarning(
            "address-left-out",
            f"{address} is an address of the target too, and nobody answers there: it got no load",
            "name the address in the target to be sure which one is measured",
        )
        for address in silent
    )
    if hdr_file:  # first: the reader of stdout may go away
        _write_hdr(hdr_file, load_result)
    if as_json:
        _print_json(document.as_document(target, plan, load_result))
    else:
        summary.show(target, plan, load_result, context.out())
    if load_result.figures.outcome == "interrupted" or probe.interrupted:
        return EXIT_INTERRUPTED
    return 0 if load_result.is_answered and load_result.figures.outcome == "ok" else 1


def _compare(
    targets: Mapping[str, Target],
    plans: Mapping[str, LoadPlan],
    blocks: int,
    margin: float,
    seed: int,
    *,
    as_json: bool,
    store: str | None,
) -> int:
    from ringside.cli import context
    from ringside.load import summary, versus
    from ringside.load.live import Screen, progress_interval_s
    from ringside.probe.process import Probe
    from ringside.render import paired
    from ringside.store.plans import read_plan
    from ringside.units import count

    plan = plans["A"]
    versus.check(targets, plan)
    addresses = {name: _addresses(target)[0] for name, target in targets.items()}
    probe = Probe()
    storage = context.open_store(store, anywhere=True)
    run = versus.begin(targets, plan, blocks, margin, seed, storage)
    experiment = read_plan(run).experiment
    interrupted = False
    with Screen(context.talk(), wanted=not as_json) as screen:
        progress_s = progress_interval_s(versus.part(plan, blocks, 0)) if screen.is_shown else None
        whole = {name: versus.with_addresses(plans[name], addresses[name], progress_s) for name in targets}
        observer = _Turns(screen, targets, blocks)
        try:
            versus.conduct(run, experiment, whole, storage, probe, observer)
        except KeyboardInterrupt:
            # What was measured until then is shown.
            interrupted = True
    analysis = context.analysis(storage, storage.run(run.id))
    first_part = versus.part(plan, blocks, 0)
    if as_json:
        facts = {"blocks": blocks, "margin": margin, "seed": seed, "duration_s": first_part.duration_s}
        _print_json(paired.load_document(analysis, facts, versus.documents(analysis, targets, plan)))
    else:
        done = analysis.blocks_done
        how = count(blocks, "block") if done == blocks else f"{done} of {blocks} blocks"
        how += f" in random order, seed {seed}; run {run.id}"
        if loads := versus.results(analysis, plan):
            how = f"{summary.how(targets['A'], first_part, loads[0][1])} each; {how}"
        paired.show(analysis, how, context.out())
    if interrupted:
        print("ringside: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    return 0 if analysis.is_complete else 1


class _Turns:
    """Shows each load of a comparison on the screen."""

    def __init__(self, screen: Screen, targets: Mapping[str, Target], blocks: int) -> None:
        self._screen = screen
        self._targets = targets
        self._blocks = blocks

    def on_load(self, block: int, target: str, plan: LoadPlan) -> None:
        turn = f"block {block} of {self._blocks}" if block else "warm-up"
        self._screen.begin(f"{turn}: {target} = {self._targets[target].text}", plan)

    def on_message(self, message: EngineMessage) -> None:
        self._screen.receive(message)


def _addresses(target: Target) -> tuple[list[str], list[str]]:
    """The target's addresses: those to be loaded, and those that do not answer."""
    from ringside.load import target as targets

    answering, silent = targets.answering(targets.resolve(target))
    for address in silent:
        print(f"ringside: {address} does not answer and is left out", file=sys.stderr)
    return answering, silent


def _print_json(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _check_writable(path: Path) -> None:
    """A load of minutes should not end in a file that cannot be written."""
    folder = path.parent
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(
            f"--hdr {one_line(str(path))} cannot be written: name a file in a folder that exists"
        )


def _write_hdr(path: Path, result: LoadResult) -> None:
    from ringside.load import hdr

    name = result.main_histogram
    summary = result.figures.latency(name)
    text = hdr.text(
        result.counts.get(name, ()), summary.mean_ns if summary else 0, summary.stdev_ns if summary else 0
    )
    try:
        path.write_text(text, encoding="ascii")
    except OSError as error:
        raise UsageError(f"--hdr {one_line(str(path))} cannot be written: {error.strerror}") from error
    print(f"{one_line(str(path))}: percentiles of {name} for a plotter of HdrHistogram", file=sys.stderr)
