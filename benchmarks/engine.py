"""The load engine beside its peers and a floor, taking turns on the same server and CPUs.

The generators have one CPU, the server (the probe's own stub, or a feed) another. The floor is a bare
io_uring loop that sends and counts: no parsing, no timing, no checks. Targets: closed loop over 64
connections, with io_uring at least 1.25 times wrk's requests per second, at most 0.8 of its CPU per request
and at least 0.95 of the floor, with epoll at least wrk's; at 20,000/s in the exact mode at most 2.0 of
h2load's CPU per request, in the coarse mode at most 0.8 of h2load's and oha's, and a mean latency within
12 us of what a closed loop at the same load sees; 10,000 held streams at most 6 % of a core and 1 KiB each.
With two threads, at least wrk's requests per second with two: they and the server share all CPUs.
Peers are wrk, ab, h2load and oha where they are on PATH, gcannon (of which the target is its requests per
second) and wrk2 where GCANNON and WRK2 name their programs.
`engine.py [closed] [threads] [rate] [latency] [streams]`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from ringside.probe.process import find_probe

from pairs import take_turns, tell  # isort: skip
from peers import peer  # isort: skip

# A peer may crash.
TRIES = 5
SECONDS, ROUNDS, CONNECTIONS, RATE, STREAMS = 2, 10, 64, 20_000, 10_000
# What is held is what the longer load takes more than the shorter one.
STREAM_SECONDS = 10, 30
# In so long all of them should be open.
CONNECT_SECONDS = 3
# The second is that of oha, which looks at the clock about once in a millisecond and sends what has become
# due; the third is that of h2load, which has a timer for each connection, of ten milliseconds or of the time
# between two of its requests, whichever is longer.
TICKS_S = 0.000_25, 0.001, 0.01


class Side:
    """A generator: calls give requests per second; its CPU per request is kept by round."""

    def __init__(self, run: Callable[[], float]) -> None:
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
        requests = self.run()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        # The first call is the warm-up of `take_turns`.
        if self.calls:
            self.cpu_us[self.calls] = used / requests * 1e6
        self.calls += 1
        return requests / SECONDS


@contextlib.contextmanager
def server(cpu: int) -> Iterator[int]:
    """The stub without a delay; its port."""
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


def load(pinned: Sequence[str], tolerated: Sequence[str] = (), **plan: Any) -> dict[str, Any]:
    """One load by the engine; its outcome. Errors of other kinds than these end the benchmark."""
    request = json.dumps({"version": 1, "load": plan}).encode() + b"\n"
    done = subprocess.run([*pinned, find_probe()], input=request, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    lines = done.stdout.splitlines()
    outcome: dict[str, Any] = json.loads(lines[-1])
    outcome["started"] = json.loads(lines[0])
    assert outcome["outcome"] == "ok", outcome
    assert not outcome["errors"].keys() - set(tolerated), outcome
    return outcome


def ours(port: int, io: str, pinned: Sequence[str], **more: Any) -> float:
    return float(loaded(port, io, pinned, **more)["requests"])


def loaded(port: int, io: str, pinned: Sequence[str], **more: Any) -> dict[str, Any]:
    """The outcome of a load on the stub."""
    plan: dict[str, Any] = {
        "protocol": "http",
        "addresses": [f"127.0.0.1:{port}"],
        "connections": CONNECTIONS,
        "io": io,
        "duration_s": SECONDS,
        "request": {"headers": [["Host", "127.0.0.1"]]},
        "expect": {"status": 200, "equals": "hello"},
    }
    return load(pinned, **(plan | more))


def counted(words: Sequence[str], pattern: str) -> Callable[[], float]:
    """A command that prints how many requests it made."""

    def run() -> float:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        found = re.search(pattern, done.stdout)
        assert found, done.stdout
        return float(found[1])

    return run


def named(variable: str) -> str | None:
    """The program that an environment variable names; without it, a message."""
    if program := os.environ.get(variable):
        return program
    print(f"{variable.lower()} is left out: {variable} does not name its program")
    return None


def closed(cpus: Sequence[int]) -> None:
    pinned = ["taskset", "-c", str(cpus[0])]
    with server(cpus[-1]) as port:
        url = f"http://127.0.0.1:{port}/"
        sides = {
            "ringside, io_uring": Side(lambda: ours(port, "uring", pinned)),
            "ringside, epoll": Side(lambda: ours(port, "epoll", pinned)),
            "the floor": Side(
                counted(
                    [*pinned, peer("floor"), str(port), str(CONNECTIONS), str(SECONDS)], r"(\d+) requests"
                )
            ),
        }
        if gcannon := named("GCANNON"):
            words = [*pinned, gcannon, url, "--json", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{SECONDS}s"]
            sides["gcannon"] = Side(counted(words, r'"responses": (\d+)'))
        if wrk := shutil.which("wrk"):
            words = [*pinned, wrk, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", url]
            sides["wrk"] = Side(counted(words, r"(\d+) requests in"))
        if h2load := shutil.which("h2load"):
            words = [*pinned, h2load, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(SECONDS), url]
            sides["h2load"] = Side(counted(words, r"(\d+) succeeded"))
        if ab := shutil.which("ab"):
            words = [*pinned, ab, "-q", "-k", f"-c{CONNECTIONS}", f"-t{SECONDS}", "-n", "500000", url]
            sides["ab"] = Side(counted(words, r"Complete requests:\s+(\d+)"))
        print(f"closed loop: {ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections, one CPU each")
        values = take_turns(sides, ROUNDS)
    show(sides, values, [name for name in ("wrk", "gcannon", "the floor") if name in sides])


def two_threads(cpus: Sequence[int]) -> None:
    """Two threads of each generator, pinned to nothing: with two CPUs they share them with the server."""
    with server(cpus[-1]) as port:
        sides = {
            f"ringside, {io}, two threads": Side(partial(ours, port, io, [], threads=2))
            for io in ("uring", "epoll")
        }
        if wrk := shutil.which("wrk"):
            words = [wrk, "-t2", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"http://127.0.0.1:{port}/"]
            sides["wrk"] = Side(counted(words, r"(\d+) requests in"))
        print(f"closed loop: {ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections, two threads")
        print(f"on CPUs {', '.join(map(str, cpus))}; the server has CPU {cpus[-1]} with them")
        values = take_turns(sides, ROUNDS)
    show(sides, values, [name for name in ("wrk",) if name in sides])


def fixed_rate(cpus: Sequence[int]) -> None:
    pinned = ["taskset", "-c", str(cpus[0])]
    with server(cpus[-1]) as port:
        url = f"http://127.0.0.1:{port}/"
        pacing = {"kind": "constant", "rate_per_s": RATE}
        sides = {
            "ringside, io_uring": Side(lambda: ours(port, "uring", pinned, pacing=pacing)),
            "ringside, epoll": Side(lambda: ours(port, "epoll", pinned, pacing=pacing)),
        }
        for io, title in (("uring", "io_uring"), ("epoll", "epoll")):
            for tick_s in TICKS_S:
                run = partial(ours, port, io, pinned, pacing=pacing, tick_s=tick_s)
                sides[f"ringside, {title}, ticks of {tick_s * 1e6:.0f} us"] = Side(run)
        if h2load := shutil.which("h2load"):
            words = [*pinned, h2load, "--h1", "-t1", f"-c{CONNECTIONS}", "-D", str(SECONDS)]
            words += ["--rps", str(RATE // CONNECTIONS), url]
            sides["h2load"] = Side(counted(words, r"(\d+) succeeded"))
        if oha := shutil.which("oha"):
            words = [*pinned, oha, "--no-tui", "-c", str(CONNECTIONS), "-z", f"{SECONDS}s"]
            words += ["-q", str(RATE), url]
            sides["oha"] = Side(counted(words, r"\[200\] (\d+) responses"))
        if wrk2 := named("WRK2"):
            words = [*pinned, wrk2, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", f"-R{RATE}", url]
            sides["wrk2"] = Side(counted(words, r"(\d+) requests in"))
        print(f"open loop at {RATE}/s: {ROUNDS} rounds of {SECONDS} s, {CONNECTIONS} connections")
        values = take_turns(sides, ROUNDS)
    show(sides, values, [name for name in ("h2load", "oha", "wrk2") if name in sides])


def latency(cpus: Sequence[int]) -> None:
    """Beside a closed loop of one connection, which makes about as many requests here."""
    pinned = ["taskset", "-c", str(cpus[0])]
    pacing = {"kind": "constant", "rate_per_s": RATE}
    paces: dict[str, dict[str, Any]] = {
        "a closed loop of one connection": {"connections": 1},
        "ringside, io_uring": {"pacing": pacing},
        "ringside, epoll": {"pacing": pacing, "io": "epoll"},
    }
    with server(cpus[-1]) as port:

        def mean_us(name: str) -> Callable[[], float]:
            def run() -> float:
                found = loaded(port, pinned=pinned, **({"io": "uring"} | paces[name]))
                rates[name].append(found["requests"] / SECONDS)
                return float(found["histograms"]["latency"]["mean_ns"]) / 1e3

            return run

        rates: dict[str, list[float]] = {name: [] for name in paces}
        print(f"mean latency at {RATE}/s, from the intended instant: {ROUNDS} rounds of {SECONDS} s")
        print(
            "replies of the open loops have the kernel's stamps, those of the closed loop the time of reading"
        )
        values = take_turns({name: mean_us(name) for name in paces}, ROUNDS)
    closed_loop, *paced = paces
    tell(values, "us", closed_loop)
    print(f"  the closed loop made {median(rates[closed_loop]):,.0f} requests per second")
    for name in paced:
        apart = median(values[name][i] - values[closed_loop][i] for i in values[name])
        print(f"  {name}: {apart:+.1f} us of the closed loop's")


def show(sides: dict[str, Side], values: dict[str, dict[int, float]], against: Sequence[str]) -> None:
    for name in against:
        print("requests per second")
        tell(values, "/s", name)
        print("the generator's CPU per request")
        tell({one: side.cpu_us for one, side in sides.items()}, "us", name)


def streams(cpus: Sequence[int]) -> None:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    pinned = ["taskset", "-c", str(cpus[0])]
    words = ["taskset", "-c", str(cpus[-1]), peer("feed")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        port = int(process.stdout.readline())
        try:
            short, long = STREAM_SECONDS
            print(f"held streams, a chunk per second each, opened at {STREAMS // 3}/s")
            for count in (100, STREAMS):
                brief, found = (held(port, count, seconds, pinned) for seconds in STREAM_SECONDS)
                late = found["histograms"]["lateness"]
                share = (found["cpu_ns"] - brief["cpu_ns"]) / (long - short) / 1e9
                begin_s = brief["cpu_ns"] / 1e9
                print(
                    f"  {count:>6} streams: {share:.1%} of a core while held, {begin_s:.2f} s of CPU for the "
                    f"first {short} s, {found['messages']} messages, peak "
                    f"{found['peak_memory_bytes'] / 2**20:.1f} MiB, late p50 {late['p50_ns'] / 1e6:.3g} ms, "
                    f"p99 {late['p99_ns'] / 1e6:.3g} ms, faults {sum(found['sequence'].values())}"
                )
            found = held(port, STREAMS, CONNECT_SECONDS, pinned, ramp_per_s=None)
            by_second = ", ".join(
                f"{second['open']} in second {second['t_s'] + 1}" for second in found["series"]
            )
            print(
                f"  {STREAMS} at once: most that were open {by_second}; of {found['streams']['fed']} "
                f"the first line had come within {CONNECT_SECONDS} s"
            )
        finally:
            process.terminate()


def held(
    port: int, count: int, seconds: int, pinned: Sequence[str], ramp_per_s: float | None = STREAMS / 3
) -> dict[str, Any]:
    """The outcome of so many streams, for so long."""
    return load(
        pinned,
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
    }
    for name in sys.argv[1:] or parts:
        if name not in parts:
            print(f"{name}: one of {', '.join(parts)}", file=sys.stderr)
            return 2
        parts[name](cpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
