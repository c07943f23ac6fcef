"""The options of `ringside load`, and how they are held against each other and against the target."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ringside.cli import params
from ringside.cli.options import COMMON, declared, option
from ringside.errors import UsageError
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.load.target import Target
    from ringside.load.thresholds import Threshold

_SCHEDULE = "When requests are sent"
_REQUEST = "What is sent"
_CONNECTIONS = "Connections"
_TLS = "TLS and HTTP/2"
_REPLY = "What must come back"
_STREAM = "Streams"
_VERSUS = "Two targets compared"
_OUTPUT = "Output"
_ENGINE = "Engine"
_MACHINES = "Several machines"

_KINDS = {
    "http": "an http target",
    "stream": "a stream",
    "tcp": "a tcp target",
    "ws": "a WebSocket",
    "stream+ws": "a stream of a WebSocket",
}


# sun_path of unix(7).
_MAX_SOCKET_BYTES = 108


@dataclass(frozen=True, slots=True)
class For:
    """The kinds of targets that an option is for. `instead`: what to do where the target is a stream."""

    kinds: str
    instead: str = ""


_HTTP = For("http stream")
_HTTP_REPLIES = For("http")
_STREAMED = For("stream stream+ws")
_SCHEDULED = For("http tcp ws", "its server sends by itself, and --ramp says how fast streams are opened")
_REQUESTED = For("http tcp ws", "its connections are open as long as the server holds them")
_CONTENT = For("http tcp ws", "--first and --chunk say what its messages must be")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The command line of `ringside load`; None where an option was left out. Durations in seconds."""

    targets: tuple[str, ...]
    connections: int | None = option(
        COMMON, "-c, --connections N", "Open at one time [default: 64; 100 streams].", type=params.CONNECTIONS
    )
    rate_per_s: float | None = option(
        COMMON,
        "--rate N",
        "Requests per second [default: a closed loop].",
        type=params.rate,
        notes=_SCHEDULED,
    )
    duration_s: float | None = option(
        COMMON, "--duration 10s", "How long [default: 10s, or --requests].", type=params.duration
    )
    requests: int | None = option(
        COMMON,
        "--requests N",
        "End after N requests.",
        type=click.IntRange(1, 10**15),
        notes=For("http tcp ws", "give --duration"),
    )
    method: str | None = option(
        COMMON, "--method NAME", "[default: GET; POST with --body]", type=params.method, notes=_HTTP
    )
    headers: tuple[tuple[str, str], ...] = option(
        COMMON,
        "-H, --header 'NAME: VALUE'",
        "May be repeated.",
        type=params.header,
        multiple=True,
        notes=For("http stream ws stream+ws"),
    )
    body: bytes | Path | None = option(
        COMMON, "-d, --body TEXT|@FILE", "What each request carries.", type=params.body, notes=_HTTP
    )
    wait_ready_s: float | None = option(
        COMMON,
        "--wait-ready 10s",
        "Wait so long until the target accepts.",
        type=params.duration,
    )
    other_target: str | None = option(
        COMMON, "--vs TARGET2", "Compare two targets in alternating short runs."
    )
    thresholds: tuple[Threshold, ...] = option(
        COMMON,
        "--fail-if 'p99>200ms'",
        "Exit status 1 if so; also errors, rate.",
        type=params.threshold,
        multiple=True,
    )
    as_json: bool = option(COMMON, "--json", "Print one JSON document instead.", is_flag=True)
    burst: int | None = option(
        _SCHEDULE, "--burst N", "Requests per burst [default: 1].", type=params.COUNT, notes=_SCHEDULED
    )
    poisson: bool = option(
        _SCHEDULE, "--poisson", "Random instants at that rate.", is_flag=True, notes=_SCHEDULED
    )
    steps: tuple[tuple[float, float], ...] = option(
        _SCHEDULE,
        "--staircase RATE:TIME,…",
        "One rate after another: 100:5s,200:5s.",
        type=params.staircase,
        default=(),
        notes=_SCHEDULED,
    )
    slack_s: float | None = option(
        _SCHEDULE,
        "--slack 50us",
        "A request may wait so long to be sent with others [default: 50us]; 0: each at its instant.",
        type=params.run_duration,
        notes=_SCHEDULED,
    )
    ramp_per_s: float | None = option(
        _SCHEDULE, "--ramp N/s", "Connections opened per second [default: all at once].", type=params.rate
    )
    timeout_s: float = option(
        _SCHEDULE,
        "--timeout 5s",
        "For a connect, a reply, a stream's silence [default: 5s].",
        type=params.duration,
        default=5.0,
    )
    close: bool = option(
        _SCHEDULE, "--close", "A connection for each request.", is_flag=True, notes=_HTTP_REPLIES
    )
    seed: int | None = option(
        _SCHEDULE, "--seed N", "Seed of --poisson, {random:…}, the order of --vs.", type=params.SEED
    )
    weights: tuple[int, ...] = option(
        _REQUEST,
        "--weights 3,1",
        "Shares of several targets [default: equal].",
        type=params.weights,
        default=(),
        notes=_HTTP_REPLIES,
    )
    values_file: Path | None = option(
        _REQUEST,
        "--values FILE",
        "CSV with a header: {column} in path, headers, body or line is the value of the request's row.",
        type=params.FILE,
    )
    has_placeholders: bool = option(
        _REQUEST, "--placeholders", "{n}, {id}, {random:…} in --body too.", is_flag=True, notes=_HTTP
    )
    is_literal: bool = option(_REQUEST, "--literal", "Send braces as they stand.", is_flag=True)
    follow_redirects: bool = option(
        _REQUEST,
        "--follow-redirects",
        "Follow redirects on the same host and port, up to 10 for each request.",
        is_flag=True,
        notes=_HTTP_REPLIES,
    )
    line: str | None = option(
        _REQUEST,
        "--line TEXT",
        "What a tcp target, or a WebSocket, is sent [default: 1].",
        notes=For("tcp ws stream+ws"),
    )
    expect_status: int | None = option(
        _REPLY, "--expect-status N", "[default: any 2xx or 3xx]", type=click.IntRange(200, 599), notes=_HTTP
    )
    expect_body: str | None = option(
        _REPLY, "--expect-body TEXT", "What body or line must be.", notes=_CONTENT
    )
    expect_contains: str | None = option(
        _REPLY, "--expect-contains TEXT", "What body or line must contain.", notes=_CONTENT
    )
    expect_pattern: str | None = option(
        _REPLY, "--expect-pattern REGEX", "What body or line as a whole must match.", notes=_CONTENT
    )
    connect_to: str | None = option(
        _CONNECTIONS,
        "--connect-to HOST[:PORT]",
        "Connect there; Host and TLS name the target all the same.",
        type=params.host_and_port,
    )
    unix: str | None = option(
        _CONNECTIONS, "--unix PATH", "Connect to this Unix socket in place of the target's host."
    )
    renew: int | float | None = option(
        _CONNECTIONS,
        "--renew N|TIME",
        "Replace a connection after N replies, or once it is so old.",
        type=params.renewal,
        notes=_REQUESTED,
    )
    skip: int | None = option(
        _CONNECTIONS,
        "--skip N",
        "Lines or messages that the server sends before it is asked.",
        type=params.COUNT,
        notes=For("tcp ws"),
    )
    is_crlf: bool = option(
        _REQUEST, "--crlf", "Lines end with \\r\\n, those of the server too.", is_flag=True, notes=For("tcp")
    )
    is_http2: bool = option(
        _TLS, "--http2", "HTTP/2 for https://…, as h2s://… says too (h2://…: without TLS).", is_flag=True
    )
    streams: int | None = option(
        _TLS,
        "-m, --streams N",
        "Requests in flight on a connection of HTTP/2 [default: 1].",
        type=click.IntRange(1, 10_000),
    )
    cacert: Path | None = option(
        _TLS, "--cacert FILE", "Certificates (PEM) to trust [default: the system's].", type=params.FILE
    )
    insecure: bool = option(_TLS, "--insecure", "Accept any certificate.", is_flag=True)
    cert: Path | None = option(
        _TLS, "--cert FILE", "The client's certificate (PEM), for servers that ask for one.", type=params.FILE
    )
    key: Path | None = option(_TLS, "--key FILE", "Its private key (PEM).", type=params.FILE)
    server_name: str | None = option(_TLS, "--sni NAME", "The name in TLS [default: the target's host].")
    framing: str | None = option(
        _STREAM,
        "--framing",
        "What a stream's message is [default: chunk].",
        type=click.Choice(["chunk", "line", "event"]),
        notes=For("stream"),
    )
    first: str | None = option(
        _STREAM, "--first TEXT", "A stream's first message: 'Welcome: {id}'.", notes=_STREAMED
    )
    chunk: str | None = option(
        _STREAM, "--chunk TEXT", "Its other messages, from k = 1: 'Chunk {k} for {id}'.", notes=_STREAMED
    )
    interval_s: float | None = option(
        _STREAM,
        "--interval 1s",
        "Time from one message of a stream to the next.",
        type=params.duration,
        notes=_STREAMED,
    )
    due_field: str | None = option(
        _STREAM, "--due-field TEXT", "Text before the nanoseconds at which a message is due.", notes=_STREAMED
    )
    blocks: int | None = option(
        _VERSUS, "--blocks N", "Pairs of runs [default: 10].", type=click.IntRange(1, 1000)
    )
    margin: float | None = option(
        _VERSUS, "--margin 5%", "Closer ratios are equivalent [default: 5%].", type=params.margin
    )
    store: str | None = option(_VERSUS, "--store PATH|URL", "The store [default: .ringside/ringside.sqlite].")
    as_csv: bool = option(
        _OUTPUT, "--csv", "Print CSV instead: a header, and a row for each target.", is_flag=True
    )
    time_unit: str | None = option(
        _OUTPUT,
        "--time-unit",
        "Unit of times in the table and in CSV [default: ms].",
        type=click.Choice(["ns", "us", "ms", "s"]),
    )
    hdr_file: Path | None = option(
        _OUTPUT, "--hdr FILE", "Write percentiles as HdrHistogram does.", type=params.FILE
    )
    threads: int = option(
        _ENGINE, "--threads N", "Engine threads [default: 1].", type=click.IntRange(1, 256), default=1
    )
    cpus: tuple[int, ...] = option(
        _ENGINE,
        "--cpus LIST",
        "CPUs for these threads alone, in turn: 0,2-3. In closed loops they poll before they sleep.",
        type=params.cpus,
        default=(),
    )
    io: str = option(
        _ENGINE, "--io", "[default: auto]", type=click.Choice(["auto", "uring", "epoll"]), default="auto"
    )
    cluster: str | None = option(
        _MACHINES, "--from auto|local|ray://HOST:PORT", "Engines on nodes of a Ray cluster share the load."
    )
    engines: int | tuple[str, ...] | None = option(
        _MACHINES,
        "--engines N|NODE,…",
        "How many, or on which nodes [default: one on each].",
        type=params.engines,
    )

    @property
    def form(self) -> Literal["json", "csv"] | None:
        """How the result is printed; None for a person."""
        return "json" if self.as_json else "csv" if self.as_csv else None


def check(settings: LoadSettings, target: Target, other: Target | None) -> None:
    """Raise UsageError where options exclude each other, or do not suit the target or the `other` one, with
    which it is compared."""
    _check_kind(settings, target)
    both = [each for each in (target, other) if each]
    for name, value in (
        ("--cacert", settings.cacert),
        ("--insecure", settings.insecure),
        ("--cert", settings.cert),
        ("--key", settings.key),
        ("--sni", settings.server_name),
    ):
        if value and not any(each.is_secure for each in both):
            raise UsageError(f"{name} is for TLS: leave it out, or name the target as https://…")
    is_http2 = settings.is_http2 or any(each.carrier == "http2" for each in both)
    if settings.streams is not None and not is_http2:
        raise UsageError("--streams is for HTTP/2: add --http2, or name the target as h2://…")
    if bool(settings.cert) != bool(settings.key):
        raise UsageError("--cert and --key belong together: name both files")
    if settings.unix and len(os.fsencode(settings.unix)) >= _MAX_SOCKET_BYTES:
        raise UsageError(f"--unix {one_line(settings.unix, 60)} is too long for the path of a socket")
    if settings.unix and settings.connect_to:
        raise UsageError("--unix and --connect-to both say where to connect: leave one out")
    if settings.unix and settings.cluster:
        raise UsageError("--unix is a socket of this machine: leave out --from")
    if settings.renew and is_http2:
        raise UsageError("--renew is for HTTP/1.1: leave it out")
    if settings.as_json and settings.as_csv:
        raise UsageError("--json and --csv exclude each other: leave one out")
    if not other:
        for name, number in (("--blocks", settings.blocks), ("--margin", settings.margin)):
            if number is not None:
                raise UsageError(f"{name} is for --vs: leave it out")
    elif len(settings.targets) > 1:
        raise UsageError("--vs compares two targets: name one before it")
    else:
        one_only = {
            "--hdr": settings.hdr_file,
            "--fail-if": settings.thresholds,
            "--csv": settings.as_csv,
            "--connect-to": settings.connect_to,
            "--unix": settings.unix,
            "--time-unit": settings.time_unit,
        }
        for name, is_used in one_only.items():
            if is_used:
                raise UsageError(f"{name} is for one load: leave out --vs")
    if settings.time_unit and settings.as_json:
        raise UsageError("--time-unit is for the table and --csv: keys of --json name their units")
    if settings.cluster is None and settings.engines is not None:
        raise UsageError("--engines is for --from: name the cluster, or leave it out")
    if settings.cluster is not None and settings.due_field:
        raise UsageError(
            "--due-field compares the server's clock with the engine's, which --from puts on other machines: "
            "give --interval instead"
        )
    for name, is_used in (
        ("--values", settings.values_file),
        ("--placeholders", settings.has_placeholders),
    ):
        if settings.is_literal and is_used:
            raise UsageError(f"--literal sends braces as they stand: leave out {name}")
    if settings.has_placeholders and settings.body is None:
        raise UsageError("--placeholders is for --body: elsewhere braces are placeholders anyway")


def _check_kind(settings: LoadSettings, target: Target) -> None:
    """Raise UsageError where an option on the command line is for other kinds of targets."""
    is_stream = target.protocol == "stream"
    kind = "stream+ws" if is_stream and target.is_websocket else target.protocol
    for field, names, suited in declared(LoadSettings):
        if suited and kind not in suited.kinds.split() and getattr(settings, field.name) != field.default:
            name = names[-1]
            if is_stream and suited.instead:
                raise UsageError(f"{name} is not for a stream: {suited.instead}")
            raise UsageError(f"{name} is not for {_KINDS[kind]}: leave it out")
