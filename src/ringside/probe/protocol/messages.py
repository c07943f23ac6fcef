"""Messages of the probe: all that it can write, and their decoders."""

from collections.abc import Callable
from typing import Annotated

import msgspec

# The store keeps signed integers of 64 bits.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Nanoseconds = Count
Bytes = Count
# A histogram as `value_ns count value_ns count …`, values ascending: a text, since stores have thousands.
Counts = Annotated[str, msgspec.Meta(pattern=r"^([0-9]{1,19} [0-9]{1,19}( [0-9]{1,19} [0-9]{1,19})*)?\Z")]


class Message(msgspec.Struct, frozen=True):
    """A part of a message."""


class LatencySummary(Message, frozen=True):
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


class SecondOfLoad(Message, frozen=True):
    """The figures of one second of a load; `t_s` counts from the load's beginning."""

    t_s: float
    requests: Count = 0
    errors: Count = 0
    max_ns: Nanoseconds | None = None
    open: Count = 0


class SlotOfLoad(Message, frozen=True):
    """The requests that were due in a slot of a load's time line, and those of them that were answered."""

    due: Count
    answered: Count
    p50_ns: Nanoseconds = 0
    p99_ns: Nanoseconds = 0
    max_ns: Nanoseconds = 0


class EngineWarning(Message, frozen=True):
    """A weak point of a load's figures, in the engine's words."""

    code: str
    text: str = ""
    remedy: str = ""


class StreamCounts(Message, frozen=True):
    """Streams that were fed, and what became of their chunks."""

    fed: Count = 0
    chunks: Count = 0
    behind: Count = 0
    silent: Count = 0
    slowed: Count = 0
    vanished: Count = 0


class TargetFigures(Message, frozen=True):
    """The figures of a load for one of several targets."""

    requests: Count = 0
    late_requests: Count = 0
    unfinished: Count = 0
    errors: dict[str, Count] = msgspec.field(default_factory=dict)
    statuses: dict[str, Count] = msgspec.field(default_factory=dict)
    latency: LatencySummary = LatencySummary()
    service: LatencySummary = LatencySummary()


class RequestLog(Message, frozen=True):
    """A log's state: lines, the most requests of one, lines without room, the reason if it is incomplete."""

    lines: Count = 0
    of: Count = 1
    dropped: Count = 0
    failed: str | None = None


class LoadFigures(Message, frozen=True):
    """The figures of a load, alone or within a trial. Histograms are by name."""

    outcome: str
    detail: str = ""
    duration_ns: Nanoseconds = 0
    intended: Count | None = None
    intended_rate_per_s: float | None = None
    requests: Count = 0
    achieved_rate_per_s: float = 0.0
    late_requests: Count = 0
    unfinished: Count = 0
    unsent: Count = 0
    connects_timed_out: Count = 0
    errors: dict[str, Count] = msgspec.field(default_factory=dict)
    statuses: dict[str, Count] = msgspec.field(default_factory=dict)
    histograms: dict[str, LatencySummary] = msgspec.field(default_factory=dict)
    counts: dict[str, Counts] = msgspec.field(default_factory=dict)
    bytes_in: Bytes = 0
    bytes_out: Bytes = 0
    reads: Count = 0
    stamped_reads: Count = 0
    connections: dict[str, Count] = msgspec.field(default_factory=dict)
    security: str = ""
    first_wrong: str = ""
    bodies: tuple[tuple[Bytes, str], ...] = ()
    concurrency: float = 0.0
    targets: tuple[TargetFigures, ...] = ()
    messages: Count = 0
    streams: StreamCounts | None = None
    sequence: dict[str, Count] = msgspec.field(default_factory=dict)
    cpu_ns: Nanoseconds = 0
    cpu_share_most: float = 0.0
    busy_share_most: float | None = None
    peak_memory_bytes: Bytes | None = None
    series: tuple[SecondOfLoad, ...] = ()
    course: tuple[SlotOfLoad, ...] | None = None
    warnings: tuple[EngineWarning, ...] = ()
    log: RequestLog | None = None

    @property
    def failed(self) -> int:
        """Requests without the expected answer: errors, and those unanswered at the end."""
        return sum(self.errors.values()) + self.unfinished

    @property
    def attempted(self) -> int:
        """All requests, answered or not; of streams messages and errors, since they have no replies."""
        return self.failed + self.requests + self.late_requests + self.messages

    def latency(self, histogram: str) -> LatencySummary | None:
        """The summary of that histogram; None if it is empty."""
        summary = self.histograms.get(histogram)
        return summary if summary and summary.count else None


class Started(Message, frozen=True, tag_field="type", tag="started"):
    """The program, or the engine, has started. `missing`: what could not be used, and why."""

    version: int
    t_ns: Nanoseconds = 0
    pid: int | None = None
    cgroup: str | None = None
    missing: tuple[str, ...] = ()
    threads: Count = 0
    connections: Count = 0
    monotonic_ns: Nanoseconds = 0


class ServiceReady(Message, frozen=True, tag_field="type", tag="ready"):
    """The service listens."""

    t_ns: Nanoseconds
    port: int | None = None


class Phase(Message, frozen=True, tag_field="type", tag="phase"):
    """A phase took `ns` by the program's own clock. The name is hostile text."""

    t_ns: Nanoseconds
    name: str
    ns: Nanoseconds


class Span(Message, frozen=True, tag_field="type", tag="span"):
    """A unit of the program was busy with one piece of work, by the program's own clock."""

    unit: int
    begin_ns: int
    end_ns: int


class Sample(Message, frozen=True, tag_field="type", tag="sample"):
    """A sample of the tree of processes; with a `mark`, at a named instant. `kernel_bytes` and `tcp_bytes`
    are the whole host's, of marks and time lines; `cpu_by_thread` is of time lines."""

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
    cpu_by_thread: tuple[tuple[Count, Nanoseconds], ...] | None = None
    kernel_bytes: Bytes | None = None
    tcp_bytes: Bytes | None = None

    @property
    def all_kernel_bytes(self) -> int | None:
        """The kernel's memory with the buffers of TCP; None if either is not known."""
        known = self.kernel_bytes is not None and self.tcp_bytes is not None
        return (self.kernel_bytes or 0) + (self.tcp_bytes or 0) if known else None


class Drive(Message, frozen=True, tag_field="type", tag="drive"):
    """Engines on other machines are to carry out a step of loads, by its number, at the service's port."""

    t_ns: Nanoseconds
    step: Count
    port: Count


class OrphanedCalls(Message, frozen=True):
    """Requests whose client had hung up, and how their later upstream calls ended: answered, or cut off."""

    requests: Count = 0
    answered: Count = 0
    cut: Count = 0


class UpstreamCalls(Message, frozen=True):
    """The stub's figures of answered requests with an id."""

    requests: Count
    overlapped: Count
    overhead: LatencySummary = LatencySummary()
    slowest: LatencySummary = LatencySummary()
    orphans: OrphanedCalls = OrphanedCalls()


class LoadMessage(LoadFigures, frozen=True, kw_only=True, tag_field="type", tag="load"):
    """A load of a service's step, at the end of the trial. `engines`: how many on other machines carried it
    out, None if the probe did; `started_within_ns`: how far apart they started at most."""

    outcome: str = "ok"
    step: str
    name: str
    begin_ns: Nanoseconds = 0
    end_ns: Nanoseconds = 0
    upstreams: UpstreamCalls | None = None
    engines: Count | None = None
    started_within_ns: Nanoseconds | None = None


class CpuUse(Message, frozen=True):
    """The use of a CPU during the trial by all programs; the kernel counts in ticks."""

    cpu: int
    busy_ns: Nanoseconds
    idle_ns: Nanoseconds
    stolen_ns: Nanoseconds = 0


class Pressure(Message, frozen=True):
    """Time in which some thread of the host waited (PSI); None if the kernel does not report it."""

    cpu_ns: Nanoseconds | None = None
    memory_ns: Nanoseconds | None = None
    io_ns: Nanoseconds | None = None


class ThreadUse(Message, frozen=True):
    """CPU time of a thread over the trial. The name is hostile text."""

    tid: int
    name: str
    cpu_ns: Nanoseconds


class ProgramOutput(Message, frozen=True):
    """How much a program printed; `xxh3`: the hash of a plain command's stdout, to compare outputs."""

    stdout_bytes: Bytes = 0
    stderr_bytes: Bytes = 0
    lines: Count = 0
    starting: dict[str, Count] = msgspec.field(default_factory=dict)
    xxh3: str | None = None


class KernelCounter(Message, frozen=True):
    """A count in `share` of the time, scaled to all of it; or why there is none, or none in the kernel."""

    count: Count | None = None
    share: float = 1.0
    why: str = ""


class TrialOutcome(Message, frozen=True, tag_field="type", tag="outcome"):
    """How a trial ended and what the whole tree of processes took. Texts are hostile. `interference`: what
    the program did to the probe instead of its work. `left_files`: in its temporary folder and in shared
    memory, where they were removed. `unmapped_bytes`: memory in files that no process mapped, which is in no
    other figure; None for less than 16 MiB. `kernel_bytes`: of the whole host, before the program was
    started. `number`: that of the request. `peak_memory_bytes`: resident memory of the tree, each page once;
    `peak_memory_unknown` why there is none. `peak_process_bytes`: of the largest process. `driver_cpu_ns`,
    `probe_shared_cpu_ns`: what this process, and the probe, may have used of the program's CPUs."""

    outcome: str
    detail: str = ""
    exit_status: int | None = None
    signal: int | None = None
    wall_ns: Nanoseconds | None = None
    paused_ns: Nanoseconds = 0
    cpu_user_ns: Nanoseconds | None = None
    cpu_system_ns: Nanoseconds | None = None
    cpu_source: str = ""
    peak_pss_bytes: Bytes | None = None
    peak_memory_bytes: Bytes | None = None
    peak_memory_unknown: str = ""
    peak_process_bytes: Bytes | None = None
    unmapped_bytes: Bytes | None = None
    kernel_bytes: Bytes | None = None
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
    left_files: Count = 0
    interference: tuple[str, ...] = ()
    probe_cpu_ns: Nanoseconds | None = None
    probe_shared_cpu_ns: Nanoseconds = 0
    driver_cpu_ns: Nanoseconds = 0
    reading_ns: Nanoseconds = 0
    samples: Count = 0
    sample_interval_ns: Nanoseconds | None = None
    threads: tuple[ThreadUse, ...] = ()
    cpus: tuple[CpuUse, ...] = ()
    pressure: Pressure | None = None
    reference_ns: Nanoseconds | None = None
    memory_reference_ns: Nanoseconds | None = None
    counters: dict[str, KernelCounter] = msgspec.field(default_factory=dict)
    number: str | None = None

    @property
    def cpu_ns(self) -> int:
        """The CPU time of the tree, as far as it is known."""
        return (self.cpu_user_ns or 0) + (self.cpu_system_ns or 0)


class LoadProgress(Message, frozen=True, tag_field="type", tag="progress"):
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


class Histogram(Message, frozen=True, tag_field="type", tag="histogram"):
    """All counts of one histogram: (value in nanoseconds, count)."""

    name: str
    counts: tuple[tuple[Nanoseconds, Count], ...]


class EngineRecord(Message, frozen=True, tag_field="type", tag="record"):
    """All that one of several engines counted, for the probe that merges their records."""

    record: msgspec.Raw
    duration_ns: Nanoseconds
    interrupted: bool
    failed: str | None
    peak_memory_bytes: Bytes | None


class LoadOutcome(LoadFigures, frozen=True, tag_field="type", tag="outcome"):
    """The last message of a load by itself."""


TrialMessage = Started | ServiceReady | Phase | Span | Drive | Sample | LoadMessage | TrialOutcome
EngineMessage = Started | LoadProgress | Histogram | EngineRecord | LoadOutcome
# Each raises ValueError (msgspec's) with the error.
trial_message: Callable[[bytes], TrialMessage] = msgspec.json.Decoder(TrialMessage).decode
engine_message: Callable[[bytes], EngineMessage] = msgspec.json.Decoder(EngineMessage).decode
