"""Contract 2 (docs/PROTOCOL.md): every request to the probe and every message from it, as a type.

Messages are validated when they are read: a missing key, a value of another type or a negative count is an
error. Keys that this version does not know are ignored, so that stores of later versions can be read. Fields
that a probe of the same version always sends have defaults only where rows of older stores lack them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

VERSION = 1

Count = Annotated[int, msgspec.Meta(ge=0)]
Nanoseconds = Annotated[int, msgspec.Meta(ge=0)]
Bytes = Annotated[int, msgspec.Meta(ge=0)]
# A histogram as `value_ns count value_ns count …`, values ascending: a text, since a store with thousands of
# trials has many.
Counts = Annotated[str, msgspec.Meta(pattern=r"^([0-9]{1,19} [0-9]{1,19}( [0-9]{1,19} [0-9]{1,19})*)?\Z")]


class _Request(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a request. Keys at their defaults are left out: the probe has the same defaults."""


class _Message(msgspec.Struct, frozen=True):
    """A part of a message."""


# --- requests: a load ------------------------------------------------------------------------------


class ClosedLoop(_Request, frozen=True, tag_field="kind", tag="closed"):
    """A connection sends its next request when the reply has come."""


class ConstantRate(_Request, frozen=True, tag_field="kind", tag="constant"):
    """Open loop at even intervals, `burst` requests at a time."""

    rate_per_s: float
    burst: int = 1


class PoissonRate(_Request, frozen=True, tag_field="kind", tag="poisson"):
    """Open loop at the random instants of a Poisson process."""

    rate_per_s: float
    seed: int


class StaircaseStep(_Request, frozen=True):
    """One rate of a staircase."""

    rate_per_s: float
    duration_s: float


class Staircase(_Request, frozen=True, tag_field="kind", tag="staircase"):
    """Open loop, one rate after another."""

    steps: tuple[StaircaseStep, ...]


Pacing = ClosedLoop | ConstantRate | PoissonRate | Staircase


class WeightedTarget(_Request, frozen=True):
    """One of several targets on the same server, and its share of the requests."""

    target: str
    weight: int


class HttpRequest(_Request, frozen=True):
    """What each HTTP request carries; `body` and values of headers have a character for each byte. `targets`
    replace `target`."""

    method: str = "GET"
    target: str = "/"
    targets: tuple[WeightedTarget, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    close: bool = False
    follow_redirects: bool = False


class Templates(_Request, frozen=True):
    """What placeholders in a request, or a line, stand for: `seed` of random values; rows of values for the
    columns, with a character for each byte."""

    seed: int = 0
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class ExpectedReply(_Request, frozen=True):
    """What a reply must be; without a status, any 2xx or 3xx."""

    status: int | None = None
    equals: str | None = None
    contains: str | None = None
    matches: str | None = None


class SlowReaders(_Request, frozen=True):
    """A share of the streams stops reading for a time."""

    percent: int
    at_s: float
    for_s: float


class VanishingReaders(_Request, frozen=True):
    """A share of the streams is reset and does not come back."""

    percent: int
    at_s: float


class StreamMessages(_Request, frozen=True):
    """What the messages of a held-open response must be, and when each is due."""

    framing: str = "chunk"
    first: str | None = None
    chunk: str | None = None
    interval_s: float | None = None
    due_field: str | None = None
    silent_s: float | None = None
    slow: SlowReaders | None = None
    vanish: VanishingReaders | None = None


class LoadPlan(_Request, frozen=True):
    """A load: what is sent, how fast, and what must come back. Times in seconds."""

    protocol: str
    addresses: tuple[str, ...] = ()
    connections: int = 1
    threads: int = 1
    cpus: tuple[int, ...] = ()
    io: str = "auto"
    pacing: Pacing = ClosedLoop()
    tick_s: float | None = None
    duration_s: float | None = None
    requests: int | None = None
    ramp_per_s: float | None = None
    timeout_s: float = 5.0
    request: HttpRequest | None = None
    line: str | None = None
    templates: Templates | None = None
    expect: ExpectedReply = ExpectedReply()
    stream: StreamMessages = StreamMessages()
    progress_s: float | None = None
    counts: bool = False

    @property
    def is_open_loop(self) -> bool:
        return not isinstance(self.pacing, ClosedLoop)


class LoadRequest(_Request, frozen=True):
    """Drive a load at a server that is there already."""

    load: LoadPlan
    version: int = VERSION

    def encode(self) -> bytes:
        """The request as one line of JSON, without its newline."""
        return _encode(self)


# --- requests: upstreams that the probe plays ------------------------------------------------------


class ConstantDelay(_Request, frozen=True, tag_field="kind", tag="constant"):
    """Always the same."""

    s: float


class LognormalDelay(_Request, frozen=True, tag_field="kind", tag="lognormal"):
    """The logarithm is normal with standard deviation `sigma`."""

    median_s: float
    sigma: float


class BimodalDelay(_Request, frozen=True, tag_field="kind", tag="bimodal"):
    """`slow_s` with a probability of `slow_share`, else `fast_s`."""

    fast_s: float
    slow_s: float
    slow_share: float


class TailedDelay(_Request, frozen=True, tag_field="kind", tag="tailed"):
    """Lognormal, but `tail_s` with a probability of `tail_share`."""

    median_s: float
    sigma: float
    tail_s: float
    tail_share: float


Delay = ConstantDelay | LognormalDelay | BimodalDelay | TailedDelay


class Upstream(_Request, frozen=True):
    """One upstream: how long it takes, what it answers, and how often it breaks off or hangs."""

    delay: Delay
    status: int = 200
    body: str = ""
    reset_share: float = 0.0
    hang_share: float = 0.0


class Stub(_Request, frozen=True):
    """The upstreams of a gateway."""

    upstreams: tuple[Upstream, ...]
    seed: int = 0
    cpus: tuple[int, ...] = ()


# --- requests: a trial -----------------------------------------------------------------------------


class Limits(_Request, frozen=True):
    """Bounds on one trial."""

    wall_s: float
    memory_bytes: int
    output_bytes: int
    processes: int
    threads: int = 65_536


class ExpectedLines(_Request, frozen=True):
    """What the lines on stdout that are not protocol lines must be: how many, how many begin with each
    prefix of one character, the SHA-256 of all of them."""

    total: int | None = None
    starting: dict[str, int] = {}
    sha256: str | None = None


class Evidence(_Request, frozen=True):
    """What makes a trial `ok`: pairs of `::result`, and the other lines of stdout."""

    result: dict[str, str] = {}
    lines: ExpectedLines | None = None


class InputUse(_Request, frozen=True):
    """A file that the program reads, and whether it lies in the page cache when the program starts."""

    path: str
    cached: bool


class NamedLoad(_Request, frozen=True):
    """A load of a step, without addresses: they are the service's own."""

    name: str
    plan: LoadPlan


class TimedMark(_Request, frozen=True):
    """A sample `at_s` seconds after its step began."""

    name: str
    at_s: float


class Step(_Request, frozen=True):
    """Loads that run at the same time. With `last_above_p99_s` no further step is taken once the p99 of the
    first load is above it, or a tenth of it had no answer in time."""

    name: str
    loads: tuple[NamedLoad, ...]
    last_above_p99_s: float | None = None
    marks: tuple[TimedMark, ...] = ()


class Service(_Request, frozen=True):
    """What the probe does with a program that listens."""

    ready_s: float
    idle_s: float
    end_s: float = 10.0
    steps: tuple[Step, ...] = ()
    stub: Stub | None = None


class TrialRequest(_Request, frozen=True):
    """One trial of a program. `awaits`: the names that it may wait for by `::await`, each once. `stdout` and
    `stderr`: files that exist, to which a plain command writes in place of the probe's pipes."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    limits: Limits
    cpus: tuple[int, ...] = ()
    probe_cpus: tuple[int, ...] = ()
    sample_hz: float = 20.0
    timeline: bool = False
    cgroup: str = "auto"
    expect: Evidence | None = None
    service: Service | None = None
    inputs: tuple[InputUse, ...] = ()
    plain: bool = False
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    awaits: tuple[str, ...] = ()
    reference: bool = False
    version: int = VERSION

    def encode(self) -> bytes:
        """The request as one line of JSON, without its newline."""
        return _encode(self)


def _encode(request: TrialRequest | LoadRequest) -> bytes:
    # The version is always sent, though it is a default.
    return msgspec.json.encode({"version": request.version, **msgspec.to_builtins(request)})


# --- messages --------------------------------------------------------------------------------------


class Started(_Message, frozen=True, tag_field="type", tag="started"):
    """The program, or the engine, has started. `missing`: what could not be used, and why."""

    version: int
    t_ns: Nanoseconds = 0
    pid: int | None = None
    cgroup: str | None = None
    missing: tuple[str, ...] = ()
    io: str = ""
    threads: Count = 0
    connections: Count = 0
    monotonic_ns: Nanoseconds = 0


class Ready(_Message, frozen=True, tag_field="type", tag="ready"):
    """The service listens."""

    t_ns: Nanoseconds
    port: int | None = None


class Phase(_Message, frozen=True, tag_field="type", tag="phase"):
    """A phase took `ns` by the program's own clock. The name is hostile text."""

    t_ns: Nanoseconds
    name: str
    ns: Nanoseconds


class SpanMessage(_Message, frozen=True, tag_field="type", tag="span"):
    """A unit of the program was busy from `begin_ns` to `end_ns` of its own clock."""

    unit: int
    begin_ns: int
    end_ns: int


class Sample(_Message, frozen=True, tag_field="type", tag="sample"):
    """A look at the tree of processes, at a named instant with a `mark`. The last three: of a time line."""

    t_ns: Nanoseconds
    mark: str | None = None
    processes: Count = 0
    threads: Count = 0
    cpu_ns: Nanoseconds = 0
    rss_bytes: Bytes = 0
    pss_bytes: Bytes | None = None
    voluntary_switches: Count = 0
    involuntary_switches: Count = 0
    run_queue_ns: Nanoseconds = 0
    cpu_by_thread: tuple[tuple[int, Nanoseconds], ...] | None = None
    kernel_bytes: Bytes | None = None
    tcp_bytes: Bytes | None = None


class Usage(_Message, frozen=True):
    """What of a sample figures are made from: a tenth of it to read."""

    t_ns: Nanoseconds
    cpu_ns: Nanoseconds = 0
    pss_bytes: Bytes | None = None


class LatencySummary(_Message, frozen=True):
    """Figures of one histogram, in nanoseconds."""

    count: Count = 0
    mean_ns: float = 0.0
    stdev_ns: float = 0.0
    min_ns: Nanoseconds = 0
    p50_ns: Nanoseconds = 0
    p90_ns: Nanoseconds = 0
    p95_ns: Nanoseconds = 0
    p99_ns: Nanoseconds = 0
    p99_9_ns: Nanoseconds = 0
    max_ns: Nanoseconds = 0


class SecondOfLoad(_Message, frozen=True):
    """What one second of a load showed; `t_s` counts from the load's beginning."""

    t_s: float
    requests: Count = 0
    errors: Count = 0
    max_ns: Nanoseconds | None = None
    open: Count = 0


class EngineWarning(_Message, frozen=True):
    """A weak point of a load's figures, in the engine's words."""

    code: str
    text: str = ""
    remedy: str = ""


class StreamCounts(_Message, frozen=True):
    """Streams that were fed, and what became of their chunks."""

    fed: Count = 0
    chunks: Count = 0
    behind: Count = 0
    silent: Count = 0
    slowed: Count = 0
    vanished: Count = 0


class UpstreamCalls(_Message, frozen=True):
    """What the stub saw of the requests that were answered and named."""

    requests: Count
    overlapped: Count
    overhead: LatencySummary = LatencySummary()
    slowest: LatencySummary = LatencySummary()


class TargetFigures(_Message, frozen=True):
    """What a load showed of one of several targets."""

    requests: Count = 0
    late_requests: Count = 0
    unfinished: Count = 0
    errors: dict[str, Count] = {}
    statuses: dict[str, Count] = {}
    latency: LatencySummary = LatencySummary()
    service: LatencySummary = LatencySummary()


class LoadFigures(_Message, frozen=True):
    """What a load showed, whether by itself or within a trial. Histograms are by name."""

    outcome: str
    detail: str = ""
    duration_ns: Nanoseconds = 0
    intended: Count | None = None
    intended_rate_per_s: float | None = None
    requests: Count = 0
    achieved_rate_per_s: float = 0.0
    late_requests: Count = 0
    unfinished: Count = 0
    errors: dict[str, Count] = {}
    statuses: dict[str, Count] = {}
    histograms: dict[str, LatencySummary] = {}
    counts: dict[str, Counts] = {}
    bytes_in: Bytes = 0
    bytes_out: Bytes = 0
    reads: Count = 0
    stamped_reads: Count = 0
    connections: dict[str, Count] = {}
    concurrency: float = 0.0
    targets: tuple[TargetFigures, ...] = ()
    messages: Count = 0
    streams: StreamCounts | None = None
    sequence: dict[str, Count] = {}
    cpu_ns: Nanoseconds = 0
    cpu_share_most: float = 0.0
    busy_share_most: float | None = None
    peak_memory_bytes: Bytes | None = None
    series: tuple[SecondOfLoad, ...] = ()
    warnings: tuple[EngineWarning, ...] = ()

    def latency(self, histogram: str) -> LatencySummary | None:
        """The summary of that histogram; None where it holds nothing."""
        summary = self.histograms.get(histogram)
        return summary if summary and summary.count else None


class LoadMessage(LoadFigures, frozen=True, kw_only=True, tag_field="type", tag="load"):
    """A load of a service's step, at the end of the trial."""

    outcome: str = "ok"
    step: str
    name: str
    io: str = ""
    begin_ns: Nanoseconds = 0
    end_ns: Nanoseconds = 0
    upstreams: UpstreamCalls | None = None


class CpuUse(_Message, frozen=True):
    """What a CPU did over the trial, for whoever it was; the kernel counts in ticks."""

    cpu: int
    busy_ns: Nanoseconds
    idle_ns: Nanoseconds
    stolen_ns: Nanoseconds = 0


class Pressure(_Message, frozen=True):
    """Time in which some thread of the host waited (PSI); None where the kernel does not report it."""

    cpu_ns: Nanoseconds | None = None
    memory_ns: Nanoseconds | None = None
    io_ns: Nanoseconds | None = None


class ThreadUse(_Message, frozen=True):
    """CPU time of a thread over the trial. The name is hostile text."""

    tid: int
    name: str
    cpu_ns: Nanoseconds


class ProgramOutput(_Message, frozen=True):
    """How much a program printed; `sha256` of a plain command's stdout."""

    stdout_bytes: Bytes = 0
    stderr_bytes: Bytes = 0
    lines: Count = 0
    starting: dict[str, Count] = {}
    sha256: str | None = None


class TrialOutcome(_Message, frozen=True, tag_field="type", tag="outcome"):
    """How a trial ended and what the whole tree of processes took. Texts are hostile. `interference`: what
    the program did to the probe instead of its work."""

    outcome: str
    detail: str = ""
    exit_status: int | None = None
    signal: int | None = None
    wall_ns: Nanoseconds | None = None
    paused_ns: Nanoseconds = 0
    ending_ns: Nanoseconds | None = None
    cpu_user_ns: Nanoseconds | None = None
    cpu_system_ns: Nanoseconds | None = None
    cpu_source: str = ""
    peak_pss_bytes: Bytes | None = None
    memory_peak_bytes: Bytes | None = None
    peak_threads: Count | None = None
    peak_processes: Count | None = None
    voluntary_switches: Count | None = None
    involuntary_switches: Count | None = None
    minor_faults: Count | None = None
    major_faults: Count | None = None
    run_queue_ns: Nanoseconds | None = None
    result: dict[str, str] | None = None
    output: ProgramOutput = ProgramOutput()
    stdout_tail: str = ""
    stderr_tail: str = ""
    left_behind: Count = 0
    interference: tuple[str, ...] = ()
    probe_cpu_ns: Nanoseconds | None = None
    samples: Count = 0
    sample_interval_ns: Nanoseconds | None = None
    threads: tuple[ThreadUse, ...] = ()
    cpus: tuple[CpuUse, ...] = ()
    pressure: Pressure | None = None
    reference_ns: Nanoseconds | None = None
    memory_reference_ns: Nanoseconds | None = None


class Progress(_Message, frozen=True, tag_field="type", tag="progress"):
    """One interval of a load under way; times are None when nothing was answered in it."""

    t_ns: Nanoseconds
    interval_ns: Nanoseconds
    requests: Count
    errors: Count
    open: Count
    in_flight: Count
    intended: Count = 0
    p50_ns: Nanoseconds | None = None
    p90_ns: Nanoseconds | None = None
    p99_ns: Nanoseconds | None = None
    max_ns: Nanoseconds | None = None
    buckets: tuple[tuple[float, Count], ...] = ()


class Histogram(_Message, frozen=True, tag_field="type", tag="histogram"):
    """All counts of one histogram: (value in nanoseconds, count)."""

    name: str
    counts: tuple[tuple[Nanoseconds, Count], ...]


class LoadOutcome(LoadFigures, frozen=True, tag_field="type", tag="outcome"):
    """The last message of a load by itself."""


TrialMessage = Started | Ready | Phase | SpanMessage | Sample | LoadMessage | TrialOutcome
EngineMessage = Started | Progress | Histogram | LoadOutcome
_TRIAL = msgspec.json.Decoder(TrialMessage)
_ENGINE = msgspec.json.Decoder(EngineMessage)


def trial_message(line: bytes) -> TrialMessage:
    """A message of a trial. Raises ValueError (msgspec's) with what is wrong."""
    message: TrialMessage = _TRIAL.decode(line)
    return message


def engine_message(line: bytes) -> EngineMessage:
    """A message of a load by itself. Raises ValueError (msgspec's) with what is wrong."""
    message: EngineMessage = _ENGINE.decode(line)
    return message


def trial_messages(lines: Iterable[bytes]) -> list[TrialMessage]:
    """All messages of a trial. Raises ValueError at the first that is invalid."""
    return [trial_message(line) for line in lines]


def plain(message: _Message | tuple[_Message, ...]) -> Any:
    """A message as JSON values, for the store. Keys of a wire message, without its `type`."""
    return msgspec.to_builtins(message)
