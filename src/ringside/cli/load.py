"""Carries out `ringside load` with its options: one load, or two targets in turn."""

import dataclasses
import json
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from ringside.analysis.run import analysis_of
from ringside.cli import EXIT_FAILED, EXIT_INTERRUPTED, context, gates, streams
from ringside.cli.options import command_line_options
from ringside.cli.progress import LiveProgress
from ringside.errors import ProbeError, RingsideError, UsageError
from ringside.load import document, summary, thresholds, versus
from ringside.load import plan as load_plan
from ringside.load import result as results
from ringside.load import target as targets
from ringside.load.live import Screen, Watch
from ringside.load.options import LoadSettings
from ringside.load.result import LoadResult
from ringside.load.target import Target
from ringside.measure.host import alone
from ringside.probe.process import Probe, find_probe, program_for
from ringside.probe.protocol import EngineMessage, EngineWarning, LatencySummary, LoadPlan, LoadRequest
from ringside.render.text import paired
from ringside.text import one_line
from ringside.units import TimeUnit

_BLOCKS = 10
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_NAME_IT = "name the address in the target to be sure which one is measured"
_LOOPBACK = re.compile(r"localhost|127\.|::1")
# Options that are not kept with a run: the plan has the targets, and how a run is shown changes nothing.
_SHOWN = {"form", "store", "other_target", "quiet"}
_SECRET = re.compile(r"([^:]*(?:auth|cookie|token|secret|key|password)[^:]*:).*", re.I | re.S)


def load(**options: Any) -> int:
    """Carry out the command; the exit status."""
    settings = LoadSettings(**options)
    parsed = targets.parse_several(settings.targets)
    other = targets.parse(settings.other_target) if settings.other_target else None
    load_plan.check(settings, parsed[0], other)
    seed = secrets.randbelow(2**32) if settings.seed is None else settings.seed
    plan = load_plan.plan(settings, parsed, seed)
    warm_up = load_plan.warm_up(plan, settings.warmup_s) if settings.warmup_s else None
    proxies = [name for name in os.environ if name.lower() in _PROXIES and os.environ[name]]
    if proxies and not (settings.unix or settings.proxy or _LOOPBACK.match(parsed[0].host)):
        streams.say(f"{', '.join(proxies)}: not used; without --proxy the load goes to the target itself")
    log = settings.log_file
    if log and (str(log) == "-" or log.is_fifo()):
        raise UsageError(f"--log {one_line(str(log))} is no file: name one, without a reader that waits")
    streams.check_outputs(settings.files, [f"--{settings.form}"] if settings.form else [])
    wait_s = None if settings.unix else settings.wait_ready_s
    for each in filter(None, (parsed[0], other)):
        if wait_s is not None and not targets.wait(_dialed(settings, each), wait_s):
            name = f"the proxy {settings.proxy[0]}" if settings.proxy else one_line(each.text)
            streams.say(f"{name} accepted no connection within {wait_s:g} s (--wait-ready): start it first")
            return EXIT_FAILED
    try:
        if other:
            plans = {"A": plan, "B": load_plan.plan(settings, [other], seed)}
            return _compare(settings, {"A": parsed[0], "B": other}, plans, seed)
        if settings.store:
            return _compare(settings, {"A": parsed[0]}, {"A": plan}, seed)
        # Runs wait until a load from this machine ends. A load does not wait: users may want several at once.
        warning = "another ringside is measuring on this machine: the figures of both may suffer"
        with nullcontext() if settings.cluster else alone(partial(streams.say, warning), waits=False):
            return _load(settings, parsed, plan, warm_up)
    except ProbeError as error:
        raise _refusal(error, settings) from None


def _refusal(error: ProbeError, settings: LoadSettings) -> RingsideError:
    """The engine's refusal as an error: about an option, if the engine names one."""
    _, refused, why = str(error).partition("ringside-probe: load: ")
    if not refused:
        return error
    _, pattern, wrong = why.partition("expect: matches: ")
    if pattern:
        return UsageError(one_line(f"--expect-pattern {wrong}: write a regular expression"))
    key, _, rest = why.partition(": ")
    text = f"--{key.removesuffix('_s')}: {rest}" if hasattr(settings, key) else f"no load is possible: {why}"
    return UsageError(one_line(text))


@contextmanager
def _driver(settings: LoadSettings, addresses: Sequence[str], *plans: LoadPlan) -> Iterator[Any]:
    """The driver of these loads at these addresses: a probe here, or engines on the nodes of a cluster."""
    if settings.cluster is None:
        yield Probe(find_probe(program_for(*plans)))
        return
    with context.cluster().engines(settings.cluster, settings.engines, addresses, streams.say) as engines:
        yield engines


def _screen(settings: LoadSettings) -> Screen:
    """Draws a load while it runs, but those of engines elsewhere, which report at the end."""
    wanted, says = settings.form is None and not settings.quiet, not settings.quiet
    return Screen(context.stderr_console(), wanted=wanted, says=says, reports=not settings.cluster)


def _load(settings: LoadSettings, parsed: Sequence[Target], plan: LoadPlan, warm_up: LoadPlan | None) -> int:
    """Carry out and show a load; the exit status."""
    target = dataclasses.replace(parsed[0], text=" + ".join(each.text for each in parsed))
    plan, result, is_interrupted = _measure(settings, target, plan, warm_up)
    if result.is_refused:
        what = "proxy" if settings.proxy else "server"
        remedy = f"; start the {what}, name its port, or wait for it with --wait-ready 10s"
        streams.say(one_line(result.figures.detail) + remedy * ("connect-refused" in result.figures.errors))
    is_aborted = result.figures.outcome == "aborted"
    checks = [thresholds.check(each, result) for each in settings.thresholds if not isinstance(each, tuple)]
    if not is_aborted:  # A load may end before its first second, or become so in its last.
        checks += thresholds.crossed(settings.aborts, result)
    highest = thresholds.highest_rates((check.threshold for check in checks), result)
    several = tuple(parsed) if len(parsed) > 1 else ()
    result = dataclasses.replace(result, several=several, highest={**highest, **result.highest})
    unit = settings.time_unit
    with streams.output():
        if settings.form == "json":
            print(json.dumps(document.as_document(target, plan, result, checks), indent=2))
        elif settings.form == "csv":
            sys.stdout.write(document.as_csv(target, result, unit))
        elif not result.is_refused and Path("-") not in settings.files.values():
            # A load without a server that is trusted has a line on stderr alone.
            summary.show(target, plan, result, context.stdout_console(), unit)
    for check in checks:
        streams.say(check.sentence())
    for each in settings.aborts:
        if not is_aborted and thresholds.check(each, result).is_thin:
            streams.say(f"--abort-if '{one_line(each.text)}' was not judged: {thresholds.TOO_FEW}")
    if is_aborted and settings.form:
        streams.say(f"aborted: {result.figures.detail}")
    # Files last: if the disk is full, the result has been printed.
    for option, path in settings.files.items():
        words = "is written"
        if option == "--log":
            words = summary.log_words(result.figures.log)
        else:
            streams.write_output(option, path, _text(option, target, plan, result, unit))
        if str(path) != "-":
            streams.say(f"{one_line(str(path))} {words}")
    if is_interrupted:
        return EXIT_INTERRUPTED
    is_good = result.is_answered and not result.ceased and result.figures.outcome == "ok"
    has_no_rate = settings.found and result.highest[settings.found] is None
    lacks = has_no_rate or (result.figures.log and result.figures.log.failed)
    return 0 if is_good and not lacks and not any(check.is_crossed for check in checks) else EXIT_FAILED


def _measure(
    settings: LoadSettings, target: Target, plan: LoadPlan, warm_up: LoadPlan | None
) -> tuple[LoadPlan, LoadResult, bool]:
    """Warm up and carry out a load: the plan (of a search: its last), the result, whether interrupted."""
    addresses, silent = ([], []) if plan.unix else _addresses(settings, _dialed(settings, target))
    with _driver(settings, addresses, plan) as driver, _screen(settings) as screen:
        progress_s = screen.progress_s(plan)
        watch = Watch(settings.aborts, driver.interrupt, screen.receive)

        def carry_out(
            plan: LoadPlan, receive: Callable[[EngineMessage], None] = screen.receive
        ) -> LoadResult:
            screen.begin(target.text, plan)
            request = LoadRequest(replace(plan, addresses=tuple(addresses), progress_s=progress_s))
            return results.from_messages(driver.load(request, receive), plan)

        if warm_up:
            carry_out(warm_up)
        if settings.found:
            plan, result = thresholds.find_rate(settings.found, plan, carry_out)
        else:
            result = carry_out(plan, watch.receive)
        text = "{} is another address of the target and does not answer: no load was sent to it"
        left_out = [EngineWarning("address-left-out", text.format(each), _NAME_IT) for each in silent]
        figures = replace(result.figures, warnings=(*result.figures.warnings, *left_out))
        if watch.reason:
            figures = replace(figures, outcome="aborted", detail=watch.reason)
        result = dataclasses.replace(
            result,
            figures=figures,
            warmup_s=settings.warmup_s,
            intervals=tuple(watch.intervals),
            engines=driver.parts,
            started_within_s=driver.started_within_s,
        )
        is_interrupted = not watch.reason and (result.figures.outcome == "interrupted" or driver.interrupted)
    return plan, result, is_interrupted


def _dialed(settings: LoadSettings, target: Target) -> Target:
    """The address to connect to for a target: a proxy, or another host, if the user names one."""
    address = settings.proxy[0] if settings.proxy else settings.connect_to
    if address is None:
        return target
    there = targets.parse(f"http://{address}/")
    port = urlsplit(f"//{address}").port or target.port
    return dataclasses.replace(target, host=there.host, port=port)


def _addresses(settings: LoadSettings, target: Target) -> tuple[list[str], list[str]]:
    """The target's addresses: those to be loaded, and those that do not answer."""
    # Other machines have addresses of their own.
    sources = () if settings.cluster else settings.sources
    answering, silent = targets.answering(targets.resolve(target, sources))
    for address in silent:
        streams.say(f"{address} does not answer and is left out")
    return answering, silent


def _text(option: str, target: Target, plan: LoadPlan, result: LoadResult, unit: TimeUnit) -> str:
    """The content of an option's file."""
    if option == "--seconds":
        return document.course_csv(result)
    if option == "--report":
        # Pages need packages that take longer to start than a load.
        from ringside.load import report

        return report.page(target, plan, result, unit)
    name = result.main_histogram
    latency = result.figures.latency(name) or LatencySummary()
    return results.hdr_text(result.counts.get(name, ()), latency.mean_ns, latency.stdev_ns)


def _check_blocks(settings: LoadSettings, plan: LoadPlan, blocks: int) -> None:
    """Raises UsageError if --abort-if cannot be judged in a block; says how requests are shared."""
    part = versus.part(plan, blocks, 0)
    if settings.aborts and part.duration_s and part.duration_s <= 1:
        raise UsageError(
            f"--abort-if is judged each second, and each run lasts {part.duration_s:g} s: "
            "give a longer --duration, or fewer --blocks"
        )
    asked, each = plan.requests or 0, part.requests or 0
    if asked != each * blocks:
        streams.say(f"{asked:,} requests in {blocks} blocks: {each:,} each, {each * blocks:,} in all")


def _compare(
    settings: LoadSettings, targets: Mapping[str, Target], plans: Mapping[str, LoadPlan], seed: int
) -> int:
    """Compare the targets A and B, or measure A in blocks; store and show it. The exit status."""
    addresses = {name: tuple(_addresses(settings, each)[0]) for name, each in targets.items()}
    blocks = settings.blocks or _BLOCKS
    _check_blocks(settings, plans["A"], blocks)
    storage = context.open_store(settings.store, anywhere=True)
    interrupted = False
    with (
        _driver(settings, sum(addresses.values(), ()), *plans.values()) as driver,
        alone(LiveProgress(context.stderr_console()).on_wait),
        _screen(settings) as screen,
    ):
        engines = {} if isinstance(driver, Probe) else driver.facts()
        progress_s = screen.progress_s(versus.part(plans["A"], blocks, 0))
        plans = {
            name: replace(plan, addresses=addresses[name], progress_s=progress_s)
            for name, plan in plans.items()
        }
        options = command_line_options(_SHOWN)
        if headers := options.get("--header"):
            # Ringside does not keep secrets.
            options["--header"] = tuple(_SECRET.sub(r"\1 …", str(header)) for header in headers)
        # Begun only now: Ctrl-C while waiting for the machine leaves no empty run behind.
        run = versus.begin(targets, plans["A"], blocks, settings.margin, seed, storage, engines, options)
        watch = Watch((), driver.interrupt, screen.receive)

        def notify(what: str, *about: Any) -> None:
            nonlocal watch
            if what == "load":
                block, name, plan = about
                watch = Watch(settings.aborts if block else (), driver.interrupt, screen.receive)
                turn = f"block {block} of {blocks}" if block else "warm-up"
                screen.begin(f"{turn}: {name} = {targets[name].text}", plan)
            elif what == "message":
                watch.receive(*about)

        try:
            versus.conduct(run, plans, storage, driver, notify)
        except KeyboardInterrupt:
            # The figures measured until then are shown.
            interrupted = True
    analysis = analysis_of(storage, storage.run(run.id))
    with streams.output():
        if settings.form == "json":
            print(json.dumps(versus.document(analysis, targets, plans["A"]), indent=2))
        else:
            paired.show(analysis, versus.how(analysis, targets, plans), context.stdout_console())
    if watch.reason:
        streams.say(f"aborted: {watch.reason}")
        return EXIT_FAILED
    if interrupted:
        streams.say("interrupted")
        return EXIT_INTERRUPTED
    given = [each for each in settings.thresholds if isinstance(each, tuple)]
    failed = gates.status(given, list(gates.judged(analysis)))
    return failed if analysis.is_complete else EXIT_FAILED
