"""Checks the options of `ringside load`, and makes the probe's plan of them."""

import re
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path

from msgspec.structs import replace

from ringside.cli.options import command_line_options
from ringside.errors import UsageError
from ringside.files import read_at_most, tables_beside
from ringside.load import templates
from ringside.load.options import MAX_BODY_BYTES, LoadSettings
from ringside.load.result import ROWS
from ringside.load.target import Target
from ringside.load.templates import wire_text
from ringside.measure.host import memory_available_bytes
from ringside.probe import protocol as ipc
from ringside.text import one_line

_TABLES = tables_beside(__file__, "plan.toml")
_DURATION_S = 10.0
# Of a search for a rate: the seconds of one try.
_TRY_S = 3.0
_FIRST_RATE = 100.0
# Names that options and plans share.
_SAME = ("unix", "sources", "threads", "cpus", "requests", "ramp_per_s", "timeout_s")
_CONNECTIONS = {"http": 64, "tcp": 64, "ws": 64, "stream": 100}


def check(settings: LoadSettings, target: Target, other: Target | None) -> None:
    """Raise UsageError if options exclude each other, or do not suit the target or the `other` one."""
    used = command_line_options(())
    is_stream = target.protocol == "stream"
    kind = "stream+ws" if is_stream and target.is_websocket else target.protocol
    for kinds, instead, options in _TABLES["suited"]["rows"]:
        for name in options.split():
            if name in used and kind not in kinds.split():
                if is_stream and instead:
                    raise UsageError(f"{name} is not for a stream: {instead}")
                raise UsageError(f"{name} is not for {_TABLES['suited']['kinds'][kind]}: leave it out")
    both = [each for each in (target, other) if each]
    met = {
        "rate": settings.rate_per_s or settings.steps or settings.found,
        "order": settings.poisson or other,
        "blocks": settings.store or other,
        "its form": all(isinstance(each, tuple) == bool(other) for each in settings.thresholds),
        "one target": len(settings.targets) == 1,
        "a name": settings.store != "",
        "no store": other or not settings.store,
        "one scheme": len({(each.protocol, each.is_websocket) for each in both}) == 1,
        "one rate": not (settings.steps or isinstance(settings.rate_per_s, tuple)),
        "due": not is_stream or settings.interval_s or settings.due_field is not None,
        "one clock": settings.cluster is None,
        "https": all(each.is_secure and each.carrier in ("http", "http2") for each in both),
        "http2": settings.is_http2 or any(each.carrier == "http2" for each in both),
        "tls": any(each.is_secure for each in both),
    }
    for need, options, remedy in _TABLES["needs"]["rows"]:
        for name in options.split():
            if name in used and not met[need]:
                raise UsageError(f"{name} {remedy}")
    for each in settings.thresholds:
        if not isinstance(each, tuple) and each.rate is not None and each.rate not in dict(settings.steps):
            raise UsageError(f"--fail-if names {each.rate:,.10g}/s, which is no step of --staircase")


def plan(settings: LoadSettings, targets: Sequence[Target], seed: int = 0) -> ipc.LoadPlan:
    """The plan for a target, or for several on one server; its addresses apart. Raises UsageError."""
    target = targets[0]
    duration_s = settings.duration_s
    if duration_s is None and settings.requests is None and not settings.steps:
        duration_s = _TRY_S if settings.found else _DURATION_S
    connections = settings.connections or _CONNECTIONS[target.protocol]
    if settings.requests:
        connections = min(connections, max(settings.threads, settings.requests))
    request, line, placeholders = _texts(settings, targets)
    is_http2 = settings.is_http2 or target.carrier == "http2"
    pacing = _pacing(settings, seed)
    steps = pacing.steps if isinstance(pacing, ipc.Staircase) else ()
    made = ipc.LoadPlan(
        **{name: getattr(settings, name) for name in _SAME},
        protocol=target.protocol,
        connections=connections,
        http2=ipc.Http2(settings.streams or 1, settings.window_bytes) if is_http2 else None,
        tls=_tls(settings, target) if target.is_secure else None,
        tunnel=_tunnel(settings, target),
        pacing=pacing,
        course_s=steps[0].duration_s / ROWS if steps and steps[0].to_per_s is not None else None,
        # Whole nanoseconds: `10us` is a little less than 1e-5.
        slack_s=settings.slack_s and round(settings.slack_s, 9),
        duration_s=duration_s,
        request=request,
        line=line,
        templates=placeholders,
        expect=_expected_reply(settings),
        stream=_stream_messages(settings, target),
        log=str(settings.log_file.absolute()) if settings.log_file else None,
    )
    if settings.cluster is None:  # other machines check themselves
        check_memory(made, memory_available_bytes())
    return made


def max_duration_s(plan: ipc.LoadPlan) -> float | None:
    """The longest that the load can last, without its drain; None if only a count ends it."""
    ends = [] if plan.duration_s is None else [plan.duration_s]
    if isinstance(plan.pacing, ipc.Staircase):
        ends.append(sum(step.duration_s for step in plan.pacing.steps))
    return min(ends, default=None)


def warm_up(plan: ipc.LoadPlan, seconds: float) -> ipc.LoadPlan:
    """The warm-up before a load: the same load for this long, at its first rate. Raises UsageError."""
    whole_s = max_duration_s(plan)
    if whole_s is not None and seconds > whole_s:
        raise UsageError(f"--warmup {seconds:g}s is longer than the load, {whole_s:g} s: give it less time")
    pacing = plan.pacing
    if isinstance(pacing, ipc.Staircase):
        pacing = ipc.ConstantRate(pacing.steps[0].rate_per_s)
    return replace(plan, pacing=pacing, duration_s=seconds, requests=None, log=None)


def _pacing(settings: LoadSettings, seed: int) -> ipc.Pacing:
    rate_per_s = settings.rate_per_s or (_FIRST_RATE if settings.found else None)
    if settings.steps:
        return ipc.Staircase(tuple(starmap(ipc.StaircaseStep, settings.steps)))
    if rate_per_s is None:
        return ipc.ClosedLoop()
    if isinstance(rate_per_s, tuple):
        first, last = rate_per_s
        return ipc.Staircase((ipc.StaircaseStep(first, settings.duration_s or _DURATION_S, last),))
    if settings.poisson:
        return ipc.PoissonRate(rate_per_s, seed)
    return ipc.ConstantRate(rate_per_s, settings.burst or 1)


def _texts(
    settings: LoadSettings, targets: Sequence[Target]
) -> tuple[ipc.HttpRequest | None, str | None, ipc.Templates | None]:
    """The request or the line to send, and the values of its placeholders."""
    protocol, line = targets[0].protocol, settings.line
    if line is None and protocol in ("tcp", "ws"):
        line = "1"
    line = None if line is None else wire_text(line + "\r" * settings.is_crlf)
    paths = [each.path for each in targets]
    fields, closes = _headers(settings, targets[0])
    body, body_path = _body(settings)
    if settings.is_literal:
        paths = [templates.literal(path) for path in paths]
        line = line and templates.literal(line)
        fields = [(name, templates.literal(value)) for name, value in fields]
    texts = {"--line": line or ""}
    if protocol != "tcp":
        header_lines = "\n".join(value for _, value in fields)
        texts |= {templates.PATH: " ".join(paths), "--body": body, "--header": header_lines}
    values = templates.read_values(settings.values_file) if settings.values_file else ()
    placeholders = templates.check(texts, values)
    if protocol == "tcp":
        return None, line, placeholders
    hosts = sum(name.lower() == "host" for name, _ in fields)
    if hosts > 1:
        raise UsageError("a request has one Host: leave one --header 'Host: …' out")
    if not hosts:
        fields.insert(0, ("Host", targets[0].authority()))
    if settings.proxy and not _tunnel(settings, targets[0]):
        paths = [f"http://{targets[0].authority()}{path}" for path in paths]
        credentials = settings.proxy[1]
        fields += [("Proxy-Authorization", f"Basic {credentials}")] if credentials else []
    is_several = len(targets) > 1
    request = ipc.HttpRequest(
        method=settings.method or ("GET" if settings.body is None else "POST"),
        target="/" if is_several else paths[0],
        targets=tuple(paths) if is_several else (),
        headers=tuple(fields),
        body=body,
        body_path=body_path,
        close=closes,
    )
    return request, line, placeholders


def _headers(settings: LoadSettings, target: Target) -> tuple[list[tuple[str, str]], bool]:
    """The headers that the user gave, but those that say what the engine does anyway; and whether it closes
    a connection after its request. Raises UsageError for a header that cannot be sent."""
    own = _TABLES["headers"].get("ws" if target.is_websocket else target.protocol, {})
    fields, closes = [], settings.close
    for name, value in settings.headers:
        implied, remedy = own.get(name.lower(), (None, ""))
        if implied is not None and re.fullmatch(implied, value, re.IGNORECASE):
            closes |= (name.lower(), value.lower()) == ("connection", "close")
        elif remedy:
            raise UsageError(f"--header {name} cannot be '{one_line(value, 60)}': {remedy}")
        else:
            fields.append((name, wire_text(value)))
    return fields, closes


def _body(settings: LoadSettings) -> tuple[str, str | None]:
    """The body with its placeholders, or the path of a large one, which the engine reads itself."""
    body = settings.body or b""
    # Braces of JSON and GraphQL are more usual there than placeholders.
    is_template = bool(settings.has_placeholders or settings.values_file)
    if isinstance(body, Path):
        if not (is_template or settings.cluster):
            return "", str(body)
        size = body.stat().st_size
        if size > MAX_BODY_BYTES:
            reason = "for placeholders" if is_template else "to be sent to other machines"
            raise UsageError(
                f"--body @{one_line(str(body))} is larger than {MAX_BODY_BYTES >> 20} MiB: too large {reason}"
            )
        body = read_at_most(body, size)
    text = body.decode("latin-1")
    return text if is_template else templates.literal(text), None


def _expected_reply(settings: LoadSettings) -> ipc.ExpectedReply:
    texts = (settings.expect_body, settings.expect_contains, settings.expect_pattern)
    body, contains, pattern = (None if text is None else wire_text(text) for text in texts)
    if settings.is_crlf:
        body = None if body is None else f"{body}\r"
        pattern = None if pattern is None else f"(?:{pattern})\\r"
    return ipc.ExpectedReply(settings.expect_status, body, contains, pattern)


def _stream_messages(settings: LoadSettings, target: Target) -> ipc.StreamMessages:
    """The expected messages of a stream, and when each is due."""
    first, chunk, due_field = settings.first, settings.chunk, settings.due_field
    for option, text in (("--first", first), ("--chunk", chunk), ("--due-field", due_field)):
        if not (text or "").isprintable():
            raise UsageError(f"{option} has a character that cannot be printed")
    is_message = target.protocol == "stream" and target.is_websocket
    framing = "message" if is_message else settings.framing or "chunk"
    return ipc.StreamMessages(framing, first, chunk, settings.interval_s, due_field)


def _tls(settings: LoadSettings, target: Target) -> ipc.Tls:
    # A certificate's names have no final dot, and addresses have no zone.
    name = (settings.server_name or target.host).partition("%")[0].removesuffix(".")
    files = (settings.cacert, settings.cert, settings.key)
    trusted, cert, key = (str(file.absolute()) if file else None for file in files)
    return ipc.Tls(name, trusted, cert, key, settings.insecure, settings.resume)


def _tunnel(settings: LoadSettings, target: Target) -> ipc.Tunnel | None:
    """The request to a proxy; None if requests name their whole target."""
    if not settings.proxy or (target.carrier == "http" and not target.is_secure):
        return None
    port = f":{target.port}"
    return ipc.Tunnel(target.authority().removesuffix(port) + port, settings.proxy[1])


def check_memory(plan: ipc.LoadPlan, available_bytes: int) -> None:
    """Raise UsageError if requests with a body of a large file do not fit into memory."""
    request = plan.request
    if request is None or request.body_path is None:
        return
    # As the engine keeps them (probe/engine/src/load/outgoing.rs): for each thread, and encrypted for each
    # connection.
    copies = plan.threads * (max(1, len(request.targets)) + (plan.http2 is not None))
    if plan.tls and plan.http2 is None:
        copies += plan.connections
    size = Path(request.body_path).stat().st_size
    if copies * size > available_bytes:
        raise UsageError(
            f"the body of {size:,} bytes would be in memory {copies} times, and {available_bytes:,} are "
            "available: use a smaller file, or fewer --connections or --threads"
        )
