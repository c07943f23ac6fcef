"""The options of `ringside load`, and how their values are written."""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import unquote_to_bytes

from ringside import units
from ringside.cli import params
from ringside.cli.options import flag_of, option_of, option_tables
from ringside.cli.params import COUNT, FILE, Whole, bad_value, duration
from ringside.errors import UsageError
from ringside.files import read_at_most

if TYPE_CHECKING:
    from ringside.load.thresholds import Threshold

# A method or the name of a header (RFC 9110, section 5.6.2).
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# The largest body that stands in a plan itself. A file of more than the second is named by its path instead.
MAX_BODY_BYTES = 100 << 20
_SMALL_BODY_BYTES = 1 << 20
# How options are written, their help, and which of them go together.
TABLES = option_tables(Path(__file__))


def rate(text: str) -> float:
    """`1000` or `1000/s`, as a number per second: more than 0, up to ten million."""
    try:
        per_second = units.number(text.removesuffix("/s"))
    except ValueError:
        raise bad_value(text, "is not a rate: write it as 1000 or 1000/s") from None
    if not 0 < per_second <= 10_000_000:
        raise bad_value(text, "is out of range: more than 0, up to 10,000,000/s")
    return per_second


def rate_or_rise(text: str) -> float | tuple[float, float]:
    """`1000`, or `100..1000` as the rates between which it rises."""
    first, dots, last = text.partition("..")
    return (rate(first), rate(last)) if dots else rate(text)


def staircase(text: str) -> tuple[tuple[float, float], ...]:
    """`100:5s,200:5s` as (requests per second, seconds) of each step."""
    steps = []
    for step in text.split(","):
        step_rate, colon, step_duration = step.partition(":")
        if not colon:
            raise bad_value(text, "is not a staircase: write it as rate:time, like 100:5s,200:5s")
        steps.append((rate(step_rate), duration(step_duration)))
    if len(steps) > 1000:
        raise bad_value(text, f"has {len(steps):,} steps: up to 1,000 are possible")
    return tuple(steps)


def host_and_port(text: str) -> str:
    """`10.0.0.7`, `10.0.0.7:8080` or `[::1]:8080`, as it is written."""
    from ringside.load import target

    try:
        target.parse(f"http://{text}/")
    except UsageError:
        raise bad_value(text, "is no address: write it as HOST or HOST:PORT") from None
    return text


def proxy(text: str) -> tuple[str, str | None]:
    """`http://[USER:PASSWORD@]HOST:PORT` as HOST:PORT, and user and password in Base64."""
    match = re.fullmatch(r"(?:http://)?(?:([^/]*)@)?([^/@]+:\d+)/?", text)
    if not match:
        raise bad_value(text, "is no proxy: write it as http://HOST:PORT")
    return host_and_port(match[2]), match[1] and b64encode(unquote_to_bytes(match[1])).decode()


def sources(text: str) -> tuple[str, ...]:
    """`10.0.0.7,10.0.0.8` as addresses."""
    return tuple(str(ipaddress.ip_address(each)) for each in text.split(","))


def condition(text: str, name: str) -> Threshold:
    """`p99>200ms`, `errors>1%` or `rate<1000`, for the option of that name."""
    from ringside.load import thresholds

    return thresholds.parse(text, name)


def threshold(text: str) -> Threshold | tuple[str, float]:
    """A condition; of two targets a gate, `worse:5%`."""
    return params.gate(text) if text.partition(":")[0] in params.GATES else condition(text, "--fail-if")


def method(text: str) -> str:
    """A method of HTTP, in capitals."""
    if not _TOKEN.fullmatch(text) or text.upper() == "CONNECT":
        raise bad_value(text, "is not possible: write it as GET or POST")
    return text.upper()


def window(text: str) -> int:
    """`16MiB`, `64KiB` or `65535` as bytes: what HTTP/2 allows."""
    match = re.fullmatch(r"(\d{1,10})(KiB|MiB|GiB)?", text)
    size = int(match[1]) << {None: 0, "KiB": 10, "MiB": 20, "GiB": 30}[match[2]] if match else 0
    if not 65_535 <= size < 2**31:
        raise bad_value(text, "is no window: write it as 16MiB, from 64KiB to 1GiB")
    return size


def header(text: str) -> tuple[str, str]:
    """`Name: value` as a pair."""
    name, colon, value = text.partition(":")
    value = value.strip(" \t")
    if not colon or not _TOKEN.fullmatch(name) or re.search(r"[\0-\x08\x0a-\x1f\x7f]", value):
        raise bad_value(text, "is not a header: write it as 'Name: value'")
    if name.lower() in ("content-length", "transfer-encoding"):
        raise bad_value(text, "is not needed: the length of --body is sent automatically")
    if name.lower() == "connection":
        raise bad_value(text, "is not needed: --close opens a connection for each request")
    return name, value


def body(text: str) -> bytes | Path:
    """A text, or the bytes of a file after `@`, stdin for `@-`; of a large file its path."""
    if re.fullmatch(r"\d+(\.\d+)?(ms|s|m|h)", text):
        raise bad_value(text, "is a time: --duration is how long; such a body can come from --body @FILE")
    if not text.startswith("@"):
        return text.encode()
    path = Path("/dev/stdin" if text == "@-" else text[1:])
    try:
        if path.is_file() and path.stat().st_size > _SMALL_BODY_BYTES:
            with path.open("rb"):
                return path.absolute()
        content = read_at_most(path, MAX_BODY_BYTES)
    except OSError as error:
        raise bad_value(text, f"cannot be read: {error.strerror}") from error
    if len(content) > MAX_BODY_BYTES:
        raise bad_value(text, f"is no file, and has more than {MAX_BODY_BYTES >> 20} MiB: name a file")
    return content


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The command line of `ringside load`; None where an option was left out. Durations in seconds."""

    EXCLUDES: ClassVar = TABLES["excludes"]
    NEEDED_BY: ClassVar = TABLES["needed_by"]

    targets: tuple[str, ...]
    # A million for each of a thousand engines.
    connections: int | None = option_of(TABLES, "connections", Whole(1, 10**9))
    rate_per_s: float | tuple[float, float] | None = option_of(TABLES, "rate_per_s", rate_or_rise)
    duration_s: float | None = option_of(TABLES, "duration_s", duration)
    requests: int | None = option_of(TABLES, "requests", Whole(1, 10**15))
    headers: tuple[tuple[str, str], ...] = option_of(TABLES, "headers", header, multiple=True)
    body: bytes | Path | None = option_of(TABLES, "body", body)
    other_target: str | None = option_of(TABLES, "other_target")
    thresholds: tuple[Threshold | tuple[str, float], ...] = option_of(
        TABLES, "thresholds", threshold, multiple=True
    )
    as_json: bool = flag_of(TABLES, "as_json")
    burst: int | None = option_of(TABLES, "burst", COUNT)
    aborts: tuple[Threshold, ...] = option_of(
        TABLES, "aborts", lambda text: condition(text, "--abort-if"), multiple=True
    )
    found: Threshold | None = option_of(TABLES, "found", lambda text: condition(text, "--find-rate"))
    poisson: bool = flag_of(TABLES, "poisson")
    steps: tuple[tuple[float, float], ...] = option_of(TABLES, "steps", staircase, default=())
    slack_s: float | None = option_of(TABLES, "slack_s", params.run_duration)
    warmup_s: float | None = option_of(TABLES, "warmup_s", duration)
    ramp_per_s: float | None = option_of(TABLES, "ramp_per_s", rate)
    timeout_s: float = option_of(TABLES, "timeout_s", duration, default=5.0)
    wait_ready_s: float | None = option_of(TABLES, "wait_ready_s", duration)
    close: bool = flag_of(TABLES, "close")
    seed: int | None = option_of(TABLES, "seed", params.SEED)
    method: str | None = option_of(TABLES, "method", method)
    values_file: Path | None = option_of(TABLES, "values_file", FILE)
    has_placeholders: bool = flag_of(TABLES, "has_placeholders")
    is_literal: bool = flag_of(TABLES, "is_literal")
    line: str | None = option_of(TABLES, "line")
    is_crlf: bool = flag_of(TABLES, "is_crlf")
    expect_status: int | None = option_of(TABLES, "expect_status", Whole(200, 599))
    expect_body: str | None = option_of(TABLES, "expect_body")
    expect_contains: str | None = option_of(TABLES, "expect_contains")
    expect_pattern: str | None = option_of(TABLES, "expect_pattern")
    connect_to: str | None = option_of(TABLES, "connect_to", host_and_port)
    unix: str | None = option_of(TABLES, "unix")
    sources: tuple[str, ...] = option_of(TABLES, "sources", sources, default=())
    proxy: tuple[str, str | None] | None = option_of(TABLES, "proxy", proxy)
    is_http2: bool = flag_of(TABLES, "is_http2")
    streams: int | None = option_of(TABLES, "streams", Whole(1, 10_000))
    window_bytes: int = option_of(TABLES, "window_bytes", window, default=16 << 20)
    cacert: Path | None = option_of(TABLES, "cacert", FILE)
    insecure: bool = flag_of(TABLES, "insecure")
    cert: Path | None = option_of(TABLES, "cert", FILE)
    key: Path | None = option_of(TABLES, "key", FILE)
    server_name: str | None = option_of(TABLES, "server_name")
    resume: bool = flag_of(TABLES, "resume")
    framing: str | None = option_of(TABLES, "framing", ["chunk", "line", "event"])
    first: str | None = option_of(TABLES, "first")
    chunk: str | None = option_of(TABLES, "chunk")
    interval_s: float | None = option_of(TABLES, "interval_s", duration)
    due_field: str | None = option_of(TABLES, "due_field")
    blocks: int | None = option_of(TABLES, "blocks", Whole(1, 1000))
    margin: float | None = option_of(TABLES, "margin", units.margin)
    store: str | None = option_of(TABLES, "store")
    as_csv: bool = flag_of(TABLES, "as_csv")
    time_unit: str | None = option_of(TABLES, "time_unit", ["ns", "us", "ms", "s"])
    quiet: bool = flag_of(TABLES, "quiet")
    hdr_file: Path | None = option_of(TABLES, "hdr_file", FILE)
    seconds_file: Path | None = option_of(TABLES, "seconds_file", FILE)
    report_file: Path | None = option_of(TABLES, "report_file", FILE)
    log_file: Path | None = option_of(TABLES, "log_file", FILE)
    threads: int = option_of(TABLES, "threads", Whole(1, 256), default=1)
    cpus: tuple[int, ...] = option_of(TABLES, "cpus", params.cpus, default=())
    cluster: str | None = option_of(TABLES, "cluster")
    engines: int | tuple[str, ...] | None = option_of(TABLES, "engines", params.engines)

    @property
    def form(self) -> Literal["json", "csv"] | None:
        """How the result is printed; None for a person."""
        return "json" if self.as_json else "csv" if self.as_csv else None
