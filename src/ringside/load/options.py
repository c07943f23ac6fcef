"""The options of `ringside load`, and how their values are written."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from ringside import units
from ringside.cli import params
from ringside.cli.options import flag, option
from ringside.errors import UsageError
from ringside.files import read_at_most

if TYPE_CHECKING:
    from ringside.load.thresholds import Threshold

# A method or the name of a header (RFC 9110, section 5.6.2).
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# The largest body that stands in a plan itself. A file of more than the second is named by its path instead.
MAX_BODY_BYTES = 100 << 20
_SMALL_BODY_BYTES = 1 << 20


def rate(text: str) -> float:
    """`1000` or `1000/s`, as a number per second: more than 0, up to ten million."""
    try:
        per_second = units.number(text.removesuffix("/s"))
    except ValueError:
        raise params.bad_value(text, "is not a rate: write it as 1000 or 1000/s") from None
    if not 0 < per_second <= 10_000_000:
        raise params.bad_value(text, "is out of range: more than 0, up to 10,000,000/s")
    return per_second


def staircase(text: str) -> tuple[tuple[float, float], ...]:
    """`100:5s,200:5s` as (requests per second, seconds) of each step."""
    steps = []
    for step in text.split(","):
        step_rate, colon, step_duration = step.partition(":")
        if not colon:
            raise params.bad_value(text, "is not a staircase: write it as rate:time, like 100:5s,200:5s")
        steps.append((rate(step_rate), params.duration(step_duration)))
    if len(steps) > 1000:
        raise params.bad_value(text, f"has {len(steps):,} steps: up to 1,000 are possible")
    return tuple(steps)


def host_and_port(text: str) -> str:
    """`10.0.0.7`, `10.0.0.7:8080` or `[::1]:8080`, as it is written."""
    from ringside.load import target

    try:
        target.parse(f"http://{text}/")
    except UsageError:
        raise params.bad_value(text, "is no address: write it as HOST or HOST:PORT") from None
    return text


def sources(text: str) -> tuple[str, ...]:
    """`10.0.0.7,10.0.0.8` as addresses."""
    return tuple(str(ipaddress.ip_address(each)) for each in text.split(","))


def threshold(text: str) -> Threshold | tuple[str, float]:
    """`p99>200ms`, `errors>1%` or `rate<1000`; of two targets a gate, `worse:5%`."""
    from ringside.load import thresholds

    return params.gate(text) if text.partition(":")[0] in params.GATES else thresholds.parse(text)


def method(text: str) -> str:
    """A method of HTTP, in capitals."""
    if not _TOKEN.fullmatch(text) or text.upper() == "CONNECT":
        raise params.bad_value(text, "is not possible: write it as GET or POST")
    return text.upper()


def window(text: str) -> int:
    """`16MiB`, `64KiB` or `65535` as bytes: what HTTP/2 allows."""
    match = re.fullmatch(r"(\d{1,10})(KiB|MiB|GiB)?", text)
    size = int(match[1]) << {None: 0, "KiB": 10, "MiB": 20, "GiB": 30}[match[2]] if match else 0
    if not 65_535 <= size < 2**31:
        raise params.bad_value(text, "is no window: write it as 16MiB, from 64KiB to 1GiB")
    return size


def header(text: str) -> tuple[str, str]:
    """`Name: value` as a pair."""
    name, colon, value = text.partition(":")
    value = value.strip(" \t")
    if not colon or not _TOKEN.fullmatch(name) or re.search(r"[\0-\x08\x0a-\x1f\x7f]", value):
        raise params.bad_value(text, "is not a header: write it as 'Name: value'")
    if name.lower() in ("content-length", "transfer-encoding"):
        raise params.bad_value(text, "is not needed: the length of --body is sent automatically")
    if name.lower() == "connection":
        raise params.bad_value(text, "is not needed: --close opens a connection for each request")
    return name, value


def body(text: str) -> bytes | Path:
    """A text, or the bytes of a file after `@`, stdin for `@-`; of a large file its path."""
    if re.fullmatch(r"\d+(\.\d+)?(ms|s|m|h)", text):
        raise params.bad_value(
            text, "is a time: --duration is how long; such a body can come from --body @FILE"
        )
    if not text.startswith("@"):
        return text.encode()
    path = Path("/dev/stdin" if text == "@-" else text[1:])
    try:
        if path.is_file() and path.stat().st_size > _SMALL_BODY_BYTES:
            with path.open("rb"):
                return path.absolute()
        content = read_at_most(path, MAX_BODY_BYTES)
    except OSError as error:
        raise params.bad_value(text, f"cannot be read: {error.strerror}") from error
    if len(content) > MAX_BODY_BYTES:
        raise params.bad_value(text, f"is no file, and has more than {MAX_BODY_BYTES >> 20} MiB: name a file")
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The command line of `ringside load`; None where an option was left out. Durations in seconds."""

    EXCLUDES: ClassVar = {
        "--vs": "--connect-to --unix --csv --time-unit --hdr",
        "--store": "--connect-to --unix --csv --time-unit --hdr",
        "--json": "--csv --time-unit",
        "--staircase": "--rate --burst --poisson",
        "--poisson": "--burst",
        "--literal": "--values --placeholders",
        "--expect-pattern": "--expect-body --expect-contains",
        "--unix": "--connect-to --from --source",
        "--insecure": "--cacert",
        "--due-field": "--interval",
    }
    NEEDED_BY: ClassVar = {
        "--vs": "--margin",
        "--from": "--engines",
        "--body": "--placeholders",
        "--cert": "--key",
        "--key": "--cert",
    }

    targets: tuple[str, ...]
    # A million for each of a thousand engines.
    connections: int | None = option(
        "-c, --connections N", "Open at one time [default: 64; 100 streams].", params.Whole(1, 10**9)
    )
    rate_per_s: float | None = option("--rate N", "Requests per second [default: a closed loop].", rate)
    duration_s: float | None = option(
        "--duration 10s", "How long [default: 10s, or --requests].", params.duration
    )
    requests: int | None = option("--requests N", "End after N requests.", params.Whole(1, 10**15))
    headers: tuple[tuple[str, str], ...] = option(
        "-H, --header 'NAME: VALUE'", "May be repeated.", header, multiple=True
    )
    body: bytes | Path | None = option("-d, --body TEXT|@FILE", "What each request carries.", body)
    other_target: str | None = option("--vs TARGET2", "Compare two targets in alternating short runs.")
    thresholds: tuple[Threshold | tuple[str, float], ...] = option(
        "--fail-if 'p99>200ms'", "Exit status 1 if so; also errors, rate.", threshold, multiple=True
    )
    as_json: bool = flag("--json", "Print one JSON document instead.")
    burst: int | None = option(
        "--burst N", "Requests per burst [default: 1].", params.COUNT, section="When requests are sent"
    )
    poisson: bool = flag("--poisson", "Random instants at that rate.")
    steps: tuple[tuple[float, float], ...] = option(
        "--staircase RATE:TIME,…", "One rate after another: 100:5s,200:5s.", staircase, default=()
    )
    slack_s: float | None = option(
        "--slack 50us",
        "A request may wait so long to be sent with others [default: 50us]; 0: each at its instant.",
        params.run_duration,
    )
    ramp_per_s: float | None = option(
        "--ramp N/s", "Connections opened per second [default: all at once].", rate
    )
    timeout_s: float = option(
        "--timeout 5s",
        "For a connect, a reply, a stream's silence [default: 5s].",
        params.duration,
        default=5.0,
    )
    wait_ready_s: float | None = option(
        "--wait-ready 10s", "Wait so long until the target accepts.", params.duration
    )
    close: bool = flag("--close", "A connection for each request.")
    seed: int | None = option("--seed N", "Seed of --poisson, and of the order of --vs.", params.SEED)
    method: str | None = option(
        "--method NAME", "[default: GET; POST with --body]", method, section="What is sent"
    )
    values_file: Path | None = option(
        "--values FILE",
        "CSV with a header: {column} in path, headers, body or line is the value of the request's row.",
        params.FILE,
    )
    has_placeholders: bool = flag("--placeholders", "{n} and {id} in --body too.")
    is_literal: bool = flag("--literal", "Send braces as they stand.")
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
        host_and_port,
        section="Connections",
    )
    unix: str | None = option("--unix PATH", "Connect to this Unix socket in place of the target's host.")
    sources: tuple[str, ...] = option(
        "--source ADDRESS,…", "Connect from these in turn.", sources, default=()
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
    window_bytes: int = option(
        "--window SIZE",
        "What a stream of HTTP/2 may send before it is read [default: 16MiB].",
        window,
        default=16 << 20,
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
        "--blocks N", "Pairs of runs [default: 10].", params.Whole(1, 1000), section="Kept and compared"
    )
    margin: float | None = option("--margin 5%", "Closer ratios are equivalent [default: 5%].", units.margin)
    store: str | None = option(
        "--store PATH|URL", "Keep the load there, in blocks, for `show` and `compare`."
    )
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
