"""`ringside load`: the load engine by itself, at a server that is there already."""

from __future__ import annotations

import json
import os
import resource
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ringside.cli import EXIT_FAILED, EXIT_INTERRUPTED, streams
from ringside.cli.load_options import LoadArguments, load_options
from ringside.cli.sections import Command
from ringside.errors import ProbeError, UsageError
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.load.result import LoadResult
    from ringside.load.target import Target
    from ringside.probe.protocol import LoadPlan


@click.command(cls=Command)
@click.argument("targets", metavar="TARGET…", nargs=-1, required=True)
@load_options
@click.pass_context
def load(context: click.Context, /, **values: Any) -> int:
    """Drive load at TARGET and show what its users would see.

    TARGET is http://…, https://…, h2://… and h2s://… (HTTP/2, the second inside TLS), ws://…, wss://… (each
    message must come back), tcp://host:port (lines), or one of the first six after stream+ (held open). Exit
    status 1 if nothing was answered as expected.
    """
    from ringside.load import target as targets

    arguments = LoadArguments(**values)
    parsed, weights = targets.parse_several(arguments.targets, arguments.weights or ())
    other = targets.parse(arguments.other_target) if arguments.other_target else None
    _check(context, arguments, parsed, other)
    seed = secrets.randbelow(2**32) if arguments.seed is None else arguments.seed
    plan = _plan(arguments, parsed, weights, seed)
    if arguments.hdr_file:
        _check_writable(arguments.hdr_file)
    for each in (parsed[0], other) if other else (parsed[0],):
        if not _is_ready(each, arguments.wait_ready_s):
            return EXIT_FAILED
    with _pattern_refused():
        return _carry_out(arguments, parsed, weights, other, plan, seed)


@contextmanager
def _pattern_refused() -> Iterator[None]:
    """The probe alone knows its patterns; its refusal of one is a wrong use of the option."""
    try:
        yield
    except ProbeError as error:
        _, refused, why = str(error).partition("expect: matches: ")
        if not refused:
            raise
        raise UsageError(f"--expect-pattern {one_line(why)}: write a regular expression") from error


def _carry_out(
    arguments: LoadArguments,
    parsed: Sequence[Target],
    weights: Sequence[int],
    other: Target | None,
    plan: LoadPlan,
    seed: int,
) -> int:
    """The load, or the comparison with another target. The exit status."""
    if other is None:
        return _load(arguments, list(zip(parsed, weights, strict=True)), plan)
    from ringside.cli import load_versus
    from ringside.load import versus

    compared = {"A": parsed[0], "B": other}
    plans = {"A": plan, "B": _plan(arguments, [other], [1], seed)}
    versus.check(compared, plan)
    addresses = {name: _addresses(each)[0] for name, each in compared.items()}
    return load_versus.compare(compared, addresses, plans, seed, arguments)


def _check(
    context: click.Context, arguments: LoadArguments, targets: Sequence[Target], other: Target | None
) -> None:
    """Raise UsageError where options exclude each other."""
    from ringside.load import options

    both = [each for each in (targets[0], other) if each]
    options.check_target(
        targets[0],
        _options_in_use(context),
        is_secure=any(each.is_secure for each in both),
        is_http2=arguments.is_http2 or any(each.carrier == "http2" for each in both),
    )
    if not arguments.other_target:
        for name, value in (("--blocks", arguments.blocks), ("--margin", arguments.margin)):
            if value is not None:
                raise UsageError(f"{name} is for --vs: leave it out")
    elif len(targets) > 1:
        raise UsageError("--vs compares two targets: name one before it")
    else:
        one_only = {
            "--hdr": arguments.hdr_file,
            "--fail-if": arguments.thresholds,
            "--csv": arguments.form == "csv",
            "--time-unit": arguments.time_unit,
        }
        for name, is_used in one_only.items():
            if is_used:
                raise UsageError(f"{name} is for one load: leave out --vs")
    if arguments.time_unit and arguments.form == "json":
        raise UsageError("--time-unit is for the table and --csv: keys of --json name their units")
    if arguments.cluster is None and arguments.engines is not None:
        raise UsageError("--engines is for --from: name the cluster, or leave it out")
    if arguments.cluster is not None and arguments.due_field:
        raise UsageError(
            "--due-field compares the server's clock with the engine's, which --from puts on other machines: "
            "give --interval instead"
        )
    if arguments.is_literal and arguments.values_file:
        raise UsageError("--literal sends braces as they stand: leave out --values")


def _options_in_use(context: click.Context) -> list[str]:
    """The options on the command line by their long names, as `--rate`."""
    return [
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name
        and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
    ]


def _plan(arguments: LoadArguments, targets: Sequence[Target], weights: Sequence[int], seed: int) -> LoadPlan:
    """The plan for targets with their weights, addresses apart. Raises UsageError."""
    from ringside.load import options, templates

    plan = options.load_plan(
        targets[0],
        others=targets[1:],
        weights=weights,
        values=templates.read_values(arguments.values_file) if arguments.values_file else None,
        seed=seed,
        is_literal=arguments.is_literal,
        is_http2=arguments.is_http2,
        streams=arguments.streams,
        cacert=arguments.cacert,
        insecure=arguments.insecure,
        follow_redirects=arguments.follow_redirects,
        connections=arguments.connections,
        threads=arguments.threads,
        cpus=arguments.cpus or (),
        io=arguments.io,
        pacing=options.pacing(
            rate_per_s=arguments.rate_per_s,
            burst=arguments.burst,
            poisson=arguments.poisson,
            steps=arguments.steps or (),
            seed=seed,
        ),
        tick_s=arguments.tick_s,
        duration_s=arguments.duration_s,
        requests=arguments.requests,
        ramp_per_s=arguments.ramp_per_s,
        timeout_s=arguments.timeout_s,
        method=arguments.method,
        headers=arguments.headers,
        body=arguments.body,
        close=arguments.close,
        line=arguments.line,
        expect=options.expected_reply(
            status=arguments.expect_status,
            body=arguments.expect_body,
            contains=arguments.expect_contains,
            pattern=arguments.expect_pattern,
        ),
        stream=options.stream_messages(
            framing=arguments.framing,
            first=arguments.first,
            chunk=arguments.chunk,
            interval_s=arguments.interval_s,
            due_field=arguments.due_field,
        ),
    )
    is_random = arguments.poisson or arguments.other_target or options.uses_random(plan)
    if arguments.seed is not None and not is_random:
        raise UsageError("--seed is for --poisson, {random:…} or --vs: leave it out")
    if arguments.cluster is None:  # other machines check themselves
        _, hard_descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
        options.check_machine(plan, sorted(os.sched_getaffinity(0)), hard_descriptors)
    return plan


def _is_ready(target: Target, wait_ready_s: float | None) -> bool:
    """Whether the target accepts connections, or nobody asked to wait for that."""
    from ringside.load import readiness

    if wait_ready_s is None or readiness.wait(target, wait_ready_s):
        return True
    streams.say(
        f"{one_line(target.text)} accepted no connection within {wait_ready_s:g} s (--wait-ready): "
        "start the server, or wait longer"
    )
    return False


def _load(arguments: LoadArguments, shares: Sequence[tuple[Target, int]], plan: LoadPlan) -> int:
    from ringside.cli import context, load_from
    from ringside.load import document, result, thresholds
    from ringside.load import target as targets
    from ringside.load.live import Screen, progress_interval_s
    from ringside.load.versus import with_addresses
    from ringside.probe.protocol import EngineWarning, LoadRequest

    target = targets.combined([each for each, _ in shares])
    addresses, silent = _addresses(target)
    with (
        load_from.driver(arguments, addresses) as driver,
        Screen(context.talk(), wanted=load_from.is_watched(arguments)) as screen,
    ):
        progress_s = progress_interval_s(plan) if screen.is_shown else None
        screen.begin(target.text, plan)
        request = LoadRequest(with_addresses(plan, addresses, progress_s))
        load_result = result.from_messages(driver.load(request, screen.receive))
        load_result = load_from.with_engines(load_result, driver)
    load_result = load_result.with_warnings(
        EngineWarning(
            "address-left-out",
            f"{address} is an address of the target too, and nobody answers there: it got no load",
            "name the address in the target to be sure which one is measured",
        )
        for address in silent
    )
    if arguments.hdr_file:
        _write_hdr(arguments.hdr_file, load_result)
    if load_result.is_refused:
        streams.say(
            f"{one_line(load_result.figures.detail)}; start the server, name its port, or wait for it with "
            "--wait-ready 10s"
        )
    if load_result.is_untrusted:
        streams.say(one_line(load_result.figures.detail))
    checks = [thresholds.check(threshold, load_result) for threshold in arguments.thresholds]
    several = shares if len(shares) > 1 else ()
    with streams.output():
        if arguments.form == "json":
            whole = document.as_document(target, plan, load_result, checks, several)
            print(json.dumps(whole, indent=2))
        else:
            _show(arguments, target, shares, plan, load_result)
    crossed = [check for check in checks if check.is_crossed]
    for check in crossed:
        streams.say(check.sentence())
    if load_result.figures.outcome == "interrupted" or driver.interrupted:
        return EXIT_INTERRUPTED
    is_good = load_result.is_answered and load_result.figures.outcome == "ok"
    return 0 if is_good and not crossed else EXIT_FAILED


def _show(
    arguments: LoadArguments,
    target: Target,
    shares: Sequence[tuple[Target, int]],
    plan: LoadPlan,
    result: LoadResult,
) -> None:
    """Print the load as text or CSV. One without a server that is trusted has a line on stderr alone."""
    from ringside.cli import context
    from ringside.load import rows, summary
    from ringside.load.time_units import MILLISECONDS, UNITS

    unit = UNITS[arguments.time_unit] if arguments.time_unit else MILLISECONDS
    if arguments.form == "csv":
        each, weights = zip(*shares, strict=True)
        sys.stdout.write(rows.as_csv(each, weights, result, unit))
    elif not (result.is_refused or result.is_untrusted):
        several = shares if len(shares) > 1 else ()
        summary.show(target, plan, result, context.out(), unit=unit, shares=several)


def _addresses(target: Target) -> tuple[list[str], list[str]]:
    """The target's addresses: those to be loaded, and those that do not answer."""
    from ringside.load import target as targets

    answering, silent = targets.answering(targets.resolve(target))
    for address in silent:
        streams.say(f"{address} does not answer and is left out")
    return answering, silent


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
    streams.say(f"{one_line(str(path))}: percentiles of {name} for a plotter of HdrHistogram")
