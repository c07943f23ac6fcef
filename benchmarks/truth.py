"""Are latencies true? The load goes to a server that answers at once, but freezes for D of every P seconds.

The law: in an open loop that keeps its rate, a request that falls into a freeze waits for its end. So
L(q) = max(0, D - (1 - q) P), and the mean is D^2 / 2P. The server is also a witness: it notes when it
answered. The instants at which requests were due are known. The k-th answer less the k-th instant is the
time that a client waited, including stalls of the machine, but without the way back. Target: the mean and
every percentile within 0.1 % or 0.3 ms of the witness's. For each that misses it, the program prints a line;
it then ends with status 1.

Feeds with some chunks that are late by a known time come first. Towards the end the server speaks TLS; the
witness then notes its answers before it encrypts them. At last wrk and ab (closed loops) measure the same
server, and wrk2 at a fixed rate if WRK2 names its program.
`truth.py [quick]`."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine import load, named
from engine_secure import certificate
from peers import peer

# A load begins after this part of a period. It lasts a whole number of periods.
BEGIN = 0.5
# Relative to the witness's figure, or in nanoseconds, whichever is larger.
TOLERANCE, TOLERANCE_NS = 0.001, 300_000
QUANTILES = {"p50_ns": 0.5, "p90_ns": 0.9, "p95_ns": 0.95, "p99_ns": 0.99, "p99_9_ns": 0.999}


def freezing(
    period_s: float, freeze_s: float, rate: int, seconds: int, secure: Path | None = None
) -> list[str]:
    """Print the engine's figures beside those of the witness and the law; returns those beyond the tolerance.
    `secure`: the folder of a certificate."""
    words = [peer("freezing"), str(round(period_s * 1000)), str(round(freeze_s * 1000))]
    plan: dict[str, Any] = {}
    if secure:
        words += [str(secure / "own.pem"), str(secure / "own.key")]
        plan["tls"] = {"server_name": "127.0.0.1", "cacert": str(secure / "own.pem")}
    over = ", TLS" if secure else ""
    title = f"P={period_s:g} s, D={freeze_s:g} s, {rate}/s for {seconds} s{over}"
    print(title)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = int(server.stdout.readline())
        # The load neither begins nor ends in a freeze, or while the server works off a backlog: otherwise
        # only the engine would count the requests without an answer.
        time.sleep((BEGIN * period_s - time.monotonic()) % period_s)
        found = load(
            [],
            protocol="http",
            addresses=[f"127.0.0.1:{port}"],
            connections=64,
            duration_s=seconds,
            pacing={"kind": "constant", "rate_per_s": rate},
            request={"headers": [["Host", "127.0.0.1"]]},
            **plan,
        )
        said, _ = server.communicate()
    latency = found["histograms"]["latency"]
    assert not found["unfinished"], found
    waited = witnessed([int(line) for line in said.split()], found["started"]["monotonic_ns"], rate)
    rows = [("mean", freeze_s**2 / 2 / period_s, sum(waited) / len(waited), latency["mean_ns"])]
    for key, q in QUANTILES.items():
        rows.append(
            (
                key[:-3],
                max(0.0, freeze_s - (1 - q) * period_s),
                waited[math.ceil(q * len(waited)) - 1],
                latency[key],
            )
        )
    print("          law          witness           found   found - witness")
    for name, law, seen, ns in rows:
        print(
            f"  {name:<6}{law * 1e3:9.2f} ms {seen / 1e6:10.2f} ms {ns / 1e6:10.2f} ms "
            f"{(ns - seen) / 1e6:12.2f} ms"
        )
    error = found["histograms"]["schedule_error"]
    print(f"  schedule error: p99 {error['p99_ns'] / 1e6:.2f} ms, at most {error['max_ns'] / 1e6:.1f} ms")
    return [
        f"{title}: {name} is {(ns - seen) / 1e6:+.2f} ms of the witness's {seen / 1e6:.2f} ms"
        for name, _, seen, ns in rows
        if abs(ns - seen) > max(TOLERANCE * seen, TOLERANCE_NS)
    ]


def witnessed(answers: Sequence[int], start_ns: int, rate: int) -> list[int]:
    """The waiting time of each request, sorted. Request n was due n / rate after the start. The sum of the
    waiting times is right for any order of answers; the quantiles are right if answers arrive in the order of
    requests."""
    gap = 1e9 / rate
    return sorted(max(0, at - start_ns - round(number * gap)) for number, at in enumerate(sorted(answers)))


def others(period_s: float, freeze_s: float) -> None:
    """Prints the figures of peers for such a server."""
    words = [peer("freezing"), str(round(period_s * 1000)), str(round(freeze_s * 1000))]
    wrk2 = named("WRK2")
    print(f"peers, P={period_s:g} s, D={freeze_s:g} s")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
        if wrk := shutil.which("wrk"):
            done = run([wrk, "-t1", "-c64", "-d10s", "--latency", url])
            print("  wrk, closed loop:", "; ".join(re.findall(r"(?:50|90|99)%\s+\S+", done)))
        if ab := shutil.which("ab"):
            done = run([ab, "-q", "-k", "-c64", "-t10", "-n1000000", url])
            print("  ab, closed loop:", "; ".join(re.findall(r"(?:50|90|99)%\s+\d+", done)), "(ms)")
        for rate in (1000, 20_000) if wrk2 else ():
            # wrk2 keeps no figures of its first ten seconds.
            done = run([str(wrk2), "-t1", "-c64", "-d50s", f"-R{rate}", "--latency", url])
            quantiles = "; ".join(re.findall(r"(?:50|90|99)\.000%\s+\S+", done))
            print(f"  wrk2, {rate}/s:", quantiles)
        server.communicate()


def run(words: Sequence[str]) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def for_good() -> None:
    """A server that freezes after half of the time, so half of the requests have no answer."""
    with subprocess.Popen(
        [peer("freezing"), "0", "2000"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        port = int(server.stdout.readline())
        try:
            found: dict[str, Any] = load(
                [],
                ["timeout"],
                protocol="http",
                addresses=[f"127.0.0.1:{port}"],
                connections=64,
                duration_s=4,
                timeout_s=6,
                pacing={"kind": "constant", "rate_per_s": 1000},
                request={"headers": [["Host", "127.0.0.1"]]},
            )
        finally:
            server.kill()
    given_up = found["errors"].get("timeout", 0)
    print(
        f"frozen for good after 2 of 4 s: of {found['intended']} requests {found['unfinished']} "
        f"unfinished, {given_up} given up"
    )


def late_feeds(connections: int) -> None:
    """A server that sends every twentieth chunk late by a known time. Prints that time beside the measured
    p99 of lateness."""
    every, late_ms = 20, 250
    words = [peer("feed"), str(every), str(late_ms)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = int(server.stdout.readline())
        try:
            found = load(
                [],
                protocol="stream",
                addresses=[f"127.0.0.1:{port}"],
                connections=connections,
                ramp_per_s=2000,
                duration_s=connections / 2000 + 2 * every,
                timeout_s=60,
                request={"target": "/test/{id}", "headers": [["Host", "127.0.0.1"]]},
                stream={"first": "Welcome: {id}", "due_field": "due="},
            )
        finally:
            server.kill()
    late = found["histograms"]["lateness"]
    share = 1 / every
    print(
        f"{connections} feeds, one chunk in {every} late by {late_ms} ms: p99 {late['p99_ns'] / 1e6:.2f} ms "
        f"(off by {late['p99_ns'] / 1e6 - late_ms:.2f}), p50 {late['p50_ns'] / 1e6:.2f} ms (of 0), mean "
        f"{late['mean_ns'] / 1e6:.2f} ms (of {share * late_ms:.2f}), {late['count']} chunks"
    )


def main() -> int:
    quick = sys.argv[1:] == ["quick"]
    late_feeds(10_000)
    misses = []
    misses += freezing(1, 0.1, 1000, 20)
    if not quick:
        misses += freezing(10, 1, 1000, 40)
        misses += freezing(10, 1, 20_000, 40)
    for_good()
    with tempfile.TemporaryDirectory() as folder:
        certificate(Path(folder))
        misses += freezing(1, 0.1, 1000, 20, Path(folder))
        if not quick:
            misses += freezing(10, 1, 20_000, 40, Path(folder))
    others(10, 1)
    for line in misses:
        print(f"missed: {line}", file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
