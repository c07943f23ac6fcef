"""The options of `ringside load`, and how their values are written."""

import ipaddress
import re
from base64 import b64encode
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote_to_bytes

from ringside import units
from ringside.cli.params import GATES, bad_value, duration, gate
from ringside.errors import UsageError
from ringside.files import read_at_most
from ringside.load import target, thresholds
from ringside.load.result import Threshold
from ringside.model.design import DEFAULT_MARGIN

# A method or the name of a header (RFC 9110, section 5.6.2).
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# The largest body that a plan holds. A file larger than the second is sent by its path instead.
MAX_BODY_BYTES = 100 << 20
_SMALL_BODY_BYTES = 1 << 20


def rate(text: str) -> float:
    """`1000` or `1000/s`, as a number per second: more than 0, up to ten million."""
    try:
        per_second = units.number(text.removesuffix("/s"))
    except ValueError:
        raise bad_value(text, "is not a rate: write it as 1000 or 1000/s, a rise as 100..1000") from None
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
    try:
        target.parse(f"http://{text}/")
    except UsageError:
        raise bad_value(text, "is no address: write it as HOST or HOST:PORT") from None
    return text


def proxy(text: str) -> tuple[str, str | None]:
    """`http://[USER:PASSWORD@]HOST:PORT` as HOST:PORT, and user and password in Base64."""
    match = re.fullmatch(r"(?:http://)?(?:([^/]*)@)?([^/@]+:[0-9]+)/?", text)
    if not match:
        raise bad_value(text, "is no proxy: write it as http://HOST:PORT")
    return host_and_port(match[2]), match[1] and b64encode(unquote_to_bytes(match[1])).decode()


def sources(text: str) -> tuple[str, ...]:
    """`10.0.0.7,10.0.0.8` as addresses, of one family."""
    addresses = [ipaddress.ip_address(each) for each in text.split(",")]
    if len({address.version for address in addresses}) > 1:
        raise bad_value(text, "has addresses of IPv4 and of IPv6: name those of one of them")
    return tuple(map(str, addresses))


def threshold(text: str) -> Threshold | tuple[str, float]:
    """A condition; of two targets a gate, `worse:5%`."""
    return gate(text) if text.partition(":")[0] in GATES else thresholds.parse(text)


abort_condition = partial(thresholds.parse, option="--abort-if")
kept_condition = partial(thresholds.parse, option="--find-rate")


def method(text: str) -> str:
    """A method of HTTP, in capitals."""
    if not _TOKEN.fullmatch(text) or text.upper() == "CONNECT":
        raise bad_value(text, "is not possible: write it as GET or POST")
    return text.upper()


def window(text: str) -> int:
    """`16MiB`, `64KiB` or `65535` as bytes: what HTTP/2 allows."""
    match = re.fullmatch(r"([0-9]{1,10})(KiB|MiB|GiB)?", text)
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
    return name, value


def body(text: str) -> bytes | Path:
    """A text, or the bytes of a file after `@`, stdin for `@-`; of a large file its path."""
    if re.fullmatch(r"\d+(\.\d+)?(ms|s|m|h)?", text):
        raise bad_value(text, "may be a time: --duration is how long; --body @FILE sends it as a text")
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
    """The command line of `ringside load`, as options.toml has it; None: left out. Times in seconds."""

    targets: tuple[str, ...]
    connections: int | None = None
    rate_per_s: float | tuple[float, float] | None = None
    duration_s: float | None = None
    requests: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Path | None = None
    other_target: str | None = None
    thresholds: tuple[Threshold | tuple[str, float], ...] = ()
    form: str | None = None
    burst: int | None = None
    aborts: tuple[Threshold, ...] = ()
    found: Threshold | None = None
    poisson: bool = False
    steps: tuple[tuple[float, float], ...] = ()
    slack_s: float | None = None
    warmup_s: float | None = None
    ramp_per_s: float | None = None
    timeout_s: float = 5.0
    wait_ready_s: float | None = None
    close: bool = False
    seed: int | None = None
    method: str | None = None
    values_file: Path | None = None
    has_placeholders: bool = False
    is_literal: bool = False
    line: str | None = None
    is_crlf: bool = False
    expect_status: int | None = None
    expect_body: str | None = None
    expect_contains: str | None = None
    expect_pattern: str | None = None
    connect_to: str | None = None
    unix: str | None = None
    sources: tuple[str, ...] = ()
    proxy: tuple[str, str | None] | None = None
    is_http2: bool = False
    streams: int | None = None
    window_bytes: int = 16 << 20
    cacert: Path | None = None
    insecure: bool = False
    cert: Path | None = None
    key: Path | None = None
    server_name: str | None = None
    resume: bool = False
    framing: str | None = None
    first: str | None = None
    chunk: str | None = None
    interval_s: float | None = None
    due_field: str | None = None
    blocks: int | None = None
    margin: float = DEFAULT_MARGIN
    store: str | None = None
    time_unit: units.TimeUnit = units.MILLISECONDS
    quiet: bool = False
    hdr_file: Path | None = None
    seconds_file: Path | None = None
    report_file: Path | None = None
    log_file: Path | None = None
    threads: int = 1
    cpus: tuple[int, ...] = ()
    cluster: str | None = None
    engines: int | tuple[str, ...] | None = None

    @property
    def files(self) -> dict[str, Path]:
        """The files to write, by their options."""
        files = {"--hdr": self.hdr_file, "--seconds": self.seconds_file, "--report": self.report_file}
        return {option: path for option, path in (files | {"--log": self.log_file}).items() if path}
