"""The options of `ringside load`, read and held against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ringside.errors import UsageError
from ringside.load import words

_DURATION_S = 10.0
_CONNECTIONS = {"http": 64, "tcp": 64, "stream": 100}
_TIMEOUT_S = 5.0
_MOST_EXPECTED = 1 << 20
# What the probe needs beside its connections, as probe/src/load/engine.rs counts it.
_SPARE_DESCRIPTORS = 64
_PER_THREAD_DESCRIPTORS = 4

_OF_HTTP = ("method", "header", "body", "close", "expect_status")
_OF_STREAM = ("framing", "first", "chunk", "interval", "due_field")
_OF_BODIES = ("expect_body", "expect_contains", "expect_pattern")
_OF_REQUESTS = ("rate", "burst", "poisson", "staircase", "requests", *_OF_BODIES)
_NOT_FOR = {
    "http": (*_OF_STREAM, "line"),
    "stream": ("line", "close", *_OF_REQUESTS),
    "tcp": (*_OF_HTTP, *_OF_STREAM),
}
_KINDS = {"http": "an http target", "stream": "a stream", "tcp": "a tcp target"}


@dataclass(frozen=True, slots=True)
class Words:
    """The options as they were written; the names are those of the command line."""

    connections: int | None = None
    rate: str | None = None
    burst: int | None = None
    poisson: bool = False
    seed: int | None = None
    staircase: str | None = None
    duration: str | None = None
    requests: int | None = None
    ramp: str | None = None
    threads: int = 1
    cpus: str | None = None
    io: str = "auto"
    timeout: str | None = None
    method: str | None = None
    header: Sequence[str] = ()
    body: str | None = None
    close: bool = False
    expect_status: int | None = None
    expect_body: str | None = None
    expect_contains: str | None = None
    expect_pattern: str | None = None
    line: str | None = None
    framing: str | None = None
    first: str | None = None
    chunk: str | None = None
    interval: str | None = None
    due_field: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What a load is to do, in the words of the contract (docs/PROTOCOL.md, "Load"): texts that go over
    the wire have a character for each byte."""

    connections: int
    pacing: dict[str, Any]
    duration_s: float | None
    requests: int | None
    ramp_per_s: float | None
    threads: int
    cpus: tuple[int, ...]
    io: str
    timeout_s: float
    method: str
    headers: tuple[tuple[str, str], ...]
    body: str
    close: bool
    expect: dict[str, Any] | None
    line: str
    stream: dict[str, Any]

    def is_open_loop(self) -> bool:
        return bool(self.pacing["kind"] != "closed")

    def total_s(self) -> float | None:
        """How long the load lasts at the most, its drain apart; None where only a count ends it."""
        ends = [] if self.duration_s is None else [self.duration_s]
        if self.pacing["kind"] == "staircase":
            ends.append(sum(step["duration_s"] for step in self.pacing["steps"]))
        return min(ends, default=None)

    def part(self, parts: int, index: int, least_s: float) -> Options:
        """One of some equal parts of this load, with a schedule of its own where that is random."""
        pacing = dict(self.pacing)
        if pacing["kind"] == "poisson":
            pacing["seed"] += index
        return replace(
            self,
            pacing=pacing,
            duration_s=None if self.duration_s is None else max(least_s, self.duration_s / parts),
            requests=None if self.requests is None else max(1, self.requests // parts),
        )


def parse(protocol: str, given: Words, seed: int) -> Options:
    """The options of a load of this protocol. `seed` is for a random schedule. Raises UsageError."""
    for name in _NOT_FOR[protocol]:
        if getattr(given, name) not in (None, False, (), []):
            raise UsageError(_not_for(name, protocol))
    connections = given.connections or _CONNECTIONS[protocol]
    if given.threads > connections:
        raise UsageError(
            f"--threads {given.threads} is more than {connections} connections: each thread needs one"
        )
    pacing = _pacing(given, seed)
    duration_s = words.seconds(given.duration, "--duration") if given.duration else None
    if duration_s is None and given.requests is None and pacing["kind"] != "staircase":
        duration_s = _DURATION_S
    method = (given.method or ("GET" if given.body is None else "POST")).upper()
    if not words.is_token(method) or method == "CONNECT":
        raise UsageError(f"--method {method[:30]!r} can be none: write it as GET or POST")
    return Options(
        connections=connections,
        pacing=pacing,
        duration_s=duration_s,
        requests=given.requests,
        ramp_per_s=words.per_second(given.ramp, "--ramp") if given.ramp else None,
        threads=given.threads,
        cpus=words.cpus(given.cpus) if given.cpus else (),
        io=given.io,
        timeout_s=words.seconds(given.timeout, "--timeout") if given.timeout else _TIMEOUT_S,
        method=method,
        headers=tuple(words.headers(given.header)),
        body=words.body(given.body) if given.body is not None else "",
        close=given.close,
        expect=_expectation(given),
        line=_line("1" if given.line is None else given.line),
        stream=_stream(given),
    )


def _not_for(name: str, protocol: str) -> str:
    option = f"--{name.replace('_', '-')}"
    if protocol == "stream" and name in _OF_BODIES:
        return f"{option} is not for a stream: --first and --chunk say what its messages must be"
    if protocol == "stream" and name == "requests":
        return f"{option} is not for a stream: give --duration"
    if protocol == "stream" and name in ("rate", "burst", "poisson", "staircase"):
        return f"{option} is not for a stream, which sends by itself: --ramp says how fast streams are opened"
    return f"{option} is not for {_KINDS[protocol]}: leave it out"


def _pacing(given: Words, seed: int) -> dict[str, Any]:
    if given.staircase:
        if given.rate or given.poisson or given.burst:
            raise UsageError("--staircase has its own rates: leave out --rate, --burst and --poisson")
        steps = words.staircase(given.staircase)
        return {
            "kind": "staircase",
            "steps": [{"rate_per_s": rate, "duration_s": duration} for rate, duration in steps],
        }
    if given.rate:
        rate = words.per_second(given.rate, "--rate")
        if given.poisson and given.burst:
            raise UsageError("--poisson and --burst both say when requests are due: leave one out")
        if given.poisson:
            return {"kind": "poisson", "rate_per_s": rate, "seed": seed}
        return {"kind": "constant", "rate_per_s": rate, "burst": given.burst or 1}
    if given.burst:
        raise UsageError("--burst needs a rate: add --rate N")
    if given.poisson:
        raise UsageError("--poisson needs a rate: add --rate N")
    return {"kind": "closed"}


def _expectation(given: Words) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    if given.expect_status is not None:
        found["status"] = given.expect_status
    for key, option, text in (
        ("equals", "--expect-body", given.expect_body),
        ("contains", "--expect-contains", given.expect_contains),
        ("matches", "--expect-pattern", given.expect_pattern),
    ):
        if text is not None:
            found[key] = words.as_bytes(text)
            if len(found[key]) > _MOST_EXPECTED:
                raise UsageError(f"{option} is longer than {_MOST_EXPECTED >> 20} MiB")
    if "matches" in found and len(found.keys() & {"equals", "contains"}):
        raise UsageError("--expect-pattern stands alone: leave out --expect-body and --expect-contains")
    return found or None


def _line(text: str) -> str:
    if "\n" in text:
        raise UsageError("--line is one line: its newline is sent by itself")
    return words.as_bytes(text)


def _stream(given: Words) -> dict[str, Any]:
    found: dict[str, Any] = {"framing": given.framing}
    for key in ("first", "chunk", "due_field"):
        found[key] = getattr(given, key)
        if not (found[key] or "").isprintable():
            # Surrogates too: bytes on the command line that were no UTF-8.
            raise UsageError(f"--{key.replace('_', '-')} has a character that cannot be printed")
    if given.interval:
        if given.due_field:
            raise UsageError("--interval and --due-field both say when a message is due: leave one out")
        found["interval_s"] = words.seconds(given.interval, "--interval")
    return {key: value for key, value in found.items() if value is not None}


def check_machine(options: Options, usable_cpus: Sequence[int], hard_descriptors: int) -> None:
    """Raise UsageError where this machine cannot do it: CPUs that are not there, more connections than
    a process may have open (`hard_descriptors`: RLIMIT_NOFILE's hard limit)."""
    missing = [cpu for cpu in options.cpus if cpu not in usable_cpus]
    if missing:
        raise UsageError(
            f"--cpus: CPU {missing[0]} cannot be used; usable here: {', '.join(map(str, usable_cpus))}"
        )
    room = hard_descriptors - _SPARE_DESCRIPTORS - _PER_THREAD_DESCRIPTORS * options.threads
    if options.connections > room:
        raise UsageError(
            f"{options.connections:,} connections need more descriptors than this process may have: the hard "
            f"limit is {hard_descriptors:,} (ulimit -Hn), so up to {max(0, room):,} connections fit"
        )
