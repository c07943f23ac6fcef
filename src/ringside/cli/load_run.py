"""What `ringside load` does with its options: one load, or two targets in turn."""

from __future__ import annotations

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
from ringside.errors import ProbeError, UsageError
from ringside.load import document, summary, thresholds, versus
from ringside.load import plan as load_plan
from ringside.load import result as results
from ringside.load import target as targets
from ringside.load.live import Screen, Watch
from ringside.load.options import LoadSettings
from ringside.load.result import LoadResult
from ringside.load.search import find_rate
from ringside.load.target import Target
from ringside.measure.host import alone, memory_available_bytes
from ringside.model.design import DEFAULT_MARGIN
from ringside.probe.process import Probe, find_probe, program_for
from ringside.probe.protocol import EngineMessage, LoadPlan, LoadRequest
from ringside.render.export import documents
from ringside.render.text import paired
from ringside.render.text.cells import TableData
from ringside.store.plans import read_plan
from ringside.text import one_line
from ringside.units import MILLISECONDS, TIME_UNITS

_BLOCKS = 10
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_LOOPBACK = re.compile(r"localhost|127\.|::1")
# What the command for the same again leaves out: what is compared has a place of its own there, and how a run
# is shown changes nothing.
_SHOWN = {"as_json", "store", "other_target", "quiet"}
_SECRET = re.compile(r"([^:]*(?:auth|cookie|token|secret|key|password)[^:]*:).*", re.I | re.S)


def drive(settings: LoadSettings) -> int:
    """Carry out the command; the exit status."""
    parsed = targets.parse_several(settings.targets)
    other = targets.parse(settings.other_target) if settings.other_target else None
    load_plan.check(settings, parsed[0], other)
    seed = secrets.randbelow(2**32) if settings.seed is None else settings.seed
    plan = _plan(settings, parsed, seed)
    warm_up = load_plan.warm_up(plan, settings.warmup_s) if settings.warmup_s else None
    proxies = [name for name in os.environ if name.lower() in _PROXIES and os.environ[name]]
    if proxies and not (settings.unix or settings.proxy or _LOOPBACK.match(parsed[0].host)):
        streams.say(f"{', '.join(proxies)}: not used; without --proxy the load goes to the target itself")
    to_stdout = [f"--{settings.form}"] if settings.form else []
    to_stdout += [option for option, path in _files(settings).items() if str(path) == "-"]
    if len(to_stdout) > 1:
        raise UsageError(f"{to_stdout[0]} and {to_stdout[1]} would mix on stdout: write to files")
    # A load of minutes should not end in a file that cannot be written.
    owners: dict[Path, str] = {}
    for option, path in _files(settings).items():
        if (owner := owners.setdefault(path.resolve(), option)) != option and not path.is_char_device():
            raise UsageError(f"{owner} and {option} name the same file: give each its own")
        if option == "--log" and (str(path) == "-" or path.is_fifo()):
            raise UsageError(f"--log {one_line(str(path))} is no file: name one, without a reader that waits")
        with streams.writing(option, path):
            if str(path) != "-":
                streams.open_to_write(path)
    wait_s = None if settings.unix else settings.wait_ready_s
    for each in filter(None, (parsed[0], other)):
        if wait_s is not None and not targets.wait(_dialed(settings, each), wait_s):
            streams.say(
                f"{one_line(each.text)} accepted no connection within {wait_s:g} s "
                "(--wait-ready): start the server, or wait longer"
            )
            return EXIT_FAILED
    try:
        if other:
            plans = {"A": plan, "B": _plan(settings, [other], seed)}
            return _compare(settings, {"A": parsed[0], "B": other}, plans, seed)
        if settings.store:
            return _compare(settings, {"A": parsed[0]}, {"A": plan}, seed)
        # Runs wait for a load from this machine. It does not wait itself: several may be what is wanted.
        warning = "another ringside is measuring on this machine: the figures of both may suffer"
        with nullcontext() if settings.cluster else alone(partial(streams.say, warning), waits=False):
            return _load(settings, parsed, plan, warm_up)
    except ProbeError as error:
        # The engine knows its limits, and its patterns: its refusal is a wrong use of options.
        _, refused, why = str(error).partition("ringside-probe: load: ")
        if not refused:
            raise
        _, pattern, wrong = why.partition("expect: matches: ")
        key, _, rest = why.partition(": ")
        text = f"--{key.removesuffix('_s')}: {rest}" if hasattr(settings, key) else ""
        text = f"--expect-pattern {wrong}: write a regular expression" if pattern else text
        raise UsageError(one_line(text or f"no load is possible: {why}")) from error


def _plan(settings: LoadSettings, targets: Sequence[Target], seed: int) -> LoadPlan:
    """The plan for targets, addresses apart. Raises UsageError."""
    plan = load_plan.plan(settings, targets, seed)
    if settings.cluster is None:  # other machines check themselves
        load_plan.check_memory(plan, memory_available_bytes())
    return plan


@contextmanager
def _driver(settings: LoadSettings, addresses: Sequence[str], *plans: LoadPlan) -> Iterator[Any]:
    """What carries out these loads at these addresses: a probe here, or engines on the nodes of a cluster."""
    if settings.cluster is None:
        yield Probe(find_probe(program_for(*plans)))
        return
    with context.cluster().engines(settings.cluster, settings.engines, addresses, streams.say) as engines:
        yield engines


def _screen(settings: LoadSettings) -> Screen:
    """Draws a load while it runs, but those of engines elsewhere, which report at the end."""
    wanted = settings.form is None and settings.cluster is None and not settings.quiet
    console, says = context.stderr_console(), not settings.quiet
    return Screen(console, wanted=wanted, says=says, reports=not settings.cluster)


def _load(settings: LoadSettings, parsed: Sequence[Target], plan: LoadPlan, warm_up: LoadPlan | None) -> int:
    target = dataclasses.replace(parsed[0], text=" + ".join(each.text for each in parsed))
    addresses, silent = ([], []) if plan.unix else _addresses(_dialed(settings, target))
    with _driver(settings, addresses, plan) as driver, _screen(settings) as screen:
        progress_s = screen.progress_s(plan)
        watch, rate = Watch(settings.aborts, lambda: driver.interrupt(), screen.receive), None

        def carry_out(
            plan: LoadPlan, receive: Callable[[EngineMessage], None] = screen.receive
        ) -> LoadResult:
            screen.begin(target.text, plan)
            request = LoadRequest(replace(plan, addresses=tuple(addresses), progress_s=progress_s))
            return results.from_messages(driver.load(request, receive), plan)

        if warm_up:
            carry_out(warm_up)
        if settings.found:
            plan, result, rate = find_rate(settings.found, plan, carry_out)
        else:
            result = carry_out(plan, watch.receive)
        intervals = tuple(watch.intervals)
        result = dataclasses.replace(result, warmup_s=settings.warmup_s, intervals=intervals)
        if watch.reason:
            figures = replace(result.figures, outcome="aborted", detail=watch.reason)
            result = dataclasses.replace(result, figures=figures)
        if not isinstance(driver, Probe):
            within_s = driver.started_within_s
            result = dataclasses.replace(result, engines=driver.parts, started_within_s=within_s)
    for address in silent:
        result = result.with_warning(
            "address-left-out",
            f"{address} is another address of the target and does not answer: no load was sent to it",
            "name the address in the target to be sure which one is measured",
        )
    if result.is_refused:
        is_there = "connect-refused" not in result.figures.errors
        remedy = "" if is_there else "; start the server, name its port, or wait for it with --wait-ready 10s"
        streams.say(f"{one_line(result.figures.detail)}{remedy}")
    checks = [thresholds.check(each, result) for each in settings.thresholds if not isinstance(each, tuple)]
    if not watch.reason:  # A load may end before its first second, or become so in its last.
        checks += thresholds.crossed(settings.aborts, result)
    highest = thresholds.highest_rates((check.threshold for check in checks), result)
    highest |= {settings.found: rate} if settings.found else {}
    several = parsed if len(parsed) > 1 else ()
    unit = TIME_UNITS[settings.time_unit] if settings.time_unit else MILLISECONDS
    with streams.output():
        if settings.form == "json":
            whole = document.as_document(target, plan, result, checks, several, highest)
            print(json.dumps(whole, indent=2))
        elif settings.form == "csv":
            sys.stdout.write(document.as_csv(parsed, result, unit))
        elif not result.is_refused and "-" not in map(str, _files(settings).values()):
            # A load without a server that is trusted has a line on stderr alone.
            to = context.stdout_console()
            summary.show(target, plan, result, to, unit=unit, several=several, highest=highest)
    for check in checks:
        streams.say(check.sentence())
    if watch.reason and settings.form:
        streams.say(f"aborted: {watch.reason}")
    # Last: a disk that is full by now hides nothing of what was measured.
    for option, path in _files(settings).items():
        words = summary.log_words(result.figures.log) if option == "--log" else "is written"
        if option != "--log":
            text = _text(option, target, plan, result, summary.tables(result, unit, several, highest))
            if str(path) == "-":
                with streams.output():
                    sys.stdout.write(text)
                continue
            with streams.writing(option, path):
                streams.write_whole(path, text)
        streams.say(f"{one_line(str(path))} {words}")
    if not watch.reason and (result.figures.outcome == "interrupted" or driver.interrupted):
        return EXIT_INTERRUPTED
    is_good = result.is_answered and not result.ceased and result.figures.outcome == "ok"
    lacks = (settings.found and rate is None) or (result.figures.log and result.figures.log.failed)
    return 0 if is_good and not lacks and not any(check.is_crossed for check in checks) else EXIT_FAILED


def _dialed(settings: LoadSettings, target: Target) -> Target:
    """Where connections to a target go: to a proxy, or another host, where the user names one."""
    address = settings.proxy[0] if settings.proxy else settings.connect_to
    if address is None:
        return target
    there = targets.parse(f"http://{address}/")
    port = urlsplit(f"//{address}").port or target.port
    return dataclasses.replace(target, host=there.host, port=port)


def _addresses(target: Target) -> tuple[list[str], list[str]]:
    """The target's addresses: those to be loaded, and those that do not answer."""
    answering, silent = targets.answering(targets.resolve(target))
    for address in silent:
        streams.say(f"{address} does not answer and is left out")
    return answering, silent


def _files(settings: LoadSettings) -> dict[str, Path]:
    """The files that are to be written, by their options."""
    files = {"--hdr": settings.hdr_file, "--seconds": settings.seconds_file, "--report": settings.report_file}
    files["--log"] = settings.log_file
    return {option: path for option, path in files.items() if path}


def _text(
    option: str, target: Target, plan: LoadPlan, result: LoadResult, tables: Sequence[TableData]
) -> str:
    """What such a file holds."""
    if option == "--seconds":
        return document.course_csv(result)
    if option == "--report":
        # Pages need packages that take longer to start than a load.
        from ringside.load import report

        return report.page(target, plan, result, tables)
    name = result.main_histogram
    latency = result.figures.latency(name)
    mean_ns, stdev_ns = (latency.mean_ns, latency.stdev_ns) if latency else (0, 0)
    return results.hdr_text(result.counts.get(name, ()), mean_ns, stdev_ns)


def _compare(
    settings: LoadSettings, targets: Mapping[str, Target], plans: Mapping[str, LoadPlan], seed: int
) -> int:
    """Carry out, keep and show the comparison of the targets A and B, or a load at A in blocks. The exit
    status."""
    versus.check(targets, plans["A"])
    addresses = {name: tuple(_addresses(each)[0]) for name, each in targets.items()}
    plan, blocks = plans["A"], settings.blocks or _BLOCKS
    margin = DEFAULT_MARGIN if settings.margin is None else settings.margin
    part = versus.part(plan, blocks, 0)
    if settings.aborts and part.duration_s and part.duration_s <= 1:
        raise UsageError(
            f"--abort-if is judged each second, and each run lasts {part.duration_s:g} s: "
            "give a longer --duration, or fewer --blocks"
        )
    asked, each = plan.requests or 0, part.requests or 0
    if asked != each * blocks:
        streams.say(f"{asked:,} requests in {blocks} blocks: {each:,} each, {each * blocks:,} in all")
    storage = context.open_store(settings.store, anywhere=True)
    options = command_line_options(_SHOWN)
    if headers := options.get("--header"):
        options["--header"] = tuple(_SECRET.sub(r"\1 …", str(header)) for header in headers)
    interrupted = False
    with (
        _driver(settings, sum(addresses.values(), ()), *plans.values()) as driver,
        alone(LiveProgress(context.stderr_console()).on_wait),
        _screen(settings) as screen,
    ):
        engines = (
            {} if isinstance(driver, Probe) else {node.name: facts for node, facts in driver.facts().items()}
        )
        # Who gives up while another one measures leaves no empty run behind.
        run = versus.begin(targets, plan, blocks, margin, seed, storage, engines, options)
        progress_s = screen.progress_s(part)
        watch = Watch((), lambda: driver.interrupt(), screen.receive)
        whole = {
            name: replace(plans[name], addresses=addresses[name], progress_s=progress_s) for name in targets
        }

        def show_turn(what: str, *about: Any) -> None:
            nonlocal watch
            if what == "message":
                watch.receive(*about)
            elif what == "load":
                block, name, load = about
                watch = Watch(settings.aborts if block else (), lambda: driver.interrupt(), screen.receive)
                turn = f"block {block} of {blocks}" if block else "warm-up"
                screen.begin(f"{turn}: {name} = {targets[name].text}", load)

        try:
            versus.conduct(run, read_plan(run).experiment, whole, storage, driver, show_turn)
        except KeyboardInterrupt:
            # What was measured until then is shown.
            interrupted = True
    analysis = analysis_of(storage, storage.run(run.id))
    with streams.output():
        if settings.form == "json":
            facts: dict[str, Any] = {"blocks": blocks, "margin": margin, "seed": seed}
            facts["duration_s"] = part.duration_s
            if engines:
                facts["engines"] = list(engines)
                facts["engines_started_within_ms"] = versus.started_within_ns(analysis) / 1e6
            loads = versus.documents(analysis, targets, plan)
            print(json.dumps(documents.load_document(analysis, facts, loads), indent=2))
        else:
            how = versus.how(analysis, targets, plans, list(engines))
            paired.show(analysis, how, context.stdout_console())
    if watch.reason:
        streams.say(f"aborted: {watch.reason}")
        return EXIT_FAILED
    if interrupted:
        streams.say("interrupted")
        return EXIT_INTERRUPTED
    failed = gates.status(
        [each for each in settings.thresholds if isinstance(each, tuple)], list(gates.judged(analysis))
    )
    return failed if analysis.is_complete else EXIT_FAILED
