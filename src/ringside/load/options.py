"""The options of `ringside load`, held against each other and made into a plan for the probe."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import starmap
from pathlib import Path

from msgspec.structs import replace

from ringside.errors import UsageError
from ringside.load import templates
from ringside.load.target import Target
from ringside.load.templates import ValuesFile
from ringside.probe.protocol import (
    ClosedLoop,
    ConstantRate,
    ExpectedReply,
    Http2,
    HttpRequest,
    LoadPlan,
    Pacing,
    PoissonRate,
    Staircase,
    StaircaseStep,
    StreamMessages,
    Tls,
    WeightedTarget,
)
from ringside.text import one_line

_DURATION_S = 10.0
_CONNECTIONS = {"http": 64, "tcp": 64, "ws": 64, "stream": 100}
_MAX_EXPECTED = 1 << 20
# Of one engine, and the streams of all its connections, as probe/src/load/plan_check.rs has it.
_MAX_CONNECTIONS = 1_000_000
_MAX_STREAMS = 1_000_000
# Shorter ticks are no coarser than the exact mode; longer ones are no schedule.
_TICK_S = (1e-5, 0.1)
# What the probe needs beside its connections, as probe/src/load/engine.rs counts it.
OWN_DESCRIPTORS = 64
DESCRIPTORS_PER_THREAD = 4

_HTTP = ("--method", "--header", "--body", "--close", "--expect-status", "--follow-redirects", "--weights")
_STREAM = ("--framing", "--first", "--chunk", "--interval", "--due-field")
_SCHEDULE = ("--rate", "--burst", "--poisson", "--staircase", "--tick")
_CONTENT = ("--expect-body", "--expect-contains", "--expect-pattern")
_NOT_FOR = {
    "http": (*_STREAM, "--line"),
    "stream": ("--line", "--close", "--follow-redirects", "--weights", *_SCHEDULE, "--requests", *_CONTENT),
    "tcp": (*_HTTP, *_STREAM),
    "ws": (*(option for option in _HTTP if option != "--header"), *_STREAM),
    "stream+ws": (
        *("--framing", "--method", "--body", "--close", "--expect-status", "--follow-redirects"),
        *("--weights", *_SCHEDULE, "--requests", *_CONTENT),
    ),
}
_SECURE = ("--cacert", "--insecure")
_STREAMS = "--streams"
_KINDS = {
    "http": "an http target",
    "stream": "a stream",
    "tcp": "a tcp target",
    "ws": "a WebSocket",
    "stream+ws": "a stream of a WebSocket",
}


def check_target(
    target: Target, options: Iterable[str], *, is_secure: bool = False, is_http2: bool = False
) -> None:
    """Raise UsageError where one of these options (`--rate`) is not for such a target. `is_secure`,
    `is_http2`: this one, or another that it is compared with, is inside TLS, or driven by HTTP/2."""
    protocol = target.protocol
    kind = "stream+ws" if protocol == "stream" and target.is_websocket else protocol
    for option in options:
        if option in _SECURE and not is_secure:
            raise UsageError(f"{option} is for TLS: leave it out, or name the target as https://…")
        if option == _STREAMS and not is_http2:
            raise UsageError("--streams is for HTTP/2: add --http2, or name the target as h2://…")
        if option not in _NOT_FOR[kind]:
            continue
        if protocol == "stream" and option in _CONTENT:
            raise UsageError(
                f"{option} is not for a stream: --first and --chunk say what its messages must be"
            )
        if protocol == "stream" and option == "--requests":
            raise UsageError(f"{option} is not for a stream: give --duration")
        if protocol == "stream" and option in _SCHEDULE:
            raise UsageError(
                f"{option} is not for a stream, whose server sends by itself: --ramp says how fast streams "
                "are opened"
            )
        raise UsageError(f"{option} is not for {_KINDS[kind]}: leave it out")


def pacing(
    *,
    rate_per_s: float | None = None,
    burst: int | None = None,
    poisson: bool = False,
    steps: Sequence[tuple[float, float]] = (),
    seed: int = 0,
) -> Pacing:
    """When requests are due. `steps`: (requests per second, seconds) of a staircase. Raises UsageError."""
    if steps:
        if rate_per_s or poisson or burst:
            raise UsageError("--staircase has its own rates: leave out --rate, --burst and --poisson")
        return Staircase(tuple(StaircaseStep(step_rate, duration_s) for step_rate, duration_s in steps))
    if rate_per_s is None:
        for option, is_set in (("--burst", burst), ("--poisson", poisson)):
            if is_set:
                raise UsageError(f"{option} needs a rate: add --rate N")
        return ClosedLoop()
    if poisson and burst:
        raise UsageError("--poisson and --burst both say when requests are due: leave one out")
    return PoissonRate(rate_per_s, seed) if poisson else ConstantRate(rate_per_s, burst or 1)


def expected_reply(
    *,
    status: int | None = None,
    body: str | None = None,
    contains: str | None = None,
    pattern: str | None = None,
) -> ExpectedReply:
    """What a reply must be. Raises UsageError."""
    if pattern is not None and not (body is None and contains is None):
        raise UsageError(
            "--expect-pattern excludes the other two: leave out --expect-body and --expect-contains"
        )
    reply = ExpectedReply(
        status, *(None if text is None else wire_text(text) for text in (body, contains, pattern))
    )
    for option, text in zip(_CONTENT, (reply.equals, reply.contains, reply.matches), strict=True):
        if len(text or "") > _MAX_EXPECTED:
            raise UsageError(f"{option} is longer than {_MAX_EXPECTED >> 20} MiB")
    return reply


def stream_messages(
    *,
    framing: str | None = None,
    first: str | None = None,
    chunk: str | None = None,
    interval_s: float | None = None,
    due_field: str | None = None,
) -> StreamMessages:
    """What the messages of a stream must be, and when each is due. Raises UsageError."""
    for option, text in (("--first", first), ("--chunk", chunk), ("--due-field", due_field)):
        # Surrogates too: bytes on the command line that were no UTF-8.
        if not (text or "").isprintable():
            raise UsageError(f"{option} has a character that cannot be printed")
    if interval_s is not None and due_field:
        raise UsageError("--interval and --due-field both say when a message is due: leave one out")
    return StreamMessages(
        framing=framing or "chunk", first=first, chunk=chunk, interval_s=interval_s, due_field=due_field
    )


def load_plan(
    target: Target,
    *,
    connections: int | None = None,
    threads: int = 1,
    cpus: tuple[int, ...] = (),
    io: str = "auto",
    pacing: Pacing = ClosedLoop(),  # noqa: B008, it is frozen
    tick_s: float | None = None,
    duration_s: float | None = None,
    requests: int | None = None,
    ramp_per_s: float | None = None,
    timeout_s: float = 5.0,
    method: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes | None = None,
    close: bool = False,
    line: str | None = None,
    expect: ExpectedReply = ExpectedReply(),  # noqa: B008
    stream: StreamMessages = StreamMessages(),  # noqa: B008
    others: Sequence[Target] = (),
    weights: Sequence[int] = (),
    follow_redirects: bool = False,
    values: ValuesFile | None = None,
    seed: int = 0,
    is_literal: bool = False,
    cacert: Path | None = None,
    insecure: bool = False,
    is_http2: bool = False,
    streams: int | None = None,
) -> LoadPlan:
    """The plan for a target, its addresses apart. `others`: targets on the same server that get a share of
    the requests, by their `weights` and that of the first. `is_literal`: braces are sent as they stand.
    Raises UsageError."""
    protocol = target.protocol
    connections = connections or _CONNECTIONS[protocol]
    if threads > connections:
        raise UsageError(f"--threads {threads} is more than {connections} connections: each thread needs one")
    if tick_s is not None:
        _check_tick(tick_s, pacing)
    if duration_s is None and requests is None and not isinstance(pacing, Staircase):
        duration_s = _DURATION_S
    if line is not None and "\n" in line and protocol == "tcp":
        raise UsageError("--line is one line: its newline is sent automatically")
    paths = [each.path for each in (target, *others)]
    text = (body or b"").decode("latin-1")
    if line is None and protocol in ("tcp", "ws"):
        line = "1"
    line_text = None if line is None else wire_text(line)
    request, texts = None, {"--line": line_text or ""}
    if protocol != "tcp":
        texts = {templates.PATH: " ".join(paths), "--body": text}
        texts["--header"] = "\n".join(wire_text(value) for _, value in headers)
    if is_literal:
        paths, text = [templates.literal(path) for path in paths], templates.literal(text)
        line_text = line_text and templates.literal(line_text)
        headers = [(name, templates.literal(value)) for name, value in headers]
        texts = {option: templates.literal(each) for option, each in texts.items()}
    placeholders = templates.check(texts, values, seed, single_line=("--header", "--line"))
    if protocol != "tcp":
        fields = [(name, wire_text(value)) for name, value in headers]
        if not any(name.lower() == "host" for name, _ in fields):
            fields.insert(0, ("Host", target.authority()))
        request = HttpRequest(
            method=method or ("GET" if body is None else "POST"),
            target="/" if others else paths[0],
            targets=tuple(starmap(WeightedTarget, zip(paths, weights, strict=True))) if others else (),
            headers=tuple(fields),
            body=text,
            close=close,
            follow_redirects=follow_redirects,
        )
    return LoadPlan(
        protocol=protocol,
        connections=connections,
        threads=threads,
        cpus=cpus,
        io=io,
        http2=_http2(target, is_http2, streams, close, connections),
        tls=_tls(target, cacert, insecure) if target.is_secure else None,
        pacing=pacing,
        tick_s=tick_s,
        duration_s=duration_s,
        requests=requests,
        ramp_per_s=ramp_per_s,
        timeout_s=timeout_s,
        request=request,
        line=line_text,
        templates=placeholders,
        expect=expect,
        stream=replace(stream, framing="message") if protocol == "stream" and target.is_websocket else stream,
    )


def _check_tick(tick_s: float, pacing: Pacing) -> None:
    if isinstance(pacing, ClosedLoop):
        raise UsageError("--tick needs a schedule: add --rate N")
    least_s, most_s = _TICK_S
    if not least_s <= tick_s <= most_s:
        raise UsageError("--tick is out of range: from 10us to 100ms")


def _http2(
    target: Target, is_asked: bool, streams: int | None, close: bool, connections: int
) -> Http2 | None:
    is_http = target.carrier in ("http", "http2")
    if is_asked and not (is_http and target.is_secure):
        raise UsageError("--http2 is for https://…: without TLS name the target as h2://…")
    if not is_asked and target.carrier != "http2":
        return None
    if close:
        raise UsageError("--close is for HTTP/1.1: leave it out")
    streams = streams or 1
    if streams * connections > _MAX_STREAMS:
        raise UsageError(f"{streams * connections:,} streams are too many: up to {_MAX_STREAMS:,} in all")
    return Http2(streams)


def _tls(target: Target, cacert: Path | None, insecure: bool) -> Tls:
    if cacert is not None and insecure:
        raise UsageError("--insecure accepts any certificate: leave out --cacert")
    if cacert is not None and not (cacert.is_file() and os.access(cacert, os.R_OK)):
        raise UsageError(
            f"--cacert {one_line(str(cacert))} cannot be read: name a file of certificates (PEM)"
        )
    # A certificate's names have no final dot, and addresses have no zone.
    name = target.host.partition("%")[0].removesuffix(".")
    return Tls(name, str(cacert.absolute()) if cacert else None, insecure)


def uses_random(plan: LoadPlan) -> bool:
    """Whether requests of the plan have random values."""
    texts = [plan.line or ""]
    if request := plan.request:
        texts += [request.target, request.body, *(each.target for each in request.targets)]
        texts += [value for _, value in request.headers]
    return plan.templates is not None and templates.uses_random(texts)


def wire_text(text: str) -> str:
    """A text as requests carry it: a character for each byte of its UTF-8."""
    # Bytes on the command line that were no UTF-8 come as surrogates.
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def max_duration_s(plan: LoadPlan) -> float | None:
    """How long the load lasts at the most, its drain apart; None where only a count ends it."""
    ends = [] if plan.duration_s is None else [plan.duration_s]
    if isinstance(plan.pacing, Staircase):
        ends.append(sum(step.duration_s for step in plan.pacing.steps))
    return min(ends, default=None)


def part(plan: LoadPlan, parts: int, index: int, min_s: float) -> LoadPlan:
    """One of some equal parts of a load, with a schedule of its own where that is random."""
    schedule = plan.pacing
    if isinstance(schedule, PoissonRate):
        schedule = replace(schedule, seed=schedule.seed + index)
    return replace(
        plan,
        pacing=schedule,
        duration_s=None if plan.duration_s is None else max(min_s, plan.duration_s / parts),
        requests=None if plan.requests is None else max(1, plan.requests // parts),
    )


def check_machine(plan: LoadPlan, usable_cpus: Sequence[int], hard_descriptors: int) -> None:
    """Raise UsageError where this machine cannot do it: CPUs that are not there, more connections than
    a process may have open (`hard_descriptors`: RLIMIT_NOFILE's hard limit)."""
    missing = [cpu for cpu in plan.cpus if cpu not in usable_cpus]
    if missing:
        raise UsageError(
            f"--cpus: CPU {missing[0]} cannot be used; usable here: {', '.join(map(str, usable_cpus))}"
        )
    if plan.connections > _MAX_CONNECTIONS:
        raise UsageError(
            f"{plan.connections:,} connections are too many for one engine: up to {_MAX_CONNECTIONS:,}, "
            "and as many from each further machine with --from"
        )
    room = hard_descriptors - OWN_DESCRIPTORS - DESCRIPTORS_PER_THREAD * plan.threads
    if plan.connections > room:
        raise UsageError(
            f"{plan.connections:,} connections need more descriptors than this process may have: the hard "
            f"limit is {hard_descriptors:,} (ulimit -Hn), so up to {max(0, room):,} connections fit"
        )
