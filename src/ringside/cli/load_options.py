"""The options of `ringside load`, and how they are held against each other and against the target."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ringside.cli import params
from ringside.cli.options import declared, flag, option
from ringside.errors import UsageError
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.load.target import Target
    from ringside.load.thresholds import Threshold


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


@dataclass(frozen=True, slots=True)
class Needs:
    """What an option needs (a key of the facts that `check` collects), and what to do without it."""

    fact: str
    remedy: str


_HTTP = For("http stream")
_HTTP_REPLIES = For("http")
_STREAMED = For("stream stream+ws")
_SCHEDULED = For("http tcp ws", "its server sends by itself, and --ramp says how fast streams are opened")
_REQUESTED = For("http tcp ws", "its connections are open as long as the server holds them")
_CONTENT = For("http tcp ws", "--first and --chunk say what its messages must be")
_NEEDS_TLS = Needs("TLS", "is for TLS: leave it out, or name the target as https://…")
_NEEDS_HTTP1 = Needs("HTTP/1.1", "is for HTTP/1.1: leave it out")
_NEEDS_HTTP2 = Needs("HTTP/2", "is for HTTP/2: add --http2, or name the target as h2://…")
_NEEDS_VS = Needs("--vs", "is for --vs: leave it out")
_NEEDS_ONE = Needs("one load", "is for one load: leave out --vs")
_NEEDS_FROM = Needs("--from", "is for --from: name the cluster, or leave it out")
_NEEDS_BODY = Needs("--body", "is for --body: elsewhere braces are placeholders anyway")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The command line of `ringside load`; None where an option was left out. Durations in seconds."""

    targets: tuple[str, ...]
    connections: int | None = option(
        "-c, --connections N", "Open at one time [default: 64; 100 streams].", type=params.CONNECTIONS
    )
    rate_per_s: float | None = option(
        "--rate N", "Requests per second [default: a closed loop].", type=params.rate, notes=(_SCHEDULED,)
    )
    duration_s: float | None = option(
        "--duration 10s", "How long [default: 10s, or --requests].", type=params.duration
    )
    requests: int | None = option(
        "--requests N",
        "End after N requests.",
        type=params.Whole(1, 10**15),
        notes=(For("http tcp ws", "give --duration"),),
    )
    method: str | None = option(
        "--method NAME", "[default: GET; POST with --body]", type=params.method, notes=(_HTTP,)
    )
    headers: tuple[tuple[str, str], ...] = option(
        "-H, --header 'NAME: VALUE'",
        "May be repeated.",
        type=params.header,
        multiple=True,
        notes=(For("http stream ws stream+ws"),),
    )
    body: bytes | Path | None = option(
        "-d, --body TEXT|@FILE", "What each request carries.", type=params.body, notes=(_HTTP,)
    )
    wait_ready_s: float | None = option(
        "--wait-ready 10s", "Wait so long until the target accepts.", type=params.duration
    )
    other_target: str | None = option("--vs TARGET2", "Compare two targets in alternating short runs.")
    thresholds: tuple[Threshold, ...] = option(
        "--fail-if 'p99>200ms'",
        "Exit status 1 if so; also errors, rate.",
        type=params.threshold,
        multiple=True,
        notes=(_NEEDS_ONE,),
    )
    as_json: bool = flag("--json", "Print one JSON document instead.")
    burst: int | None = option(
        "--burst N",
        "Requests per burst [default: 1].",
        type=params.COUNT,
        notes=(_SCHEDULED,),
        section="When requests are sent",
    )
    poisson: bool = flag("--poisson", "Random instants at that rate.", notes=(_SCHEDULED,))
    steps: tuple[tuple[float, float], ...] = option(
        "--staircase RATE:TIME,…",
        "One rate after another: 100:5s,200:5s.",
        type=params.staircase,
        default=(),
        notes=(_SCHEDULED,),
    )
    slack_s: float | None = option(
        "--slack 50us",
        "A request may wait so long to be sent with others [default: 50us]; 0: each at its instant.",
        type=params.run_duration,
        notes=(_SCHEDULED,),
    )
    ramp_per_s: float | None = option(
        "--ramp N/s", "Connections opened per second [default: all at once].", type=params.rate
    )
    timeout_s: float = option(
        "--timeout 5s",
        "For a connect, a reply, a stream's silence [default: 5s].",
        type=params.duration,
        default=5.0,
    )
    close: bool = flag("--close", "A connection for each request.", notes=(_HTTP_REPLIES,))
    seed: int | None = option(
        "--seed N", "Seed of --poisson, {random:…}, the order of --vs.", type=params.SEED
    )
    weights: tuple[int, ...] = option(
        "--weights 3,1",
        "Shares of several targets [default: equal].",
        type=params.weights,
        default=(),
        notes=(_HTTP_REPLIES,),
        section="What is sent",
    )
    values_file: Path | None = option(
        "--values FILE",
        "CSV with a header: {column} in path, headers, body or line is the value of the request's row.",
        type=params.FILE,
    )
    has_placeholders: bool = flag(
        "--placeholders", "{n}, {id}, {random:…} in --body too.", notes=(_NEEDS_BODY, _HTTP)
    )
    is_literal: bool = flag("--literal", "Send braces as they stand.")
    follow_redirects: bool = flag(
        "--follow-redirects",
        "Follow redirects on the same host and port, up to 10 for each request.",
        notes=(_HTTP_REPLIES,),
    )
    line: str | None = option(
        "--line TEXT",
        "What a tcp target, or a WebSocket, is sent [default: 1].",
        notes=(For("tcp ws stream+ws"),),
    )
    is_crlf: bool = flag("--crlf", "Lines end with \\r\\n, those of the server too.", notes=(For("tcp"),))
    expect_status: int | None = option(
        "--expect-status N",
        "[default: any 2xx or 3xx]",
        type=params.Whole(200, 599),
        notes=(_HTTP,),
        section="What must come back",
    )
    expect_body: str | None = option("--expect-body TEXT", "What body or line must be.", notes=(_CONTENT,))
    expect_contains: str | None = option(
        "--expect-contains TEXT", "What body or line must contain.", notes=(_CONTENT,)
    )
    expect_pattern: str | None = option(
        "--expect-pattern REGEX", "What body or line as a whole must match.", notes=(_CONTENT,)
    )
    connect_to: str | None = option(
        "--connect-to HOST[:PORT]",
        "Connect there; Host and TLS name the target all the same.",
        type=params.host_and_port,
        notes=(_NEEDS_ONE,),
        section="Connections",
    )
    unix: str | None = option(
        "--unix PATH", "Connect to this Unix socket in place of the target's host.", notes=(_NEEDS_ONE,)
    )
    renew: int | float | None = option(
        "--renew N|TIME",
        "Replace a connection after N replies, or once it is so old.",
        type=params.renewal,
        notes=(_NEEDS_HTTP1, _REQUESTED),
    )
    skip: int | None = option(
        "--skip N",
        "Lines or messages that the server sends before it is asked.",
        type=params.COUNT,
        notes=(For("tcp ws"),),
    )
    is_http2: bool = flag(
        "--http2",
        "HTTP/2 for https://…, as h2s://… says too (h2://…: without TLS).",
        section="TLS and HTTP/2",
    )
    streams: int | None = option(
        "-m, --streams N",
        "Requests in flight on a connection of HTTP/2 [default: 1].",
        type=params.Whole(1, 10_000),
        notes=(_NEEDS_HTTP2,),
    )
    cacert: Path | None = option(
        "--cacert FILE",
        "Certificates (PEM) to trust [default: the system's].",
        type=params.FILE,
        notes=(_NEEDS_TLS,),
    )
    insecure: bool = flag("--insecure", "Accept any certificate.", notes=(_NEEDS_TLS,))
    cert: Path | None = option(
        "--cert FILE",
        "The client's certificate (PEM), for servers that ask for one.",
        type=params.FILE,
        notes=(_NEEDS_TLS,),
    )
    key: Path | None = option("--key FILE", "Its private key (PEM).", type=params.FILE, notes=(_NEEDS_TLS,))
    server_name: str | None = option(
        "--sni NAME", "The name in TLS [default: the target's host].", notes=(_NEEDS_TLS,)
    )
    framing: str | None = option(
        "--framing",
        "What a stream's message is [default: chunk].",
        type=click.Choice(["chunk", "line", "event"]),
        notes=(For("stream"),),
        section="Streams",
    )
    first: str | None = option(
        "--first TEXT", "A stream's first message: 'Welcome: {id}'.", notes=(_STREAMED,)
    )
    chunk: str | None = option(
        "--chunk TEXT", "Its other messages, from k = 1: 'Chunk {k} for {id}'.", notes=(_STREAMED,)
    )
    interval_s: float | None = option(
        "--interval 1s",
        "Time from one message of a stream to the next.",
        type=params.duration,
        notes=(_STREAMED,),
    )
    due_field: str | None = option(
        "--due-field TEXT", "Text before the nanoseconds at which a message is due.", notes=(_STREAMED,)
    )
    blocks: int | None = option(
        "--blocks N",
        "Pairs of runs [default: 10].",
        type=params.Whole(1, 1000),
        notes=(_NEEDS_VS,),
        section="Two targets compared",
    )
    margin: float | None = option(
        "--margin 5%", "Closer ratios are equivalent [default: 5%].", type=params.margin, notes=(_NEEDS_VS,)
    )
    store: str | None = option("--store PATH|URL", "The store [default: .ringside/ringside.sqlite].")
    as_csv: bool = flag(
        "--csv",
        "Print CSV instead: a header, and a row for each target.",
        notes=(_NEEDS_ONE,),
        section="Output",
    )
    time_unit: str | None = option(
        "--time-unit",
        "Unit of times in the table and in CSV [default: ms].",
        type=click.Choice(["ns", "us", "ms", "s"]),
        notes=(_NEEDS_ONE,),
    )
    hdr_file: Path | None = option(
        "--hdr FILE", "Write percentiles as HdrHistogram does.", type=params.FILE, notes=(_NEEDS_ONE,)
    )
    threads: int = option(
        "--threads N",
        "Engine threads [default: 1].",
        type=params.Whole(1, 256),
        default=1,
        section="Engine",
    )
    cpus: tuple[int, ...] = option(
        "--cpus LIST",
        "CPUs for these threads alone, in turn: 0,2-3. In closed loops they poll before they sleep.",
        type=params.cpus,
        default=(),
    )
    io: str = option("--io", "[default: auto]", type=click.Choice(["auto", "uring", "epoll"]), default="auto")
    cluster: str | None = option(
        "--from auto|local|ray://HOST:PORT",
        "Engines on nodes of a Ray cluster share the load.",
        section="Several machines",
    )
    engines: int | tuple[str, ...] | None = option(
        "--engines N|NODE,…",
        "How many, or on which nodes [default: one on each].",
        type=params.engines,
        notes=(_NEEDS_FROM,),
    )

    @property
    def form(self) -> Literal["json", "csv"] | None:
        """How the result is printed; None for a person."""
        return "json" if self.as_json else "csv" if self.as_csv else None


def check(settings: LoadSettings, target: Target, other: Target | None) -> None:
    """Raise UsageError where options exclude each other, or do not suit the target or the `other` one, with
    which it is compared."""
    both = [each for each in (target, other) if each]
    is_http2 = settings.is_http2 or any(each.carrier == "http2" for each in both)
    facts = {
        "TLS": any(each.is_secure for each in both),
        "HTTP/1.1": not is_http2,
        "HTTP/2": is_http2,
        "--vs": other is not None,
        "one load": other is None,
        "--from": settings.cluster is not None,
        "--body": settings.body is not None,
    }
    is_stream = target.protocol == "stream"
    kind = "stream+ws" if is_stream and target.is_websocket else target.protocol
    for attribute, field in declared(LoadSettings):
        if getattr(settings, attribute) == field.default:
            continue
        name = field.metadata["options"][0][0][-1]
        for note in field.metadata["notes"]:
            if isinstance(note, Needs) and not facts[note.fact]:
                raise UsageError(f"{name} {note.remedy}")
            if isinstance(note, For) and kind not in note.kinds.split():
                if is_stream and note.instead:
                    raise UsageError(f"{name} is not for a stream: {note.instead}")
                raise UsageError(f"{name} is not for {_KINDS[kind]}: leave it out")
    if bool(settings.cert) != bool(settings.key):
        raise UsageError("--cert and --key belong together: name both files")
    if settings.unix and len(os.fsencode(settings.unix)) >= _MAX_SOCKET_BYTES:
        raise UsageError(f"--unix {one_line(settings.unix, 60)} is too long for the path of a socket")
    if settings.unix and settings.connect_to:
        raise UsageError("--unix and --connect-to both say where to connect: leave one out")
    if settings.unix and settings.cluster:
        raise UsageError("--unix is a socket of this machine: leave out --from")
    if settings.as_json and settings.as_csv:
        raise UsageError("--json and --csv exclude each other: leave one out")
    if other and len(settings.targets) > 1:
        raise UsageError("--vs compares two targets: name one before it")
    if settings.time_unit and settings.as_json:
        raise UsageError("--time-unit is for the table and --csv: keys of --json name their units")
    if settings.cluster is not None and settings.due_field:
        raise UsageError(
            "--due-field compares the server's clock with the engine's, which --from puts on other machines: "
            "give --interval instead"
        )
    if settings.is_literal and (settings.values_file or settings.has_placeholders):
        name = "--values" if settings.values_file else "--placeholders"
        raise UsageError(f"--literal sends braces as they stand: leave out {name}")
