"""Compares the load engine with its peers and a floor, in turn, on the same server and CPUs.

The generators have one CPU; the server (the probe's own stub, or a feed) has another. The floor is a bare
io_uring loop that sends and counts, without parsing, timing or checks. At a fixed rate, the floor is a bare
loop that sleeps until each request is due, sends it and reads the available replies. Targets:

- closed loop over 64 connections: at least 1.25 times wrk's requests per second and 1.0 times gcannon's, and
  at most 0.8 of wrk's CPU per request
- two threads, which share all CPUs with the server: at least wrk's requests per second with two threads
- 20,000/s: in the exact mode at most 2.0 of h2load's CPU per request; with slack at most 0.8 of h2load's and
  oha's, and a mean latency within 12 us of a closed loop's
- 10,000 held streams: at most 6 % of a core, and 1 KiB each; 10,000 connects within 3 s

Peers are wrk, ab, h2load and oha if they are on PATH, and gcannon and wrk2 if GCANNON and WRK2 name their
programs. RINGSIDE_BEFORE names a probe of an earlier revision, which takes turns with the others.
`frontier`: at five rates, the CPU per request over the mean schedule error, for Ringside with several slacks
and for its peers. A server that notes when requests arrive gives all errors: the k-th arrival less k over the
rate, less the earliest of these differences. FRONTIER names the file for a picture (SVG).
`engine.py [closed] [threads] [rate] [latency] [streams] [frontier] [profile]`; default: all but the last two.
`profile` shows the probe's CPU time by function, and needs perf. An installed probe has no symbols:
RINGSIDE_PROBE names one that cargo built."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any

from ringside.probe.process import find_probe

from pairs import take_turns, tell  # isort: skip
from peers import peer  # isort: skip

# A peer may crash: it gets this many attempts.
TRIES = 5
SECONDS, ROUNDS, CONNECTIONS, RATE, STREAMS = 2, 10, 64, 20_000, 10_000
# The cost of holding streams is the difference between the longer and the shorter load.
STREAM_SECONDS = 10, 30
# All connections should be open within this time.
CONNECT_SECONDS = 3
# The second is oha's precision: it looks at the clock about once in a millisecond and sends the requests that
# are due. The third is h2load's: its timer for each connection has a period of ten milliseconds, or of the
# time between two requests of the connection if that is longer.
SLACKS_S = 0.000_25, 0.001, 0.01
# The rates and slacks of the frontier, and the time at the start of each load that does not count.
RATES, FRONTIER_ROUNDS, SETTLING_S = (1_000, 2_000, 5_000, 10_000, 20_000), 3, 0.5
FRONTIER_SLACKS_S = 0, None, 0.000_25, 0.001, 0.01, 0.025, 0.05
# Patterns of the lines in which peers print their requests, and the seconds in which they made them.
WRK = r"(\d+) requests in", r"requests in ([\d.]+)s"
H2LOAD = r"(\d+) succeeded", r"finished in ([\d.]+)s"
AB = r"Complete requests:\s+(\d+)", r"Time taken for tests:\s+([\d.]+) seconds"
OHA = r'"200": (\d+)', r'"total": ([\d.]+)'
# gcannon sends for this long before it counts.
GCANNON_WARM_UP_S = 0.1
# Keys of a plan that the engine's first revision does not know.
NEW = {"slack_s", "tls"}
# A rate that is higher than one connection can reach.
ALWAYS_LATE_PER_S = 200_000
STAMPED = "a closed loop, stamped"
PACED = "a bare paced loop"


@dataclass(frozen=True)
class Load:
    """The work of a generator: the requests that it counted, and for how many seconds it counted. Before that
    it may have sent other requests for this many seconds."""

    requests: float
    seconds: float
    before_s: float = 0


class Side:
    """A generator. A call returns requests per second, and stores the CPU time per request by round."""

    def __init__(self, run: Callable[[], Load]) -> None:
        self.run = run
        self.calls = 0
        self.cpu_us: dict[int, float] = {}

    def __call__(self) -> float:
        for _ in range(TRIES - 1):
            with contextlib.suppress(subprocess.CalledProcessError):
                return self._once()
            print("  it crashed; once more")
        return self._once()

    def _once(self) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        load = self.run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # The first call is the warm-up of `take_turns`.
        rate_per_s = load.requests / load.seconds
        if self.calls:
            self.cpu_us[self.calls] = used / (rate_per_s * (load.seconds + load.before_s)) * 1e6
        self.calls += 1
        return rate_per_s


@contextlib.contextmanager
def server(cpu: int) -> Iterator[int]:
    """Starts the stub without a delay; yields its port."""
    upstream = {"delay": {"kind": "constant", "s": 0}, "body": "hello"}
    request = {"version": 1, "stub": {"upstreams": [upstream], "cpus": [cpu]}}
    with subprocess.Popen([find_probe()], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            yield json.loads(process.stdout.readline())["ports"][0]
        finally:
            process.terminate()
            process.communicate()


def probes() -> dict[str, str]:
    """The measured probes by name: this one, and that of an earlier revision if one is named."""
    earlier = os.environ.get("RINGSIDE_BEFORE")
    return {"ringside": str(find_probe())} | ({"before": earlier} if earlier else {})


def load(
    pinned: Sequence[str], tolerated: Sequence[str] = (), probe: str | None = None, **plan: Any
) -> dict[str, Any]:
    """One load by the engine; its outcome. Other kinds of errors end the benchmark."""
    request = json.dumps({"version": 1, "load": plan}).encode() + b"\n"
    words = [*pinned, probe or find_probe()]
    done = subprocess.run(words, input=request, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.splitlines()
    outcome: dict[str, Any] = json.loads(lines[-1])
    outcome["started"] = json.loads(lines[0])
    assert outcome["outcome"] == "ok", outcome
    assert not outcome["errors"].keys() - set(tolerated), outcome
    return outcome


def ours(port: int, pinned: Sequence[str], **more: Any) -> Load:
    return Load(loaded(port, pinned, **more)["requests"], SECONDS)


def our_sides(port: int, pinned: Sequence[str], suffix: str = "", **more: Any) -> dict[str, Side]:
    """A side for each probe; only for this probe if earlier ones may not know the plan."""
    return {
        f"{name}{suffix}": Side(partial(ours, port, pinned, probe=probe, **more))
        for name, probe in probes().items()
        if name == "ringside" or not NEW & more.keys()
    }


def loaded(port: int, pinned: Sequence[str], **more: Any) -> dict[str, Any]:
    """The outcome of a load on the stub."""
    plan: dict[str, Any] = {
        "protocol": "http",
        "addresses": [f"127.0.0.1:{port}"],
        "connections": CONNECTIONS,
        "duration_s": SECONDS,
        "request": {"headers": [["Host", "127.0.0.1"]]},
        "expect": {"status": 200, "equals": "hello"},
    }
    return load(pinned, **(plan | more))


def counted(
    words: Sequence[str], pattern: str, seconds: str | None = None, before_s: float = 0
) -> Callable[[], Load]:
    """Runs a command that prints how many requests it made and, by the second pattern, in how many
    seconds."""

    def run() -> Load:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        requests, took = (re.search(each, done.stdout) for each in (pattern, seconds or ""))
        assert requests, done.stdout
        assert took, done.stdout
        return Load(float(requests[1]), float(took[1]) if seconds else SECONDS, before_s)

    return run


def named(variable: str) -> str | None:
    """The program named by an environment variable. If there is none, prints a message."""
    if program := os.environ.get(variable):
        return program
    print(f"{variable.lower()} is left out: {variable} does not name its program")
    return None


def closed(cpus: Sequence[int]) -> None:
    pinned = ["taskset", "-c", str(cpus[0])]
    with server(cpus[-1]) as port:
        url = f"http://127.0.0.1:{port}/"
        # The CPU belongs to this thread alone, so it may poll for a moment before it sleeps.
        sides = our_sides(port, pinned, cpus=[cpus[0]])
        words = [*pinned, peer("floor"), str(port), str(CONNECTIONS), str(SECONDS)]
        sides["the floor"] = Side(counted(words, r"(\d+) requests"))
        if gcannon := named("GCANNON"):
            words = [*pinned, gcannon, url, "--json", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{SECONDS}s"]
            counts = r'"responses": (\d+)', r'"elapsed_sec": ([\d.]+)'
            sides["gcannon"] = Side(counted(words, *counts, before_s=GCANNON_WARM_UP_S))
        if wrk := shutil.which("wrk"):
            words = [*pinned, wrk, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", url]
            sides["wrk"] = Side(counted(words, *WRK))
        if h2load := shutil.which("h2load"):
            words = [*pinned, h2load, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(SECONDS), url]
            sides["h2load"] = Side(counted(words, *H2LOAD))
        if ab := shutil.which("ab"):
            words = [*pinned, ab, "-q", "-k", f"-c{CONNECTIONS}", f"-t{SECONDS}", "-n", "500000", url]
            sides["ab"] = Side(counted(words, *AB))
        print(f"closed loop: {ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections, one CPU each")
        values = take_turns(sides, ROUNDS)
    show(sides, values, [name for name in ("wrk", "gcannon", "the floor") if name in sides])


def two_threads(cpus: Sequence[int]) -> None:
    """Two threads of each generator, not pinned: with two CPUs they share them with the server."""
    with server(cpus[-1]) as port:
        sides = our_sides(port, [], ", two threads", threads=2)
        if wrk := shutil.which("wrk"):
            words = [wrk, "-t2", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"http://127.0.0.1:{port}/"]
            sides["wrk"] = Side(counted(words, *WRK))
        print(f"closed loop: {ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections, two threads")
        print(f"on CPUs {', '.join(map(str, cpus))}; the server has CPU {cpus[-1]} with them")
        values = take_turns(sides, ROUNDS)
    show(sides, values, [name for name in ("wrk",) if name in sides])


def fixed_rate(cpus: Sequence[int]) -> None:
    pinned = ["taskset", "-c", str(cpus[0])]
    with server(cpus[-1]) as port:
        url = f"http://127.0.0.1:{port}/"
        pacing = {"kind": "constant", "rate_per_s": RATE}
        sides = our_sides(port, pinned, pacing=pacing) | our_sides(
            port, pinned, ", exact", pacing=pacing, slack_s=0
        )
        for slack_s in SLACKS_S:
            slack = f", slack of {slack_s * 1e6:.0f} us"
            sides |= our_sides(port, pinned, slack, pacing=pacing, slack_s=slack_s)
        words = [*pinned, peer("paced"), *map(str, (port, CONNECTIONS, SECONDS, RATE))]
        sides[PACED] = Side(counted(words, r"(\d+) requests"))
        if h2load := shutil.which("h2load"):
            words = [*pinned, h2load, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(SECONDS)]
            words += ["--rps", str(RATE // CONNECTIONS), url]
            sides["h2load"] = Side(counted(words, *H2LOAD))
        if oha := shutil.which("oha"):
            words = [*pinned, oha, "--no-tui", "--output-format", "json", "-c", str(CONNECTIONS)]
            words += ["-z", f"{SECONDS}s", "-q", str(RATE), url]
            sides["oha"] = Side(counted(words, *OHA))
        if wrk2 := named("WRK2"):
            words = [*pinned, wrk2, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"-R{RATE}", url]
            sides["wrk2"] = Side(counted(words, *WRK))
        print(f"open loop at {RATE}/s: {ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections")
        values = take_turns(sides, ROUNDS)
    show(sides, values, [name for name in (PACED, "h2load", "oha", "wrk2") if name in sides])


@dataclass(frozen=True)
class Kept:
    """How precisely a generator kept its rate, as its server saw it."""

    cpu_us: float
    error_us: float
    rate_per_s: float


def generators(rate: int) -> dict[str, Callable[[int], list[str]]]:
    """The command of each peer for a port. wrk cannot keep a rate and sends as fast as it can."""

    def words(program: str, *options: str) -> Callable[[int], list[str]]:
        return lambda port: [program, *options, f"http://127.0.0.1:{port}/"]

    common = f"-c{CONNECTIONS}", f"-d{SECONDS}s"
    peers = {
        "h2load": (shutil.which("h2load"), ["--h1", "-t1", common[0], "-D", str(SECONDS)]),
        "oha": (
            shutil.which("oha"),
            ["--no-tui", "-c", str(CONNECTIONS), "-z", f"{SECONDS}s", "-q", str(rate)],
        ),
        "wrk2": (named("WRK2"), ["-t1", *common, f"-R{rate}"]),
        "wrk": (shutil.which("wrk"), ["-t1", *common]),
    }
    peers["h2load"][1].extend(["--rps", f"{rate / CONNECTIONS:g}"])
    return {name: words(program, *options) for name, (program, options) in peers.items() if program}


def seen(command: Callable[[int], Sequence[str]], cpus: Sequence[int], rate: int, body: bytes = b"") -> Kept:
    """One load on a server that notes the instants of its requests. `body`: handles the command's output."""
    server = ["taskset", "-c", str(cpus[-1]), peer("freezing"), "1000", "0"]
    with subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        words = ["taskset", "-c", str(cpus[0]), *command(int(process.stdout.readline()))]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, input=body, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        instants, _ = process.communicate()
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    arrived_s = [int(line) / 1e9 for line in instants.split()]
    settled = [at for at in arrived_s if at - arrived_s[0] >= SETTLING_S]
    late_s = [at - number / rate for number, at in enumerate(settled)]
    error_s = mean(late_s) - min(late_s)
    return Kept(used_s / len(arrived_s) * 1e6, error_s * 1e6, (len(settled) - 1) / (settled[-1] - settled[0]))


def paced(rate: int, slack_s: float | None, cpus: Sequence[int]) -> Kept:
    """One load by the engine."""

    def plan(port: int) -> bytes:
        load = {
            "protocol": "http",
            "addresses": [f"127.0.0.1:{port}"],
            "connections": CONNECTIONS,
            "duration_s": SECONDS,
            "pacing": {"kind": "constant", "rate_per_s": rate},
            "slack_s": slack_s,
            "request": {"headers": [["Host", "127.0.0.1"]]},
        }
        return json.dumps({"version": 1, "load": load}).encode() + b"\n"

    with tempfile.NamedTemporaryFile() as file:

        def command(port: int) -> list[str]:
            file.write(plan(port))
            file.flush()
            return ["sh", "-c", 'exec "$0" < "$1"', str(find_probe()), file.name]

        return seen(command, cpus, rate)


def frontier(cpus: Sequence[int]) -> None:
    """Prints the CPU cost of a smaller schedule error, with peers for comparison."""
    medians: dict[int, dict[str, Kept]] = {}
    for rate in RATES:
        sides: dict[str, Callable[[], Kept]] = {
            name: partial(seen, command, cpus, rate) for name, command in generators(rate).items()
        }
        for slack_s in FRONTIER_SLACKS_S:
            title = "default" if slack_s is None else f"{slack_s * 1e6:.0f} us" if slack_s else "exact"
            sides[f"ringside, {title}"] = partial(paced, rate, slack_s, cpus)
        rounds = [{name: side() for name, side in sides.items()} for _ in range(FRONTIER_ROUNDS)]
        medians[rate] = {
            name: Kept(
                *(median(getattr(each[name], field.name) for each in rounds) for field in fields(Kept))
            )
            for name in sides
        }
        print(f"open loop at {rate}/s, medians: {FRONTIER_ROUNDS} rounds of {SECONDS} s")
        for name, kept in medians[rate].items():
            print(
                f"  {name:<20} {kept.cpu_us:8.1f} us of CPU per request, mean schedule error "
                f"{kept.error_us:10,.0f} us, {kept.rate_per_s:8,.0f}/s"
            )
    if picture := os.environ.get("FRONTIER"):
        draw(medians, Path(picture))


def draw(medians: dict[int, dict[str, Kept]], picture: Path) -> None:
    """One plot for each rate; lower and further left is better."""
    convert: Any = importlib.import_module("vl_convert")
    rows = [
        {"rate": rate, "by": name.partition(",")[0], "error": kept.error_us / 1e3, "cpu": kept.cpu_us}
        for rate, sides in medians.items()
        for name, kept in sides.items()
    ]
    log = {"type": "log", "nice": False}
    axis = {"values": [0.01, 0.1, 1, 10, 100, 1000, 10_000], "format": "~g"}
    encoding = {
        "x": {
            "field": "error",
            "type": "quantitative",
            "scale": log,
            "axis": {**axis, "title": "mean schedule error, ms"},
        },
        "y": {"field": "cpu", "type": "quantitative", "scale": log, "title": "CPU per request, us"},
        "color": {"field": "by", "title": None},
    }
    line = {"mark": "line", "transform": [{"filter": "datum.by == 'ringside'"}]}
    plot = {
        "facet": {"column": {"field": "rate", "title": "requests per second"}},
        "spec": {
            "width": 210,
            "height": 240,
            "encoding": encoding,
            "layer": [line, {"mark": {"type": "point", "filled": True, "size": 60}}],
        },
        "data": {"values": rows},
    }
    picture.write_text(convert.vegalite_to_svg(json.dumps(plot)))


def latency(cpus: Sequence[int]) -> None:
    """Compares the latency of paced loads with that of a closed loop of one connection, which makes about as
    many requests here.

    A closed loop reads each reply's instant from the clock; an open loop has the kernel's stamp. So only the
    former contains the time to wake up and read. But a loop of one connection that is always late sends when
    the previous reply has arrived, as a closed loop does, and it has stamps. Its service time is the closed
    loop's latency by the clock of the open loops, and these are compared with it."""
    pinned = ["taskset", "-c", str(cpus[0])]
    late = {"kind": "constant", "rate_per_s": ALWAYS_LATE_PER_S}
    paces: dict[str, dict[str, Any]] = {
        "a closed loop, as it reads": {"connections": 1},
        STAMPED: {"connections": 1, "pacing": late},
    }
    for name, probe in probes().items():
        pacing = {"kind": "constant", "rate_per_s": RATE}
        paces[name] = {"pacing": pacing, "probe": probe}
    with server(cpus[-1]) as port:

        def mean_us(name: str) -> Callable[[], float]:
            def run() -> float:
                outcome = loaded(port, pinned=pinned, **paces[name])
                rates[name].append(outcome["requests"] / SECONDS)
                kind = "service" if name == STAMPED else "latency"
                return float(outcome["histograms"][kind]["mean_ns"]) / 1e3

            return run

        rates: dict[str, list[float]] = {name: [] for name in paces}
        print(f"mean latency at {RATE}/s, from the intended instant: {ROUNDS} rounds of {SECONDS} s")
        print("by the kernel's stamps, but for the first")
        values = take_turns({name: mean_us(name) for name in paces}, ROUNDS)
    tell(values, "us", STAMPED)
    for name in list(paces)[:2]:
        print(f"  {name}: {median(rates[name]):,.0f} requests per second")
    for name in list(paces)[2:]:
        apart = median(values[name][i] - values[STAMPED][i] for i in values[name])
        print(f"  {name}: {apart:+.1f} us of the closed loop's")


def profile(cpus: Sequence[int]) -> None:
    """The CPU time of one request by function, for the closed and the open loop, from perf's samples."""
    if not shutil.which("perf"):
        print("the profile is left out: perf is not on PATH")
        return
    loops: dict[str, dict[str, Any]] = {
        "closed loop": {},
        f"{RATE}/s": {"pacing": {"kind": "constant", "rate_per_s": RATE}},
    }
    with server(cpus[-1]) as port, tempfile.TemporaryDirectory() as folder:
        recorded = ["perf", "record", "--quiet", "-g", "-o", f"{folder}/perf.data", "--"]
        words = ["taskset", "-c", str(cpus[0]), *recorded]
        for (name, probe), (loop, plan) in itertools.product(probes().items(), loops.items()):
            outcome = loaded(port, words, probe=probe, **plan)
            us = outcome["cpu_ns"] / outcome["requests"] / 1e3
            print(f"{name}, {loop}: {us:.2f} us of CPU per request, with perf's part of it")
            # Each function's own time, without that of the functions it calls.
            report = ["perf", "report", "--stdio", "--no-children", "-g", "none", "--percent-limit", "1"]
            report += ["--sort", "symbol", "-i", f"{folder}/perf.data"]
            done = subprocess.run(report, capture_output=True, text=True, check=True)
            for share, symbol in re.findall(r"^ +([\d.]+)% +(.+?)(?: +-)* *$", done.stdout, re.MULTILINE):
                print(f"  {float(share) / 100 * us:6.2f} us {float(share):5.1f}%  {symbol}")


def show(sides: dict[str, Side], values: dict[str, dict[int, float]], against: Sequence[str]) -> None:
    """Prints a table for each peer that takes part and for the earlier probe; without peers, one table
    without ratios."""
    earlier = [name for name in sides if name.startswith("before, ")]
    for name in [*against, *earlier] or [""]:
        # The earlier probe is compared only with the same back-end of this one.
        shown = {name, name.replace("before, ", "ringside, ")} if name in earlier else set(sides)
        print("requests per second")
        tell({one: values[one] for one in sides if one in shown}, "/s", name)
        print("the generator's CPU per request")
        tell({one: side.cpu_us for one, side in sides.items() if one in shown}, "us", name)


def streams(cpus: Sequence[int]) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    pinned = ["taskset", "-c", str(cpus[0])]
    words = ["taskset", "-c", str(cpus[-1]), peer("feed")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        try:
            for name, probe in probes().items():
                _streams(name, probe, port, pinned)
        finally:
            process.terminate()


def _streams(name: str, probe: str, port: int, pinned: Sequence[str]) -> None:
    short, long = STREAM_SECONDS
    print(f"{name}: held streams, a chunk per second each, opened at {STREAMS // 3}/s")
    for count in (100, STREAMS):
        brief, found = (held(port, count, seconds, pinned, probe) for seconds in STREAM_SECONDS)
        late = found["histograms"]["lateness"]
        share = (found["cpu_ns"] - brief["cpu_ns"]) / (long - short) / 1e9
        begin_s = brief["cpu_ns"] / 1e9
        print(
            f"  {count:>6} streams: {share:.1%} of a core while held, {begin_s:.2f} s of CPU for the "
            f"first {short} s, {found['messages']} messages, peak "
            f"{found['peak_memory_bytes'] / 2**20:.1f} MiB, late p50 {late['p50_ns'] / 1e6:.3g} ms, "
            f"p99 {late['p99_ns'] / 1e6:.3g} ms, faults {sum(found['sequence'].values())}"
        )
    found = held(port, STREAMS, CONNECT_SECONDS, pinned, probe, ramp_per_s=None)
    by_second = ", ".join(f"{second['open']} in second {second['t_s'] + 1}" for second in found["series"])
    print(
        f"  {STREAMS} at once: most that were open {by_second}; of {found['streams']['fed']} "
        f"the first line had come within {CONNECT_SECONDS} s"
    )


def held(
    port: int,
    count: int,
    seconds: int,
    pinned: Sequence[str],
    probe: str,
    ramp_per_s: float | None = STREAMS / 3,
) -> dict[str, Any]:
    """The outcome of this many streams, for this long."""
    return load(
        pinned,
        probe=probe,
        protocol="stream",
        addresses=[f"127.0.0.1:{port}"],
        connections=count,
        duration_s=seconds,
        ramp_per_s=ramp_per_s,
        request={"target": "/test/{id}", "headers": [["Host", "127.0.0.1"]]},
        stream={"first": "Welcome: {id}", "due_field": "due="},
    )


def main() -> int:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("needs two CPUs", file=sys.stderr)
        return 1
    parts = {
        "closed": closed,
        "threads": two_threads,
        "rate": fixed_rate,
        "latency": latency,
        "streams": streams,
        "frontier": frontier,
        "profile": profile,
    }
    for name in sys.argv[1:] or [name for name in parts if name not in ("frontier", "profile")]:
        if name not in parts:
            print(f"{name}: one of {', '.join(parts)}", file=sys.stderr)
            return 2
        parts[name](cpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
