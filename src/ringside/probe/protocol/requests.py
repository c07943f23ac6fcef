"""Requests: a load, what is sent, how fast, and what must come back; a trial, the upstreams that the probe
plays in it, and the notices that it gets while engines on other machines carry out its loads."""

import msgspec
from msgspec.structs import replace

from ringside.probe.protocol.messages import EngineRecord

VERSION = 1

# A longer body follows its request: as JSON it would take up to six times as many bytes; lines have a limit
# (probe/wire/src/requests.rs).
_INLINE_BODY_BYTES = 1 << 20


class Request(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a request. Keys at their defaults are left out: the probe has the same defaults."""


class WholeRequest(Request, frozen=True, kw_only=True):
    """A request."""

    version: int = VERSION

    def encode(self) -> bytes:
        """The request as one line of JSON, without its newline."""
        # The version is always sent, though it is a default.
        return msgspec.json.encode({"version": self.version, **msgspec.to_builtins(self)})


class ClosedLoop(Request, frozen=True, tag_field="kind", tag="closed"):
    """A connection sends its next request when the reply has come."""


class ConstantRate(Request, frozen=True, tag_field="kind", tag="constant"):
    """Open loop at even intervals, `burst` requests at a time."""

    rate_per_s: float
    burst: int = 1


class PoissonRate(Request, frozen=True, tag_field="kind", tag="poisson"):
    """Open loop at the random instants of a Poisson process."""

    rate_per_s: float
    seed: int


class StaircaseStep(Request, frozen=True):
    """One rate of a staircase; with `to_per_s` one that changes linearly to this until the step ends."""

    rate_per_s: float
    duration_s: float
    to_per_s: float | None = None


class Staircase(Request, frozen=True, tag_field="kind", tag="staircase"):
    """Open loop, one rate after another. `of`: rates are multiples of that at which the first load of this
    step of a service was answered."""

    steps: tuple[StaircaseStep, ...]
    of: str | None = None


Pacing = ClosedLoop | ConstantRate | PoissonRate | Staircase


class HttpRequest(Request, frozen=True):
    """The content of each HTTP request; `body` and values of headers have a character for each byte.
    `targets` take turns in place of `target`. `body_bytes`: in place of `body`, how many bytes follow the
    line of the request. `body_path`: in place of `body`, the path of a file on the engine's machine."""

    method: str = "GET"
    target: str = "/"
    targets: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    body_bytes: int | None = None
    body_path: str | None = None
    close: bool = False


class Templates(Request, frozen=True):
    """Values of placeholders in a request or a line: rows for the columns, with a character per byte."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class ExpectedReply(Request, frozen=True):
    """The properties that a reply must have; without a status, any 2xx or 3xx will do."""

    status: int | None = None
    equals: str | None = None
    contains: str | None = None
    matches: str | None = None


class SlowReaders(Request, frozen=True):
    """A share of the streams stops reading for a time."""

    percent: int
    at_s: float
    for_s: float


class VanishingReaders(Request, frozen=True):
    """A share of the streams is reset and does not come back."""

    percent: int
    at_s: float


class StreamMessages(Request, frozen=True):
    """The expected messages of a held-open response, and when each is due."""

    framing: str = "chunk"
    first: str | None = None
    chunk: str | None = None
    interval_s: float | None = None
    due_field: str | None = None
    silent_s: float | None = None
    slow: SlowReaders | None = None
    vanish: VanishingReaders | None = None


class Tls(Request, frozen=True):
    """TLS of connections. `server_name`: the host, to which the certificate must belong. `cacert`: a file of
    certificates (PEM) in place of the system's. `cert`, `key`: files (PEM) of the client's own. `insecure`:
    any certificate is accepted. `resume`: sessions are resumed where the server allows it."""

    server_name: str
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None
    insecure: bool = False
    resume: bool = False


class Tunnel(Request, frozen=True):
    """A request to a proxy at the plan's addresses. `authorization`: user and password in Base64."""

    authority: str
    authorization: str | None = None


class Http2(Request, frozen=True):
    """HTTP/2 in place of HTTP/1.1. `streams`: requests in flight on one connection. `window_bytes`: how much
    of a reply the server may send before it is read."""

    streams: int
    window_bytes: int = 16 << 20


class PartOfLoad(Request, frozen=True):
    """The number, from 0, of one of several engines that share a load. `service_times`: its record has those
    of the requests that their numbers identify to upstreams."""

    engine: int
    engines: int
    service_times: bool = False


class LoadPlan(Request, frozen=True):
    """A load: what is sent, how fast, and what must come back. Times in seconds. `unix`: the path of a socket
    in place of addresses. `sources`: addresses from which connections come in turn. `patience_s`: clients
    hang up when an answer takes longer. `course_s`: the length of the slots of the time line, which are the
    steps of a staircase otherwise. `lead_s`: the load begins so much later; before, connections of an open
    loop are opened, and each is asked once. `log`: the path of a file that gets a line for each request."""

    protocol: str
    addresses: tuple[str, ...] = ()
    unix: str | None = None
    sources: tuple[str, ...] = ()
    connections: int = 1
    threads: int = 1
    cpus: tuple[int, ...] = ()
    http2: Http2 | None = None
    tls: Tls | None = None
    tunnel: Tunnel | None = None
    pacing: Pacing = ClosedLoop()
    slack_s: float | None = None
    duration_s: float | None = None
    requests: int | None = None
    ramp_per_s: float | None = None
    lead_s: float | None = None
    timeout_s: float = 5.0
    patience_s: float | None = None
    course_s: float | None = None
    request: HttpRequest | None = None
    line: str | None = None
    templates: Templates | None = None
    expect: ExpectedReply = ExpectedReply()
    stream: StreamMessages = StreamMessages()
    progress_s: float | None = None
    counts: bool = False
    log: str | None = None
    part: PartOfLoad | None = None

    @property
    def is_open_loop(self) -> bool:
        return not isinstance(self.pacing, ClosedLoop)

    @property
    def is_plain(self) -> bool:
        """Whether nothing but TCP or HTTP/1.1 is spoken, and with the server itself."""
        is_websocket = self.protocol == "ws" or self.stream.framing == "message"
        return not (self.http2 or self.tls or self.tunnel or is_websocket)


class LoadRequest(WholeRequest, frozen=True):
    """Drive a load at a running server."""

    load: LoadPlan

    def encode(self) -> bytes:
        """As one line of JSON, which a large body follows, without the last newline."""
        plan = without_body(self.load)
        if plan is self.load:
            return super().encode()
        assert self.load.request
        return replace(self, load=plan).encode() + b"\n" + self.load.request.body.encode("latin-1")


def without_body(plan: LoadPlan) -> LoadPlan:
    """A plan without its body where that is large."""
    request = plan.request
    if request is None or len(request.body) <= _INLINE_BODY_BYTES:
        return plan
    # A character stands for a byte.
    return replace(plan, request=replace(request, body="", body_bytes=len(request.body)))


class Merge(Request, frozen=True):
    """The records of this many engines that shared a load."""

    load: LoadPlan
    records: int


class MergeRequest(WholeRequest, frozen=True):
    """Make one outcome of the engines' records, which follow the request, one a line."""

    merge: Merge


class StubUpstream(Request, frozen=True):
    """How long one upstream takes to answer: the logarithm is normal with standard deviation `sigma`; but it
    takes `tail_s` with a probability of `tail_share`."""

    median_s: float
    sigma: float
    tail_s: float = 0.0
    tail_share: float = 0.0


class Stub(Request, frozen=True):
    """The upstreams of a gateway."""

    upstreams: tuple[StubUpstream, ...]
    seed: int = 0
    cpus: tuple[int, ...] = ()


class Limits(Request, frozen=True):
    """Bounds on one trial."""

    wall_s: float
    memory_bytes: int
    output_bytes: int
    processes: int
    threads: int = 65_536


class ExpectedLines(Request, frozen=True):
    """The expected lines on stdout that are not protocol lines: how many, how many begin with each prefix of
    one character, and the SHA-256 of all of them."""

    total: int | None = None
    starting: dict[str, int] = msgspec.field(default_factory=dict)
    sha256: str | None = None


class Evidence(Request, frozen=True):
    """The evidence that makes a trial `ok`: pairs of `::result`, and the other lines of stdout."""

    result: dict[str, str] = msgspec.field(default_factory=dict)
    lines: ExpectedLines | None = None


class InputUse(Request, frozen=True):
    """A file that the program reads, and whether it lies in the page cache when the program starts."""

    path: str
    cached: bool


class NamedLoad(Request, frozen=True):
    """A load of a step, without addresses: they are the service's own."""

    name: str
    plan: LoadPlan


class TimedMark(Request, frozen=True):
    """A sample `at_s` seconds after its step began."""

    name: str
    at_s: float


class Step(Request, frozen=True):
    """Loads that run at the same time. With `last_above_p99_s` no further step is taken once the p99 of the
    first load is above it, or a tenth of it had no answer in time. With `while_faster` it is a window of a
    warm-up: left out once the best of the later half of four windows or more is alike the best of the
    earlier half, by at most this share, or two or more all had fewer than ten answers."""

    name: str
    loads: tuple[NamedLoad, ...]
    last_above_p99_s: float | None = None
    while_faster: float | None = None
    marks: tuple[TimedMark, ...] = ()


class Service(Request, frozen=True):
    """The probe's work with a program that listens on `host`. `remote`: engines elsewhere load it."""

    ready_s: float
    idle_s: float
    end_s: float = 10.0
    steps: tuple[Step, ...] = ()
    stub: Stub | None = None
    host: str = "127.0.0.1"
    remote: bool = False


class TrialRequest(WholeRequest, frozen=True):
    """One trial of a program. `awaits`: the names that it may wait for by `::await`, each once. `stdout` and
    `stderr`: files that exist, to which a plain command writes in place of the probe's pipes. `number`: what
    the outcome repeats, made by the driver. `temporary`: it gets its own folder below the TMPDIR of `env`."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    limits: Limits
    cpus: tuple[int, ...] = ()
    probe_cpus: tuple[int, ...] = ()
    sample_hz: float = 20.0
    timeline: bool = False
    cgroup: str = "auto"
    namespaces: str = "auto"
    number: str | None = None
    expect: Evidence | None = None
    service: Service | None = None
    inputs: tuple[InputUse, ...] = ()
    plain: bool = False
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    awaits: tuple[str, ...] = ()
    reference: bool = False
    temporary: bool = False
    counters: bool = False


class Begun(Request, frozen=True):
    """How many engines share each load of the step, and how far apart they started at most."""

    engines: tuple[int, ...]
    within_ns: int


class PartRecord(Request, frozen=True):
    """The counts of one engine in a load, by its number in the step."""

    load: int
    record: EngineRecord


class Notice(Request, frozen=True):
    """One of these: the engines have been started; an engine has ended its part of a load; the loads of the
    step do not take place, for this reason in one line."""

    begun: Begun | None = None
    record: PartRecord | None = None
    failed: str | None = None
