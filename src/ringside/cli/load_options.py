"""The options of `ringside load`, and how they are held against each other and against the target."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ringside import units
from ringside.cli import params
from ringside.cli.options import declared, flag, option
from ringside.errors import UsageError
from ringside.text import one_line

if TYPE_CHECKING:
    from ringside.load.target import Target
    from ringside.load.thresholds import Threshold

# Options that are not for every kind of target: for which kinds, what to do instead where the target is a
# stream, and the options.
_SUITED = (
    ("http", "", "--close --weights --follow-redirects"),
    ("http stream", "", "--method --body --placeholders --expect-status"),
    (
        "http tcp ws",
        "its server sends by itself, and --ramp says how fast streams are opened",
        "--rate --burst --poisson --staircase --slack",
    ),
    ("http tcp ws", "its connections are open as long as the server holds them", "--renew"),
    (
        "http tcp ws",
        "--first and --chunk say what its messages must be",
        "--expect-body --expect-contains --expect-pattern",
    ),
    ("http tcp ws", "give --duration", "--requests"),
    ("http stream ws stream+ws", "", "--header"),
    ("tcp ws stream+ws", "", "--line"),
    ("tcp ws", "", "--skip"),
    ("tcp", "", "--crlf"),
    ("stream", "", "--framing"),
    ("stream stream+ws", "", "--first --chunk --interval --due-field"),
)
_KINDS = {
    "http": "an http target",
    "stream": "a stream",
    "tcp": "a tcp target",
    "ws": "a WebSocket",
    "stream+ws": "a stream of a WebSocket",
}
# What options need, and what to do without it.
_NEEDS = {
    "TLS": (
        "is for TLS: leave it out, or name the target as https://…",
        "--cacert --insecure --cert --key --sni",
    ),
    "HTTP/1.1": ("is for HTTP/1.1: leave it out", "--renew"),
    "HTTP/2": ("is for HTTP/2: add --http2, or name the target as h2://…", "--streams"),
    "--vs": ("is for --vs: leave it out", "--blocks --margin"),
    "one load": (
        "is for one load: leave out --vs",
        "--fail-if --connect-to --unix --csv --time-unit --hdr",
    ),
    "--from": ("is for --from: name the cluster, or leave it out", "--engines"),
    "--body": ("is for --body: elsewhere braces are placeholders anyway", "--placeholders"),
}
# sun_path of unix(7).
_MAX_SOCKET_BYTES = 108


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The command line of `ringside load`; None where an option was left out. Durations in seconds."""

    targets: tuple[str, ...]
    # A million for each of a thousand engines.
    connections: int | None = option(
        "-c, --connections N", "Open at one time [default: 64; 100 streams].", params.Whole(1, 10**9)
    )
    rate_per_s: float | None = option(
        "--rate N", "Requests per second [default: a closed loop].", params.rate
    )
    duration_s: float | None = option(
        "--duration 10s", "How long [default: 10s, or --requests].", params.duration
    )
    requests: int | None = option("--requests N", "End after N requests.", params.Whole(1, 10**15))
    method: str | None = option("--method NAME", "[default: GET; POST with --body]", params.method)
    headers: tuple[tuple[str, str], ...] = option(
        "-H, --header 'NAME: VALUE'", "May be repeated.", params.header, multiple=True
    )
    body: bytes | Path | None = option("-d, --body TEXT|@FILE", "What each request carries.", params.body)
    wait_ready_s: float | None = option(
        "--wait-ready 10s", "Wait so long until the target accepts.", params.duration
    )
    other_target: str | None = option("--vs TARGET2", "Compare two targets in alternating short runs.")
    thresholds: tuple[Threshold, ...] = option(
        "--fail-if 'p99>200ms'", "Exit status 1 if so; also errors, rate.", params.threshold, multiple=True
    )
    as_json: bool = flag("--json", "Print one JSON document instead.")
    burst: int | None = option(
        "--burst N", "Requests per burst [default: 1].", params.COUNT, section="When requests are sent"
    )
    poisson: bool = flag("--poisson", "Random instants at that rate.")
    steps: tuple[tuple[float, float], ...] = option(
        "--staircase RATE:TIME,…", "One rate after another: 100:5s,200:5s.", params.staircase, default=()
    )
    slack_s: float | None = option(
        "--slack 50us",
        "A request may wait so long to be sent with others [default: 50us]; 0: each at its instant.",
        params.run_duration,
    )
    ramp_per_s: float | None = option(
        "--ramp N/s", "Connections opened per second [default: all at once].", params.rate
    )
    timeout_s: float = option(
        "--timeout 5s",
        "For a connect, a reply, a stream's silence [default: 5s].",
        params.duration,
        default=5.0,
    )
    close: bool = flag("--close", "A connection for each request.")
    seed: int | None = option("--seed N", "Seed of --poisson, {random:…}, the order of --vs.", params.SEED)
    weights: tuple[int, ...] = option(
        "--weights 3,1",
        "Shares of several targets [default: equal].",
        params.weights,
        default=(),
        section="What is sent",
    )
    values_file: Path | None = option(
        "--values FILE",
        "CSV with a header: {column} in path, headers, body or line is the value of the request's row.",
        params.FILE,
    )
    has_placeholders: bool = flag("--placeholders", "{n}, {id}, {random:…} in --body too.")
    is_literal: bool = flag("--literal", "Send braces as they stand.")
    follow_redirects: bool = flag(
        "--follow-redirects", "Follow redirects on the same host and port, up to 10 for each request."
    )
    line: str | None = option("--line TEXT", "What a tcp target, or a WebSocket, is sent [default: 1].")
    is_crlf: bool = flag("--crlf", "Lines end with \\r\\n, those of the server too.")
    expect_status: int | None = option(
        "--expect-status N",
        "[default: any 2xx or 3xx]",
        params.Whole(200, 599),
        section="What must come back",
    )
    expect_body: str | None = option("--expect-body TEXT", "What body or line must be.")
    expect_contains: str | None = option("--expect-contains TEXT", "What body or line must contain.")
    expect_pattern: str | None = option("--expect-pattern REGEX", "What body or line as a whole must match.")
    connect_to: str | None = option(
        "--connect-to HOST[:PORT]",
        "Connect there; Host and TLS name the target all the same.",
        params.host_and_port,
        section="Connections",
    )
    unix: str | None = option("--unix PATH", "Connect to this Unix socket in place of the target's host.")
    renew: int | float | None = option(
        "--renew N|TIME", "Replace a connection after N replies, or once it is so old.", params.renewal
    )
    skip: int | None = option(
        "--skip N", "Lines or messages that the server sends before it is asked.", params.COUNT
    )
    is_http2: bool = flag(
        "--http2",
        "HTTP/2 for https://…, as h2s://… says too (h2://…: without TLS).",
        section="TLS and HTTP/2",
    )
    streams: int | None = option(
        "-m, --streams N",
        "Requests in flight on a connection of HTTP/2 [default: 1].",
        params.Whole(1, 10_000),
    )
    cacert: Path | None = option(
        "--cacert FILE", "Certificates (PEM) to trust [default: the system's].", params.FILE
    )
    insecure: bool = flag("--insecure", "Accept any certificate.")
    cert: Path | None = option(
        "--cert FILE", "The client's certificate (PEM), for servers that ask for one.", params.FILE
    )
    key: Path | None = option("--key FILE", "Its private key (PEM).", params.FILE)
    server_name: str | None = option("--sni NAME", "The name in TLS [default: the target's host].")
    framing: str | None = option(
        "--framing",
        "What a stream's message is [default: chunk].",
        ["chunk", "line", "event"],
        section="Streams",
    )
    first: str | None = option("--first TEXT", "A stream's first message: 'Welcome: {id}'.")
    chunk: str | None = option("--chunk TEXT", "Its other messages, from k = 1: 'Chunk {k} for {id}'.")
    interval_s: float | None = option(
        "--interval 1s", "Time from one message of a stream to the next.", params.duration
    )
    due_field: str | None = option(
        "--due-field TEXT", "Text before the nanoseconds at which a message is due."
    )
    blocks: int | None = option(
        "--blocks N", "Pairs of runs [default: 10].", params.Whole(1, 1000), section="Two targets compared"
    )
    margin: float | None = option("--margin 5%", "Closer ratios are equivalent [default: 5%].", units.margin)
    store: str | None = option("--store PATH|URL", params.STORE_HELP)
    as_csv: bool = flag("--csv", "Print CSV instead: a header, and a row for each target.", section="Output")
    time_unit: str | None = option(
        "--time-unit", "Unit of times in the table and in CSV [default: ms].", ["ns", "us", "ms", "s"]
    )
    hdr_file: Path | None = option("--hdr FILE", "Write percentiles as HdrHistogram does.", params.FILE)
    threads: int = option(
        "--threads N", "Engine threads [default: 1].", params.Whole(1, 256), default=1, section="Engine"
    )
    cpus: tuple[int, ...] = option(
        "--cpus LIST",
        "CPUs for these threads alone, in turn: 0,2-3. In closed loops they poll before they sleep.",
        params.cpus,
        default=(),
    )
    io: str = option("--io", "[default: auto]", ["auto", "uring", "epoll"], default="auto")
    cluster: str | None = option(
        "--from auto|local|ray://HOST:PORT",
        "Engines on nodes of a Ray cluster share the load.",
        section="Several machines",
    )
    engines: int | tuple[str, ...] | None = option(
        "--engines N|NODE,…", "How many, or on which nodes [default: one on each].", params.engines
    )

    @property
    def form(self) -> Literal["json", "csv"] | None:
        """How the result is printed; None for a person."""
        return "json" if self.as_json else "csv" if self.as_csv else None


def check(settings: LoadSettings, target: Target, other: Target | None) -> None:
    """Raise UsageError where options exclude each other, or do not suit the target or the `other` one, with
    which it is compared."""
    used = {
        field.metadata["options"][0][0][-1]
        for name, field in declared(LoadSettings)
        if getattr(settings, name) != field.default
    }
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
    for need, (remedy, options) in _NEEDS.items():
        for name in options.split():
            if name in used and not facts[need]:
                raise UsageError(f"{name} {remedy}")
    is_stream = target.protocol == "stream"
    kind = "stream+ws" if is_stream and target.is_websocket else target.protocol
    for kinds, instead, options in _SUITED:
        for name in options.split():
            if name in used and kind not in kinds.split():
                if is_stream and instead:
                    raise UsageError(f"{name} is not for a stream: {instead}")
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
