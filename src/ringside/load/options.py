"""The options of `ringside load`, and how their values are written."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ringside import units
from ringside.cli import params
from ringside.cli.options import option
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
TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


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


def _option(field: str, kind: Any = None, **attributes: Any) -> Any:
    """The option of a field, as options.toml has it."""
    section, rows = next(pair for pair in TABLES["options"].items() if field in pair[1])
    written, help_text = rows[field]
    return option(written, help_text, kind, section=section, **attributes)


_flag = partial(_option, is_flag=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSettings:
    """The command line of `ringside load`; None where an option was left out. Durations in seconds."""

    EXCLUDES: ClassVar = TABLES["excludes"]
    NEEDED_BY: ClassVar = TABLES["needed_by"]

    targets: tuple[str, ...]
    # A million for each of a thousand engines.
    connections: int | None = _option("connections", Whole(1, 10**9))
    rate_per_s: float | tuple[float, float] | None = _option("rate_per_s", rate_or_rise)
    duration_s: float | None = _option("duration_s", duration)
    requests: int | None = _option("requests", Whole(1, 10**15))
    headers: tuple[tuple[str, str], ...] = _option("headers", header, multiple=True)
    body: bytes | Path | None = _option("body", body)
    other_target: str | None = _option("other_target")
    thresholds: tuple[Threshold | tuple[str, float], ...] = _option("thresholds", threshold, multiple=True)
    as_json: bool = _flag("as_json")
    burst: int | None = _option("burst", COUNT)
    aborts: tuple[Threshold, ...] = _option(
        "aborts", lambda text: condition(text, "--abort-if"), multiple=True
    )
    found: Threshold | None = _option("found", lambda text: condition(text, "--find-rate"))
    poisson: bool = _flag("poisson")
    steps: tuple[tuple[float, float], ...] = _option("steps", staircase, default=())
    slack_s: float | None = _option("slack_s", params.run_duration)
    warmup_s: float | None = _option("warmup_s", duration)
    ramp_per_s: float | None = _option("ramp_per_s", rate)
    timeout_s: float = _option("timeout_s", duration, default=5.0)
    wait_ready_s: float | None = _option("wait_ready_s", duration)
    close: bool = _flag("close")
    seed: int | None = _option("seed", params.SEED)
    method: str | None = _option("method", method)
    values_file: Path | None = _option("values_file", FILE)
    has_placeholders: bool = _flag("has_placeholders")
    is_literal: bool = _flag("is_literal")
    line: str | None = _option("line")
    is_crlf: bool = _flag("is_crlf")
    expect_status: int | None = _option("expect_status", Whole(200, 599))
    expect_body: str | None = _option("expect_body")
    expect_contains: str | None = _option("expect_contains")
    expect_pattern: str | None = _option("expect_pattern")
    connect_to: str | None = _option("connect_to", host_and_port)
    unix: str | None = _option("unix")
    sources: tuple[str, ...] = _option("sources", sources, default=())
    is_http2: bool = _flag("is_http2")
    streams: int | None = _option("streams", Whole(1, 10_000))
    window_bytes: int = _option("window_bytes", window, default=16 << 20)
    cacert: Path | None = _option("cacert", FILE)
    insecure: bool = _flag("insecure")
    cert: Path | None = _option("cert", FILE)
    key: Path | None = _option("key", FILE)
    server_name: str | None = _option("server_name")
    framing: str | None = _option("framing", ["chunk", "line", "event"])
    first: str | None = _option("first")
    chunk: str | None = _option("chunk")
    interval_s: float | None = _option("interval_s", duration)
    due_field: str | None = _option("due_field")
    blocks: int | None = _option("blocks", Whole(1, 1000))
    margin: float | None = _option("margin", units.margin)
    store: str | None = _option("store")
    as_csv: bool = _flag("as_csv")
    time_unit: str | None = _option("time_unit", ["ns", "us", "ms", "s"])
    quiet: bool = _flag("quiet")
    hdr_file: Path | None = _option("hdr_file", FILE)
    seconds_file: Path | None = _option("seconds_file", FILE)
    report_file: Path | None = _option("report_file", FILE)
    threads: int = _option("threads", Whole(1, 256), default=1)
    cpus: tuple[int, ...] = _option("cpus", params.cpus, default=())
    io: str = _option("io", ["auto", "uring", "epoll"], default="auto")
    cluster: str | None = _option("cluster")
    engines: int | tuple[str, ...] | None = _option("engines", params.engines)

    @property
    def form(self) -> Literal["json", "csv"] | None:
        """How the result is printed; None for a person."""
        return "json" if self.as_json else "csv" if self.as_csv else None
