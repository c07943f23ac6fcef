"""Requests: a trial, the upstreams that the probe plays in it, and the notices that it gets while engines on
other machines carry out its loads."""

from __future__ import annotations

import msgspec

from ringside.probe.protocol.loads import LoadPlan, Request, WholeRequest
from ringside.probe.protocol.messages import EngineRecord


class LognormalDelay(Request, frozen=True, tag_field="kind", tag="lognormal"):
    """The logarithm is normal with standard deviation `sigma`."""

    median_s: float
    sigma: float


class TailedDelay(Request, frozen=True, tag_field="kind", tag="tailed"):
    """Lognormal, but `tail_s` with a probability of `tail_share`."""

    median_s: float
    sigma: float
    tail_s: float
    tail_share: float


class StubUpstream(Request, frozen=True):
    """One upstream: how long it takes, and what it answers."""

    delay: LognormalDelay | TailedDelay
    status: int = 200
    body: str = ""


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
    """What the lines on stdout that are not protocol lines must be: how many, how many begin with each
    prefix of one character, the SHA-256 of all of them."""

    total: int | None = None
    starting: dict[str, int] = msgspec.field(default_factory=dict)
    sha256: str | None = None


class Evidence(Request, frozen=True):
    """What makes a trial `ok`: pairs of `::result`, and the other lines of stdout."""

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
    earlier half, by at most this share, or two had fewer than ten answers each."""

    name: str
    loads: tuple[NamedLoad, ...]
    last_above_p99_s: float | None = None
    while_faster: float | None = None
    marks: tuple[TimedMark, ...] = ()


class Service(Request, frozen=True):
    """What the probe does with a program that listens on `host`. `remote`: engines on other machines carry
    out the loads."""

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
    the outcome repeats, made by the driver. `temporary`: it gets a temporary folder of its own, below the
    TMPDIR of `env`."""

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
    """What one engine counted of a load, by its number in the step."""

    load: int
    record: EngineRecord


class Notice(Request, frozen=True):
    """One of these: the engines have been started; an engine has ended its part of a load; the loads of the
    step do not take place, for this reason in one line."""

    begun: Begun | None = None
    record: PartRecord | None = None
    failed: str | None = None
