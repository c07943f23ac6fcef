"""The options of `ringside load`, and their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ringside.load.thresholds import Threshold

from ringside.cli import params
from ringside.cli.sections import COMMON, Function, option

_SCHEDULE = "When requests are sent"
_REQUEST = "What is sent"
_TLS = "TLS and HTTP/2"
_REPLY = "What must come back"
_STREAM = "Streams"
_VERSUS = "Two targets compared"
_OUTPUT = "Output"
_ENGINE = "Engine"
_MACHINES = "Several machines"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadArguments:
    """The command line of `ringside load`; None where an option was left out. Durations in seconds."""

    targets: tuple[str, ...]
    weights: tuple[int, ...] | None
    connections: int | None
    rate_per_s: float | None
    burst: int | None
    poisson: bool
    steps: tuple[tuple[float, float], ...] | None
    tick_s: float | None
    duration_s: float | None
    requests: int | None
    ramp_per_s: float | None
    cluster: str | None
    engines: int | tuple[str, ...] | None
    threads: int
    cpus: tuple[int, ...] | None
    io: str
    timeout_s: float
    wait_ready_s: float | None
    method: str | None
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    close: bool
    follow_redirects: bool
    values_file: Path | None
    is_literal: bool
    is_http2: bool
    streams: int | None
    cacert: Path | None
    insecure: bool
    line: str | None
    expect_status: int | None
    expect_body: str | None
    expect_contains: str | None
    expect_pattern: str | None
    framing: str | None
    first: str | None
    chunk: str | None
    interval_s: float | None
    due_field: str | None
    other_target: str | None
    blocks: int | None
    margin: float | None
    seed: int | None
    thresholds: tuple[Threshold, ...]
    hdr_file: Path | None
    time_unit: str | None
    form: str | None
    store: str | None


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    option(
        COMMON,
        "--connections",
        type=params.CONNECTIONS,
        metavar="N",
        help="Open at one time [default: 64; 100 streams].",
    ),
    option(
        COMMON,
        "--rate",
        "rate_per_s",
        type=params.rate,
        metavar="N",
        help="Requests per second [default: a closed loop].",
    ),
    option(
        COMMON,
        "--duration",
        "duration_s",
        type=params.duration,
        metavar="10s",
        help="How long [default: 10s, unless --requests ends it].",
    ),
    option(COMMON, "--requests", type=click.IntRange(1, 10**15), metavar="N", help="End after N requests."),
    option(COMMON, "--method", type=params.method, metavar="NAME", help="[default: GET; POST with --body]"),
    option(
        COMMON,
        "--header",
        "headers",
        type=params.header,
        multiple=True,
        metavar="'NAME: VALUE'",
        help="May be repeated.",
    ),
    option(COMMON, "--body", type=params.body, metavar="TEXT|@FILE", help="What each request carries."),
    option(
        COMMON,
        "--wait-ready",
        "wait_ready_s",
        type=params.duration,
        metavar="10s",
        help="Wait up to this long for the target to accept connections.",
    ),
    option(
        COMMON,
        "--vs",
        "other_target",
        metavar="TARGET2",
        help="Compare two targets in alternating short runs.",
    ),
    option(
        COMMON,
        "--fail-if",
        "thresholds",
        type=params.threshold,
        multiple=True,
        metavar="'p99>200ms'",
        help="Exit status 1 if so; also 'errors>1%', 'rate<1000'.",
    ),
    params.form_option("json", "Print one JSON document instead.", COMMON),
    option(_SCHEDULE, "--burst", type=params.COUNT, metavar="N", help="Requests per burst [default: 1]."),
    option(_SCHEDULE, "--poisson", is_flag=True, help="Random instants at that rate."),
    option(
        _SCHEDULE,
        "--staircase",
        "steps",
        type=params.staircase,
        metavar="RATE:TIME,…",
        help="One rate after another: 100:5s,200:5s.",
    ),
    option(
        _SCHEDULE,
        "--tick",
        "tick_s",
        type=params.duration,
        metavar="250us",
        help="Send what has become due, together, once per tick [default: each at its instant].",
    ),
    option(
        _SCHEDULE,
        "--ramp",
        "ramp_per_s",
        type=params.rate,
        metavar="N/s",
        help="Connections opened per second [default: all at once].",
    ),
    option(
        _SCHEDULE,
        "--timeout",
        "timeout_s",
        type=params.duration,
        metavar="5s",
        default="5s",
        show_default=True,
        help="For a connect, a reply, a stream's silence.",
    ),
    option(_SCHEDULE, "--close", is_flag=True, help="A connection for each request."),
    option(
        _SCHEDULE,
        "--seed",
        type=params.SEED,
        metavar="N",
        help="Seed of --poisson, {random:…}, the order of --vs.",
    ),
    option(
        _REQUEST,
        "--weights",
        type=params.weights,
        metavar="3,1",
        help="Shares of several targets [default: equal].",
    ),
    option(
        _REQUEST,
        "--values",
        "values_file",
        type=params.FILE,
        metavar="FILE",
        help="CSV with a header: {column} in path, headers, body or line is the value of the request's row.",
    ),
    option(_REQUEST, "--literal", "is_literal", is_flag=True, help="Send braces as they stand."),
    option(
        _REQUEST,
        "--follow-redirects",
        is_flag=True,
        help="Follow redirects on the same host and port, up to 10 for each request.",
    ),
    option(
        _REQUEST, "--line", metavar="TEXT", help="What a tcp target, or a WebSocket, is sent [default: 1]."
    ),
    option(
        _REPLY,
        "--expect-status",
        type=click.IntRange(200, 599),
        metavar="N",
        help="[default: any 2xx or 3xx]",
    ),
    option(_REPLY, "--expect-body", metavar="TEXT", help="What body or line must be."),
    option(_REPLY, "--expect-contains", metavar="TEXT", help="What body or line must contain."),
    option(_REPLY, "--expect-pattern", metavar="REGEX", help="What body or line as a whole must match."),
    option(
        _TLS,
        "--http2",
        "is_http2",
        is_flag=True,
        help="HTTP/2 for https://…, as h2s://… says too (h2://…: without TLS).",
    ),
    option(
        _TLS,
        "-m",
        "--streams",
        type=click.IntRange(1, 10_000),
        metavar="N",
        help="Requests in flight on a connection of HTTP/2 [default: 1].",
    ),
    option(
        _TLS,
        "--cacert",
        type=params.FILE,
        metavar="FILE",
        help="Certificates (PEM) to trust [default: the system's].",
    ),
    option(_TLS, "--insecure", is_flag=True, help="Accept any certificate."),
    option(
        _STREAM,
        "--framing",
        type=click.Choice(["chunk", "line"]),
        help="What a stream's message is [default: chunk].",
    ),
    option(_STREAM, "--first", metavar="TEXT", help="A stream's first message: 'Welcome: {id}'."),
    option(
        _STREAM,
        "--chunk",
        metavar="TEXT",
        help="Its other messages, from k = 1: 'Chunk {k} for {id}'.",
    ),
    option(
        _STREAM,
        "--interval",
        "interval_s",
        type=params.duration,
        metavar="1s",
        help="Time from one message of a stream to the next.",
    ),
    option(
        _STREAM,
        "--due-field",
        metavar="TEXT",
        help="Text before the nanoseconds at which a message is due.",
    ),
    option(
        _VERSUS,
        "--blocks",
        type=click.IntRange(1, 1000),
        metavar="N",
        help="Pairs of runs [default: 10].",
    ),
    option(
        _VERSUS,
        "--margin",
        type=params.margin,
        metavar="5%",
        help="Closer ratios are equivalent [default: 5%].",
    ),
    option(
        _VERSUS,
        "--store",
        metavar="PATH|URL",
        help="The store [default: .ringside/ringside.sqlite].",
    ),
    params.form_option("csv", "Print CSV instead: a header, and a row for each target.", _OUTPUT),
    option(
        _OUTPUT,
        "--time-unit",
        type=click.Choice(["ns", "us", "ms", "s"]),
        help="Unit of times in the table and in CSV [default: ms].",
    ),
    option(
        _OUTPUT,
        "--hdr",
        "hdr_file",
        type=params.FILE,
        metavar="FILE",
        help="Write percentiles as HdrHistogram does.",
    ),
    option(
        _ENGINE,
        "--threads",
        type=click.IntRange(1, 256),
        metavar="N",
        default=1,
        show_default=True,
        help="Engine threads.",
    ),
    option(
        _ENGINE,
        "--cpus",
        type=params.cpus,
        metavar="LIST",
        help="CPUs for these threads alone, in turn: 0,2-3. In closed loops they poll before they sleep.",
    ),
    option(_ENGINE, "--io", type=click.Choice(["auto", "uring", "epoll"]), default="auto", show_default=True),
    option(
        _MACHINES,
        "--from",
        "cluster",
        metavar="auto|local|ray://HOST:PORT",
        help="Engines on nodes of a Ray cluster share the load.",
    ),
    option(
        _MACHINES,
        "--engines",
        type=params.engines,
        metavar="N|NODE,…",
        help="How many, or on which nodes [default: one on each].",
    ),
)


def load_options(function: Function) -> Function:
    """Give a command the options of `ringside load`, in the order of the help."""
    for decorate in reversed(_OPTIONS):
        function = decorate(function)
    return function
